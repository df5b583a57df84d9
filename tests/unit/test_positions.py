"""Button, blinds and missed blinds from hand to hand (HR-17.1, RS-2.1, CM-18, I-24, C10)."""

from typing import Any

import pytest

from controller.core.errors import BadCommand
from controller.core.facts import HandAttested
from tests.felt import Felt, setup
from tests.houses import house

HR, CUSTOMARY, RS = house("hr_thp"), house("hr_thp_customary"), house("rs_holdem")


def table(profile: Any, count: int, stack: int = 5000) -> Felt:
    return Felt(setup(profile=profile)).open([stack] * count)


def play(felt: Felt) -> Felt:
    """A hand that everybody gives up to the big blind."""
    felt.deal()
    while felt.hand.phase == "bet":
        felt.act("f" if felt.legal.call else "k")
    return felt.done()


def blinds(felt: Felt) -> tuple[int, int | None, int]:
    started = felt.all("hand.started")[-1]
    return started["button"], started["small_blind_seat"], started["big_blind_seat"]


def lines(felt: Felt) -> dict[int, dict[str, Any]]:
    return {line["seat"]: line for line in felt.all("hand.started")[-1]["seats"]}


def test_the_button_goes_round() -> None:
    for profile in (HR, CUSTOMARY, RS):
        felt = table(profile, 4)
        seen = []
        for _ in range(5):
            play(felt)
            seen.append(blinds(felt))
        assert seen == [(4, 1, 2), (1, 2, 3), (2, 3, 4), (3, 4, 1), (4, 1, 2)]


def test_c10_the_big_blind_busts_and_the_button_goes_to_the_former_small_blind() -> None:
    felt = play(table(HR, 4))
    felt.say("leave", seat=2)
    play(felt)
    assert blinds(felt) == (1, 3, 4)  # HR-11.2: the first player left of the button posts it
    felt = play(table(CUSTOMARY, 4))
    felt.say("leave", seat=2)
    play(felt)
    assert blinds(felt) == (1, None, 3)  # CM-18: nobody posts a small blind, nobody escapes the big one
    play(felt)
    assert blinds(felt) == (2, 3, 4)  # the button lies before the empty seat
    play(felt)
    assert blinds(felt) == (3, 4, 1)


def test_c10_the_button_goes_to_the_small_blinds_place_even_if_it_is_empty() -> None:
    for profile, after in ((HR, (1, 2, 3)), (CUSTOMARY, (1, 2, 3)), (RS, (2, 3, 4))):
        felt = play(table(profile, 4))
        felt.say("leave", seat=1)
        play(felt)
        assert blinds(felt) == after


def test_heads_up_nobody_is_big_blind_twice_running() -> None:
    felt = play(table(RS, 3))
    assert blinds(felt) == (3, 1, 2)
    felt.say("leave", seat=3)
    play(felt)
    assert blinds(felt) == (2, 2, 1)
    play(felt)
    assert blinds(felt) == (1, 1, 2)


def test_hr_a5_heads_up_the_text_makes_no_exception() -> None:
    felt = play(table(HR, 2))
    assert blinds(felt) == (2, 1, 2)
    play(felt)
    assert blinds(felt) == (1, 2, 1)


def test_rs_2_5_to_2_7_heads_up() -> None:
    felt = table(RS, 2).deal()
    assert blinds(felt) == (2, 2, 1)
    assert felt.legal.seat == 2
    felt.act("c", "k").street()
    assert felt.legal.seat == 1


def test_a_player_who_is_away_misses_blinds_and_posts_them_coming_back() -> None:
    felt = play(table(RS, 4))  # button 4
    felt.say("away", seat=3)
    play(felt)  # button 1, small 2, big 4: seat 3 is passed
    assert blinds(felt) == (1, 2, 4)
    assert lines(felt)[3] | {"dealt_in": False, "missed": ["big"], "owes": 100} == lines(felt)[3]
    play(felt)  # button 2, small 4, big 1: passed by the small blind
    assert lines(felt)[3]["missed"] == ["small", "big"]
    assert lines(felt)[3]["owes"] == 150
    felt.say("back", seat=3)
    assert felt.last[-1].data["owed"] == 150
    felt.deal()  # the button moves on to seat 3 itself: small 4, big 1
    assert [(p["kind"], p["amount"]) for p in felt.all("blind.posted") if p["seat"] == 3][-2:] == [
        ("missed_live", 100), ("missed_dead", 50),
    ]  # fmt: skip
    assert felt.hand.pot == 50 + 100 + 150
    assert (felt.hand.bet[3], felt.hand.dead_by) == (100, {3: 50})
    felt.act("c")
    assert (felt.legal.seat, felt.legal.call, felt.legal.raising) == (3, 0, "raise")
    felt.act("k", "c", "k")
    assert felt.all("street.closed")[-1]["pots"] == [{"pot": 0, "amount": 450, "eligible": [4, 1, 2, 3]}]
    assert felt.session.state.seats[3].missed == ()


def test_a_player_may_wait_for_the_big_blind() -> None:
    felt = play(table(RS, 4))
    felt.say("away", seat=3)
    play(felt)
    felt.say("back", seat=3, waits=True)
    play(felt)
    assert lines(felt)[3]["dealt_in"] is False  # button 2: small 4, big 1
    play(felt)
    assert lines(felt)[3]["dealt_in"] is False  # button 4: small 1, big 2
    play(felt)
    assert blinds(felt) == (1, 2, 3)
    assert lines(felt)[3] | {"dealt_in": True, "owes": 0} == lines(felt)[3]
    assert not any(p["kind"].startswith("missed") for p in felt.all("blind.posted"))


def test_a_house_where_nothing_is_owed() -> None:
    felt = play(table(house("rs_holdem", missed_blinds="free"), 4))
    felt.say("away", seat=3)
    play(felt)
    felt.say("back", seat=3)
    assert felt.last[-1].data["owed"] == 0


def test_away_and_back_are_said_in_order() -> None:
    felt = table(RS, 3)
    with pytest.raises(BadCommand, match="is not away"):
        felt.say("back", seat=1)
    felt.say("away", seat=1)
    with pytest.raises(BadCommand, match="is away already"):
        felt.say("away", seat=1)
    felt.say("away", seat=2)
    felt.session.seed(bytes(32))
    felt.do(HandAttested())
    assert felt.last[-1].data["what"] == "too_few_players"


def test_a_straddle_is_a_third_blind() -> None:
    felt = table(house("rs_holdem", straddle=True), 4)
    felt.attest_hand()
    felt.say("straddle", seat=4)
    assert felt.last[-1].data["rules"] == ["RS-2.2"]  # only the seat left of the big blind
    felt.say("straddle", seat=3)
    posted = felt.all("blind.posted")[-1]
    assert (posted["kind"], posted["amount"]) == ("straddle", 200)
    felt.cards()
    assert (felt.legal.seat, felt.legal.call, felt.legal.min_to) == (4, 200, 400)
    felt.act("c", "c", "c")
    assert (felt.legal.seat, felt.legal.call, felt.legal.raising) == (3, 0, "raise")  # the straddle has its option


def test_no_straddle_where_the_house_plays_none() -> None:
    felt = table(HR, 4)
    felt.attest_hand()
    felt.say("straddle", seat=3)
    assert felt.last[-1].data | {"rules": ["HR-11.3"], "reaction": "BLOCK"} == felt.last[-1].data


def test_a_redealt_hand_has_the_same_button_and_blinds() -> None:
    felt = play(table(CUSTOMARY, 4))
    felt.say("leave", seat=2)
    felt.deal()
    first = blinds(felt)
    assert first == (1, None, 3)
    felt.call_misdeal()
    felt.say("rule", incident="I-2", ruling="redeal")
    felt.deal()
    assert blinds(felt) == first
