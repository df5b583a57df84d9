"""Reading what a person said: each reader takes one argument of a command or names what is wrong with it."""

from collections.abc import Iterable, Sequence
from typing import Any

from controller.core.errors import BadCommand
from controller.core.facts import Basis
from controller.core.inputs import Command
from controller.core.money import MOST
from controller.core.out import Out

Data = dict[str, Any]
ROLES = ("dealer", "inspector", "chief_inspector", "pit_boss", "manager", "cage", "technician")
"""The functions that a person can have (rules.md 9.5)."""
SUPERVISORS = ("inspector", "chief_inspector", "pit_boss", "manager")
"""Who watches over a table: the second signature of a count, and changes of limits."""


def whole(command: Command, name: str, low: int, high: int | None = None) -> int:
    """A whole number within bounds."""
    value = command.args.get(name)
    bound = f"from {low} to {high}" if high is not None else f"of at least {low}"
    if isinstance(value, bool) or not isinstance(value, int) or value < low or (high is not None and value > high):
        raise BadCommand(name, value, f"give a whole number {bound}")
    return value


def text(command: Command, name: str) -> str:
    """A short text."""
    value = command.args.get(name)
    if not isinstance(value, str) or not value or len(value) > 64:
        raise BadCommand(name, value, "give a text of 1 to 64 characters")
    return value


def choice(command: Command, name: str, known: Sequence[str], default: str | None = None) -> str:
    """One of a few words."""
    value = command.args.get(name, default)
    if value not in known:
        raise BadCommand(name, value, f"use {', '.join(known)}")
    return str(value)


def flag(command: Command, name: str) -> bool:
    """True or false; false where nothing was said."""
    value = command.args.get(name, False)
    if not isinstance(value, bool):
        raise BadCommand(name, value, "use true or false")
    return value


def seat(out: Out, command: Command, name: str = "seat") -> int:
    """A seat of the felt."""
    return whole(command, name, 1, out.setup.seats)


def taken(out: Out, command: Command) -> int:
    """A seat where somebody sits."""
    number = seat(out, command)
    if number not in out.state.seats:
        raise BadCommand("seat", number, "nobody sits there; seat the player first")
    return number


def amount(out: Out, command: Command, name: str = "amount") -> int:
    """An amount that can be paid in chips of this table, in minor units (HR-6.1: chips, and nothing else)."""
    value = whole(command, name, 1)
    if value % out.setup.chipset.unit:
        raise BadCommand(name, value, f"give a multiple of the smallest chip, {out.setup.chipset.unit}")
    return value


def person(command: Command) -> dict[str, str]:
    """Who says so, as the contract spells it."""
    return {"staff": command.by, "role": command.role}


def persons(signed: Iterable[str]) -> list[dict[str, str]]:
    """The persons that the state keeps as ``staff:role``; a feltd of before kept some without their role."""
    names = ("staff", "role")
    return [dict(zip(names, one.rsplit(":", 1), strict=False)) for one in signed]


def second(out: Out, command: Command) -> list[dict[str, str]]:
    """The persons behind a command: who gave it, and the second one named by ``with``."""
    other = command.args.get("with")
    if other is None:
        return [person(command)]
    if other == command.by:
        raise BadCommand("with", other, "name another person: nobody signs twice")
    if not isinstance(other, str) or other not in out.state.staff:
        raise BadCommand("with", other, "name a person who is logged in")
    return [person(command), {"staff": other, "role": out.state.staff[other]}]


def needs_open(out: Out) -> bool:
    """Whether the table is open; a recorded BLOCK where it is not."""
    if out.state.session is None:
        out.breach("no_session", "BLOCK", "the table is not open; open it first")
        return False
    return True


def lines(out: Out, command: Command, name: str = "lines") -> list[Data] | None:
    """Chips by denomination: a list of ``{"denomination": value, "count": n}``; ``None`` where nothing was said."""
    given = command.args.get(name)
    if given is None:
        return None
    kinds = {d.value: d for d in out.setup.chipset.denominations}
    if not isinstance(given, list) or not given:
        raise BadCommand(name, given, 'give a list of {"denomination": value in minor units, "count": chips}')
    told: list[Data] = []
    for line in given:
        inner = Command(name, line if isinstance(line, dict) else {})
        value, count = whole(inner, "denomination", 1), whole(inner, "count", 0)
        if value not in kinds or any(known["denomination"] == value for known in told):
            raise BadCommand(f"{name}.denomination", value, f"name each once: {', '.join(map(str, sorted(kinds)))}")
        if value * count > MOST:
            raise BadCommand(f"{name}.count", count, f"no table has so many: at most {MOST} in minor units")
        told.append({"class": kinds[value].kind, "denomination": value, "count": count, "amount": value * count})
    return told


def as_lines(out: Out, counts: Iterable[tuple[int, int]]) -> list[Data]:
    """Chips by denomination, (value, count), as the contract spells them; without values that the house has not."""
    kinds = {d.value: d.kind for d in out.setup.chipset.denominations}
    return [
        {"class": kinds[value], "denomination": value, "count": count, "amount": value * count}
        for value, count in counts
        if value in kinds
    ]


def total(told: Sequence[Data]) -> int:
    """What lines of chips are worth, in minor units."""
    return sum(line["amount"] for line in told)


def cash(
    out: Out, kind: str, by: Sequence[dict[str, str]], data: Data, *, subject: str = "", basis: Basis = "attested"
) -> None:
    """Emit one record of the ``cash`` stream. ``subject``: a slip or a hand; the table where nothing is said."""
    setup, state = out.setup, out.state
    head: Data = {"currency": {"code": setup.currency.code, "exponent": setup.currency.exponent}}
    head |= {"shift": state.shift or setup.shift, "by": list(by)}
    out.emit("cash", kind, subject or setup.table, head | data | {"basis": basis})
