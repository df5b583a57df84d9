"""Profiles as data: what ships, what contradicts itself, and where each value came from."""

import json
from pathlib import Path

import pytest

from controller import cli
from controller.configuration import profiles
from controller.explaining import explained, lines
from controller.faults import BadConfiguration

POKER = ("hr_thp", "hr_thp_customary", "bg_holdem", "bg_holdem_customary", "rs_holdem", "rs_omaha")


@pytest.mark.parametrize("name", POKER)
def test_every_shipped_profile_loads_as_a_draft(name: str) -> None:
    profile = profiles.load(name)
    assert (profile.name, profile.status) == (name, "draft")
    assert len(profile.sha256) == 64


def test_the_literal_and_the_customary_readings_of_9_1() -> None:
    hr, hr_c = profiles.load("hr_thp"), profiles.load("hr_thp_customary")
    bg, bg_c = profiles.load("bg_holdem"), profiles.load("bg_holdem_customary")
    assert (hr.raise_cap_counts, hr_c.raise_cap_counts) == ("every_increase", "full_raises")  # HR-A1
    assert (hr.buy_in_max_bb, hr_c.buy_in_max_bb) == (10, None)  # HR-A2
    assert (hr.heads_up_small_blind, hr_c.heads_up_small_blind) == ("left_of_button", "button")  # HR-A5
    assert (bg.blinds_reraise, bg_c.blinds_reraise) == (False, True)  # BG-A3
    assert (bg.open_late_rounds, bg_c.open_late_rounds) == ("duty", "minimum")  # BG-A4
    assert (bg.check_raise, bg_c.check_raise) == (False, True)  # BG-A14
    assert (bg.pot_limit_rule, bg_c.pot_limit_rule) == ("amount_in", "raise_by_postcall_pot")  # BG-A2
    assert bg.structures == ("pot_limit", "no_limit")  # BG-6.1
    assert bg.players_over == "seat"  # BG-2.6
    assert bg.may_rule == ("inspector", "manager")  # 9.5
    omaha = profiles.load("rs_omaha")
    assert (omaha.game, omaha.own_cards, omaha.structure, omaha.players_max) == ("omaha", 4, "pot_limit", 9)


@pytest.mark.parametrize(
    ("name", "override", "key", "remedy"),
    [
        ("bg_holdem", {"structures": ["fixed_limit"], "structure": "fixed_limit"}, "structures", "BG-6.1"),
        ("bg_holdem", {"structure": "fixed_limit"}, "structure", "BG-6.1"),
        ("bg_holdem", {"raise_cap": 3}, "raise_cap", "BG-5.12"),
        ("bg_holdem", {"require_cut": False}, "require_cut", "BG-4.4"),
        ("bg_holdem", {"show_all": False}, "show_all", "BG-5.27"),
        ("bg_holdem", {"min_raise": "last_full_increment"}, "min_raise", "BG-A2"),
        ("bg_holdem", {"rake.rate": "5%"}, "rake.rate", "BG-2.3"),
        ("hr_thp", {"raise_cap": 4}, "raise_cap", "HR-11.8"),
        ("hr_thp", {"show_all": False}, "show_all", "HR-15.1"),
        ("hr_thp", {"button_rule": "moving"}, "button_rule", "HR-17.1"),
        ("hr_thp", {"players_max": 11}, "players_max", "at most 10"),
        ("hr_thp", {"game": "omaha", "own_cards": 4}, "game", "Texas Hold'em only"),
        ("rs_holdem", {"own_cards": 4}, "own_cards", "2 own cards"),
        ("rs_omaha", {"own_cards": 2}, "own_cards", "4 own cards"),
        ("rs_holdem", {"dead_small_blind": True}, "dead_small_blind", "dead button"),
        ("rs_holdem", {"min_raise": "any_greater"}, "min_raise", "fixed limit"),
        ("rs_holdem", {"status": "approved"}, "status", "[[approvals]]"),
        ("rs_holdem", {"raise_capp": 3}, "raise_capp", 'did you mean "raise_cap"?'),
        ("rs_holdem", {"rake.rounding_mode": "sideways"}, "rake.rounding_mode", "down"),
    ],
)
def test_a_contradiction_names_key_value_and_remedy(
    name: str, override: dict[str, object], key: str, remedy: str
) -> None:
    with pytest.raises(BadConfiguration) as caught:
        profiles.load(name, override=override, by="table.toml")
    fault = next(fault for fault in caught.value.faults if key in fault.key and remedy in fault.remedy)
    assert fault.file


def test_a_contradiction_is_laid_to_the_file_that_made_it(tmp_path: Path) -> None:
    house = tmp_path / "house.toml"
    house.write_text('inherits = "hr_thp"\nname = "house"\nversion = "1"\nraise_cap = 4\n', encoding="utf-8")
    with pytest.raises(BadConfiguration) as caught:
        profiles.load("house.toml", tmp_path)
    (fault,) = caught.value.faults
    assert (fault.file, fault.key, fault.value) == (str(house), "raise_cap", "4")
    assert str(fault) == f"{house}: raise_cap = 4: HR-11.8: at most three raises in each round: set 3"


def test_each_value_is_told_with_its_file_and_rules(tmp_path: Path) -> None:
    house = tmp_path / "house.toml"
    house.write_text(
        'inherits = "hr_thp_customary"\nname = "house"\nversion = "1"\n[rake]\nrate = "5%"\ncap = 1000\n', "utf-8"
    )
    told = explained(str(house))
    rows = {row["key"]: row for row in told["values"]}
    assert rows["raise_cap"] == {"key": "raise_cap", "value": 3, "from": "hr_thp.toml", "rules": ["HR-11.8"]}
    assert rows["raise_cap_counts"]["from"] == "hr_thp_customary.toml"
    assert rows["rake.rate"] | {"value": "1/20", "from": "house.toml"} == rows["rake.rate"]
    assert rows["check_raise"]["from"] == "default"
    assert told["profile"]["sha256"] == profiles.load("house.toml", tmp_path).sha256
    assert any(line.startswith("approved: rules by Ministarstvo") for line in lines(told))


def test_feltd_rules_explains_a_profile(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rules", "--profile", "bg_holdem", "--explain", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["profile"] | {"name": "bg_holdem", "status": "draft"} == told["profile"]
    assert cli.main(["rules", "--profile", "bg_holdem", "--explain"]) == 0
    assert "open_late_rounds" in capsys.readouterr().out
    assert cli.main(["rules", "--profile", "bg_holdm", "--explain"]) == 2
    assert "did you mean" in capsys.readouterr().err
