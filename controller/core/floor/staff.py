"""Who works at the table: log-in, log-out, handover (rules.md 9.5; HR-7.2, BG-1.2, BG-1.3)."""

from controller.core.errors import BadCommand
from controller.core.floor import words
from controller.core.floor.words import ROLES, Data, text
from controller.core.inputs import Command
from controller.core.out import Out


def login(out: Out, command: Command) -> None:
    """``login``: staff, role, relieves?, tables?. Records the attempt (``ops``) and the function taken (``play``).

    ``relieves`` names who hands over; the chips are counted then, and the count before is named. ``tables``: how many
    tables an inspector watches; more than the house allows is noted (BG-A1).
    """
    staff, role = text(command, "staff"), words.choice(command, "role", ROLES)
    relieves, tables = command.args.get("relieves"), command.args.get("tables")
    if relieves is not None and (relieves not in out.state.staff or relieves == staff):
        raise BadCommand("relieves", relieves, "name another person who is logged in")
    if tables is not None:
        tables = words.whole(command, "tables", 1)
    data = {"staff": staff, "role": role, "result": "ok", "place": "socket", "basis": "attested"}
    out.emit("ops", "staff.login", staff, data)
    assigned: Data = {"by": {"staff": staff, "role": role}, "function": role}
    if relieves is not None:
        before = {"staff": relieves, "role": out.state.staff[relieves]}
        out.emit("play", "staff.relieved", relieves, {"by": before, "function": before["role"], "basis": "attested"})
        assigned["relieves"] = before
        assigned["count"] = _count(out)
    out.emit("play", "staff.assigned", staff, assigned | {"basis": "attested"})
    most = out.setup.profile.inspector_max_tables
    if role == "inspector" and tables is not None and most is not None and tables > most:
        out.breach("inspector_tables", "INFO", f"{staff} watches {tables} tables; {most} are the most of this house")


def _count(out: Out) -> str | None:
    """The newest signed count of this table."""
    floor = out.state.floor
    return floor.closer or floor.opener


def logout(out: Out, command: Command) -> None:
    """``logout``: staff."""
    staff = text(command, "staff")
    if staff not in out.state.staff:
        raise BadCommand("staff", staff, "name a person who is logged in")
    by = {"staff": staff, "role": out.state.staff[staff]}
    out.emit("play", "staff.relieved", staff, {"by": by, "function": by["role"], "basis": "attested"})
