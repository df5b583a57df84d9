"""Slips, boxes, meters, orphans and adjustments: each event of the money, and each refusal with its remedy."""

from dataclasses import replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from controller.contract.catalogue import DATA
from controller.core.errors import BadCommand
from controller.core.facts import TrayCounted
from controller.core.inputs import Command, Input, Notice, Tick
from controller.core.rules.profile import Rake
from controller.core.session import Session
from controller.core.setup import Setup
from controller.core.table import Table
from tests.boxes import Boxes
from tests.felt import SECOND, WALL, Felt, setup, through_json
from tests.floors import CHIPS, House

STACKS = [1000, 1000, 1000]
HOUR = 3600 * SECOND


def a_table(**change: Any) -> House:
    """A house that counts its tray: 5,000 chips of one, three players with 1,000 each that they brought."""
    return of(House("hr_thp_customary", **change).setup)


def of(made: Setup) -> House:
    return House.of(replace(made, software={"version": "0", "sha256": "0" * 64})).ready(STACKS)


def lines(**counts: int) -> list[dict[str, int]]:
    return [{"denomination": int(value[1:]), "count": count} for value, count in counts.items()]


def fits(felt: Felt | Boxes) -> None:
    """All records fit the contract (what they refer to gets its id from the ledger), and recovery is replay."""
    for record in felt.records:
        if record.type in DATA:
            data = dict(record.data)
            if isinstance(data.get("refers"), dict):
                data["refers"] = "id"
            elif "refers" in data and record.type == "incident.closed":
                data["refers"] = ["id" for _ in data["refers"]]
            Draft202012Validator(DATA[record.type]).validate(data)
    assert Session.restore(felt.setup, through_json(felt.records)).state == felt.session.state


def tray(felt: House) -> int | None:
    return felt.session.state.floor.tray


# --- slips ---------------------------------------------------------------------------------------------------


def test_a_fill_is_requested_signed_by_two_and_moves_the_float() -> None:
    felt = a_table()
    felt.by("s-2", "inspector", "fill", lines=lines(d1=500))
    asked = felt.all("slip.requested")[0]
    assert (asked["number"], asked["kind"], asked["total"], asked["signatures"]) == (1, "fill", 500, [])
    assert asked["requester"] == {"staff": "s-2", "role": "inspector"}
    assert felt.last[-1].subject == asked["slip"]
    assert tray(felt) == 5000
    felt.by("s-1", "dealer", "slip", do="complete", **{"with": "s-3"})
    done = felt.all("slip.completed")[0]
    assert [person["role"] for person in done["signatures"]] == ["dealer", "chief_inspector"]
    assert (done["slip"], done["number"], done["total"]) == (asked["slip"], 1, 500)
    assert tray(felt) == 5500
    fits(felt)


def test_a_credit_goes_back_and_a_cancelled_slip_keeps_its_number() -> None:
    felt = a_table()
    felt.say("credit", lines=lines(d1=700))
    felt.say("slip", "manager", "not needed", do="cancel")
    assert felt.all("slip.cancelled")[0]["reason"] == "not needed"
    felt.say("credit", lines=lines(d1=600))
    felt.by("s-3", "chief_inspector", "slip", do="complete", slip="2", **{"with": "s-1"})
    assert [one["number"] for one in felt.all("slip.requested")] == [1, 2]
    assert tray(felt) == 4400
    assert not felt.session.state.cash.open
    fits(felt)


def test_who_may_ask_for_chips_and_sign_for_them() -> None:
    felt = a_table()
    felt.by("s-1", "dealer", "fill", lines=lines(d1=5))
    assert felt.breaches[0]["what"] == "slip_by"
    felt.say("fill", lines=lines(d1=5))
    felt.by("s-3", "chief_inspector", "slip", do="complete")
    assert felt.breaches[0]["what"] == "slip_signatures", "one signature is not enough"
    felt.say("login", staff="s-8", role="technician")
    felt.by("s-3", "chief_inspector", "slip", do="complete", **{"with": "s-8"})
    assert felt.breaches[0]["what"] == "slip_signatures", "a technician handles no chips"
    felt.say("login", staff="s-9", role="cage")
    felt.by("s-9", "cage", "slip", do="complete", **{"with": "s-1"})
    assert felt.breaches[0]["what"] == "slip_signatures", "one of the two watches over the table"
    felt.by("s-9", "cage", "slip", do="complete", **{"with": "s-2"})
    assert felt.all("slip.completed")
    fits(felt)


@pytest.mark.parametrize(
    ("command", "args", "field", "remedy"),
    [
        ("fill", {}, "lines", "how many chips of each denomination"),
        ("fill", {"lines": lines(d1=0)}, "lines", "how many chips of each denomination"),
        ("fill", {"lines": lines(d7=1)}, "lines.denomination", "name each once: 1"),
        ("credit", {"lines": lines(d1=6000)}, "lines", "the tray has 5000 by the book"),
        ("slip", {"do": "complete"}, "slip", "there is none"),
        ("slip", {"do": "sign"}, "do", "complete, cancel"),
        ("collect", {"what": "tray"}, "what", "drop, rake, tips"),
        ("collect", {"what": "drop", "counted": -1}, "counted", "at least 0"),
        ("orphan", {"amount": 0, "place": "bet:3"}, "amount", "at least 1"),
        ("orphan", {"amount": 5, "place": "under the table"}, "place", "bet:3"),
        ("orphan", {"amount": 5, "place": "nowhere:9"}, "place", "the seats are 1 to 11"),
        ("orphan", {"amount": 5, "place": "bet:12"}, "place", "the seats are 1 to 11"),
        ("orphan", {"amount": 5, "place": "box:2:trips"}, "place", "name a place of this table"),
        ("adjust", {"hand": "h", "amount": 5, "from": "seat:1", "to": "seat:2"}, "hand", "none is yet"),
        ("adjust", {"hand": "h", "amount": 5, "from": "seat:9", "to": "tray"}, "from", "seat:1, seat:2, seat:3, tray"),
        ("adjust", {"hand": "h", "amount": 5, "from": "box:1", "to": "tray"}, "from", "tray, drop, rake, tips"),
    ],
)
def test_what_cannot_be_read_is_named_and_changes_nothing(
    command: str, args: dict[str, Any], field: str, remedy: str
) -> None:
    felt = a_table()
    before = len(felt.records)
    with pytest.raises(BadCommand) as caught:
        felt.say(command, **args)
    assert caught.value.field == field
    assert remedy in caught.value.remedy
    assert len(felt.records) == before


def test_a_slip_is_cancelled_with_a_reason_and_bars_the_closing_until_then() -> None:
    felt = a_table()
    felt.say("fill", lines=lines(d1=5))
    felt.by("s-1", "dealer", "close", lines=CHIPS, **{"with": "s-3"})
    assert felt.breaches[0]["what"] == "slip_open"
    with pytest.raises(BadCommand, match="reason"):
        felt.do(Command("slip", {"do": "cancel"}, "s-3", "chief_inspector", ""))
    felt.say("slip", do="cancel")
    felt.by("s-1", "dealer", "close", lines=CHIPS, **{"with": "s-3"})
    assert felt.all("table.closed")
    fits(felt)


def test_numbers_of_slips_go_on_over_sessions_and_restarts() -> None:
    felt = a_table()
    felt.say("fill", lines=lines(d1=5))
    felt.say("slip", do="cancel")
    felt.by("s-1", "dealer", "close", lines=CHIPS, **{"with": "s-3"})
    felt.session = Session.restore(felt.setup, through_json(felt.records))
    felt.ready(STACKS)
    opened = max(i for i, record in enumerate(felt.records) if record.type == "table.opened")
    felt.session = Session.restore(felt.setup, through_json(felt.records[opened:]))  # all that a ledger reads again
    felt.say("fill", lines=lines(d1=5))
    assert [one["number"] for one in felt.all("slip.requested")] == [1, 2]


# --- the tray at slip close (I-31) ---------------------------------------------------------------------------


def seen(felt: House, *counts: tuple[int, int]) -> None:
    felt.do(TrayCounted(counts))


def filled(felt: House, after: int) -> None:
    """A fill of 500 chips that an antenna sees as ``after`` chips."""
    seen(felt, (1, 5000))
    felt.say("fill", lines=lines(d1=500))
    seen(felt, (1, after))
    felt.by("s-1", "dealer", "slip", do="complete", **{"with": "s-3"})


def test_a_tray_that_is_right_at_slip_close_is_on_record() -> None:
    felt = a_table()
    filled(felt, 5500)
    counted = felt.all("tray.counted")[-1]
    assert (counted["reason"], counted["method"], counted["variance"]) == ("fill", "rfid", 0)
    assert not felt.all("incident.opened")
    fits(felt)


def test_i31_a_tray_that_differs_at_slip_close_holds_new_fills_until_it_is_counted_right() -> None:
    felt = a_table()
    filled(felt, 5480)
    assert felt.all("tray.differs")[0]["lines"] == [{"denomination": 1, "expected": 5500, "seen": 5480}]
    assert felt.all("incident.opened")[0]["code"] == "I-31"
    felt.say("fill", lines=lines(d1=20))
    assert felt.breaches[0]["what"] == "fills_held"
    felt.say("count", lines=lines(d1=5480))
    assert felt.all("incident.updated")[0]["adds"]["recounts"] == 1
    seen(felt, (1, 5500))
    felt.say("count")
    assert felt.all("incident.closed")[0]["outcome"] == "resumed"
    felt.say("fill", lines=lines(d1=20))
    assert len(felt.all("slip.requested")) == 2
    fits(felt)


def test_i31_is_accepted_after_two_recounts_with_two_signatures_only() -> None:
    felt = a_table()
    filled(felt, 5480)
    with pytest.raises(BadCommand, match="count the tray again"):
        felt.say("rule", incident="I-31")
    felt.say("count", lines=lines(d1=5480))
    felt.say("rule", incident="I-31", ruling="accept", **{"with": "s-3"})
    assert felt.breaches[0]["what"] == "recount_due"
    felt.say("count", lines=lines(d1=5480))
    felt.say("rule", incident="I-31", ruling="accept")
    assert felt.breaches[0]["what"] == "one_signature"
    assert tray(felt) == 5500
    felt.say("rule", incident="I-31", ruling="accept", **{"with": "s-3"})
    assert tray(felt) == 5480
    assert felt.all("incident.ruled")[0]["signatures"] == 2
    fits(felt)


def test_a_sale_between_request_and_close_is_part_of_what_is_expected() -> None:
    felt = a_table()
    seen(felt, (1, 5000))
    felt.say("fill", lines=lines(d1=500))
    felt.say("buyin", seat=1, amount=200)
    seen(felt, (1, 5300))
    felt.by("s-1", "dealer", "slip", do="complete", **{"with": "s-3"})
    assert felt.all("tray.counted")[-1]["variance"] == 0
    assert not felt.all("incident.opened")
    fits(felt)


# --- boxes ---------------------------------------------------------------------------------------------------


def test_cash_goes_into_the_drop_and_the_box_is_taken_away_and_counted() -> None:
    felt = a_table()
    felt.say("buyin", seat=1, amount=500)
    felt.say("buyin", seat=2, amount=300, means="chips")
    felt.say("redeem", "manager", "test", seat=1, amount=100, place="table")
    felt.say("collect", what="drop", box="B12")
    assert (
        felt.all("drop.collected")[-1] | {"box": "B12", "computed": 400, "counted": None, "emptied": True}
        == felt.all("drop.collected")[-1]
    )
    with pytest.raises(BadCommand, match="not counted yet"):
        felt.say("collect", what="drop", box="B12")
    felt.say("buyin", seat=2, amount=50)
    felt.say("collect", what="drop", box="B12", counted=390)
    told = felt.all("drop.collected")[-1]
    assert (told["computed"], told["counted"], told["emptied"]) == (400, 390, False)
    assert felt.breaches[0]["what"] == "box_differs"
    felt.say("collect", what="drop", counted=50)
    assert (felt.all("drop.collected")[-1]["computed"], felt.breaches) == (50, [])
    fits(felt)


def raked() -> House:
    """A hand of 600 with a rake of 10 per cent, and 40 tipped by its winner."""
    made = House("hr_thp_customary").setup
    profile = replace(made.profile, rake=Rake(rate_num=1, rate_den=10))
    felt = of(replace(made, profile=profile))
    felt.deal({1: "AsAd", 2: "2c7d", 3: "3c8d"}, board="AhKs9c4d2h")
    felt.act("r300", "c", "f").street().act("k", "k").street().act("k", "k").street().act("k", "k").show(3, 1)
    return felt


def test_rake_and_tips_go_into_boxes_of_their_own() -> None:
    felt = raked()
    felt.say("tip", seat=1, amount=40)
    felt.done()
    rake = felt.all("hand.closed")[0]["result"]["rake"]
    assert rake == 70
    felt.say("collect", what="rake", counted=70)
    felt.say("collect", what="tips", counted=40)
    assert (felt.all("rake.collected")[0]["computed"], felt.all("tips.collected")[0]["computed"]) == (70, 40)
    assert set(felt.session.state.cash.boxes.values()) == {0}
    fits(felt)


def test_a_tip_between_hands_comes_out_of_the_stack() -> None:
    felt = a_table()
    felt.say("tip", seat=2, amount=30)
    assert felt.session.state.seats[2].stack == 970
    assert felt.session.state.cash.boxes["tips"] == 30
    felt.say("tip", seat=2, amount=971)
    assert felt.all("action.refused")[-1]["why"] == "the seat has 970"
    fits(felt)


# --- meters --------------------------------------------------------------------------------------------------


def test_meters_are_the_sums_of_the_records() -> None:
    felt = raked()
    felt.say("tip", seat=1, amount=40)
    felt.done()
    felt.say("buyin", seat=2, amount=500)
    felt.say("fill", lines=lines(d1=600))
    felt.by("s-1", "dealer", "slip", do="complete", **{"with": "s-3"})
    felt.say("orphan", amount=5, place="floor")
    felt.say("meters")
    read = felt.all("meter.read")[-1]
    assert (read["opener"], read["closer"], read["drop"], read["fills"], read["credits"]) == (5000, None, 500, 600, 0)
    assert (read["rake"], read["tips"], read["orphans"], read["hands"], read["hands_void"]) == (70, 40, 5, 1, 0)
    assert read["bets_by_spot"] == {"seat:1": 300, "seat:2": 100, "seat:3": 300}
    assert sum(read["bets_by_spot"].values()) == sum(read["wins_by_spot"].values()) + read["rake"] + read["tips"]
    assert read["since"] == felt.all("table.opened")[0]["at"]
    felt.by("s-1", "dealer", "close", lines=lines(d1=5100), **{"with": "s-3"})
    last = felt.all("meter.read")[-1]
    assert last["reason"] == "close"
    assert last["drop"] + last["closer"] + last["credits"] - last["opener"] - last["fills"] == 0, "poker wins its rake"
    fits(felt)


def test_a_shift_begins_with_what_the_one_before_ended_with() -> None:
    felt = a_table()
    felt.say("buyin", seat=1, amount=500)
    felt.by("s-2", "inspector", "shift", shift="2", lines=lines(d1=4500), **{"with": "s-1"})
    ended = felt.all("meter.read")[-1]
    assert (ended["reason"], ended["shift"], ended["drop"], ended["closer"]) == ("shift", "1", 500, 4500)
    felt.say("meters")
    began = felt.all("meter.read")[-1]
    assert (began["shift"], began["drop"], began["opener"], began["closer"]) == ("2", 0, 4500, None)
    assert began["since"] > ended["since"]
    fits(felt)


def test_a_void_hand_takes_no_rake() -> None:
    felt = raked()
    felt.call_misdeal()
    felt.say("rule", incident="I-2", ruling="void")
    felt.say("meters")
    read = felt.all("meter.read")[-1]
    assert (read["rake"], read["hands"], read["hands_void"], read["bets_by_spot"]) == (0, 0, 1, {})
    fits(felt)


def test_bets_and_wins_of_a_round_of_boxes_by_spot() -> None:
    felt = Boxes().open([1, 2])
    for box in (1, 2):
        for spot in ("ante", "blind", "trips"):
            felt.lay(box, spot, 500 if spot == "trips" else 1000, "keyed")
    felt.deal().act("1p", "2k").board(3).act("2k").board(2).act("2p").show().show(1, 2).done()
    closed = felt.all("hand.closed")[-1]["result"]
    felt.say("meters")
    read = felt.all("meter.read")[-1]
    staked, back = sum(read["bets_by_spot"].values()), sum(read["wins_by_spot"].values())
    assert set(read["bets_by_spot"]) >= {"box:1:ante", "box:1:blind", "box:2:ante", "box:2:blind"}
    assert staked - back == closed["house_net"]
    assert Session.restore(felt.setup, through_json(felt.records)).state == felt.session.state


class Clock:
    """A whole table whose hours pass."""

    def __init__(self) -> None:
        self.felt = Felt()
        self.table = Table(self.felt.setup)
        self.no = self.at = 0
        self.records: list[Any] = []

    def feed(self, what: Any, after: int = SECOND, wall: int | None = None) -> list[str]:
        self.no, self.at = self.no + 1, self.at + after
        made = self.table.feed(Input(self.no, self.at, WALL + self.at if wall is None else wall, what))
        self.records += made
        return [record.type for record in made]


def test_the_meters_are_read_when_an_hour_of_the_wall_clock_begins() -> None:
    clock = Clock()
    assert clock.table.deadline() is None
    clock.feed(Command("open", {"button": 1}, "s-1", "manager", "x"))
    due = clock.table.deadline()
    assert due is not None
    assert (WALL + due) % HOUR == 0
    assert clock.feed(Tick(), due - clock.at - 1) == []
    assert clock.feed(Tick(), 1) == ["meter.read"]
    assert clock.feed(Tick()) == []
    assert clock.records[-1].data["reason"] == "hour"
    assert clock.table.deadline() == due + HOUR


def test_a_restart_leaves_no_hour_out_and_reads_none_twice() -> None:
    clock = Clock()
    clock.feed(Command("open", {"button": 1}, "s-1", "manager", "x"))
    clock.feed(Tick(), HOUR)
    clock.table = Table.restore(clock.table.setup, through_json(clock.records))
    clock.feed(Notice("recovery.completed", {"gap_ms": 1, "differences": []}))
    assert clock.feed(Tick()) == []
    assert clock.feed(Tick(), 3 * HOUR) == ["meter.read"]
    assert [record.type for record in clock.records].count("meter.read") == 2
    assert clock.feed(Tick(), SECOND, WALL) == [], "a clock that was set back"
    assert clock.feed(Tick(), HOUR) == ["meter.read"]


# --- found, and put right ------------------------------------------------------------------------------------


def final() -> House:
    """Hand 1 is final: a second one has begun and ended."""
    felt = a_table()
    for _ in range(2):
        felt.deal().act("r200", "r500", "f", "f").done()
    assert [one["hand"] for one in felt.all("hand.final")] == [felt.all("hand.started")[0]["hand"]]
    return felt


def test_an_adjustment_is_signed_by_two_and_moves_the_money() -> None:
    felt = final()
    hand = felt.all("hand.final")[0]["hand"]
    before = felt.session.state.seats[1].stack, felt.session.state.seats[2].stack
    move = {"hand": hand, "amount": 100, "from": "seat:1", "to": "seat:2"}
    felt.say("adjust", **move)
    assert felt.breaches[0]["what"] == "adjustment_by"
    felt.by("s-1", "dealer", "adjust", **move, **{"with": "s-2"})
    assert felt.breaches[0]["what"] == "adjustment_by", "nobody who may rule has signed"
    felt.by("s-3", "chief_inspector", "adjust", "pushed to the wrong seat", **move, **{"with": "s-1"})
    told = felt.all("adjustment.recorded")[0]
    assert (told["reason"], told["refers"]) == ("pushed to the wrong seat", {"type": "hand.final"})
    assert len(told["signatures"]) == 2
    stacks = felt.session.state.seats[1].stack, felt.session.state.seats[2].stack
    assert (before[0], before[1]) == ((stacks[0] or 0) + 100, (stacks[1] or 0) - 100)
    felt.by("s-3", "chief_inspector", "adjust", **(move | {"from": "tray", "to": "seat:1"}), **{"with": "s-1"})
    assert tray(felt) == 4900
    with pytest.raises(BadCommand, match="seat:1 has"):
        felt.say("adjust", **(move | {"amount": 9999}), **{"with": "s-1"})
    fits(felt)


def test_nothing_is_adjusted_in_a_hand_or_for_a_hand_that_is_not_final() -> None:
    felt = final()
    first, second = (one["hand"] for one in felt.all("hand.started"))
    move = {"amount": 100, "from": "seat:1", "to": "seat:2", "with": "s-1"}
    with pytest.raises(BadCommand, match=first):
        felt.say("adjust", hand=second, **move)
    felt.deal()
    felt.by("s-3", "chief_inspector", "adjust", hand=first, **move)
    assert felt.breaches[0]["what"] == "adjusted_in_hand"


def test_a_session_that_was_opened_by_an_older_feltd_gets_meters() -> None:
    felt = a_table()
    opened = next(record for record in felt.records if record.type == "table.opened")
    del opened.data["at"], opened.data["carried"]["cash"]
    felt.session = Session.restore(felt.setup, through_json(felt.records))
    felt.say("meters")
    felt.say("meters")
    first, second = felt.all("meter.read")
    assert first["since"] == first["at"] == second["since"] < second["at"]
    fits(felt)


def test_who_was_not_in_the_hand_or_sat_down_since_is_not_adjusted() -> None:
    felt = House.of(a_table().setup).ready([1000] * 4)
    felt.say("away", seat=4)
    for _ in range(2):
        felt.deal().act("r200", "r500", "f", "f").done()
    hand = felt.all("hand.final")[0]["hand"]
    felt.say("leave", seat=1)
    felt.say("seat", seat=1, stack=1000, player="ann2", checked=True)
    before = felt.session.state.seats[1].stack
    for stranger in ("seat:1", "seat:4"):
        for move in ({"from": stranger, "to": "seat:2"}, {"from": "seat:2", "to": stranger}):
            with pytest.raises(BadCommand, match=f"{stranger}.*not in that hand.*cage"):
                felt.by("s-3", "chief_inspector", "adjust", "why", hand=hand, amount=5, **move, **{"with": "s-1"})
    felt.by("s-3", "chief_inspector", "adjust", hand=hand, amount=5, **{"from": "tray", "to": "seat:2", "with": "s-1"})
    assert felt.all("adjustment.recorded")
    assert felt.session.state.seats[1].stack == before
    fits(felt)


def test_who_left_in_the_hand_is_not_adjusted_either() -> None:
    felt = a_table()
    felt.deal().act("r200", "r500")
    felt.say("leave", seat=3)
    felt.act("f").done()
    assert 3 not in felt.session.state.seats
    felt.say("seat", seat=3, stack=1000, player="ann2", checked=True)
    felt.deal().act("r200", "r500", "f").done()
    hand = felt.all("hand.final")[0]["hand"]
    with pytest.raises(BadCommand, match="not in that hand"):
        felt.say("adjust", hand=hand, amount=5, **{"from": "seat:3", "to": "seat:2", "with": "s-1"})


@pytest.mark.parametrize(
    ("name", "args"),
    [("orphan", {"place": "floor"}), ("adjust", {"hand": "h", "from": "seat:1", "to": "seat:2"})],
)
def test_found_and_adjusted_amounts_are_payable_in_chips(name: str, args: dict[str, Any]) -> None:
    felt = Felt(setup(unit=100)).open([10_000, 10_000])
    with pytest.raises(BadCommand, match="multiple of the smallest chip, 100"):
        felt.say(name, amount=150, **args)


def of_before(felt: House, hand: str, **move: Any) -> None:
    felt.by("s-3", "chief_inspector", "adjust", "the cage found it", hand=hand, **move, **{"with": "s-1"})


def test_a_hand_of_a_session_that_has_ended_is_adjusted_between_tray_and_boxes_open_or_closed() -> None:
    felt = raked().done()
    hand = felt.all("hand.closed")[0]["hand"]
    felt.by("s-1", "dealer", "close", lines=lines(d1=5000), **{"with": "s-3"})
    assert felt.all("table.closed")
    rake = felt.session.state.cash.boxes["rake"]
    of_before(felt, hand, amount=20, **{"from": "rake", "to": "tips"})
    assert felt.session.state.cash.boxes["rake"] == rake - 20
    fits(felt)
    felt.ready(STACKS)
    boxes = dict(felt.session.state.cash.boxes)
    assert (boxes["rake"], boxes["tips"]) == (rake - 20, 20)
    of_before(felt, hand, amount=5, **{"from": "tips", "to": "tray"})
    assert felt.session.state.cash.boxes["tips"] == 15
    with pytest.raises(BadCommand, match="cage"):
        of_before(felt, hand, amount=5, **{"from": "seat:1", "to": "tray"})
    with pytest.raises(BadCommand, match="name a hand of this table"):
        of_before(felt, "t99-20261130-0001", amount=5, **{"from": "tips", "to": "tray"})
    fits(felt)


def test_a_slip_says_who_asked_for_it_to_its_end() -> None:
    felt = a_table()
    felt.by("s-2", "inspector", "fill", lines=lines(d1=5))
    felt.by("s-1", "dealer", "slip", do="complete", **{"with": "s-3"})
    felt.by("s-3", "chief_inspector", "credit", lines=lines(d1=5))
    felt.by("s-2", "inspector", "slip", "a mistake", do="cancel")
    assert felt.all("slip.completed")[0]["requester"] == {"staff": "s-2", "role": "inspector"}
    assert felt.all("slip.cancelled")[0]["requester"] == {"staff": "s-3", "role": "chief_inspector"}
    fits(felt)


def test_settings_say_with_which_hand_they_begin() -> None:
    felt = a_table()
    felt.say("settings", limits={"small_blind": 2, "big_blind": 4}, displayed=True)
    felt.deal()
    assert felt.all("settings.changed")[0]["from_hand"] == felt.all("hand.started")[0]["hand"]
    felt.act("f", "f").done()
    felt.say("settings", limits={"small_blind": 5, "big_blind": 10}, displayed=True)
    felt.deal()
    assert felt.all("settings.changed")[1]["from_hand"] == felt.all("hand.started")[1]["hand"]
    fits(felt)
