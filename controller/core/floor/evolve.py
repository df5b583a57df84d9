"""What each record makes of the floor. Called from ``controller.core.evolve`` alone, after its own changes."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from controller.core.floor.state import Floor
from controller.core.records import Record

if TYPE_CHECKING:
    from controller.core.state import State

Data = dict[str, Any]


def carried(floor: Floor, attested: set[str]) -> Data:
    """What was done before the opening and holds after it: it stands in ``table.opened``."""
    return {
        "attested": sorted(attested),
        "counts": floor.counts,
        "opener": floor.opener,
        "signed": list(floor.signed),
        "tray": floor.tray,
        "deck": floor.deck,
        "deck_out": floor.deck_out,
        "overrides": dict(sorted(floor.overrides.items())),
        "configuration": [floor.running, floor.confirmed, *floor.confirmed_by],
    }


def _opened(state: "State", record: Record) -> None:
    """A deck is verified before the players of this session, so nothing of that is carried (HR-10.2)."""
    data = record.data["carried"].get("floor", {})
    state.attested = set(data.get("attested", ()))
    state.floor = Floor(
        counts=data.get("counts", 0),
        opener=data.get("opener"),
        signed=tuple(data.get("signed", ())),
        tray=data.get("tray"),
        deck=data.get("deck", ""),
        deck_out=data.get("deck_out", False),
        overrides=dict(data.get("overrides", {})),
    )
    running, confirmed, *by = data.get("configuration", ("", ""))
    state.floor.running, state.floor.confirmed, state.floor.confirmed_by = running, confirmed, tuple(by)


def _closed(state: "State", record: Record) -> None:
    old = state.floor
    state.attested = set()
    state.floor = Floor(counts=old.counts, deck=old.deck, deck_out=old.deck_out)
    state.floor.running, state.floor.confirmed = old.running, old.confirmed
    state.floor.confirmed_by = old.confirmed_by


def _started(state: "State", record: Record) -> None:
    floor, running = state.floor, record.data.get("to_confirm", "")
    if running != floor.running:
        floor.running, floor.confirmed_by = running, ()


def _attested(state: "State", record: Record) -> None:
    rules = set(record.data["rules"])
    floor = state.floor
    if floor.running and record.data.get("sha256") == floor.running:
        floor.confirmed_by = (*floor.confirmed_by, "{staff}:{role}".format(**record.data["by"]))
        if len(floor.confirmed_by) > 1:
            floor.confirmed = record.data["sha256"]
    if record.data["scope"] == "shift":
        state.attested |= rules
    else:
        state.floor.this_hand |= rules
    state.floor.reported -= rules


def _breach(state: "State", record: Record) -> None:
    data = record.data
    if data.get("reported") and data["reaction"] == "BLOCK":
        state.floor.reported.update(data["rules"][:1])
        state.attested.difference_update(data["rules"])


def _overridden(state: "State", record: Record) -> None:
    state.floor.overrides |= dict.fromkeys(record.data["rules"], record.data["until"])
    state.floor.reported -= set(record.data["rules"])


def _verified(state: "State", record: Record) -> None:
    floor, data = state.floor, record.data
    floor.deck_out = not data["ok"]
    floor.verified = data["ok"] and (floor.verified or data["method"] == "face_up")
    floor.recount = floor.recount and not data["ok"]


def _deck_changed(state: "State", record: Record) -> None:
    floor = state.floor
    floor.deck, floor.verified, floor.recount, floor.deck_out = record.data["new"], False, False, False


def _button(state: "State", record: Record) -> None:
    if record.data.get("draw"):
        state.floor.drawn, state.floor.recount = True, True


def _settings(state: "State", record: Record) -> None:
    new, floor = record.data["new"], state.floor
    if "shift" in new:
        state.shift, state.attested = new["shift"], set()
        floor.overrides = {rule: until for rule, until in floor.overrides.items() if until == "session"}
        if record.day != state.day:
            state.day, state.hands_today, floor.counts = record.day, 0, 0
    elif record.data["lapses"]:
        state.attested.difference_update(record.data["lapses"])


def _counted(state: "State", record: Record) -> None:
    data, floor = record.data, state.floor
    if data.get("number") is None:
        return  # antennas read the tray by themselves: nobody signed it
    floor.counts = data["number"]
    # What differs is no book: that stays as it is until two persons accept what lies there (I-31).
    floor.tray = data["total"] if data["expected"] is None else data["expected"]
    floor.signed = tuple(f"{person['staff']}:{person['role']}" for person in data["by"])
    if data["reason"] == "open":
        floor.opener = data["count"]
    if data["reason"] == "close":
        floor.closer = data["count"]


def _bought(state: "State", record: Record) -> None:
    data = record.data
    if data["when"] == "deferred":
        state.seats[data["seat"]].behind += data["amount"]
    if data["means"] != "chips":
        _moves(state, -data["amount"])


def _redeemed(state: "State", record: Record) -> None:
    data = record.data
    seat = state.seats.get(data.get("seat", 0))
    if seat is not None:
        seat.stack = data["stack_after"]
    if data["place"] == "table":
        _moves(state, data["amount"])


def _moves(state: "State", amount: int) -> None:
    floor = state.floor
    floor.closer = None
    floor.tray = None if floor.tray is None else floor.tray + amount


def _hand_started(state: "State", record: Record) -> None:
    floor = state.floor
    floor.this_hand, floor.closer = set(), None
    floor.overrides = {rule: until for rule, until in floor.overrides.items() if until != "hand"}
    if state.table.playing:
        floor.tray = None  # payouts and lost stakes move the float: only a count knows it again


def _hand_ended(state: "State", record: Record) -> None:
    """Chips that were bought during the hand come into play now (HR-9.4, I-27)."""
    for seat in state.seats.values():
        if seat.behind:
            seat.stack = None if seat.stack is None else seat.stack + seat.behind
            seat.behind = 0
    if record.type == "hand.voided" and record.data["cause"] == "deck_fouled":
        state.floor.deck_out = True


FLOOR: dict[str, Callable[["State", Record], None]] = {
    "table.opened": _opened,
    "table.closed": _closed,
    "daemon.started": _started,
    "attestation.recorded": _attested,
    "breach.noted": _breach,
    "override.used": _overridden,
    "deck.verified": _verified,
    "deck.changed": _deck_changed,
    "button.placed": _button,
    "settings.changed": _settings,
    "tray.counted": _counted,
    "chips.bought": _bought,
    "chips.redeemed": _redeemed,
    "hand.started": _hand_started,
    "hand.closed": _hand_ended,
    "hand.voided": _hand_ended,
}
