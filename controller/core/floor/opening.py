"""The table is opened and closed: one session of play (HR-4.1, HR-15.6, HR-20.1, BG-2.3)."""

from controller.core import incidents
from controller.core.cash import meters
from controller.core.cash.evolve import carried as cash_carried
from controller.core.errors import BadCommand
from controller.core.floor import button as buttons
from controller.core.floor import conditions, counting, settings, words
from controller.core.floor.evolve import carried as floor_carried
from controller.core.floor.words import Data, person
from controller.core.inputs import Command
from controller.core.out import Out
from controller.core.rules import raking, showdown, starting
from controller.core.rules.profile import Rake
from controller.core.rules.ultimate import opening as ultimate


def open_table(out: Out, command: Command) -> None:
    """``open``: limits?, button?, shift?. Every duty of the profile that is not met is a recorded BLOCK."""
    state, setup, profile = out.state, out.setup, out.setup.profile
    limits = settings.limits(out, command)
    button = words.seat(out, command, "button") if command.args.get("button") is not None else None
    shift = words.text(command, "shift") if command.args.get("shift") is not None else state.shift or setup.shift
    if state.session is not None:
        raise BadCommand("open", state.session, "the table is open already; close it first")
    boxes = profile.game == "ultimate"
    if boxes and ultimate.undecided(out):
        return
    if not conditions.told(out, conditions.before_open(out)) or not settings.structure_fits(out, limits):
        return
    day = out.day()
    same = day == state.day
    openings = state.openings_today + 1 if same else 1
    letter = chr(ord("a") + (openings - 1) % 26) + (str((openings - 1) // 26) if openings > 26 else "")
    session = f"{setup.table}-{day.replace('-', '')}-{letter}"
    big = limits.big_blind
    low, high = profile.buy_in_min_bb, profile.buy_in_max_bb
    buy_in = {"min": None if low is None else low * big, "max": None if high is None else high * big}
    data: Data = {
        "game": profile.game,
        "profile": {
            "name": profile.name,
            "version": profile.version,
            "sha256": profile.sha256,
            "language": profile.language,
        },
        "approvals": [
            {"of": a.of, "authority": a.authority, "reference": a.reference, "date": a.date} for a in profile.approvals
        ],
        "currency": {"code": setup.currency.code, "exponent": setup.currency.exponent},
        "shift": shift,
        "limits": starting.limits_data(limits)
        | {
            "structure": limits.structure or profile.structure,
            "announced": limits.structure is not None,
            "raise_cap": profile.raise_cap,
            "buy_in": buy_in | {"exact": low is not None and low == high},
        },
        "rake": _rake(profile.rake or raking.NO_RAKE),
        "seats": setup.seats,
        "chipset": {
            "id": setup.chipset.id,
            "denominations": [{"id": d.id, "class": d.kind, "value": d.value} for d in setup.chipset.denominations],
        },
        "deck": state.floor.deck or setup.deck.id,
        "capabilities": [f"sensing.{setup.kind}"],
        "software": dict(setup.software),
        "opener": state.floor.opener,
        "staff": [{"staff": who, "role": role} for who, role in sorted(state.staff.items())],
        "counters": {
            "hands": state.hands_today if same else 0,
            "openings": openings,
            "incidents": state.incidents_today if day == state.incidents_day else 0,
        },
        "carried": _carried(out),
        "at": meters.utc(out.wall),
        "basis": "attested",
        "by": person(command),
    }
    if boxes:
        data |= ultimate.data(out)
    out.open_session(day, session, data)
    if button is not None:
        buttons.place(out, button, "draw", command)


def _rake(rake: Rake) -> Data:
    rate = {"num": rake.rate_num, "den": rake.rate_den}
    return {"id": rake.id, "rate": rate, "cap": rake.cap, "rounding": rake.rounding, "no_flop": rake.no_flop}


def _carried(out: Out) -> Data:
    """What outlives a closed table: with it, recovery needs no record before ``table.opened``."""
    state = out.state
    return {
        "incidents": [
            {
                "incident": i.id,
                "code": i.code,
                "holds": i.holds,
                "kind": i.kind,
                "facts": i.facts,
                "proposed": {"ruling": i.proposed},
                "alternatives": list(i.alternatives),
                "who_may_rule": list(i.who_may_rule),
                "severity": i.severity,
            }
            | ({} if i.due_ms is None else {"due_ms": i.due_ms, "at": meters.utc(i.since)})
            for i in state.incidents.values()
        ],
        "devices": [
            {"device": name, "serial": serial, "lost": name in state.lost}
            for name, serial in sorted(state.devices.items())
        ],
        "readings": [{"device": name, "reading": str(newest)} for name, newest in sorted(state.seen.items())],
        "tray": None if state.tray is None else [list(line) for line in state.tray],
        "floor": floor_carried(state.floor, state.attested),
        "cash": cash_carried(state.cash),
        "storage_full": state.storage_full,
    }


def close_table(out: Out, command: Command) -> None:
    """``close``: lines?, with?: ends the session; refused in a hand, with an incident open, or without a count.

    With lines, the tray is counted in the same breath.
    """
    told = counting.read(out, command) if "lines" in command.args else None
    if not words.needs_open(out):
        return
    state = out.state
    if state.play is not None:
        out.breach("hand_open", "BLOCK", f"hand {state.play.id} has to end first")
        return
    if state.table.staked:
        out.breach("bets_lie", "BLOCK", f"bets lie on box {state.table.staked[0]}; they are played or given back first")
        return
    if state.cash.open:
        asked = f"slip {next(iter(state.cash.open))} is open: complete or cancel it first (feltd slip)"
        out.breach("slip_open", "BLOCK", asked)
        return
    if told is not None:
        counting.record(out, "close", told)
    waiting = [i.id for i in state.incidents.values() if i.kind != "device_lost"]
    if waiting:
        out.breach("held", "BLOCK", f"{', '.join(waiting)} has to be ruled first")
        return
    if not conditions.told(out, conditions.before_close(out)):
        return
    showdown.final(out, "table_closed")
    for name in list(state.silent):  # the chips of this session are away; surveillance has its records
        incidents.close(out, name, "noted")
    meters.read(out, "close", [person(command)])
    signed = words.persons(state.floor.signed)
    data: Data = {
        "closer": state.floor.closer,
        "hands": state.hands,
        "hands_void": state.hands_void,
        "incidents_open": len(state.incidents),
        "by": signed if state.floor.closer is not None and len(signed) > 1 else [person(command)],
        "basis": "attested",
    }
    out.emit("play", "table.closed", state.session or "", data)
