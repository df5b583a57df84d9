"""Limits, betting mode and shift: they change between hands only (HR-20.1, BG-6.1, BG-A10)."""

from collections.abc import Sequence

from controller.core.cash import meters
from controller.core.errors import BadCommand
from controller.core.floor import counting, words
from controller.core.floor.words import SUPERVISORS, Data, person
from controller.core.inputs import Command
from controller.core.out import Out
from controller.core.rules import starting
from controller.core.setup import Limits

STRUCTURES = ("no_limit", "pot_limit", "fixed_limit")
AMOUNTS = ("ante", "small_bet", "big_bet", "table_min", "straddle")


def limits(out: Out, command: Command) -> Limits:
    """The limits that a command names, or those that stand."""
    given = command.args.get("limits")
    if given is None:
        return out.state.limits
    if not isinstance(given, dict):
        raise BadCommand("limits", given, "give small_blind, big_blind, and ante, ante_kind where antes are played")
    known = {"small_blind", "big_blind", "ante_kind", "structure", *AMOUNTS}
    for name in given:
        if name not in known:
            raise BadCommand(f"limits.{name}", given[name], f"use {', '.join(sorted(known))}")
    inner = Command("limits", given)
    kind = given.get("ante_kind", "each")
    if kind not in ("each", "big_blind"):
        raise BadCommand("limits.ante_kind", kind, "use each or big_blind")
    small, big = words.whole(inner, "small_blind", 0), words.whole(inner, "big_blind", 1)
    structure = given.get("structure")
    if structure is not None and structure not in STRUCTURES:
        raise BadCommand("limits.structure", structure, f"use {', '.join(STRUCTURES)}")
    more = {name: words.whole(inner, name, 0) for name in AMOUNTS if name in given}
    if small > big:
        raise BadCommand("limits.small_blind", small, f"the small blind is at most the big blind, {big}")
    unit = out.setup.chipset.unit
    for name, value in (("small_blind", small), ("big_blind", big), *more.items()):
        if value % unit:
            raise BadCommand(f"limits.{name}", value, f"give a multiple of the smallest chip, {unit}")
    return Limits(small, big, ante_kind=kind, structure=structure, **more)


def structure_fits(out: Out, asked_for: Limits) -> bool:
    """Whether the text allows the mode that the limits name (BG-6.1, BG-A10)."""
    allowed = out.setup.profile.structures
    if asked_for.structure is None or asked_for.structure in allowed:
        return True
    asked = f"{asked_for.structure} was asked for; the house rules allow {', '.join(allowed)}"
    out.breach("structure_not_allowed", "BLOCK", asked)
    return False


def settings(out: Out, command: Command) -> None:
    """``settings``: limits, displayed?. Between hands, by who watches over the table.

    ``displayed``: the sign shows the new amounts already; else that has to be attested again (HR-20.2).
    """
    wanted, displayed = limits(out, command), words.flag(command, "displayed")
    if not words.needs_open(out) or not _may_change(out, command) or not structure_fits(out, wanted):
        return
    old = starting.limits_data(out.state.limits)
    lapses = [] if displayed else out.rules("blinds_not_displayed")
    change(out, command, old, starting.limits_data(wanted), lapses)
    if lapses and "blinds_displayed" in out.setup.profile.requires:
        out.breach("blinds_not_displayed", "FLAG", "the amounts have changed: put them on the sign, then attest it")


def shift(out: Out, command: Command) -> None:
    """``shift``: shift, lines?, with?. The tray is counted, attestations of the old shift lapse (rules.md 9.4).

    The gaming day of what follows is the day of this moment.
    """
    name = words.text(command, "shift")
    told = counting.read(out, command)
    if not words.needs_open(out) or not _may_change(out, command):
        return
    if name == out.state.shift:
        raise BadCommand("shift", name, "is the shift already; name the next one")
    if told is None and "float" in out.setup.profile.requires:
        out.breach("no_float_count", "BLOCK", "the tray is counted when the shift changes: give its lines")
        return
    if told is not None:
        counting.record(out, "shift", told)
    meters.read(out, "shift", [person(command)])
    new = starting.limits_data(out.state.limits) | {"shift": name}
    change(out, command, {"shift": out.state.shift}, new, day=out.day())


def _may_change(out: Out, command: Command) -> bool:
    if out.state.play is not None:
        out.breach("settings_in_hand", "BLOCK", "limits change between hands only")
        return False
    if command.role and command.role not in SUPERVISORS:
        asked = f"{' or '.join(SUPERVISORS)} changes the settings of a table, not {command.role}"
        out.breach("settings_by", "BLOCK", asked)
        return False
    return True


def change(
    out: Out,
    command: Command,
    old: Data,
    new: Data,
    lapses: Sequence[str] = (),
    *,
    day: str | None = None,
    approval: Data | None = None,
) -> None:
    """``settings.changed``. ``approval``: of what, and by whom, where more than one person has to agree."""
    data: Data = {"old": old, "new": new, "reason": command.reason, "by": person(command), "lapses": list(lapses)}
    data |= {"at": meters.utc(out.wall), "from_hand": out.next_hand()}
    data |= {} if approval is None else {"approval": approval}
    out.emit("play", "settings.changed", out.setup.table, data | {"basis": "attested"}, day=day)
