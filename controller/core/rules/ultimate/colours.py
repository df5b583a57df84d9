"""Coloured chips: each colour is one player's, at a value of his choice (LT-1.1, LT-A12)."""

from controller.core.errors import BadCommand
from controller.core.inputs import Command
from controller.core.out import Out
from controller.core.rules.ultimate.talk import Data, boxes_of, breach


def colour(out: Out, command: Command) -> None:
    """``colour``: colour (a chip of kind colour), value, player?, box?, count?. Without a value it is given back."""
    name, value = command.args.get("colour"), command.args.get("value")
    kinds = [d.id for d in out.setup.chipset.denominations if d.kind == "colour"]
    if name not in kinds:
        raise BadCommand("colour", name, f"name a coloured chip of this table: {', '.join(kinds) or 'there is none'}")
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise BadCommand("value", value, "give the value of one chip in minor units, or leave it out to take it back")
    table = out.state.table
    if out.state.session is None:
        out.breach("no_session", "BLOCK", "the table is not open; open it first")
    elif table.coup is not None or table.staked:
        breach(out, "colour_in_play", "BLOCK", "a colour changes hands while no bets lie on the table")
    elif value is None:
        _back(out, command, str(name))
    elif name in table.colours:
        breach(out, "colour_taken", "BLOCK", f"{name} is in a player's hands; take it back first")
    else:
        data = _who(out, command) | {"colour": name, "value": value, "count": _count(command)}
        out.emit("cash", "colour.assigned", out.setup.table, _cash(out, command) | data)


def _back(out: Out, command: Command, name: str) -> None:
    held = out.state.table.colours.get(name)
    if held is None:
        raise BadCommand("colour", name, "this colour is in nobody's hands")
    data: Data = {"colour": name, "value": held.value, "count": _count(command)}
    data |= ({} if held.player is None else {"player": held.player}) | ({} if held.box is None else {"box": held.box})
    out.emit("cash", "colour.released", out.setup.table, _cash(out, command) | data)


def _who(out: Out, command: Command) -> Data:
    player, box = command.args.get("player"), command.args.get("box")
    if player is None and box is None:
        raise BadCommand("player", None, "say whose colour it is: player, box or both")
    if player is not None and not isinstance(player, str):
        raise BadCommand("player", player, "give the player's pseudonym")
    if box is not None and box not in boxes_of(out.setup):
        raise BadCommand("box", box, f"boxes are 1 to {boxes_of(out.setup)[-1]}")
    return ({} if player is None else {"player": player}) | ({} if box is None else {"box": box})


def _count(command: Command) -> int:
    count = command.args.get("count", 0)
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise BadCommand("count", count, "give how many chips of the colour")
    return count


def _cash(out: Out, command: Command) -> Data:
    setup = out.setup
    by = [{"staff": command.by, "role": command.role}]
    currency = {"code": setup.currency.code, "exponent": setup.currency.exponent}
    return {"currency": currency, "shift": out.state.shift, "by": by, "basis": "attested"}
