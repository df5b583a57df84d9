"""No limit, pot limit, fixed limit and Omaha through the rules; what is due at every moment; 8.8 for HR and RS."""

from typing import Any

import pytest

from controller.core.facts import CardCame, Declared, HandAttested
from tests.felt import Felt, setup
from tests.houses import house

HR, RS = house("hr_thp"), house("rs_holdem")
FIXED = house("rs_holdem", structure="fixed_limit", raise_cap=3)


def table(profile: Any, stacks: list[int], **limits: Any) -> Felt:
    felt = Felt(setup(profile=profile))
    felt.say("open", button=len(stacks), limits={"small_blind": 50, "big_blind": 100} | limits)
    for seat, stack in enumerate(stacks, 1):
        felt.say("seat", seat=seat, stack=stack)
    return felt.deal()


# --- fixed limit ---------------------------------------------------------------------------------------------


def test_rs_7_11_sizes_are_prescribed() -> None:
    felt = table(FIXED, [5000] * 3)
    assert (felt.legal.min_to, felt.legal.max_to) == (200, 200)
    breach = felt.refused("r300")
    assert breach["rules"] == ["RS-7.11"]
    assert "fixed limit asks for exactly 200" in breach["asked"]
    felt.act("r200", "r300", "c", "c").street()
    assert (felt.legal.min_to, felt.legal.max_to) == (100, 100)
    felt.act("b100", "r200", "c", "c").street()
    assert (felt.legal.min_to, felt.legal.max_to) == (200, 200)
    felt.act("b200", "c", "c").street().act("b200")
    assert (felt.legal.min_to, felt.legal.max_to) == (400, 400)


def test_sizes_of_their_own() -> None:
    felt = table(FIXED, [5000] * 3, small_bet=150, big_bet=400)
    assert (felt.legal.min_to, felt.legal.max_to) == (250, 250)
    felt.act("c", "c", "k").street()
    assert felt.legal.min_to == 150


def test_the_cap_of_fixed_limit_and_its_heads_up_setting() -> None:
    felt = table(FIXED, [5000] * 3).act("r200", "r300", "r400")
    assert felt.refused("r500")["rules"] == ["RS-7.11", "RS-A4"]
    free = house("rs_holdem", structure="fixed_limit", raise_cap=3, raise_cap_heads_up=False)
    felt = table(free, [5000] * 2).act("r200", "r300", "r400", "r500", "r600")
    assert felt.legal.raising == "raise"
    felt = table(free, [5000] * 3).act("r200", "r300", "r400")
    assert felt.legal.barred == "raise_cap"
    felt.act("f")  # two are left: the cap is off
    assert felt.legal.raising == "raise"


def test_the_opening_bet_may_count() -> None:
    profile = house("rs_holdem", structure="fixed_limit", raise_cap=3, raise_cap_counts_open_bet=True)
    felt = table(profile, [5000] * 2).act("c", "k").street().act("b100", "r200", "r300")
    assert felt.legal.barred == "raise_cap"


@pytest.mark.parametrize(("stack", "opens"), [(250, True), (249, False), (300, True)])
def test_c19_half_a_bet_reopens_and_less_does_not(stack: int, opens: bool) -> None:
    felt = table(FIXED, [5000, 5000, stack]).act("c", "c", "k").street().act("b100", "c", "a")
    assert felt.legal.seat == 1
    assert (felt.legal.raising == "raise") is opens
    if opens:
        assert felt.legal.min_to == felt.hand.level + 100
    else:
        assert felt.refused(f"r{felt.hand.level + 100}")["rules"] == ["RS-7.13", "CM-3"]


def test_c19_a_house_may_ask_for_a_full_raise() -> None:
    strict = house("rs_holdem", structure="fixed_limit", raise_cap=3, reopen="full_raise")
    felt = table(strict, [5000, 5000, 250]).act("c", "c", "k").street().act("b100", "c", "a")
    assert felt.legal.barred == "not_reopened"


# --- pot limit and Omaha -------------------------------------------------------------------------------------


def test_an_all_in_above_the_pot_is_refused_in_pot_limit() -> None:
    felt = table(house("rs_holdem", structure="pot_limit"), [5000] * 3)
    assert felt.legal.max_to == 350
    assert felt.refused("a")["rules"] == ["RS-7.12"]
    felt.act("r350")


def test_the_pot_is_payable_in_chips_of_the_table() -> None:
    felt = Felt(setup(profile=house("rs_holdem", structure="pot_limit"), blinds=(50, 100), unit=100))
    felt.say("open", button=3, limits={"small_blind": 0, "big_blind": 100})
    for seat in (1, 2, 3):
        felt.say("seat", seat=seat, stack=5000)
    felt.deal()
    assert felt.legal.max_to == 300


def test_omaha_is_dealt_four_and_decided_by_two_and_three() -> None:
    felt = Felt(setup(profile=house("rs_omaha"))).open([5000, 5000])
    felt.deal({1: "AsKdQcJh", 2: "2c2d3h4h"}, board="Ts9s8s2s3d")
    assert felt.all("hand.started")[0] | {"game": "omaha", "structure": "pot_limit", "own_cards": 4}
    assert [p.seat for p in felt.hand.slots if p.place == "seat"] == [1, 2] * 4
    felt.act("c", "k").street().act("k", "k").street().act("k", "k").street().act("k", "k").show(1, 2)
    tabled = {t["seat"]: t for t in felt.all("hand.tabled")}
    assert (tabled[1]["category"], tabled[1]["own_used"]) == ("straight", 2)
    assert (tabled[2]["category"], tabled[2]["own_used"]) == ("three", 2)
    assert len(tabled[1]["cards"]) == 4
    felt.done()
    assert felt.result() == {1: 5100, 2: 4900}


def test_rs_10_1_a_fifth_card_belongs_to_nobody() -> None:
    felt = Felt(setup(profile=house("rs_omaha"))).open([5000, 5000]).deal()
    felt.do(CardCame("seat", "2h" if all(s.card != "2h" for s in felt.hand.slots) else "2c", 1))
    assert felt.all("incident.opened")[-1]["code"] == "I-10"


# --- antes and the table from 2 to 11 ------------------------------------------------------------------------


@pytest.mark.parametrize("count", range(2, 12))
def test_two_to_eleven_players(count: int) -> None:
    felt = table(house("bg_holdem"), [5000] * count)
    seats = [felt.legal.seat]
    while felt.hand.phase == "bet":
        felt.act("c" if felt.legal.call else "k")
        if felt.hand.phase == "bet":
            seats.append(felt.legal.seat)
    assert sorted(seats) == list(range(1, count + 1))
    assert felt.hand.pot == 100 * count


@pytest.mark.parametrize(("kind", "pot"), [("each", 150 + 30), ("big_blind", 150 + 10)])
def test_antes_belong_to_the_pot_and_are_no_bet(kind: str, pot: int) -> None:
    felt = table(RS, [5000] * 3, ante=10, ante_kind=kind)
    assert felt.hand.pot == pot
    assert felt.legal.call == 100
    felt.act("f", "f").done()
    assert felt.result() == {
        1: 4940 if kind == "each" else 4950,
        2: 5000 + pot - 100 - 10,
        3: 4990 if kind == "each" else 5000,
    }


# --- what is due ---------------------------------------------------------------------------------------------


def test_at_every_moment_something_is_due_and_says_by_which_rules() -> None:
    felt = Felt(setup(profile=HR))
    assert felt.session.due().what == "open"
    felt.open([5000, 5000, 5000])
    assert (felt.session.due().what, felt.session.due().rules) == ("hand", ("HR-16.1",))
    felt.session.seed(bytes(32))
    felt.do(HandAttested())
    due = felt.session.due()
    assert (due.what, due.place, due.seats, due.rules) == ("card", "seat", (1,), ("HR-11.5", "CM-20"))
    felt.cards({1: "AsAh", 2: "KsKh", 3: "QsQh"}, board="2c3d4h9s8c")
    due = felt.session.due()
    assert (due.what, due.seats, due.rules) == ("action", (3,), ("HR-11.6",))
    assert [(o["kind"], o["min"], o["max"]) for o in due.options] == [
        ("fold", 0, 0), ("call", 100, 100), ("raise", 200, 5000),
    ]  # fmt: skip
    assert due.options[2]["rules"] == ["HR-11.7", "HR-A3", "CM-2", "HR-9.3"]
    felt.act("r200", "r300", "r400")
    assert felt.session.due().barred == ("HR-11.8", "HR-A1")
    felt.act("c", "c")
    due = felt.session.due()
    assert (due.what, due.place, due.rules) == ("card", "burn", ("HR-12.1", "CM-9"))
    felt.do(CardCame("next", "7c"))
    assert (felt.session.due().place, felt.session.due().rules) == ("board", ("HR-12.2",))
    for card in ("2c", "3d", "4h"):
        felt.do(CardCame("next", card))
    felt._board = ["9s", "8c"]
    felt.act("k", "k", "k").street().act("k", "k", "k").street().act("k", "k", "k")
    assert (felt.session.due().what, felt.session.due().seats) == ("show", (1, 2, 3))
    felt.show(1, 2, 3)
    assert felt.session.due().what == "announce"
    felt.say("announce", seats=[1])
    assert felt.session.due().as_data() == {"what": "push", "seats": [1], "rules": ["HR-15.4", "HR-12.19"]}
    felt.done()
    assert felt.session.due().what == "hand"


def test_an_incident_is_due_before_everything_else() -> None:
    felt = table(RS, [5000, 5000])
    felt.call_misdeal()
    assert felt.session.due().as_data() | {"what": "ruling", "code": "I-2"} == felt.session.due().as_data()


# --- 8.8 -----------------------------------------------------------------------------------------------------


def test_hr_21_2_eleven_players_block_the_hand() -> None:
    felt = Felt(setup(profile=HR)).open([5000] * 11)
    felt.session.seed(bytes(32))
    felt.do(HandAttested())
    assert felt.last[-1].data | {"rules": ["HR-21.2"], "reaction": "BLOCK"} == felt.last[-1].data
    assert felt.session.state.hand is None


def test_hr_9_4_no_top_up_in_a_hand() -> None:
    felt = table(HR, [5000, 5000])
    felt.say("buyin", seat=1, amount=500)
    assert felt.last[-1].data["rules"][0] == "HR-9.4"


def test_hr_15_1_every_remaining_hand_is_opened() -> None:
    felt = table(HR, [5000, 5000]).act("c", "k").street().act("k", "k").street().act("k", "k").street().act("k", "k")
    felt.show(1).do_muck(2)
    assert felt.all("breach.noted")[-1]["rules"] == ["HR-15.1", "HR-A10"]


def test_hr_16_1_the_next_deal_waits_for_the_end_of_this_one() -> None:
    felt = table(HR, [5000, 5000]).act("f")
    felt.do(HandAttested())
    assert felt.last[-1].data["rules"] == ["HR-16.1"]


def test_rs_4_3_nobody_checks_facing_a_bet() -> None:
    felt = table(RS, [5000, 5000]).act("c", "k").street().act("b100")
    assert felt.refused("k")["rules"] == ["RS-4.3", "RS-7.3"]


def test_rs_3_5_the_big_blinds_option() -> None:
    felt = table(RS, [5000, 5000, 5000]).act("c", "c")
    for card in ("7c", "8c"):
        felt.do(CardCame("next", card if all(s.card != card for s in felt.hand.slots) else card[0] + "d"))
    assert felt.all("incident.opened")[0]["rules"][0] == "RS-3.5"


def test_run_outs_are_played_with_all_hands_open() -> None:
    felt = table(RS, [5000, 5000, 5000]).act("a", "c", "f")
    assert felt.hand.must_show == (3, 1) or set(felt.hand.must_show) == {1, 3}
    felt.street()
    assert [b["rules"] for b in felt.all("breach.noted")] == [["CM-8"], ["CM-8"]]


def test_a_short_small_blind_and_an_unknown_stack() -> None:
    felt = Felt(setup(profile=RS)).open([20, None, 5000]).deal()
    assert felt.hand.bet == {1: 20, 2: 100}
    felt.act("c")
    assert (felt.legal.seat, felt.legal.max_to) == (2, None)
    felt.do(Declared("all_in"))
    assert felt.last[-1].data["why"].endswith("seat 2 may fold, check or raise to 200 or more")
