"""What people say at the command socket: opening, seats, chips, button, settings, close."""

from collections.abc import Callable
from typing import Any

from controller.core.errors import BadCommand
from controller.core.inputs import Command
from controller.core.out import Out
from controller.core.rules import showdown, starting
from controller.core.rulings import rule
from controller.core.setup import Limits

ROLES = ("dealer", "inspector", "chief_inspector", "pit_boss", "manager", "cage", "technician")


def _whole(command: Command, name: str, low: int, high: int | None = None) -> int:
    value = command.args.get(name)
    bound = f"from {low} to {high}" if high is not None else f"of at least {low}"
    if isinstance(value, bool) or not isinstance(value, int) or value < low or (high is not None and value > high):
        raise BadCommand(name, value, f"give a whole number {bound}")
    return value


def _text(command: Command, name: str) -> str:
    value = command.args.get(name)
    if not isinstance(value, str) or not value or len(value) > 64:
        raise BadCommand(name, value, "give a text of 1 to 64 characters")
    return value


def _person(command: Command) -> dict[str, str]:
    return {"staff": command.by, "role": command.role}


def _seat(out: Out, command: Command) -> int:
    return _whole(command, "seat", 1, out.setup.seats)


def _needs_open(out: Out) -> bool:
    if out.state.session is None:
        out.breach("no_session", "BLOCK", "the table is not open; open it first")
        return False
    return True


def _amount(out: Out, command: Command, name: str) -> int:
    value = _whole(command, name, 1)
    if value % out.setup.chipset.unit:
        raise BadCommand(name, value, f"give a multiple of the smallest chip, {out.setup.chipset.unit}")
    return value


def login(out: Out, command: Command) -> None:
    """``login``: staff, role. Records the attempt (``ops``) and the function taken (``play``)."""
    staff, role = _text(command, "staff"), _text(command, "role")
    if role not in ROLES:
        raise BadCommand("role", role, f"use one of {', '.join(ROLES)}")
    data = {"staff": staff, "role": role, "result": "ok", "place": "socket", "basis": "attested"}
    out.emit("ops", "staff.login", staff, data)
    by = {"staff": staff, "role": role}
    out.emit("play", "staff.assigned", staff, {"by": by, "function": role, "basis": "attested"})


def logout(out: Out, command: Command) -> None:
    """``logout``: staff."""
    staff = _text(command, "staff")
    if staff not in out.state.staff:
        raise BadCommand("staff", staff, "name a person who is logged in")
    by = {"staff": staff, "role": out.state.staff[staff]}
    out.emit("play", "staff.relieved", staff, {"by": by, "function": by["role"], "basis": "attested"})


def _limits(out: Out, command: Command) -> Limits:
    given = command.args.get("limits")
    if given is None:
        return out.state.limits
    if not isinstance(given, dict):
        raise BadCommand("limits", given, "give small_blind, big_blind, and ante, ante_kind where antes are played")
    known = {"small_blind", "big_blind", "ante", "ante_kind"}
    for name in given:
        if name not in known:
            raise BadCommand(f"limits.{name}", given[name], f"use {', '.join(sorted(known))}")
    inner = Command("limits", given)
    kind = given.get("ante_kind", "each")
    if kind not in ("each", "big_blind"):
        raise BadCommand("limits.ante_kind", kind, "use each or big_blind")
    small, big = _whole(inner, "small_blind", 0), _whole(inner, "big_blind", 1)
    ante = _whole(inner, "ante", 0) if "ante" in given else 0
    if small > big:
        raise BadCommand("limits.small_blind", small, f"the small blind is at most the big blind, {big}")
    unit = out.setup.chipset.unit
    for name, value in (("small_blind", small), ("big_blind", big), ("ante", ante)):
        if value % unit:
            raise BadCommand(f"limits.{name}", value, f"give a multiple of the smallest chip, {unit}")
    return Limits(small, big, ante, kind)


def open_table(out: Out, command: Command) -> None:
    """``open``: limits?, button?. BLOCKed without a decision on the commission (HR-15.6)."""
    state, setup, profile = out.state, out.setup, out.setup.profile
    limits = _limits(out, command)
    button = _whole(command, "button", 1, setup.seats) if command.args.get("button") is not None else None
    if state.session is not None:
        raise BadCommand("open", state.session, "the table is open already; close it first")
    if profile.rake is None:
        out.breach("no_rake_decision", "BLOCK", "set the commission in the table's configuration ([override] rake.*)")
        return
    day = out.day()
    same = day == state.day
    openings = state.openings_today + 1 if same else 1
    letter = chr(ord("a") + (openings - 1) % 26) + (str((openings - 1) // 26) if openings > 26 else "")
    state_session = f"{setup.table}-{day.replace('-', '')}-{letter}"
    data: dict[str, Any] = {
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
        "shift": setup.shift,
        "limits": starting.limits_data(limits)
        | {
            "structure": profile.structure,
            "raise_cap": profile.raise_cap,
            "buy_in": {"min_bb": profile.buy_in_min_bb, "max_bb": profile.buy_in_max_bb},
        },
        "rake": {
            "id": profile.rake.id,
            "rate": {"num": profile.rake.rate_num, "den": profile.rake.rate_den},
            "cap": profile.rake.cap,
            "rounding": profile.rake.rounding,
            "no_flop": profile.rake.no_flop,
        },
        "seats": setup.seats,
        "chipset": {
            "id": setup.chipset.id,
            "denominations": [{"id": d.id, "class": d.kind, "value": d.value} for d in setup.chipset.denominations],
        },
        "deck": setup.deck.id,
        "capabilities": [f"sensing.{setup.kind}"],
        "software": dict(setup.software),
        "opener": None,
        "staff": [{"staff": who, "role": role} for who, role in sorted(state.staff.items())],
        "counters": {
            "hands": state.hands_today if same else 0,
            "openings": openings,
            "incidents": state.incidents_today if same else 0,
        },
        "carried": _carried(out),
        "basis": "attested",
        "by": _person(command),
    }
    out.open_session(day, state_session, data)
    if button is not None:
        _place_button(out, button, "draw", command)


def _carried(out: Out) -> dict[str, Any]:
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
            }
            for i in state.incidents.values()
        ],
        "devices": [
            {"device": name, "serial": serial, "lost": name in state.lost}
            for name, serial in sorted(state.devices.items())
        ],
        "readings": [{"device": name, "reading": str(newest)} for name, newest in sorted(state.seen.items())],
        "tray": None if state.tray is None else [list(line) for line in state.tray],
    }


def close_table(out: Out, command: Command) -> None:
    """``close``: ends the session; refused while a hand is being played or an incident is open."""
    if not _needs_open(out):
        return
    state = out.state
    if state.hand is not None:
        out.breach("hand_open", "BLOCK", f"hand {state.hand.id} has to end first")
        return
    waiting = [i.id for i in state.incidents.values() if i.kind != "device_lost"]
    if waiting:
        out.breach("held", "BLOCK", f"{', '.join(waiting)} has to be ruled first")
        return
    showdown.final(out, "table_closed")
    data = {
        "closer": None,
        "hands": state.hands,
        "hands_void": state.hands_void,
        "incidents_open": len(state.incidents),
        "by": [_person(command)],
        "basis": "attested",
    }
    out.emit("play", "table.closed", state.session or "", data)


def take_seat(out: Out, command: Command) -> None:
    """``seat``: seat, player?, stack? (minor units; ``null``: nobody counted it; left out: 0)."""
    seat = _seat(out, command)
    stack = command.args.get("stack", 0)
    if stack is not None and stack != 0:
        _amount(out, command, "stack")
    player = _text(command, "player") if command.args.get("player") is not None else None
    if not _needs_open(out):
        return
    if seat in out.state.seats:
        out.breach("seat_taken", "BLOCK", f"seat {seat} is taken: one player per place", seat=seat)
        return
    if stack and not _buy_in_fits(out, seat, stack):
        return
    data: dict[str, Any] = {"seat": seat, "owed": 0, "stack": None if stack is None else 0, "basis": "attested"}
    out.emit("play", "seat.taken", out.setup.table, data if player is None else data | {"player": player})
    if stack:
        _bought(out, seat, stack, "chips", command)


def _buy_in_fits(out: Out, seat: int, total: int) -> bool:
    """Whether a joining amount keeps the house's bounds (HR-9.2, HR-A2)."""
    profile, blind = out.setup.profile, out.state.limits.big_blind
    low = None if profile.buy_in_min_bb is None else profile.buy_in_min_bb * blind
    high = None if profile.buy_in_max_bb is None else profile.buy_in_max_bb * blind
    if (low is not None and total < low) or (high is not None and total > high):
        exact = f"exactly {low}" if low == high else f"from {low} to {high if high is not None else 'any amount'}"
        out.breach("buy_in", "BLOCK", f"{total} is offered; a player joins with {exact}", seat=seat)
        return False
    return True


def _bought(out: Out, seat: int, amount: int, means: str, command: Command) -> None:
    setup, state = out.setup, out.state
    before = state.seats[seat].stack
    after = None if before is None else before + amount
    data = {
        "currency": {"code": setup.currency.code, "exponent": setup.currency.exponent},
        "shift": state.shift,
        "by": [_person(command)],
        "seat": seat,
        "amount": amount,
        "means": means,
        "lines": [],
        "when": "between_hands",
        "stack_after": after,
        "basis": "attested",
    }
    out.emit("cash", "chips.bought", setup.table, data)


def buy_in(out: Out, command: Command) -> None:
    """``buyin``: seat, amount, means (``cash`` ``chips`` ``voucher`` ``marker``); between hands (HR-9.4, CM-22)."""
    seat, amount = _seat(out, command), _amount(out, command, "amount")
    means = command.args.get("means", "cash")
    if means not in ("cash", "chips", "voucher", "marker"):
        raise BadCommand("means", means, "use cash, chips, voucher or marker")
    taken = out.state.seats.get(seat)
    if taken is None:
        raise BadCommand("seat", seat, "nobody sits there; seat the player first")
    if out.state.hand is not None:
        out.breach("top_up_in_hand", "BLOCK", "chips are bought between two hands only", seat=seat)
        return
    if taken.stack == 0 and not _buy_in_fits(out, seat, amount):
        return
    _bought(out, seat, amount, means, command)


def leave(out: Out, command: Command) -> None:
    """``leave``: seat. A player with a live hand folds first (HR-A12)."""
    seat = _seat(out, command)
    if seat not in out.state.seats:
        raise BadCommand("seat", seat, "nobody sits there")
    hand = out.state.hand
    if hand is not None and seat in hand.order:
        out.breach("leave_in_hand", "BLOCK", "the hand has to end before the seat is given up", seat=seat)
        return
    data: dict[str, Any] = {"seat": seat, "owed": 0, "stack": out.state.seats[seat].stack, "basis": "attested"}
    out.emit("play", "seat.left", out.setup.table, data)


def button(out: Out, command: Command) -> None:
    """``button``: seat, how? (``draw`` or ``corrected``). Between hands; a wrong one stands in the hand (CM-18)."""
    seat = _seat(out, command)
    how = command.args.get("how", "corrected")
    if how not in ("draw", "corrected"):
        raise BadCommand("how", how, "use draw or corrected")
    if not _needs_open(out):
        return
    if out.state.hand is not None:
        out.breach("button_in_hand", "BLOCK", "the button is placed between hands")
        return
    _place_button(out, seat, how, command)


def _place_button(out: Out, seat: int, how: str, command: Command) -> None:
    rules = out.rules("button_in_hand")
    data = {"seat": seat, "how": how, "rules": rules, "by": _person(command), "basis": "attested"}
    out.emit("play", "button.placed", out.setup.table, data)


def settings(out: Out, command: Command) -> None:
    """``settings``: limits. Between hands only."""
    limits = _limits(out, command)
    if not _needs_open(out):
        return
    if out.state.hand is not None:
        out.breach("settings_in_hand", "BLOCK", "limits change between hands only")
        return
    old, new = starting.limits_data(out.state.limits), starting.limits_data(limits)
    data = {"old": old, "new": new, "reason": command.reason, "by": _person(command), "basis": "attested"}
    out.emit("play", "settings.changed", out.setup.table, data)


def attest(out: Out, command: Command) -> None:
    """``attest``: rule, statement?, scope?: a person's word for what no sensor sees (rules.md 9.4)."""
    rule_id = _text(command, "rule")
    scope = command.args.get("scope", "shift")
    if scope not in ("shift", "hand"):
        raise BadCommand("scope", scope, "use shift or hand")
    statement = command.args.get("statement", "done")
    data = {"rules": [rule_id], "statement": statement, "scope": scope, "by": _person(command), "basis": "attested"}
    out.emit("play", "attestation.recorded", out.setup.table, data)


COMMANDS: dict[str, Callable[[Out, Command], None]] = {
    "login": login,
    "logout": logout,
    "open": open_table,
    "close": close_table,
    "seat": take_seat,
    "leave": leave,
    "buyin": buy_in,
    "button": button,
    "settings": settings,
    "attest": attest,
    "rule": rule,
}


def obey(out: Out, command: Command) -> None:
    """Carry out one command. Raises ``BadCommand`` for what cannot be read; a rule's refusal is a record."""
    act = COMMANDS.get(command.name)
    if act is None:
        raise BadCommand("command", command.name, f"use one of {', '.join(sorted(COMMANDS))}")
    act(out, command)
