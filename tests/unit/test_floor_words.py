"""Settings, shifts and counts, overrides and reports, and what people cannot say."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controller.core.errors import BadCommand
from controller.core.facts import Finished, HandAttested
from controller.core.inputs import Command
from controller.core.session import Session
from controller.core.setup import Denomination, Limits
from controller.tablecli import add_table_commands, arguments
from tests.felt import RS, Felt, setup, through_json
from tests.floors import CHIPS, House
from tests.marks import broken, kept, shows

STACKS = [1000, 1000, 1000]

STACKS = [1000, 1000, 1000]


def hand(felt: Felt) -> list[str]:
    """HAND; the first rule of each breach that bars it."""
    felt.session.seed(bytes(32))
    felt.do(HandAttested())
    return [r.data["rules"][0] for r in felt.last if r.type == "breach.noted"]


def same_after_restart(felt: Felt) -> None:
    assert Session.restore(felt.setup, through_json(felt.records)).state == felt.session.state


# --- settings, shift, day ------------------------------------------------------------------------------------


@broken("HR-20.1", "HR-20.2")
@shows("HR-20.1")
def test_limits_change_between_hands_by_a_supervisor_and_the_sign_follows() -> None:
    felt = House("hr_thp").ready(STACKS).deal()
    new = {"small_blind": 100, "big_blind": 200}
    felt.say("settings", limits=new)
    assert felt.broken == ["HR-20.1"]
    felt.act("f", "f").done()
    felt.by("s-1", "dealer", "settings", limits=new)
    assert felt.broken == ["HR-20.1"]
    felt.say("settings", limits=new)
    assert [(b["rules"][0], b["reaction"]) for b in felt.breaches] == [("HR-20.2", "FLAG")]
    felt.say("attest", rules=["HR-20.2"], shows={"small_blind": 50, "big_blind": 100})
    assert felt.broken == ["HR-20.2"]
    assert "HR-20.2" not in felt.session.state.attested
    felt.say("attest", rules=["HR-20.2"], shows=new)
    assert "HR-20.2" in felt.session.state.attested
    felt.say("settings", limits=new | {"ante": 10}, displayed=True)
    assert not felt.breaches


def test_a_shift_change_is_counted_and_attestations_of_the_old_one_lapse() -> None:
    felt = House("hr_thp").ready(STACKS)
    felt.say("attest", rules=["HR-3.1", "HR-3.2"])
    felt.say("shift", shift="2")
    assert felt.broken == ["HR-4.1"]
    felt.by("s-3", "chief_inspector", "shift", shift="2", lines=CHIPS, **{"with": "s-1"})
    state = felt.session.state
    assert (state.shift, state.attested) == ("2", set())
    assert [c["reason"] for c in felt.all("tray.counted")] == ["open", "shift"]
    felt.say("seat", seat=4, stack=1000)
    assert felt.broken == ["HR-3.1", "HR-3.2"]
    felt.say("buyin", seat=1, amount=1, done=True)
    same_after_restart(felt)
    assert not hand(felt)


def test_the_gaming_day_goes_on_with_the_shift_and_hands_count_from_one() -> None:
    felt = Felt().open([5000, 5000]).deal().act("f").done()
    day = felt.session.state.day
    felt.at += 86_400 * 1_000_000_000
    felt.say("shift", shift="2")
    state = felt.session.state
    assert state.day > day
    assert state.hands_today == 0
    felt.deal()
    assert felt.all("hand.started")[-1]["number"] == 1
    assert felt.records[-1].day == state.day
    same_after_restart(felt)


# --- closing -------------------------------------------------------------------------------------------------


def test_a_table_closes_with_a_count_that_two_sign() -> None:
    felt = House("hr_thp").ready(STACKS)
    felt.say("close")
    assert felt.session.state.session is not None
    assert [b["what"] for b in felt.breaches] == ["no_closing_count"]
    felt.by("s-1", "dealer", "close", lines=CHIPS)
    assert [b["what"] for b in felt.breaches] == ["one_signature", "no_closing_count"]
    felt.by("s-1", "dealer", "close", lines=CHIPS, **{"with": "s-3"})
    closed = felt.all("table.closed")[0]
    assert closed["closer"] == felt.all("tray.counted")[-1]["count"]
    assert [person["role"] for person in closed["by"]] == ["dealer", "chief_inspector"]
    assert felt.all("tray.counted")[-1]["variance"] == 0
    same_after_restart(felt)


@broken("HR-6.2")
def test_a_float_that_differs_from_the_book_is_looked_at_before_the_table_closes() -> None:
    felt = House("hr_thp_customary").ready(STACKS)
    felt.say("buyin", seat=1, amount=500)
    felt.by("s-1", "dealer", "close", lines=[{"denomination": 1, "count": 4400}], **{"with": "s-3"})
    counted = felt.all("tray.counted")[-1]
    assert (counted["expected"], counted["total"], counted["variance"]) == (4500, 4400, -100)
    assert felt.all("incident.opened")[-1]["code"] == "I-31"
    assert felt.all("tray.differs")[0]["incident"] == felt.all("incident.opened")[-1]["incident"]
    assert not felt.all("table.closed")
    felt.say("rule", incident="I-31", ruling="accept", **{"with": "s-3"})
    assert felt.breaches[0]["what"] == "recount_due"
    for _ in range(2):
        felt.say("count", lines=[{"denomination": 1, "count": 4400}])
        assert felt.all("tray.counted")[-1]["expected"] == 4500, "the book stays until somebody accepts what lies there"
    assert len(felt.all("incident.opened")) == 1
    felt.say("rule", incident="I-31", ruling="accept")
    assert felt.breaches[0]["what"] == "one_signature"
    felt.say("rule", incident="I-31", ruling="accept", **{"with": "s-3"})
    assert len(felt.all("incident.ruled")[0]["by"]) == 2
    assert felt.session.state.floor.tray == 4400
    felt.say("close")
    assert felt.all("table.closed")
    same_after_restart(felt)


def test_a_count_names_known_chips_and_a_second_person_who_is_there() -> None:
    felt = House("hr_thp").prepare()
    for args, field in (
        ({"lines": [{"denomination": 7, "count": 1}]}, "lines.denomination"),
        ({"lines": CHIPS, "with": "s-99"}, "with"),
        ({"lines": CHIPS, "with": "s-01"}, "with"),
        ({}, "lines"),
        ({"lines": CHIPS, "reason": "fun"}, "reason"),
    ):
        with pytest.raises(BadCommand) as error:
            felt.say("count", **args)
        assert error.value.field == field


# --- overrides and reports -----------------------------------------------------------------------------------


@broken("BG-1.3", "CM-23")
@shows("CM-23")
def test_who_may_lets_play_go_on_against_a_block_for_one_hand() -> None:
    felt = House("bg_holdem").ready(STACKS)
    felt.say("logout", staff="s-2")
    assert hand(felt) == ["BG-1.3"]
    felt.by("s-1", "dealer", "override", rules=["BG-1.3"])
    assert felt.broken == ["CM-23"]
    assert hand(felt) == ["BG-1.3"]
    felt.by("s-9", "manager", "override", "the inspector is on the way", rules=["BG-1.3"])
    used = felt.all("override.used")[0]
    assert (used["rules"], used["until"], used["by"]["staff"]) == (["BG-1.3"], "hand", "s-9")
    felt.deal().act("f", "f").done()
    assert hand(felt) == ["BG-1.3"]
    same_after_restart(felt)


def test_without_a_draw_somebody_still_has_to_place_the_button() -> None:
    felt = House("hr_thp").prepare()
    felt.say("open")
    felt.seat_all(STACKS)
    felt.say("override", rules=["HR-10.2", "HR-10.4"], until="session")
    assert [b["what"] for b in felt.breaches] == []
    felt.session.seed(bytes(32))
    felt.do(HandAttested())
    assert [b["what"] for b in felt.breaches] == ["no_button"]
    felt.say("button", seat=2)
    assert not hand(felt)
    assert felt.all("hand.started")[0]["button"] == 2


def test_an_override_needs_a_reason_and_a_rule_that_can_be_set_aside() -> None:
    felt = House("bg_holdem").ready(STACKS)
    with pytest.raises(BadCommand, match="reason"):
        felt.by("s-9", "manager", "override", "", rules=["BG-1.3"])
    with pytest.raises(BadCommand, match="no person can set this aside"):
        felt.by("s-9", "manager", "override", "why not", rules=["BG-5.13"])


@broken("BG-5.14", "BG-4.4")
def test_what_a_person_reports_is_noted_and_a_block_bars_the_next_hand() -> None:
    felt = House("bg_holdem").ready(STACKS)
    felt.say("report", rule="BG-5.14", seat=2)
    assert [(b["rules"], b["reaction"], b["seat"]) for b in felt.breaches] == [(["BG-5.14"], "FLAG", 2)]
    felt.say("report", rule="BG-4.4")
    assert hand(felt) == ["BG-4.4"]
    same_after_restart(felt)
    felt.say("attest", rule="BG-4.4")
    assert not hand(felt)
    with pytest.raises(BadCommand, match="sees by itself"):
        felt.say("report", rule="BG-6.2")
    with pytest.raises(BadCommand, match="this table's text"):
        felt.say("report", rule="HR-11.1")


def test_a_fouled_deck_leaves_the_table() -> None:
    felt = Felt().open([5000, 5000]).deal({1: "AsKs"}).act("c", "k")
    felt.street()
    felt.do(HandAttested())
    state = felt.session.state
    state.floor.deck_out = True
    felt.act("k", "k").street().act("k", "k").street().act("k", "k").show(1, 2)
    felt.do(Finished())
    assert hand(felt) == ["CM-12"]
    felt.say("deck", do="change", new="d2", because="fouled")
    assert not hand(felt)


def test_a_person_says_what_cannot_be_read_and_nothing_changes() -> None:
    felt = House("hr_thp").ready(STACKS)
    before = felt.session.state
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("deck", {"do": "burn"}),
        ("deck", {"do": "verify", "before": [9]}),
        ("deck", {"do": "verify", "missing": ["Xx"]}),
        ("button", {"draw": []}),
        ("button", {"seat": 40}),
        ("attest", {"rules": []}),
        ("attest", {"rule": "HR-3.1", "statement": "Not A Key"}),
        ("attest", {"rules": ["HR-20.2"], "shows": 7}),
        ("seat", {"seat": 4, "checked": "yes"}),
        ("shift", {"shift": "1"}),
        ("change", {"given": CHIPS}),
        ("override", {"rules": ["HR-10.2"], "until": "ever"}),
        ("login", {"staff": "s-8", "role": "king"}),
        ("login", {"staff": "s-8", "role": "dealer", "tables": 0}),
        ("dance", {}),
    ]
    for name, args in wrong:
        records = len(felt.records)
        with pytest.raises(BadCommand):
            felt.say(name, **args)
        assert len(felt.records) == records
    assert felt.session.state == before


# --- the button between and in hands --------------------------------------------------------------------------


@broken("HR-17.1", "CM-18")
@shows("CM-18")
def test_a_button_that_was_not_moved_is_held_before_the_hand() -> None:
    felt = House("hr_thp").ready(STACKS, 3).deal().act("f", "f").done()
    felt.say("button", seat=3, how="lies")
    incident = felt.all("incident.opened")[-1]
    assert (incident["rules"], incident["facts"]) == (["HR-17.1", "CM-18"], {"belongs": 1, "lies": 3})
    felt.say("rule", incident="I-25", ruling="proposed")
    felt.say("button", seat=1, how="lies")
    assert not felt.last
    felt.deal()
    assert felt.all("hand.started")[-1]["button"] == 1


@broken("RS-2.1", "CM-18")
def test_a_wrong_button_is_put_right_before_substantial_action_and_stands_after_it() -> None:
    felt = Felt(setup(profile=RS)).open([5000, 5000, 5000]).deal()
    felt.say("button", seat=1, how="lies")
    assert felt.all("incident.opened")[-1]["holds"] == "hand"
    felt.say("rule", incident="I-25", ruling="proposed")
    felt.act("r300", "c")
    felt.say("button", seat=1, how="lies")
    assert [b["rules"] for b in felt.all("breach.noted")][-1] == ["RS-2.1", "CM-18"]
    felt.act("f").street().act("k", "b500", "f").done()
    same_after_restart(felt)
    felt.deal()
    assert felt.all("hand.started")[-1]["button"] == 2


@broken("BG-6.1")
def test_limits_name_a_mode_that_the_text_allows() -> None:
    felt = House("bg_holdem", Limits(50, 100, structure="pot_limit")).staff()
    felt.say("open", button=1, limits={"small_blind": 50, "big_blind": 100, "structure": "fixed_limit"})
    assert felt.broken == ["BG-6.1"]


@broken("HR-10.5")
def test_a_button_put_elsewhere_than_the_lowest_card_says() -> None:
    felt = House("hr_thp").prepare()
    felt.say("open")
    felt.seat_all([1000, 1000])
    felt.say("deck", do="verify")
    felt.say("button", draw=[{"seat": 1, "card": "7h"}, {"seat": 2, "card": "9c"}], seat=2, collected=52)
    assert felt.all("incident.opened")[0]["rules"] == ["HR-10.5"]


@broken("HR-10.1", "HR-21.2", "BG-2.5", "RS-A4")
def test_one_player_is_not_enough_and_eleven_are_too_many() -> None:
    for name in ("hr_thp", "bg_holdem", "rs_holdem"):
        felt = House(name).ready([1000, 1000])
        felt.say("leave", seat=2)
        assert hand(felt)
    assert hand(House("hr_thp").ready([1000] * 11)) == ["HR-21.2"]


@kept("HR-10.1", "HR-21.1", "HR-21.2", "BG-2.5", "BG-2.6")
def test_two_to_ten_players_and_eleven_bulgarian_ones() -> None:
    for name, count in (("hr_thp", 2), ("hr_thp", 10), ("bg_holdem", 11), ("rs_holdem", 10)):
        felt = House(name).ready([1000] * count)
        assert not hand(felt)
        assert len(felt.all("hand.started")[0]["seats"]) == count


@broken("HR-21.1")
def test_a_place_is_taken_once() -> None:
    felt = House("hr_thp").ready([1000, 1000])
    felt.say("seat", seat=2, stack=1000, checked=True)
    assert felt.broken == ["HR-21.1"]


@kept("HR-6.2", "HR-6.5", "HR-9.2", "HR-9.4")
@shows("HR-9.1", "HR-A4")
def test_chips_come_from_dealer_or_desk_between_hands_and_go_back_to_the_desk() -> None:
    felt = House("hr_thp").ready([1000, 1000]).deal().act("f").done()
    felt.say("leave", seat=1)
    felt.say("seat", seat=1, checked=True)
    felt.say("buyin", seat=1, amount=1000, means="cash")
    felt.by("s-9", "cage", "redeem", amount=950)
    assert not felt.breaches
    assert [c["means"] for c in felt.all("chips.bought")] == ["chips", "chips", "cash"]


@broken("HR-3.1", "HR-3.2", "HR-6.2", "HR-6.5", "HR-11.1", "HR-23.1", "HR-7.2", "HR-A17", "HR-A22")
@shows("HR-7.2", "HR-A17", "HR-A22")
def test_what_no_sensor_sees_is_reported_under_its_own_rule() -> None:
    felt = House("hr_thp").ready([1000, 1000])
    for rule in ("HR-6.2", "HR-6.5", "HR-11.1", "HR-23.1", "HR-7.2", "HR-A17", "HR-A22", "HR-3.1", "HR-3.2"):
        felt.say("report", rule=rule, seat=1)
        assert felt.broken == [rule]
    assert hand(felt) == ["HR-3.1", "HR-3.2"]


@shows("HR-25.1", "HR-4.3")
def test_every_hand_names_its_rules_and_every_table_its_casino() -> None:
    felt = House("hr_thp").ready([1000, 1000]).deal()
    opened, started = felt.all("table.opened")[0], felt.all("hand.started")[0]
    assert opened["profile"]["name"] == "hr_thp"
    assert opened["profile"]["version"] == "2010.1"
    assert started["profile"]["sha256"] == opened["profile"]["sha256"] == felt.setup.profile.sha256
    assert felt.setup.site == "zg1"


@shows("HR-6.4")
def test_values_that_look_alike() -> None:
    for colours, sizes, reaction in ((("red", "red"), (39, 39), "BLOCK"), (("red", "red"), (39, 40), "INFO")):
        felt = House("hr_thp")
        pairs = zip((1, 5), colours, sizes, strict=True)
        chips = tuple(Denomination(f"c{v}", v, colour=colour, diameter=size) for v, colour, size in pairs)
        felt = House.of(replace(felt.setup, chipset=replace(felt.setup.chipset, denominations=chips)))
        felt.say("open")
        alike = [b for b in felt.breaches if b["what"] == "chips_alike"]
        assert [(b["rules"], b["reaction"]) for b in alike] == [(["HR-6.4"], reaction)]


# --- the handbook --------------------------------------------------------------------------------------------


def test_the_commands_of_the_handbook_open_and_close_a_table(root: Path) -> None:
    text = (root / "docs" / "table-day.md").read_text(encoding="utf-8")
    lines = [line.partition("#")[0].split()[1:] for line in text.splitlines() if line.startswith("    feltd ")]
    values = (100, 500, 2500)
    made = House("hr_thp", Limits(500, 1000)).setup
    chips = replace(made.chipset, denominations=tuple(Denomination(f"c{v}", v) for v in values))
    felt = House.of(replace(made, chipset=chips))
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers()

    def add(name: str, help_: str, act: Any) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=help_)
        added.set_defaults(act=act, command=name)
        return added

    add_table_commands(add)
    said = [parser.parse_args(line) for line in lines]
    for asked in said[:-1]:
        by = asked.by or "s-12"
        felt.do(Command(asked.command, arguments(asked), by, felt.session.state.staff.get(by, "")))
        assert not [b for b in felt.breaches if b["reaction"] != "INFO"], asked
    felt.deal().act("f").done()
    felt.do(Command("close", arguments(said[-1]), "s-12", "chief_inspector"))
    assert felt.all("table.closed")[0]["hands"] == 1
