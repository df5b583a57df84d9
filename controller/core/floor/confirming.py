"""Rules, pay tables, chips and cards of a table are a configuration; a new one is confirmed by two persons.

``daemon.started`` says by its hash what the table would be played under. While nobody has confirmed that, the table
does not open and no hand begins; then ``settings.changed`` says who approved it. Where no persons are known (test
mode), nothing has to be confirmed.
"""

from controller.core.errors import BadCommand
from controller.core.floor import settings
from controller.core.floor.words import SUPERVISORS, person, persons
from controller.core.inputs import Command
from controller.core.out import Out

STATEMENT = "configuration"


def confirm(out: Out, command: Command) -> None:
    """``confirm``: by two who watch over the table, one after the other; each is recorded with the hash.

    With the second one the change is made, and recorded with both.
    """
    floor = out.state.floor
    before = floor.confirmed
    if floor.running in ("", floor.confirmed):
        raise BadCommand("confirm", floor.running or None, "this configuration has nothing to confirm")
    if out.state.staff.get(command.by) != command.role or command.role not in SUPERVISORS:
        raise BadCommand("by", command.by, f"is for {', '.join(SUPERVISORS)}: log in as one of them")
    if any(one["staff"] == command.by for one in persons(floor.confirmed_by)):
        raise BadCommand("by", command.by, "has confirmed already: a second person has to")
    data = {"rules": [], "statement": STATEMENT, "scope": "shift", "by": person(command), "sha256": floor.running}
    out.emit("play", "attestation.recorded", out.setup.table, data | {"basis": "attested"})
    if floor.confirmed != before:
        profile = out.setup.profile
        told = {"name": profile.name, "version": profile.version, "sha256": profile.sha256}
        settings.change(
            out,
            command,
            {"configuration": before or None},
            {"configuration": floor.confirmed, "profile": told},
            approval={"of": STATEMENT, "by": persons(floor.confirmed_by)},
        )
