"""The commands of ``feltd`` that go to a running table: their arguments, and what is asked of its socket."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from controller.errors import LocalError
from controller.staffcli import ask_pin

OK, REFUSED, USAGE, UNHEALTHY = 0, 1, 2, 5
ROLES = ("dealer", "inspector", "chief_inspector", "pit_boss", "manager", "cage", "technician")
AMOUNTS = ("small_blind", "big_blind", "ante", "small_bet", "big_bet", "table_min", "straddle")
LIMITS = (*AMOUNTS, "ante_kind", "structure")
MEANS = ("cash", "chips", "voucher", "marker")
MEANT = {"as_role": "role", "second": "with", "of": "reason", "turned": "card", "source": "from", "target": "to"}
"""Arguments whose name the parser needs for itself."""


def tell(args: argparse.Namespace) -> int:
    """Send one command and tell its answer; the exit code."""
    from controller.client import ask, told  # noqa: PLC0415 - `feltd --help` must not load a socket client

    path = _socket(args)
    request = {"command": args.command, "args": arguments(args), "by": args.by, "role": args.role}
    request["reason"] = args.reason
    answer = ask(path, request)
    pins: dict[str, str] = {}
    while (who := _asked_to_prove(answer)) and who not in pins:
        pins[who] = ask_pin(f"PIN of {who}: ", from_stdin=args.pin_stdin)
        answer = ask(path, request | {"args": request["args"] | {"pins": pins}})
    if args.json:
        print(json.dumps(answer, ensure_ascii=False, indent=2))
    else:
        print(told(answer), file=sys.stdout if answer["ok"] else sys.stderr)
    if answer["ok"]:
        return OK
    return REFUSED if "refused" in answer else USAGE


def health(args: argparse.Namespace) -> int:
    """Ask how the daemon is; the exit code says whether all is well."""
    from controller.client import ask  # noqa: PLC0415

    told = ask(_socket(args), {"command": "health"})["health"]
    if args.json:
        print(json.dumps(told, ensure_ascii=False, indent=2))
    else:
        for name, trouble in told["checks"].items():
            print(f"{name:<10} {trouble or 'ok'}")
    return OK if told["ok"] else UNHEALTHY


def _socket(args: argparse.Namespace) -> Path:
    if args.socket is None and args.config is None:
        raise LocalError("--socket", None, "say which table: --socket PATH, or -c FILE")
    if args.socket is None:
        from controller.configuration.settings import socket_path  # noqa: PLC0415

        return socket_path(args.config)
    path: Path = args.socket
    return path


def _asked_to_prove(answer: dict[str, Any]) -> str:
    """Whose PIN the table asks for; empty where it asks for none."""
    error = answer.get("error", {})
    return str(error["value"]) if error.get("field") == "pins" else ""


def arguments(args: argparse.Namespace) -> dict[str, Any]:
    """What the command says, without what nobody said."""
    given = {name: getattr(args, name) for name in args.names if getattr(args, name) is not None}
    limits = {name: given.pop(name) for name in LIMITS if name in given}
    if limits:
        given["limits"] = limits
    if given.get("stack") == "unknown":
        given["stack"] = None
    if "card" in given:
        given["args"] = {"card": given.pop("card")}
    for name, meant in MEANT.items():
        if name in given:
            given[meant] = given.pop(name)
    for name in ("lines", "given", "taken"):
        if name in given:
            given[name] = [{"denomination": value, "count": count} for value, count in given[name]]
    if "moves" in given:
        wrong = next((amount for _, _, amount in given["moves"] if not amount.isdecimal()), None)
        if wrong is not None:
            raise LocalError("--move", wrong, "ends in an amount in minor units: FROM TO AMOUNT")
        given["moves"] = [{"from": a, "to": b, "amount": int(amount)} for a, b, amount in given["moves"]]
    if "draw" in given:
        given["draw"] = [{"seat": seat, "card": card} for seat, card in given["draw"]]
    if "shows" in given:
        small, big = given["shows"]
        given["shows"] = {"small_blind": small, "big_blind": big}
    return given


def _stack(text: str) -> int | str:
    if text != "unknown" and not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}: a whole number of minor units, or `unknown`")
    return text if text == "unknown" else int(text)


def _chips(text: str) -> tuple[int, int]:
    value, _, count = text.partition("=")
    if not (value.isdecimal() and count.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r}: VALUE=COUNT, for example 500=40")
    return int(value), int(count)


def _showed(text: str) -> dict[str, Any]:
    seat, _, cards = text.partition("=")
    if not seat.isdecimal() or not cards or len(cards) % 2:
        raise argparse.ArgumentTypeError(f"{text!r}: SEAT=CARDS, for example 3=AsKd")
    return {"seat": int(seat), "cards": [cards[at : at + 2] for at in range(0, len(cards), 2)]}


def _drawn(text: str) -> tuple[int, str]:
    seat, _, card = text.partition("=")
    if not (seat.isdecimal() and card):
        raise argparse.ArgumentTypeError(f"{text!r}: SEAT=CARD, for example 3=7h")
    return int(seat), card


def add_table_commands(add: Any) -> None:
    """Add every command of a running table; ``add(name, help, act)`` makes one parser."""

    def command(name: str, help_: str, *names: str) -> argparse.ArgumentParser:
        added: argparse.ArgumentParser = add(name, help_, tell)
        added.set_defaults(names=names)
        where = added.add_argument_group("which table")
        where.add_argument("--socket", type=Path, metavar="PATH")
        where.add_argument("-c", "--config", type=Path, metavar="FILE")
        who = added.add_argument_group("who says so")
        who.add_argument("--by", default="", metavar="STAFF", help="a person who is logged in")
        who.add_argument("--role", default="", choices=("", *ROLES), metavar="ROLE")
        who.add_argument("--reason", default="", metavar="TEXT")
        who.add_argument("--pin-stdin", action="store_true", help="read PINs from standard input, a line each")
        added.add_argument("--json", action="store_true")
        return added

    _session(command)
    _money(command)
    _players(command)
    _hands(command)
    _words(command)


def _limits(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("limits, in minor units")
    for name in AMOUNTS:
        group.add_argument(f"--{name.replace('_', '-')}", type=int, metavar="N")
    group.add_argument("--ante-kind", choices=("each", "big_blind"))
    group.add_argument("--structure", choices=("no_limit", "pot_limit", "fixed_limit"))


def _counted(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--lines", type=_chips, nargs="+", metavar="VALUE=COUNT", help="what lies in the tray")
    parser.add_argument("--with", dest="second", metavar="STAFF", help="who counted and signs with you")


def _session(command: Any) -> None:
    command("status", "show the table, and what is missing before the next step")
    command("confirm", "confirm a configuration that is new: two persons, one after the other")
    opened = command("open", "open the table", "button", "shift", *LIMITS)
    opened.add_argument("--button", type=int, metavar="SEAT")
    opened.add_argument("--shift", metavar="NAME")
    _limits(opened)
    _counted(command("close", "close the table", "lines", "second"))
    count = command("count", "the tray was counted", "of", "lines", "second")
    count.add_argument("of", choices=("open", "close", "shift", "fill", "credit", "spot_check"))
    _counted(count)
    shift = command("shift", "the next shift takes over", "shift", "lines", "second")
    shift.add_argument("shift", metavar="NAME")
    _counted(shift)
    deck = command("deck", "the deck was verified or changed", "do", "count", "method", "before", "new", "because")
    deck.add_argument("do", choices=("verify", "change"))
    deck.add_argument("new", nargs="?", metavar="DECK", help="with change: the deck that comes")
    deck.add_argument("--count", type=int, metavar="CARDS")
    deck.add_argument("--method", choices=("face_up", "count", "machine"))
    deck.add_argument("--before", type=int, nargs="+", metavar="SEAT", help="whose players were present")
    deck.add_argument("--because", choices=("schedule", "requested", "fouled", "marked", "damaged"))
    button = command("button", "draw, place or find the button", "seat", "how", "draw", "collected")
    button.add_argument("seat", type=int, nargs="?")
    button.add_argument("--how", choices=("draw", "corrected", "lies"), help="lies: it was seen at that seat")
    button.add_argument("--draw", type=_drawn, nargs="+", metavar="SEAT=CARD", help="the cards of the draw")
    button.add_argument("--collected", type=int, metavar="CARDS", help="in the deck again after the draw")
    settings = command("settings", "change the limits between hands", "displayed", *LIMITS)
    settings.add_argument("--displayed", action="store_true", default=None, help="the sign shows them already")
    _limits(settings)


def _money(command: Any) -> None:
    for name, help_ in (("fill", "ask for chips from the cage"), ("credit", "send chips back to the cage")):
        asked = command(name, f"{help_}: a slip with the next number", "lines")
        asked.add_argument("lines", type=_chips, nargs="+", metavar="VALUE=COUNT")
    slip = command("slip", "complete a slip with two signatures, or cancel it with a reason", "do", "slip", "second")
    slip.add_argument("do", choices=("complete", "cancel"))
    slip.add_argument("slip", nargs="?", metavar="SLIP", help="its id or number; not needed where one is open")
    slip.add_argument("--with", dest="second", metavar="STAFF", help="who signs with you")
    collect = command("collect", "a box was taken away, or counted", "what", "box", "counted", "second")
    collect.add_argument("what", choices=("drop", "rake", "tips"))
    collect.add_argument("--box", metavar="NAME", help="where boxes have names of their own")
    collect.add_argument("--counted", type=int, metavar="N", help="minor units; leave out where it is counted later")
    collect.add_argument("--with", dest="second", metavar="STAFF", help="who was there")
    command("meters", "read the meters: sums since the shift began")
    orphan = command("orphan", "chips of nobody were found", "amount", "place")
    orphan.add_argument("amount", type=int, help="minor units")
    orphan.add_argument("place", help="for example bet:3, box:2:trips or floor")
    adjust = command("adjust", "put money right after a hand is final", "hand", "amount", "source", "target", "second")
    adjust.add_argument("hand", metavar="HAND")
    adjust.add_argument("amount", type=int, help="minor units")
    adjust.add_argument("source", metavar="FROM", help="seat:3, box:2, tray, drop, rake or tips")
    adjust.add_argument("target", metavar="TO")
    adjust.add_argument("--with", dest="second", metavar="STAFF", help="who signs with you")


def _players(command: Any) -> None:
    seat = command("seat", "a player takes a seat", "seat", "stack", "player", "checked")
    seat.add_argument("seat", type=int)
    seat.add_argument("stack", type=_stack, nargs="?", help="minor units, or `unknown`; default 0")
    seat.add_argument("--player", metavar="PSEUDONYM")
    seat.add_argument("--checked", action="store_true", default=None, help="you saw age, identity and dress")
    leave = command("leave", "a player leaves", "seat")
    leave.add_argument("seat", type=int)
    away = command("away", "a player is away: not dealt in, blinds are missed", "seat")
    away.add_argument("seat", type=int)
    back = command("back", "a player is back: posts what was missed, or waits", "seat", "waits")
    back.add_argument("seat", type=int)
    back.add_argument("--waits", action="store_true", default=None, help="for the big blind")
    buyin = command("buyin", "a player buys chips", "seat", "amount", "means", "done")
    buyin.add_argument("seat", type=int)
    buyin.add_argument("amount", type=int, help="minor units")
    buyin.add_argument("--means", choices=MEANS)
    buyin.add_argument("--done", action="store_true", default=None, help="it has happened in a hand already")
    redeem = command("redeem", "chips go back for cash", "amount", "seat", "place", "means")
    redeem.add_argument("amount", type=int, help="minor units")
    redeem.add_argument("--seat", type=int)
    redeem.add_argument("--place", choices=("desk", "table"))
    redeem.add_argument("--means", choices=MEANS)
    change = command("change", "chips for chips of the same value", "given", "taken", "seat")
    change.add_argument("--given", type=_chips, nargs="+", required=True, metavar="VALUE=COUNT")
    change.add_argument("--taken", type=_chips, nargs="+", required=True, metavar="VALUE=COUNT")
    change.add_argument("--seat", type=int)


def _hands(command: Any) -> None:
    straddle = command("straddle", "the player left of the big blind posts a straddle", "seat")
    straddle.add_argument("seat", type=int)
    cards = command("cards", "what lies face up where no device reads it: the board, or a hand shown", "cards", "seat")
    cards.add_argument("cards", nargs="+", metavar="CARD", help="in the order in which they came, for example As Td 2c")
    cards.add_argument("--seat", type=int, metavar="N", help="whose hand is shown; without it: the board")
    exposed = command("exposed", "the dealer turned over a closed card in the deal", "seat", "turned")
    exposed.add_argument("seat", type=int)
    exposed.add_argument("turned", nargs="?", metavar="CARD", help="where nobody has read it")
    announce = command("announce", "the dealer announces who wins", "seats")
    announce.add_argument("seats", type=int, nargs="+")
    for name, help_ in (("push", "chips went from the pot to a seat"), ("tip", "a winner tips the dealers")):
        paid = command(name, help_, "seat", "amount")
        paid.add_argument("seat", type=int)
        paid.add_argument("amount", type=int, help="minor units")
    rake = command("rake", "the rake went into its box", "amount")
    rake.add_argument("amount", type=int, help="minor units")
    rule = command("rule", "rule on an incident", "incident", "ruling", "card", "second", "moves", "tabled")
    rule.add_argument("incident", help="its id, or its code where one is open")
    rule.add_argument("ruling", nargs="?", default="proposed")
    rule.add_argument("--card", help="with name_card: rank and suit, for example As")
    rule.add_argument("--with", dest="second", metavar="STAFF", help="where two have to sign (I-31)")
    places = "with correct: seat:3, rake, tips; box:2:trips, house"
    rule.add_argument("--move", dest="moves", nargs=3, action="append", metavar=("FROM", "TO", "AMOUNT"), help=places)
    rule.add_argument("--tabled", type=_showed, action="append", metavar="SEAT=CARDS", help="with correct: 3=AsKd")
    command("dispute", "the result of the last hand is disputed; no hand goes on until it is ruled")


def _words(command: Any) -> None:
    login = command("login", "a person takes a function", "staff", "as_role", "relieves", "tables")
    login.add_argument("staff")
    login.add_argument("as_role", choices=ROLES, metavar="role")
    login.add_argument("--relieves", metavar="STAFF", help="who hands over")
    login.add_argument("--tables", type=int, metavar="N", help="how many tables an inspector watches")
    logout = command("logout", "a person leaves", "staff")
    logout.add_argument("staff")
    attest = command("attest", "give one's word for what no sensor sees", "rules", "statement", "scope", "shows")
    attest.add_argument("rules", nargs="+", metavar="RULE", help="rule id, for example HR-4.1")
    attest.add_argument("--statement", metavar="KEY")
    attest.add_argument("--scope", choices=("shift", "hand"))
    attest.add_argument("--shows", type=int, nargs=2, metavar=("SMALL", "BIG"), help="with HR-20.2: what the sign says")
    report = command("report", "say that a rule was broken that no sensor sees", "rule", "seat")
    report.add_argument("rule", metavar="RULE")
    report.add_argument("--seat", type=int)
    override = command("override", "let play go on against a BLOCK", "rules", "until")
    override.add_argument("rules", nargs="+", metavar="RULE")
    override.add_argument("--until", choices=("hand", "shift", "session"))
