"""What each record makes of the money. Called from ``controller.core.evolve`` alone, after its own changes."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from controller.core.cash.state import BOXES, MOST_FINALS, Cash, Meters, Slip, changes
from controller.core.records import Record

if TYPE_CHECKING:
    from controller.core.state import State

Data = dict[str, Any]
HOUR_S = 3600


def carried(cash: Cash) -> Data:
    """What outlives a closed table: it stands in ``table.opened``."""
    return {"slips": cash.slips, "boxes": dict(cash.boxes), "removed": dict(sorted(cash.removed.items()))}


def _hour(at: str) -> int:
    return int(datetime.fromisoformat(at).timestamp()) // HOUR_S if at else 0


# --- session and shift ---------------------------------------------------------------------------------------


def _opened(state: "State", record: Record) -> None:
    data = record.data["carried"].get("cash", {})
    cash = state.cash = Cash(slips=data.get("slips", 0), removed=dict(data.get("removed", {})))
    cash.boxes |= data.get("boxes", {})
    at = record.data.get("at", "")
    opener = state.floor.tray if state.floor.opener is not None else None
    cash.meters = Meters(at, _hour(at), opener=opener)


def _closed(state: "State", record: Record) -> None:
    old = state.cash
    state.cash = Cash(slips=old.slips, boxes=old.boxes, removed=old.removed)


def _settings(state: "State", record: Record) -> None:
    data = record.data
    if "shift" in data["new"]:
        at, old = data.get("at", ""), state.cash.meters
        state.cash.meters = Meters(at, _hour(at), opener=old.closer)


def _read(state: "State", record: Record) -> None:
    meters, data = state.cash.meters, record.data
    meters.hour = _hour(data["at"])
    meters.since = meters.since or data["since"]  # the session was opened by a feltd that said no time


def _counted(state: "State", record: Record) -> None:
    data, meters = record.data, state.cash.meters
    if data.get("number") is None:
        return
    if data["reason"] == "open" and meters.opener is None and not meters.moved:
        meters.opener = data["total"]
    if data["reason"] in ("close", "shift"):
        meters.closer = data["total"]


# --- the tray ------------------------------------------------------------------------------------------------


def _moves(state: "State", amount: int) -> None:
    """Chips went into the tray (or out of it): a count before is no closer any more."""
    state.floor.closer, state.cash.meters.closer = None, None
    state.floor.tray = None if state.floor.tray is None else state.floor.tray + amount


def _others_moved(state: "State") -> None:
    """Chips of unknown denominations came or went: what the antenna read before is no yardstick any more."""
    cash = state.cash
    for name, slip in cash.open.items():
        cash.open[name] = replace(slip, tray=None)


def _bought(state: "State", record: Record) -> None:
    if record.data["means"] != "chips":
        _dropped(state, record.data["amount"])


def _redeemed(state: "State", record: Record) -> None:
    if record.data["place"] == "table":
        _dropped(state, -record.data["amount"])  # the money comes out of the drop again


def _dropped(state: "State", amount: int) -> None:
    state.cash.meters.closer = None
    state.cash.meters.drop += amount
    state.cash.boxes["drop"] += amount
    _others_moved(state)


def _changed(state: "State", record: Record) -> None:
    _others_moved(state)


# --- slips ---------------------------------------------------------------------------------------------------


def _requested(state: "State", record: Record) -> None:
    data, cash = record.data, state.cash
    lines = tuple((line["denomination"], line["count"]) for line in data["lines"])
    tray = None if data["tray"] is None else tuple((value, count) for value, count in data["tray"])
    cash.slips = data["number"]
    who = data["requester"]["staff"], data["requester"]["role"]
    cash.open[data["slip"]] = Slip(data["slip"], data["number"], data["kind"], lines, data["total"], tray, who)


def _completed(state: "State", record: Record) -> None:
    data, cash = record.data, state.cash
    del cash.open[data["slip"]]
    if data["kind"] == "fill":
        cash.meters.fills += data["total"]
        _moves(state, data["total"])
    else:
        cash.meters.credits += data["total"]
        _moves(state, -data["total"])
    _others_moved(state)


def _cancelled(state: "State", record: Record) -> None:
    del state.cash.open[record.data["slip"]]


def _ruled(state: "State", record: Record) -> None:
    """A tray that differs was accepted as it is (I-31)."""
    effects = record.data.get("effects", {})
    if "tray" in effects:
        state.floor.tray = effects["tray"]


# --- boxes ---------------------------------------------------------------------------------------------------


def _collected(state: "State", record: Record) -> None:
    data, cash = record.data, state.cash
    kind = record.type.partition(".")[0]
    name = f"{kind} {data['box']}"
    if data["emptied"]:
        cash.boxes[kind] = 0
        if data["counted"] is None:
            cash.removed[name] = data["computed"]
    else:
        cash.removed.pop(name, None)


# --- hands ---------------------------------------------------------------------------------------------------


def _hand_started(state: "State", record: Record) -> None:
    cash = state.cash
    cash.taken, cash.orphans, cash.meters.closer = 0, {}, None
    cash.reported = {name for name in cash.reported if not name.startswith("stack.reduced ")}
    if state.table.playing:
        _others_moved(state)
    data = record.data
    # At a table of boxes a round names its boxes; whoever sits there may have had a stake in it.
    inside = tuple(line["seat"] for line in data["seats"] if line["dealt_in"]) if "seats" in data else (*state.seats,)
    kept = list(cash.played.items())[-MOST_FINALS:]
    cash.played = {**dict(kept), data["hand"]: inside}


def _rake(state: "State", record: Record) -> None:
    data = record.data
    state.cash.taken = data["computed"] if data["dropped"] is None else data["dropped"]


def _hand_closed(state: "State", record: Record) -> None:
    cash, result = state.cash, record.data["result"]
    meters = cash.meters
    for place, staked, back in _spots(result):
        meters.bets[place] = meters.bets.get(place, 0) + staked
        meters.wins[place] = meters.wins.get(place, 0) + back
    meters.hands += 1
    meters.rake += cash.taken
    cash.boxes["rake"] += cash.taken
    _tips(cash, result.get("tips", 0))
    cash.taken = 0


def _spots(result: Data) -> Iterator[tuple[str, int, int]]:
    """Place, stake and what came back, of a hand or of a round of boxes."""
    for line in result.get("seats", ()):
        yield f"seat:{line['seat']}", line["in"], line["out"]
    for box in result.get("boxes", ()):
        for line in box["lines"]:
            yield f"box:{box['box']}:{line['spot']}", line["stake"], line["stake"] + line["net"]


def _hand_corrected(state: "State", record: Record) -> None:
    """What a place gets beyond the result before; what seats have is kept with the seats."""
    for place, change in changes(record.data["moves"]):
        if place in BOXES:
            _gives(state, place, change)
        elif place == "house":
            _moves(state, change)
            _others_moved(state)
        else:
            wins = state.cash.meters.wins
            wins[place] = wins.get(place, 0) + change


def _seat_left(state: "State", record: Record) -> None:
    """Who sits down there next has not been in the hands so far."""
    cash, seat = state.cash, record.data["seat"]
    cash.played = {hand: tuple(one for one in seats if one != seat) for hand, seats in cash.played.items()}


def _hand_voided(state: "State", record: Record) -> None:
    state.cash.played.pop(record.data["hand"], None)
    state.cash.meters.hands_void += 1
    state.cash.taken = 0


def _hand_final(state: "State", record: Record) -> None:
    state.cash.finals = [*state.cash.finals, record.data["hand"]][-MOST_FINALS:]


def _tipped(state: "State", record: Record) -> None:
    """A tip between hands comes out of the stack; within a hand it is part of that hand's result."""
    data = record.data
    if "hand" in data:
        return
    _gives(state, f"seat:{data['seat']}", -data["amount"])
    _tips(state.cash, data["amount"])


def _tips(cash: Cash, amount: int) -> None:
    cash.meters.tips += amount
    cash.boxes["tips"] += amount


# --- found, and put right ------------------------------------------------------------------------------------


def _orphan(state: "State", record: Record) -> None:
    data, cash = record.data, state.cash
    cash.meters.orphans += data["amount"]
    if data["basis"] == "sensor":
        cash.orphans[data["place"]] = data["amount"]


def _adjusted(state: "State", record: Record) -> None:
    data = record.data
    _gives(state, data["from"], -data["amount"])
    _gives(state, data["to"], data["amount"])


def _gives(state: "State", place: str, amount: int) -> None:
    """So much more lies at a place that is kept account of."""
    cash = state.cash
    if place == "tray":
        _moves(state, amount)
        _others_moved(state)
    elif place in cash.boxes:
        cash.boxes[place] += amount
        setattr(cash.meters, place, getattr(cash.meters, place) + amount)
    elif place.startswith("seat:"):
        seat = state.seats.get(int(place[5:]))
        if seat is not None and seat.stack is not None:
            seat.stack += amount


def _told(state: "State", record: Record) -> None:
    """Surveillance was told; of one chip or stack it is told once."""
    data = record.data
    names = data.get("tags", [f"{data['place']} {data['value']}"])
    if record.type == "chip.duplicate":
        names = [f"{tag} {data['place']}" for tag in names]
    state.cash.reported.update(f"{record.type} {name}" for name in names)


CASH: dict[str, Callable[["State", Record], None]] = {
    "table.opened": _opened,
    "table.closed": _closed,
    "settings.changed": _settings,
    "meter.read": _read,
    "tray.counted": _counted,
    "chips.bought": _bought,
    "chips.redeemed": _redeemed,
    "chips.changed": _changed,
    "slip.requested": _requested,
    "slip.completed": _completed,
    "slip.cancelled": _cancelled,
    "incident.ruled": _ruled,
    "drop.collected": _collected,
    "rake.collected": _collected,
    "tips.collected": _collected,
    "hand.started": _hand_started,
    "rake.taken": _rake,
    "hand.closed": _hand_closed,
    "hand.voided": _hand_voided,
    "seat.left": _seat_left,
    "hand.final": _hand_final,
    "hand.corrected": _hand_corrected,
    "tip.given": _tipped,
    "orphan.found": _orphan,
    "adjustment.recorded": _adjusted,
    "chip.unknown": _told,
    "chip.duplicate": _told,
    "chip.listed": _told,
    "stack.reduced": _told,
}
