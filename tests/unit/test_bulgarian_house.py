"""The Bulgarian text to the letter, and its customary readings (rules.md 2, 8.8, 9.1, 9.7)."""

import pytest

from tests.felt import Felt, setup
from tests.houses import house

BG, CUSTOMARY = house("bg_holdem"), house("bg_holdem_customary")


def to_the_turn(profile: object, players: int = 3) -> Felt:
    felt = Felt(setup(profile=profile)).open([5000] * players).deal()  # type: ignore[arg-type]
    felt.act(*["c"] * (players - 1), "k").street().act(*["k"] * players)
    return felt.street()


def test_bg_5_25_who_speaks_first_in_round_3_has_to_open() -> None:
    felt = to_the_turn(BG)
    assert felt.legal.must_open
    breach = felt.refused("k")
    assert (breach["rules"], breach["reaction"]) == (["BG-5.25", "BG-A4"], "BLOCK")
    assert [option["kind"] for option in breach["allowed_now"]] == ["fold", "bet"]
    felt.act("f")  # then the next has the same duty
    assert felt.refused("k")["rules"][0] == "BG-5.25"
    felt.act("b100", "c").street()
    assert felt.refused("k")["rules"][0] == "BG-5.25"


def test_bg_5_25_a_bet_below_the_table_minimum() -> None:
    limits = {"small_blind": 50, "big_blind": 100, "table_min": 300}
    felt = Felt(setup(profile=CUSTOMARY))
    felt.say("open", button=3, limits=limits)
    for seat in (1, 2, 3):
        felt.say("seat", seat=seat, stack=[5000, 5000, 420][seat - 1])
    felt.deal().act("c", "c", "k").street().act("b100", "c", "c").street()
    breach = felt.refused("b200")
    assert breach["rules"] == ["BG-5.25", "BG-A4", "BG-A6"]
    assert "at least the table minimum, 300" in breach["asked"]
    felt.act("k", "k", "a")  # all-in for less than the minimum


def test_bg_a4_customary_a_check_stays_allowed() -> None:
    felt = to_the_turn(CUSTOMARY)
    felt.act("k", "k", "k")


def test_bg_a14_a_player_who_checked_may_not_raise() -> None:
    felt = Felt(setup(profile=BG)).open([5000] * 3).deal().act("c", "c", "k").street().act("k", "b200", "c")
    breach = felt.refused("r600")
    assert (breach["rules"], breach["reaction"]) == (["BG-5.18", "BG-A14"], "BLOCK")
    felt.act("c")
    felt = Felt(setup(profile=CUSTOMARY)).open([5000] * 3).deal().act("c", "c", "k").street().act("k", "b200", "c")
    felt.act("r600")


def test_bg_5_12_who_has_bet_may_raise_again() -> None:
    felt = Felt(setup(profile=BG)).open([9000] * 3).deal().act("c", "c", "k").street()
    felt.act("b200", "r400", "f", "r800", "r1600", "r1700")
    assert felt.legal.raising == "raise"


@pytest.mark.parametrize("blind", [1, 2])
def test_bg_5_10_a_blind_may_not_raise_a_raiser(blind: int) -> None:
    felt = Felt(setup(profile=BG)).open([5000] * 4).deal().act("r300", "c")
    if blind == 2:
        felt.act("c")
    breach = felt.refused("r900")
    assert (breach["rules"], breach["reaction"]) == (["BG-5.10", "BG-A3"], "BLOCK")
    felt = Felt(setup(profile=BG)).open([5000] * 4).deal().act("c", "c")
    felt.act("r300")  # nobody has raised before the small blind
    felt = Felt(setup(profile=CUSTOMARY)).open([5000] * 4).deal().act("r300", "c")
    felt.act("r900")


def test_bg_2_6_the_twelfth_player_gets_no_seat_and_the_hand_goes_on() -> None:
    felt = Felt(setup(profile=BG)).open([5000] * 11)
    assert len(felt.session.state.seats) == 11
    felt.say("leave", seat=11)
    small = Felt(setup(profile=house("bg_holdem", players_max=2))).open([5000, 5000])
    small.say("seat", seat=3, stack=5000)
    breach = small.last[-1].data
    assert (breach["rules"], breach["reaction"], breach["seat"]) == (["BG-2.6"], "BLOCK", 3)
    small.deal()


def test_bg_6_1_the_mode_is_pot_limit_or_no_limit() -> None:
    felt = Felt(setup(profile=BG)).open([5000] * 3)
    felt.say("settings", limits={"small_blind": 50, "big_blind": 100, "structure": "fixed_limit"})
    assert felt.last[-1].data["rules"] == ["BG-6.1", "BG-A10"]
    felt.say("settings", limits={"small_blind": 50, "big_blind": 100, "structure": "pot_limit"})
    assert felt.last[-1].type == "settings.changed"
    felt.deal()
    assert felt.hand.structure == "pot_limit"
    assert felt.all("hand.started")[-1]["structure"] == "pot_limit"


def test_bg_a11_the_small_blind_is_left_of_the_button_heads_up_too() -> None:
    assert [b["seat"] for b in Felt(setup(profile=BG)).open([900, 900]).deal().all("blind.posted")] == [1, 2]
    assert [b["seat"] for b in Felt(setup(profile=CUSTOMARY)).open([900, 900]).deal().all("blind.posted")] == [2, 1]


def test_bg_5_27_a_hand_that_is_not_turned_is_a_breach() -> None:
    felt = to_the_turn(BG, 2).act("b100", "c").street().act("b100", "c")
    felt.show(1)
    felt.do_muck(2)
    assert felt.all("breach.noted")[-1]["rules"] == ["BG-5.27", "BG-A8"]
