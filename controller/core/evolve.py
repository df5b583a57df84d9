"""The one place where state changes: what each record makes of the table.

Live play and recovery both come through here, so a restored table cannot differ from the one that was lost.
Values come from the record alone, so a record must say all that the state needs to know.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from controller.core.cash.evolve import CASH
from controller.core.cash.state import changes
from controller.core.floor.evolve import FLOOR
from controller.core.records import Record
from controller.core.rules.button import clockwise_from
from controller.core.rules.evolve import HAND
from controller.core.rules.ultimate import evolve as ultimate
from controller.core.setup import Limits
from controller.core.state import Hand, Incident, Pending, Seat, State

Data = dict[str, Any]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def evolve(state: State, record: Record) -> None:
    """Apply one record. Records of types that carry no state of the rules change nothing."""
    kind, data = record.type, record.data
    if "evidence" in data:
        for source in data["evidence"]:
            device, reading = source["device"], int(source["reading"])
            state.seen[device] = max(reading, state.seen.get(device, 0))
    hand = state.hand
    if hand is not None and data.get("hand") == hand.id and "n" in data:
        hand.n = data["n"] + 1
        hand.t_ms = data["t_ms"]
    else:
        hand = None
    boxes = state.table.playing or data.get("game") == "ultimate"
    if kind in TABLE:
        (BOXES if boxes else TABLE)[kind](state, record)
    if boxes:
        ultimate.evolve(state.table, record)
    if kind in FLOOR:
        FLOOR[kind](state, record)
    if kind in CASH:
        CASH[kind](state, record)
    if hand is not None and kind in HAND:
        HAND[kind](hand, data, record.secret or {})


# --- the table -----------------------------------------------------------------------------------------------


LIMITS = ("ante", "ante_kind", "structure", "small_bet", "big_bet", "table_min", "straddle")


def limits_of(data: Data) -> Limits:
    """Limits as they stand in a record."""
    known = {name: data[name] for name in LIMITS if name in data}
    if not data.get("announced", True):
        known["structure"] = None  # the profile's own mode is played; nobody has named it (BG-6.1)
    return Limits(data["small_blind"], data["big_blind"], **known)


def _table_opened(state: State, record: Record) -> None:
    data = record.data
    state.session, state.day, state.shift = record.session, record.day, data["shift"]
    if data["game"] != "ultimate":
        state.limits = limits_of(data["limits"])
    counters = data["counters"]
    state.hands_today, state.openings_today = counters["hands"], counters["openings"]
    state.incidents_today, state.incidents_day = counters["incidents"], record.day
    state.seats, state.button, state.small, state.button_moves = {}, None, None, False
    state.big, state.dead_small = None, False
    state.hands = state.hands_void = 0
    state.staff = {person["staff"]: person["role"] for person in data["staff"]}
    state.repeats, state.silent, state.silences = {}, {}, 0
    state.pending, state.replaces, state.replays = None, None, ()
    state.shuffled, state.counted = False, {}
    carried = data["carried"]
    state.incidents = {i["incident"]: _incident(i) for i in carried["incidents"]}
    state.devices = {device["device"]: device["serial"] for device in carried["devices"]}
    state.lost = {device["device"] for device in carried["devices"] if device["lost"]}
    state.seen = {device["device"]: int(device["reading"]) for device in carried["readings"]}
    state.storage_full = carried["storage_full"]
    tray = carried["tray"]
    state.tray = None if tray is None else tuple((value, count) for value, count in tray)


def _table_closed(state: State, record: Record) -> None:
    state.session = None
    state.seats = {}
    state.button = state.small = state.big = None


def _ledger_filling(state: State, record: Record) -> None:
    state.storage_full = record.data["new_hands_refused"]


def _settings_changed(state: State, record: Record) -> None:
    if "small_blind" in record.data["new"]:  # a new configuration says nothing of the limits that are played
        state.limits = limits_of(record.data["new"])


def _staff_assigned(state: State, record: Record) -> None:
    state.staff[record.data["by"]["staff"]] = record.data["by"]["role"]


def _staff_relieved(state: State, record: Record) -> None:
    state.staff.pop(record.data["by"]["staff"], None)


def _button_placed(state: State, record: Record) -> None:
    state.button, state.button_moves = record.data["seat"], state.hand is not None  # in a hand: the next move counts
    if record.data["how"] != "moved":
        state.small = state.big = None  # the blinds are counted from where it lies now


def _seat_taken(state: State, record: Record) -> None:
    state.seats[record.data["seat"]] = Seat(record.data.get("player"), record.data["stack"])


def _seat_left(state: State, record: Record) -> None:
    hand, seat = state.hand, record.data["seat"]
    if hand is not None and seat in hand.order:
        hand.leaving = (*hand.leaving, seat)  # the chips stay until the hand has ended (HR-A12)
    else:
        state.seats.pop(seat, None)


def _seat_away(state: State, record: Record) -> None:
    state.seats[record.data["seat"]].away = True


def _seat_back(state: State, record: Record) -> None:
    seat = state.seats[record.data["seat"]]
    seat.away, seat.waits = False, record.data["waits"]


def _left_behind(state: State, hand: Hand | None) -> None:
    """The seats that were given up during the hand are free now."""
    for seat in hand.leaving if hand is not None else ():
        state.seats.pop(seat, None)


def _chips_bought(state: State, record: Record) -> None:
    state.seats[record.data["seat"]].stack = record.data["stack_after"]


def _attested(state: State, record: Record) -> None:
    if record.data["statement"] == "shuffle_and_cut":
        state.shuffled = True
        state.counted = {line["seat"]: line["stack"] for line in record.data["stacks"]}


def _breach(state: State, record: Record) -> None:
    rules = record.data["rules"]
    key = rules[0] if rules else record.data["what"]
    state.repeats[key] = record.data["repeat"]


def _incident_opened(state: State, record: Record) -> None:
    if record.stream == "guard":
        state.silences += 1
        state.silent[record.data["incident"]] = _incident(record.data, silent=True)
        return
    if state.session is None and record.day != state.incidents_day:
        state.incidents_today, state.incidents_day = 0, record.day
    state.incidents_today += 1
    state.incidents[record.data["incident"]] = _incident(record.data)


def _incident(data: Data, silent: bool = False) -> Incident:
    return Incident(
        id=data["incident"],
        code=data["code"],
        holds=data["holds"],
        hand=data.get("hand"),
        kind=data["kind"],
        who_may_rule=tuple(data["who_may_rule"]),
        proposed=data["proposed"]["ruling"],
        alternatives=tuple(data["alternatives"]),
        facts=data["facts"],
        silent=silent,
        severity=data.get("severity", "high"),
        since=_nanoseconds(data.get("at", "")),
        due_ms=data.get("due_ms"),
    )


def _nanoseconds(at: str) -> int:
    """Wall time in ns since 1970; 0 where a feltd of before said no time."""
    return (datetime.fromisoformat(at) - EPOCH) // timedelta(microseconds=1) * 1000 if at else 0


def _incident_updated(state: State, record: Record) -> None:
    known = state.silent if record.stream == "guard" else state.incidents
    incident = known[record.data["incident"]]
    incident.facts = {**incident.facts, **record.data["adds"]}
    incident.severity = record.data.get("severity", incident.severity)


def _incident_closed(state: State, record: Record) -> None:
    (state.silent if record.stream == "guard" else state.incidents).pop(record.data["incident"], None)


def _device_up(state: State, record: Record) -> None:
    device, serial = record.data["device"], record.data["serial"] or "-"  # a keypad need not have one
    if state.devices.get(device, serial) not in ("", serial):
        state.seen.pop(device, None)  # another device counts its readings from the start
    state.devices[device] = serial
    state.lost.discard(device)


def _device_lost(state: State, record: Record) -> None:
    device = record.data["device"]
    state.devices.setdefault(device, "")
    state.lost.add(device)
    kind, role = record.data["kind"], record.data["role"]
    play = state.play
    if play is not None and (kind in ("shoe", "keypad") or (kind == "reader" and role != ["tray"])):
        play.degraded = True  # what follows until it is back rests on less evidence (I-33)


def _tray_counted(state: State, record: Record) -> None:
    if record.data.get("number") is None:  # what antennas saw; a count that people signed is kept by the floor
        state.tray = tuple((line["denomination"], line["count"]) for line in record.data["lines"])


def _hand_started(state: State, record: Record) -> None:
    data = record.data
    secret = record.secret or {}
    stacks = {seat["seat"]: seat["stack"] for seat in data["seats"] if seat["dealt_in"]}
    order = clockwise_from(stacks, data["button"])
    limits = limits_of(data["limits"])
    state.hands_today = data["number"]
    state.day = record.day
    state.button, state.button_moves, state.replaces = data["button"], True, None
    state.replays = ()
    state.shuffled, state.counted = False, {}
    state.small, state.big = data["small_blind_place"], data["big_blind_seat"]
    state.dead_small = data["small_blind_seat"] is None
    for line in data["seats"]:
        seat = state.seats[line["seat"]]
        seat.missed = tuple(line.get("missed", ()))
        seat.waits = seat.waits and not line["dealt_in"]
    state.hand = Hand(
        id=data["hand"],
        day=record.day,
        button=data["button"],
        small=data["small_blind_seat"],
        big=data["big_blind_seat"],
        order=order,
        limits=limits,
        start=dict(stacks),
        stack=dict(stacks),
        own_cards=data["own_cards"],
        seed=bytes.fromhex(secret.get("seed", "")),  # the key of a hand that has ended is gone, and so is its seed
        structure=data["structure"],
        unit=data["unit"],
        burns=data["burns"],
        owed=tuple((line["seat"], post["kind"], post["amount"]) for line in data["seats"] for post in line["posts"]),
        n=data["n"] + 1,
        t_ms=data["t_ms"],
        live=order,
        step=limits.big_blind,
    )


def _hand_closed(state: State, record: Record) -> None:
    data = record.data
    for line in data["result"]["seats"]:
        seat = state.seats.get(line["seat"])
        if seat is not None:
            seat.stack = line["stack_after"]
    state.pending = _pending(record)
    state.hands += 1
    _left_behind(state, state.hand)
    state.hand = None


def _pending(record: Record) -> Pending:
    data, result = record.data, record.data["result"]
    return Pending(data["hand"], data["n"] + 1, data["t_ms"], result["revision"], record.day, result)


def _hand_corrected(state: State, record: Record) -> None:
    """Money of a closed hand goes to another place; in the hand under way nobody gets chips into play (HR-9.4)."""
    state.pending = _pending(record)
    hand = state.hand
    for place, change in changes(record.data["moves"]):
        seat = state.seats.get(int(place[5:])) if place.startswith("seat:") else None
        if seat is None:
            continue
        number = int(place[5:])
        if hand is None or number not in hand.order:
            seat.stack = None if seat.stack is None else seat.stack + change
        elif change > 0:
            seat.behind += change
        else:
            have = hand.stack[number]
            hand.stack = {**hand.stack, number: None if have is None else have + change}
            hand.before = None


def _hand_voided(state: State, record: Record) -> None:
    _left_behind(state, state.hand)
    state.hand = None
    state.hands_void += 1
    state.button_moves = False


def _hand_redealt(state: State, record: Record) -> None:
    state.replaces = record.data["old"]
    state.replays = tuple(record.data.get("seats", ()))


def _hand_final(state: State, record: Record) -> None:
    state.pending = None


TABLE: dict[str, Callable[[State, Record], None]] = {
    "table.opened": _table_opened,
    "table.closed": _table_closed,
    "ledger.filling": _ledger_filling,
    "settings.changed": _settings_changed,
    "staff.assigned": _staff_assigned,
    "staff.relieved": _staff_relieved,
    "button.placed": _button_placed,
    "seat.taken": _seat_taken,
    "seat.left": _seat_left,
    "seat.away": _seat_away,
    "seat.back": _seat_back,
    "chips.bought": _chips_bought,
    "attestation.recorded": _attested,
    "breach.noted": _breach,
    "incident.opened": _incident_opened,
    "incident.updated": _incident_updated,
    "incident.closed": _incident_closed,
    "device.up": _device_up,
    "device.lost": _device_lost,
    "tray.counted": _tray_counted,
    "hand.started": _hand_started,
    "hand.closed": _hand_closed,
    "hand.corrected": _hand_corrected,
    "hand.voided": _hand_voided,
    "hand.redealt": _hand_redealt,
    "hand.final": _hand_final,
}


# --- a round of boxes against the house ------------------------------------------------------------------------


def _round_started(state: State, record: Record) -> None:
    ultimate.started(state.table, record)
    state.hands_today, state.day, state.replaces = record.data["number"], record.day, None


def _round_closed(state: State, record: Record) -> None:
    state.pending = _pending(record)
    state.hands += 1
    ultimate.ended(state.table, record)


def _round_voided(state: State, record: Record) -> None:
    state.hands_void += 1
    ultimate.ended(state.table, record)


BOXES = TABLE | {"hand.started": _round_started, "hand.closed": _round_closed, "hand.voided": _round_voided}
"""What a record changes at an Ultimate table, beside what its own rules keep."""
