"""What the devices and the shell report, as records: nothing here judges a hand."""

from typing import Any

from controller.core import guard, troubles
from controller.core.facts import Evidence, TrayCounted
from controller.core.inputs import Notice
from controller.core.out import Out, cite
from controller.core.rules.ultimate.state import Coup
from controller.core.state import Hand
from drivers.readings import DeviceCleared, DeviceFault, DeviceLost, DeviceUp

OPS = (
    "daemon.started",
    "daemon.stopped",
    "link.lost",
    "link.restored",
    "clock.stepped",
    "recovery.completed",
    "ledger.filling",
    "test.entered",
    "test.left",
)


def device(
    out: Out, reading: DeviceUp | DeviceLost | DeviceFault | DeviceCleared, lasted_ms: int | None = None
) -> None:
    """A device came, went, is in trouble, or has recovered; ``lasted_ms``: how long what is over now has lasted."""
    info = next((d for d in out.setup.devices if d.name == reading.device), None)
    data: dict[str, Any] = {"device": reading.device, "role": sorted(info.places.values()) if info else []}
    data["kind"] = info.kind if info else ""
    if out.state.play is not None:
        data["hand"] = out.state.play.id
    data |= {"basis": "sensor"} | ({} if lasted_ms is None else {"since_ms": lasted_ms})
    match reading:
        case DeviceUp():
            data |= {"model": reading.model, "serial": reading.serial, "firmware": reading.firmware}
            data |= {"path": reading.path, "attempt": reading.attempt}
            out.emit("ops", "device.up", reading.device, data)
            troubles.device_back(out, reading.device)
        case DeviceLost():
            data |= {"cause": reading.cause, "path": reading.path, "attempt": reading.attempt}
            out.emit("ops", "device.lost", reading.device, data)
            if info is not None and out.setup.needs(info):
                troubles.device_lost(out, reading.device, reading.cause)
        case DeviceFault():
            data |= {"cause": reading.fault, "detail": reading.detail, "counts": dict(reading.counts)}
            out.emit("ops", "device.fault", reading.device, data)
        case DeviceCleared():
            out.emit("ops", "device.cleared", reading.device, data | {"cause": reading.fault})


def flood(out: Out, device: str, ignored: int | None = None) -> None:
    """A keypad pours out entries that are refused, and is not listened to; with ``ignored`` keys it is quiet again."""
    data: dict[str, Any] = {"device": device, "role": [], "kind": "keypad", "cause": "flood", "basis": "sensor"}
    if out.state.play is not None:
        data["hand"] = out.state.play.id
    if ignored is None:
        detail = "many refused entries within a second: it is not listened to until it has been quiet for a second"
        out.emit("ops", "device.fault", device, data | {"detail": detail, "counts": {}})
    else:
        out.emit("ops", "device.cleared", device, data | {"ignored": ignored})


def doubtful(out: Out, source: Evidence, why: str, card: str | None) -> None:
    """The shoe could not name a card for sure (I-17): recorded, its guess is sealed."""
    data: dict[str, Any] = {"device": source.device, "role": ["shoe"], "kind": "shoe", "cause": "doubtful"}
    data |= {"detail": why, "counts": {}, "basis": "sensor", "evidence": cite((source,))}
    out.emit("ops", "device.fault", source.device, data, secret={"card": card or "??"})


def doubts(out: Out, hand: Hand | Coup) -> None:
    """At the end of a hand: how many of its closed cards no device could name. Sooner it would mark them (I-17)."""
    count = 0 if out.setup.unread else sum(slot.doubted for slot in hand.slots)
    shoe = next((d.name for d in out.setup.devices if d.kind == "shoe"), "shoe")
    if count:
        data: dict[str, Any] = {"device": shoe, "role": ["shoe"], "kind": "shoe", "cause": "doubtful"}
        detail = f"{count} closed cards of hand {hand.id} could not be named"
        out.emit("ops", "device.fault", shoe, data | {"detail": detail, "counts": {"cards": count}, "basis": "sensor"})


def notice(out: Out, what: Notice) -> None:
    """The shell's own news go to ``ops`` as they are."""
    if what.kind == "queue.overflowed":
        device(out, DeviceFault(str(what.data["device"]), 0, "overflow"))
        return
    if what.kind == "staff.login":
        # An attempt that failed: whoever succeeds is recorded by the command.
        out.emit("ops", what.kind, str(what.data["staff"] or out.setup.table), dict(what.data) | {"basis": "attested"})
        return
    if what.kind == "reading.unrecorded":
        device(out, DeviceFault(str(what.data["device"]), 0, "unrecorded", str(what.data["kind"])))
        troubles.ledger_fault(out, dict(what.data), "reading_unrecorded")
        return
    if what.kind == "ledger.fault":
        troubles.ledger_fault(out, dict(what.data))
        return
    if what.kind not in OPS:
        raise ValueError(f"no such notice: {what.kind!r}; use one of {', '.join(OPS)} or a queue's or ledger's fault")
    data = dict(what.data)
    if what.kind == "recovery.completed" and data.get("cause") != "suspended":
        asked = troubles.resume(out)
        data |= ({} if asked is None else {"incident": asked}) | troubles.pressed_in_vain(out)
    if what.kind in ("daemon.started", "daemon.stopped") and out.state.play is not None:
        data["open_hand"] = out.state.play.id
    out.emit("ops", what.kind, out.setup.table, data | {"basis": "derived"})


def tray(out: Out, fact: TrayCounted, reason: str = "spot_check") -> None:
    """``tray.counted``, and ``chip.unknown`` (guard only) for tags that no registry knows (I-28)."""
    setup = out.setup
    if fact.counts == out.state.tray and not fact.unknown:
        return  # counted before, perhaps by the daemon that ran until now
    kinds = {d.value: d for d in setup.chipset.denominations}
    lines = [
        {"class": kinds[value].kind, "denomination": value, "count": count, "amount": value * count}
        for value, count in fact.counts
    ]
    data: dict[str, Any] = {
        "currency": {"code": setup.currency.code, "exponent": setup.currency.exponent},
        "shift": out.state.shift or setup.shift,
        "by": [],
        "count": f"{setup.table}-{out.day()}",
        "reason": reason,
        "lines": lines,
        "total": sum(value * count for value, count in fact.counts),
        "expected": None,
        "variance": None,
        "method": "rfid",
        "unread": len(fact.unknown),
        "basis": fact.basis,
        "evidence": cite(fact.evidence),
    }
    out.emit("cash", "tray.counted", setup.table, data)
    guard.unknown(out, "tray", fact.unknown, fact.evidence)
