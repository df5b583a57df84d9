"""What a house must decide and may not decide otherwise, by the ids of the texts: configuration and readings."""

from pathlib import Path
from typing import Any

import pytest

from controller.configuration import profiles, registries
from controller.core.floor.attesting import REPORTABLE
from controller.core.rules import betting, pots
from controller.core.rules.profile import Rake
from controller.faults import BadConfiguration
from controller.rulebook import rules
from tests.felt import HR, RS, Felt, setup
from tests.houses import house
from tests.marks import broken, shows, witness

SOFTER = {(rule, "FLAG") for rule in ("HR-6.1", "HR-9.3", "HR-12.2", "BG-5.14", "RS-2.4", "LT-1.4")}
"""Reported after the fact, these are noted; the table itself bars or holds them where it can see them."""


def refused(name: str, **override: Any) -> None:
    """The profile is no configuration; the fault names the rules behind it."""
    keys = {key.replace("__", "."): value for key, value in override.items()}
    with pytest.raises(BadConfiguration) as error:
        profiles.load(name, override=keys)
    witness(" ".join(map(str, error.value.faults)))


@broken("HR-15.6", "HR-A16", "BG-2.3")
@shows("HR-15.6", "BG-2.3")
def test_no_table_opens_without_a_decision_on_the_commission() -> None:
    for name in ("hr_thp", "bg_holdem"):
        felt = Felt(setup(profile=profiles.load(name)))
        felt.say("open")
        assert felt.all("breach.noted")[-1]["reaction"] == "BLOCK"
        assert felt.session.state.session is None


@broken("BG-2.3", "BG-6.1", "BG-5.12", "BG-4.4", "BG-5.27", "HR-11.8", "HR-15.1", "HR-17.1")
def test_a_profile_that_contradicts_its_text() -> None:
    refused("bg_holdem", rake__rate="5%")
    refused("bg_holdem", rake__rate="0%", structures=["fixed_limit"], structure="fixed_limit")
    refused("bg_holdem", rake__rate="0%", raise_cap=3)
    refused("bg_holdem", rake__rate="0%", require_cut=False)
    refused("bg_holdem", rake__rate="0%", show_all=False)
    refused("hr_thp", rake__rate="0%", raise_cap="none")
    refused("hr_thp", rake__rate="0%", show_all=False)
    refused("hr_thp", rake__rate="0%", button_rule="moving")


@shows("HR-20.1")
def test_blinds_are_a_decision_of_their_own() -> None:
    felt = Felt(setup(profile=HR, blinds=(25, 50))).open([5000, 5000])
    limits = felt.all("table.opened")[0]["limits"]
    assert (limits["small_blind"], limits["big_blind"]) == (25, 50)


@broken("HR-6.4", "HR-8.1")
@shows("HR-6.3", "HR-6.4")
def test_chips_and_deck_of_the_registry(tmp_path: Path) -> None:
    chips = tmp_path / "chips.toml"
    lines = [f'[[denominations]]\nid = "{n}"\nvalue = {n}\ncolour = "red"\ndiameter = 39\n' for n in (1, 5)]
    chips.write_text('id = "x"\n' + "".join(lines), encoding="utf-8")
    with pytest.raises(BadConfiguration) as error:
        registries.chips(chips)
    witness(error.value)
    cards = tmp_path / "deck.csv"
    cards.write_text("tag,card\nE0000001,As\nE0000002,As\n", encoding="utf-8")
    with pytest.raises(BadConfiguration) as error:
        registries.deck(cards, None)
    witness(error.value)


@shows("HR-A1", "HR-A2", "HR-A5", "HR-A21", "BG-A2", "BG-A3", "BG-A4", "BG-A11", "BG-A14")
def test_the_literal_profiles_and_what_the_customary_ones_change() -> None:
    changed = {
        ("hr_thp", "hr_thp_customary"): {
            "raise_cap_counts": ("every_increase", "full_raises"),
            "heads_up_small_blind": ("left_of_button", "button"),
            "dead_small_blind": (False, True),
        },
        ("bg_holdem", "bg_holdem_customary"): {
            "open_late_rounds": ("duty", "minimum"),
            "check_raise": (False, True),
            "blinds_reraise": (False, True),
            "pot_limit_rule": ("amount_in", "raise_by_postcall_pot"),
            "heads_up_small_blind": ("left_of_button", "button"),
        },
    }
    for (literal, customary), keys in changed.items():
        one, other = house(literal), house(customary)
        for key, values in keys.items():
            assert (getattr(one, key), getattr(other, key)) == values
    free = profiles.load("hr_thp_customary", override={"rake.rate": "0%"})
    assert (free.buy_in_min_bb, free.buy_in_max_bb) == (10, None)
    assert house("hr_thp").button_rule == "dead"


@shows("RS-A1", "RS-A3", "RS-A4", "RS-A6", "RS-7.9", "RS-A5", "RS-7.1", "RS-A8")
def test_where_the_guide_is_silent() -> None:
    profile, omaha = house("rs_holdem"), house("rs_omaha")
    assert (profile.burns_per_street, profile.reopen, profile.show_all) == (1, "half_in_limit", False)
    assert (profile.players_max, omaha.players_max, omaha.structure) == (10, 9, "pot_limit")
    felt = Felt(setup(profile=RS)).open([5000] * 3).deal().act("c", "c", "k").street()
    assert [felt.hand.button, felt.legal.seat] == [3, 1]  # usually the button is last, and no rule says so
    felt.act("b200", "r400")
    assert [a["kind"] for a in felt.all("action.taken")][-2:] == ["bet", "raise"]


@shows("HR-A3", "HR-A13", "BG-A6", "RS-A2", "RS-A3", "CM-1", "CM-2")
def test_bounds_follow_the_profile() -> None:
    felt = Felt(setup(profile=HR)).open([5000] * 3).deal()
    bounds = betting.bounds(felt.hand, HR)
    assert bounds is not None
    assert (bounds.min_to, bounds.call) == (200, 100)


@shows("HR-A16", "BG-A12", "RS-7.8")
def test_the_commission_is_rate_cap_rounding_and_no_flop() -> None:
    assert pots.rake_due(1000, Rake("x", 1, 20)) == 50
    assert pots.rake_due(1000, Rake("x", 1, 20, cap=30)) == 30
    assert pots.rake_due(1910, Rake("x", 1, 20, rounding=25)) == 75
    assert pots.rake_due(1910, Rake("x", 1, 20, rounding=25, rounding_mode="up")) == 100


def test_what_can_be_reported_is_a_rule_with_that_reaction() -> None:
    known = {rule.id: rule for rule in rules()}
    for rule, reaction in REPORTABLE.items():
        assert rule in known
        assert known[rule].reaction in (reaction, "-") or (rule, reaction) in SOFTER


@shows("HR-A18", "HR-A25", "BG-A13")
def test_common_defaults_stand_behind_a_text_that_is_silent() -> None:
    for name in ("hr_thp", "bg_holdem", "rs_holdem"):
        profile = house(name)
        assert profile.missed_blinds == "post"
        assert profile.burns_per_street == 1
    assert house("bg_holdem").first_button == "highest_card"
