"""A closed result is disputed, and put right while it is not final (I-19, CM-19).

Whoever may rule moves money between those who were in the hand, rake and tips (at a table of boxes: between spots and
the house), or says which cards were tabled. The result comes out whole and new, with the next revision; no event is
edited. Once a hand is final, only an adjustment can move money.
"""

from copy import deepcopy

from controller.core import incidents
from controller.core.cards import CARDS
from controller.core.errors import BadCommand
from controller.core.floor import words
from controller.core.floor.words import Data, person
from controller.core.inputs import Command
from controller.core.out import Out
from controller.core.rules import showdown
from controller.core.state import Incident, Pending

KIND = "result_disputed"


def dispute(out: Out, command: Command) -> None:
    """``dispute``: the result of the last hand is disputed: no hand goes on until somebody who may has ruled."""
    pending = out.state.pending
    if pending is None:
        remedy = "no result can be disputed now; once a hand is final, money is put right with adjust"
        raise BadCommand("dispute", None, remedy)
    if not command.reason:
        raise BadCommand("reason", "", "say in a few words what is disputed")
    if any(incident.kind == KIND for incident in out.state.incidents.values()):
        raise BadCommand("dispute", pending.hand, "is disputed already: whoever may rules on it")
    facts = {"hand": pending.hand, "revision": pending.revision, "said": command.reason, "by": person(command)}
    incidents.open_one(
        out,
        "I-19",
        "disputed",
        KIND,
        holds="table",
        proposed="stands",
        alternatives=("correct",),
        facts=facts,
        of_hand=False,
    )


def ruled(out: Out, incident: Incident, command: Command, ruling: str) -> None:
    """The ruled end of a dispute: the result stands, or another one holds; either way the hand is final."""
    pending = out.state.pending
    made = corrected(out, pending, command) if pending is not None and ruling == "correct" else None
    by = words.second(out, command)
    data: Data = {
        "incident": incident.id,
        "code": incident.code,
        "ruling": ruling,
        "follows_proposal": ruling == incident.proposed,
        "against_rules": [],
        "reason": command.reason,
        "by": by,
        "signatures": len(by),
        "effects": {} if made is None else {"moves": made["moves"]},
    }
    out.emit("play", "incident.ruled", incident.id, data | {"basis": "attested"})
    if made is None or pending is None:
        incidents.close(out, incident.id, "noted", "attested")
    else:
        refers = {"type": _holds(pending)}
        head = {"hand": pending.hand, "n": pending.n, "t_ms": out.t_ms(pending.hand, pending.t_ms)}
        told = head | made | {"refers": refers, "incident": incident.id, "by": by, "basis": "attested"}
        out.emit("play", "hand.corrected", pending.hand, told, day=pending.day)
        incidents.close(
            out, incident.id, "corrected", "attested", refers=[{"type": "hand.corrected", "hand": pending.hand}]
        )
    showdown.final(out, "ruled")


def _holds(pending: Pending) -> str:
    """The type of the event that holds the result so far."""
    return "hand.corrected" if pending.revision else "hand.closed"


def corrected(out: Out, pending: Pending, command: Command) -> Data:
    """The new result and the moves that lead to it. Raises ``BadCommand``; nothing has changed then."""
    moves, tabled = command.args.get("moves") or [], command.args.get("tabled") or []
    if not moves and not tabled:
        raise BadCommand("moves", None, "say what is corrected: who pays whom how much, or the cards that were tabled")
    result = deepcopy(pending.result)
    result["revision"] = pending.revision + 1
    done = []
    for move in moves:
        inner = Command("moves", move)
        amount = words.amount(out, inner)
        source, target = words.text(inner, "from"), words.text(inner, "to")
        if source == target:
            raise BadCommand("moves.to", target, "name another place than where the money comes from")
        for name, place, change in (("moves.from", source, -amount), ("moves.to", target, amount)):
            _move(out, pending, result, name, place, change)
        done.append({"from": source, "to": target, "amount": amount})
    if tabled and out.state.play is not None:
        raise BadCommand("tabled", None, "how a hand was read is disputed before the next one begins (CM-19)")
    for line in tabled:
        _table(result, Command("tabled", line))
    return {"result": result, "moves": done}


def _move(out: Out, pending: Pending, result: Data, name: str, place: str, change: int) -> None:
    if "boxes" in result:
        _at_boxes(result, name, place, change)
        return
    if place in ("rake", "tips"):
        if result[place] + change < 0:
            raise BadCommand(name, place, f"only {result[place]} went there")
        result[place] += change
        return
    line = next((one for one in result["seats"] if place == f"seat:{one['seat']}"), None)
    if line is None:
        known = ", ".join(f"seat:{one['seat']}" for one in result["seats"])
        raise BadCommand(name, place, f"name one of {known}, rake, tips")
    if line["seat"] not in out.state.cash.played.get(pending.hand, ()):
        raise BadCommand(name, place, "has left the table: let the result stand, and settle it at the cage (adjust)")
    have = stack(out, line["seat"])
    if line["out"] + change < 0 or (have is not None and have + change < 0):
        raise BadCommand(name, place, f"got {line['out']} in that hand and has {'?' if have is None else have}")
    line["out"] += change
    line["net"] += change
    if line["stack_after"] is not None:
        line["stack_after"] += change
    if change > 0 and line["seat"] not in result["winners"]:
        result["winners"] = sorted((*result["winners"], line["seat"]))
    elif not line["out"]:
        result["winners"] = [seat for seat in result["winners"] if seat != line["seat"]]


def stack(out: Out, seat: int) -> int | None:
    """What a seat has now, in a hand or between two; ``None`` where nobody counted it."""
    hand = out.state.hand
    return hand.stack[seat] if hand is not None and seat in hand.order else out.state.seats[seat].stack


def _at_boxes(result: Data, name: str, place: str, change: int) -> None:
    if place == "house":
        return  # what boxes get less or more is the house's
    for box in result["boxes"]:
        for line in box["lines"]:
            if place != f"box:{box['box']}:{line['spot']}":
                continue
            if line["stake"] + line["net"] + change < 0:
                raise BadCommand(name, place, f"only {line['stake'] + line['net']} came back from there")
            line["net"] += change
            line["pays"] = max(0, line["net"])
            line["outcome"] = "win" if line["net"] > 0 else "lose" if line["net"] < 0 else "push"
            line.pop("odds", None)
            box["returned"] += change
            box["house_net"] -= change
            result["house_net"] -= change
            return
    known = [f"box:{box['box']}:{line['spot']}" for box in result["boxes"] for line in box["lines"]]
    raise BadCommand(name, place, f"name one of {', '.join(known)}, house")


def _table(result: Data, line: Command) -> None:
    """The cards of a hand that was tabled were others than those on record."""
    seat, cards = words.whole(line, "seat", 1), list(line.args.get("cards") or ())
    own = next((one for one in result.get("seats", ()) if one["seat"] == seat and "tabled" in one), None)
    if own is None:
        raise BadCommand("tabled.seat", seat, "showed no hand: only what was tabled can have been read wrongly")
    others = {card for one in result["seats"] if one is not own for card in one.get("tabled", ())}
    others.update(result["board"])
    fits = len(set(cards)) == len(own["tabled"]) == len(cards) and set(cards) <= set(CARDS)
    if not fits or others & set(cards):
        raise BadCommand("tabled.cards", cards, f"name {len(own['tabled'])} cards that lay nowhere else, as As Td")
    own["tabled"] = cards
