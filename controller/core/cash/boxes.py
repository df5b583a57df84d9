"""The boxes of a table are taken away and counted: drop, rake and tips, each with what should lie in it."""

from controller.core.cash.state import BOXES
from controller.core.errors import BadCommand
from controller.core.floor import words
from controller.core.floor.words import Data
from controller.core.inputs import Command
from controller.core.out import Out


def collect(out: Out, command: Command) -> None:
    """``collect``: what (``drop`` ``rake`` ``tips``), box?, counted?, with?.

    Without ``counted`` the box is taken away; the same box is named once more when it has been counted elsewhere.
    What was counted otherwise than computed is flagged.
    """
    kind = words.choice(command, "what", BOXES)
    counted = words.whole(command, "counted", 0) if command.args.get("counted") is not None else None
    rake = out.setup.profile.rake
    usual = rake.box if kind == "rake" and rake is not None and rake.box else kind
    box = words.text(command, "box") if command.args.get("box") is not None else usual
    by, cash = words.second(out, command), out.state.cash
    away = cash.removed.get(f"{kind} {box}")
    if away is not None and counted is None:
        raise BadCommand("box", box, "is away and not counted yet: count it (counted), or name the other box")
    computed = cash.boxes[kind] if away is None else away
    data: Data = {"box": box, "computed": computed, "counted": counted, "emptied": away is None}
    words.cash(out, f"{kind}.collected", by, data, subject=out.setup.table)
    if counted is not None and counted != computed:
        asked = f"{kind} box {box} should hold {computed}; {counted} were counted"
        out.breach("box_differs", "FLAG", asked)
