"""Who may do what and when, by the ids of the three poker texts: each rule broken once and kept once."""

from typing import Any

from controller.core.facts import Declared, HandAttested
from controller.core.rules import pots
from controller.core.setup import Limits
from tests.felt import Felt
from tests.floors import ANY_STACK, TEXTS, House
from tests.marks import broken, kept, shows

CUSTOMARY = ("hr_thp", "bg_holdem_customary", "rs_holdem")
STACKS = [5000] * 4


def dealt(name: str, stacks: list[int] | None = None, **change: Any) -> House:
    """A hand with all closed cards out; seat 1 is the small blind, the button is on the last seat."""
    return House(name, **(ANY_STACK | change)).ready(stacks or STACKS).deal()


def ids(felt: Felt) -> list[str]:
    return [rule for record in felt.last for rule in record.data.get("rules", ())]


# --- turns ---------------------------------------------------------------------------------------------------


@broken(
    "HR-11.6", "HR-12.4", "HR-13.2", "HR-14.2",
    "BG-5.4", "BG-5.16", "BG-4.2", "BG-4.3", "BG-A7",
    "RS-3.2", "RS-3.4", "RS-4.2", "CM-15",
)  # fmt: skip
def test_another_seat_speaks_first_in_each_round() -> None:
    for name in CUSTOMARY:
        felt = dealt(name)
        for _ in range(4):
            felt.do(Declared("call" if felt.legal.call else "check", felt.legal.seat % 4 + 1))
            assert not felt.taken
            assert [r.data["reaction"] for r in felt.last if r.type == "breach.noted"] == ["FLAG"]
            play_round(felt)
            if felt.hand.street != "river":
                felt.street()


def play_round(felt: Felt) -> None:
    """Everybody checks, or calls."""
    while felt.session.state.hand is not None and felt.hand.phase == "bet":
        felt.act("c" if felt.legal.call else "k")


@kept(
    "HR-6.1", "HR-11.6", "HR-11.7", "HR-12.4", "HR-12.5", "HR-12.6", "HR-13.2", "HR-14.2", "HR-A6", "HR-A7",
    "BG-4.2", "BG-4.3", "BG-5.4", "BG-5.6", "BG-5.9", "BG-5.13", "BG-5.16", "BG-5.17", "BG-5.21", "BG-A7",
    "RS-3.1", "RS-3.2", "RS-3.3", "RS-3.4", "RS-3.5", "RS-3.6", "RS-4.2", "RS-4.3", "RS-4.4", "RS-7.3", "RS-7.4",
    "RS-7.5", "CM-15",
)  # fmt: skip
def test_rounds_in_which_everybody_speaks_in_turn() -> None:
    for name in CUSTOMARY:
        felt = dealt(name)
        assert felt.legal.seat == 3
        felt.act("c", "r300", "c", "c", "c").street()
        assert felt.legal.seat == 1
        felt.act("k", "b200", "c", "f", "c").street()
        assert felt.legal.seat == 1
        play_round(felt)
        felt.street()
        play_round(felt)
        assert not felt.all("breach.noted")
        assert not felt.all("incident.opened")


@broken("RS-2.6", "RS-2.7")
def test_heads_up_the_other_seat_speaks_first() -> None:
    felt = dealt("rs_holdem", [5000, 5000])
    felt.do(Declared("check", 1))
    assert "RS-2.6" in ids(felt)
    felt.act("c", "k").street()
    felt.do(Declared("check", 2))
    assert "RS-2.7" in ids(felt)


@kept("RS-2.5", "RS-2.6", "RS-2.7", "HR-A5", "BG-A11", "CM-18")
def test_heads_up_as_each_text_says() -> None:
    for name, first, later in (("rs_holdem", 2, 1), ("hr_thp", 1, 1), ("bg_holdem", 1, 1), ("hr_thp_customary", 2, 1)):
        felt = dealt(name, [5000, 5000])
        assert felt.all("blind.posted")[0]["seat"] == first
        assert felt.legal.seat == first
        felt.act("c", "k").street()
        assert felt.legal.seat == later


@broken("HR-11.6", "BG-5.3", "RS-3.1")
def test_a_decision_before_all_cards_are_out() -> None:
    for name in TEXTS:
        felt = House(name, **ANY_STACK).ready(STACKS)
        felt.session.seed(bytes(32))
        felt.do(HandAttested())
        felt.do(Declared("call", 3))
        assert [r.data["reaction"] for r in felt.last if r.type == "breach.noted"] == ["BLOCK"]


# --- options -------------------------------------------------------------------------------------------------


@broken("HR-11.7", "HR-12.5", "HR-12.6", "HR-13.2", "HR-14.2")
@broken("BG-5.6", "BG-5.17", "BG-5.18", "BG-5.19")
@broken("RS-3.3", "RS-4.3", "RS-7.3")
def test_a_check_facing_a_bet() -> None:
    for name in CUSTOMARY:
        felt = dealt(name)
        felt.refused("k")
        for _ in range(3):
            play_round(felt)
            felt.street()
            felt.act("b200")
            assert felt.refused("k")["reaction"] == "BLOCK"


@broken("HR-12.6", "RS-7.1", "BG-5.22", "HR-A6", "RS-7.3", "BG-5.17")
def test_a_bet_that_is_a_raise_and_a_call_of_nothing() -> None:
    for name in CUSTOMARY:
        felt = dealt(name)
        play_round(felt)
        felt.street()
        felt.refused("c")
        felt.act("b200")
        felt.refused("b400")


@broken("HR-6.1", "HR-9.3", "RS-7.10")
def test_more_than_the_stack_and_less_than_a_chip() -> None:
    for name in ("hr_thp", "rs_holdem"):
        felt = dealt(name)
        assert felt.refused("r5001")["reaction"] == "BLOCK"
    felt = dealt("hr_thp")
    felt.hand.unit = 50
    assert felt.refused("r333")["rules"] == ["HR-6.1"]


@kept("HR-9.3", "RS-7.10", "RS-7.7", "HR-12.14", "RS-7.4")
@shows("HR-12.14", "RS-7.7", "HR-A8")
def test_the_whole_stack_is_the_most_and_a_short_one_may_call() -> None:
    for name in ("hr_thp", "rs_holdem"):
        felt = dealt(name, [5000, 5000, 80, 5000])
        assert (felt.legal.seat, felt.legal.call, felt.legal.raising) == (3, 80, None)
        felt.act("a", "r5000", "f", "f")
        assert [a["all_in"] for a in felt.all("action.taken")] == [True, True, False, False]


@broken("RS-7.2", "RS-4.4", "CM-1", "CM-2", "HR-A3")
def test_a_raise_that_is_too_small() -> None:
    felt = dealt("rs_holdem")
    felt.refused("r150")
    play_round(felt)
    felt.street().refused("b50")
    felt.act("b200")
    assert "RS-4.4" in felt.refused("r300")["rules"]
    assert dealt("hr_thp").refused("r150")["rules"] == ["HR-A3", "CM-2"]


@kept("RS-7.2", "CM-1", "CM-2", "RS-A2")
@shows("RS-A2", "CM-1", "CM-2")
def test_the_least_bet_and_raise() -> None:
    felt = dealt("rs_holdem").act("r200", "r300", "c", "c", "c")
    felt.street()
    assert felt.legal.min_to == 100
    felt.act("b100", "r250")
    assert felt.legal.min_to == 400


@broken("BG-5.7", "BG-5.22", "BG-A5")
def test_a_bulgarian_raise_has_to_exceed_the_stake_before() -> None:
    felt = dealt("bg_holdem")
    assert felt.refused("r100")["rules"][0] == "BG-5.7"
    play_round(felt)
    felt.street().act("b100")
    assert felt.refused("r100")["rules"][0] == "BG-5.22"


@kept("BG-5.7", "BG-5.22", "BG-5.12", "BG-6.3")
@shows("BG-5.12", "BG-6.3", "BG-A5", "BG-5.8", "BG-5.23")
def test_any_greater_sum_is_a_bulgarian_raise_and_one_may_raise_again() -> None:
    felt = dealt("bg_holdem").act("r101", "r102", "c", "c", "r103", "r5000")
    actions = felt.all("action.taken")
    assert [a["kind"] for a in actions] == ["raise", "raise", "call", "call", "raise", "raise"]
    assert actions[-1]["to"] > actions[-1]["pot_before"]
    assert {b["reaction"] for b in felt.all("breach.noted")} == {"INFO"}


@broken("BG-5.10", "BG-A3")
def test_a_blind_raises_after_somebody_has() -> None:
    felt = dealt("bg_holdem").act("r300", "c")
    assert felt.refused("r600")["rules"] == ["BG-5.10", "BG-A3"]


@kept("BG-5.10", "BG-5.11")
@shows("BG-5.11", "BG-A3")
def test_a_blind_raises_where_nobody_has_and_otherwise_the_cards_follow() -> None:
    dealt("bg_holdem").act("c", "c", "r300")
    felt = dealt("bg_holdem").act("c", "c", "c", "k")
    assert felt.hand.phase == "board"
    dealt("bg_holdem_customary").act("r300", "c", "r600")


@broken("BG-5.18", "BG-A14")
def test_who_checked_wants_to_raise() -> None:
    felt = dealt("bg_holdem").act("c", "c", "c", "k").street()
    felt.act("k", "b100", "c", "c")
    assert felt.refused("r300")["rules"] == ["BG-5.18", "BG-A14"]


@kept("BG-5.18", "BG-5.19")
@shows("BG-5.19", "BG-A14")
def test_who_checked_calls_the_exact_sum_or_goes() -> None:
    felt = dealt("bg_holdem").act("c", "c", "c", "k").street().act("k", "k", "b100", "c", "c", "f")
    assert felt.hand.live == (1, 3, 4)


@broken("BG-5.25", "BG-A4", "BG-A6")
def test_rounds_three_and_four_open_with_less_or_not_at_all() -> None:
    felt = dealt("bg_holdem").act("c", "c", "c", "k").street().act(*"kkkk").street()
    assert felt.refused("k")["rules"] == ["BG-5.25", "BG-A4"]
    assert felt.refused("b50")["rules"] == ["BG-5.25", "BG-A4", "BG-A6"]


@kept("BG-5.25")
@shows("BG-A4", "BG-A6")
def test_rounds_three_and_four_open_with_the_table_minimum() -> None:
    felt = dealt("bg_holdem").act("c", "c", "c", "k").street().act(*"kkkk").street().act("b100", *"ccc").street()
    felt.act("f", "b100")
    dealt("bg_holdem_customary").act(*"ccck").street().act(*"kkkk").street().act("k")


@broken("BG-5.21", "HR-12.14", "RS-7.4")
def test_a_stack_that_only_calls_cannot_raise() -> None:
    for name in TEXTS:
        felt = dealt(name, [5000, 5000, 80, 5000])
        assert felt.refused("r80")["reaction"] == "BLOCK"


# --- caps and structures -------------------------------------------------------------------------------------


@broken("HR-11.8", "HR-A1")
def test_a_fourth_raise() -> None:
    felt = dealt("hr_thp").act("r200", "r300", "r400")
    assert felt.refused("r500")["rules"] == ["HR-11.8", "HR-A1"]


@kept("HR-11.8")
@shows("HR-A1")
def test_three_raises_and_then_calls_only() -> None:
    felt = dealt("hr_thp").act("r200", "r300", "r400", "c", "c", "c").street()
    felt.act("b100", "r200", "r300", "r400", "c", "c", "c")
    loose = dealt("hr_thp_customary", [5000, 5000, 150, 5000]).act("a", "r300", "r500", "r700", "c")
    assert [a["raise_no"] for a in loose.all("action.taken") if a["kind"] == "raise"] == [0, 1, 2, 3]


@broken("RS-7.12", "BG-6.2", "BG-A2", "HR-A3")
def test_more_than_the_pot() -> None:
    for name in TEXTS:
        felt = pot_limit(name)
        assert felt.refused("r351" if name != "bg_holdem" else "r151")["reaction"] == "BLOCK"


@kept("RS-7.12", "BG-6.2")
@shows("RS-7.12", "BG-6.2", "BG-A2")
def test_exactly_the_pot() -> None:
    pot_limit("rs_holdem").act("r350")
    pot_limit("bg_holdem").act("r150")
    pot_limit("bg_holdem_customary").act("r350")


def pot_limit(name: str) -> Felt:
    return House(name, Limits(50, 100, structure="pot_limit"), **ANY_STACK).ready(STACKS).deal()


@broken("RS-7.11", "RS-A4")
def test_another_size_than_fixed_limit_prescribes() -> None:
    felt = dealt("rs_holdem", structure="fixed_limit", raise_cap=3)
    assert felt.refused("r250")["rules"] == ["RS-7.11"]
    felt.act("r200", "r300", "r400")
    assert felt.refused("r500")["rules"] == ["RS-7.11", "RS-A4"]


@kept("RS-7.11")
def test_the_sizes_of_fixed_limit() -> None:
    felt = dealt("rs_holdem", structure="fixed_limit").act("r200", "c", "c", "c").street().act("b100", *"fff").done()
    assert felt.all("hand.closed")


@broken("RS-7.13", "CM-3")
def test_a_short_all_in_opens_nothing() -> None:
    felt = dealt("rs_holdem", [5000, 5000, 5000, 150]).act("c", "a", "c", "c")
    assert felt.refused("r900")["rules"] == ["RS-7.13", "CM-3"]


@kept("CM-3")
@shows("RS-7.13", "RS-A3", "HR-A13", "CM-3")
def test_a_full_all_in_opens_the_betting_again() -> None:
    for name in ("rs_holdem", "hr_thp"):
        felt = dealt(name, [5000, 5000, 5000, 200]).act("c", "a", "c", "c")
        assert (felt.legal.seat, felt.legal.raising) == (3, "raise")


@shows("HR-A27")
def test_an_all_in_below_a_full_raise_is_noted() -> None:
    felt = dealt("hr_thp", [5000, 5000, 150, 5000]).act("a")
    assert [(b["rules"], b["reaction"]) for b in felt.all("breach.noted")] == [(["HR-A27"], "INFO")]


@broken("CM-4")
def test_nobody_is_left_to_answer() -> None:
    felt = dealt("rs_holdem", [5000, 5000, 700, 700]).act("a", "f", "f")
    assert felt.refused("r2000")["rules"] == ["CM-4"]


@shows("CM-4", "HR-12.15")
@kept("HR-12.15", "CM-4")
def test_the_uncalled_part_goes_back_before_the_pot_is_built() -> None:
    felt = dealt("hr_thp", [5000, 180]).act("r500", "a")
    assert [(b["seat"], b["amount"], b["cause"]) for b in felt.all("bet.returned")] == [(1, 320, "uncalled")]
    assert pots.uncalled({1: 500, 2: 180}) == (1, 320)
    assert [p["amount"] for p in felt.all("street.closed")[0]["pots"]] == [360]
