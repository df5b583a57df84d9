"""An independent oracle: pokerkit plays the same random hands of four structures (``tests/oracle.py``).

Where ``corners.md`` and rules.md decide otherwise than pokerkit 0.7.7, the difference has a name, and each named
difference is shown here from both sides. C17 is kept out of the random hands: no stack is shorter than the big blind.
"""

from collections.abc import Sequence
from typing import Any

import pytest
from pokerkit import Automation, FixedLimitTexasHoldem, NoLimitTexasHoldem

from tests import oracle
from tests.felt import Felt, setup

NAMED = {"C3", "C9", "C18", "C19", "CM-8"}
"""All that may show in random hands."""
BLOCKS, HANDS = 40, 500


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.parametrize("game", oracle.GAMES)
def test_twenty_thousand_random_hands_agree_with_pokerkit(game: str, block: int) -> None:
    named = oracle.duels(game, range(1000 + block * HANDS, 1000 + (block + 1) * HANDS))
    assert set(named) <= NAMED


@pytest.mark.parametrize("block", range(4))
@pytest.mark.parametrize("game", oracle.GAMES)
def test_five_hundred_random_hands_agree_with_pokerkit(game: str, block: int) -> None:
    named = oracle.duels(game, range(block * 125, block * 125 + 125))
    assert set(named) <= NAMED - ({"C19"} if game != "fixed_limit" else {"C3"})


# --- the named differences, from both sides ------------------------------------------------------------------


def _table(felt: Felt, peer: Any, *words: str) -> None:
    """The same decisions on both; ``s``: a street."""
    for word in words:
        if word == "s":
            felt.street()
            _street(peer)
            continue
        felt.act(word)
        done = next(r.data for r in felt.last if r.type == "action.taken")
        if done["kind"] == "fold":
            peer.fold()
        elif done["kind"] in ("check", "call"):
            peer.check_or_call()
        else:
            peer.complete_bet_or_raise_to(done["to"])


def _street(peer: Any) -> None:
    peer.burn_card("??")
    peer.deal_board("??????" if peer.street_index == 1 else "??")


def _pair(game: str, stacks: Sequence[int]) -> tuple[Felt, Any]:
    felt = Felt(setup(oracle.GAMES[game].profile)).open(list(stacks)).deal()
    if game == "fixed_limit":
        peer = FixedLimitTexasHoldem.create_state(
            (*oracle.AUTOMATIONS, Automation.HOLE_DEALING), True, 0, (50, 100), 100, 200, list(stacks), len(stacks)
        )
    else:
        peer = NoLimitTexasHoldem.create_state(
            (*oracle.AUTOMATIONS, Automation.HOLE_DEALING), True, 0, (50, 100), 100, list(stacks), len(stacks)
        )
    return felt, peer


def test_c3_three_short_all_ins_add_up_here_and_not_there() -> None:
    felt, peer = _pair("no_limit", [9000, 1350, 1420, 9000])
    _table(felt, peer, "c", "c", "c", "k", "s", "b1000", "a", "a", "c")
    assert (felt.legal.seat, felt.legal.raising) == (1, None)  # 320 more is no full raise: both say so
    assert not peer.can_complete_bet_or_raise_to()
    felt, peer = _pair("no_limit", [9000, 1500, 1900, 2200, 9000])
    _table(felt, peer, "c", "c", "c", "c", "k", "s", "b1000", "a", "a", "a", "c")
    assert felt.hand.level - felt.hand.acted[1] >= felt.hand.step
    assert (felt.legal.seat, felt.legal.raising) == (1, "raise")


def test_cm_8_the_big_blind_is_asked_there_although_nobody_could_answer() -> None:
    felt, peer = _pair("no_limit", [100, 5000, 5000])
    _table(felt, peer, "f", "a")
    assert felt.hand.phase == "board"
    assert felt.hand.must_show == (1, 2)
    assert (peer.actor_index, peer.checking_or_calling_amount) == (1, 0)
    assert not peer.can_complete_bet_or_raise_to()


def test_c9_odd_chips_go_one_each_here_and_two_to_one_seat_there() -> None:
    named = oracle.duels("no_limit", range(400))
    assert named["C9"] > 0


def test_c17_a_short_big_blind_asks_for_a_full_minimum_raise_here() -> None:
    felt, peer = _pair("no_limit", [5000, 30, 5000, 5000])
    assert (felt.legal.call, felt.legal.min_to) == (100, 200)
    assert peer.min_completion_betting_or_raising_to_amount == 150


def test_c18_a_short_opening_all_in_reopens_there_and_not_here() -> None:
    felt, peer = _pair("no_limit", [5000, 140, 5000])
    _table(felt, peer, "c", "c", "k", "s", "k", "a", "c")
    assert (felt.legal.seat, felt.legal.raising) == (1, None)
    assert peer.can_complete_bet_or_raise_to()


def test_c19_half_a_bet_reopens_fixed_limit_here_and_not_there() -> None:
    felt, peer = _pair("fixed_limit", [5000, 5000, 250])
    _table(felt, peer, "c", "c", "k", "s", "b100", "c", "a")
    assert (felt.legal.seat, felt.legal.raising, felt.legal.min_to) == (1, "raise", 250)
    assert not peer.can_complete_bet_or_raise_to()
