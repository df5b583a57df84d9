"""Profiles of Ultimate as files: literal, customary, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from controller.configuration import profiles
from controller.core.rules.ultimate.house import NotQualified
from controller.faults import BadConfiguration
from tests.marks import shows
from tests.unit.test_ultimate_settlement import BLIND, TRIPS

CHOICES: dict[str, Any] = {
    "blind_paytable": "uth_standard",
    "dealer_not_qualified": {"ante": "push", "play": "settle", "blind": "settle"},
    "fold_trips": "settled",
    "trips.posted": [500],
    "ante.min": 500,
    "ante.max": 10000,
}


@shows("LT-A1", "LT-A2", "LT-A4")
def test_the_literal_profile_leaves_the_choices_open() -> None:
    rules = profiles.load("lt_uth").ultimate
    assert rules is not None
    assert rules.blind_paytable is None
    assert rules.not_qualified == NotQualified(None, None, None)
    assert rules.fold_trips is None
    assert rules.trips_posted == ()
    assert rules.trips_paytable == TRIPS
    assert rules.cut_offer == "BLOCK"
    assert rules.misdeal_after_play == "bets_stay"


def test_a_table_makes_the_choices() -> None:
    rules = profiles.load("lt_uth", override=CHOICES).ultimate
    assert rules is not None
    assert rules.blind_paytable == BLIND
    assert rules.not_qualified == NotQualified("push", "settle", "settle")
    assert (rules.trips_posted, rules.ante_min, rules.ante_max) == ((500,), 500, 10_000)


def test_the_customary_profile() -> None:
    rules = profiles.load("lt_uth_customary").ultimate
    assert rules is not None
    assert rules.blind_paytable == BLIND
    assert rules.not_qualified == NotQualified("push", "settle", "settle")
    assert rules.trips_posted is None
    assert rules.fold_trips == "settled"
    assert rules.cut_offer == "FLAG"
    assert rules.misdeal_after_play == "play_returned"


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ({"blind_paytable": "generous"}, "no such pay table"),
        ({"paytables.lt.odds.three": "4:1"}, "LT-5.1"),
        ({"paytables.uth_standard.odds.flush": "1.5"}, '"500:1" or "3:2"'),
        ({"paytables.uth_standard.odds.poker": "3:2"}, "no such hand"),
        ({"trips.posted": [250_001]}, "LT-3.5"),
        ({"trips.max": 250_001}, "LT-3.4"),
        ({"ante.min": 700, "ante.max": 600}, "above ante.max"),
        ({"fold_trips": "perhaps"}, "fold_trips"),
    ],
)
def test_contradictions_are_refused_with_the_reason(override: dict[str, Any], told: str) -> None:
    with pytest.raises(BadConfiguration) as error:
        profiles.load("lt_uth", override=override)
    assert told in str(error.value)


def test_a_poker_table_has_no_boxes(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text('inherits = "rs_holdem"\nname = "own"\nversion = "1"\nfold_trips = "lost"\n')
    with pytest.raises(BadConfiguration, match="fold_trips"):
        profiles.load("own.toml", tmp_path)
    assert profiles.load("rs_holdem").ultimate is None
