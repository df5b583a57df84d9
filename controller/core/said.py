"""What a person may say at all, before anybody asks what it means.

Whatever a command holds may end in a record, and a record is frozen, published and read for years. So a text is
printable and short, a number is whole and no larger than an amount can be, and an argument that nobody knows is named
rather than passed over.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from controller.core.errors import BadCommand
from controller.core.inputs import Command
from controller.core.money import MOST

LONGEST_REASON = 500
LONGEST_TEXT = 64
LONGEST_LIST = 128
READABLE = 10**24
"""A number that is too large is repeated up to here."""
STAFF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")
"""A staff id: it becomes the subject of events and a word of the command line."""

Check = Callable[[Any], str | None]
"""What is wrong with a value, as a remedy; ``None`` where nothing is."""


def _whole(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return "give a whole number"
    return None if abs(value) <= MOST else f"give a whole number of at most {MOST}"


def _flag(value: Any) -> str | None:
    return None if isinstance(value, bool) else "use true or false"


def _text(value: Any) -> str | None:
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_TEXT or not value.isprintable():
        return f"give a text of 1 to {LONGEST_TEXT} printable characters on one line, not blanks alone"
    return None


def _staff(value: Any) -> str | None:
    if not isinstance(value, str) or STAFF.fullmatch(value) is None:
        return "give a staff id: up to 64 letters, digits, dots, hyphens, colons and underscores, no space"
    return None


def _list_of(each: Check) -> Check:
    def check(value: Any) -> str | None:
        if not isinstance(value, list) or len(value) > LONGEST_LIST:
            return f"give a list of at most {LONGEST_LIST}"
        return next((wrong for item in value if (wrong := each(item)) is not None), None)

    return check


def _table_of(**known: Check) -> Check:
    def check(value: Any) -> str | None:
        if not isinstance(value, Mapping):
            return f"give an object of {', '.join(known)}"
        for name, item in value.items():
            if name not in known:
                return f"use {', '.join(sorted(known))}"
            if item is not None and (wrong := known[name](item)) is not None:
                return f"{name} {shown(item)!r}: {wrong}"
        return None

    return check


_LINES = _list_of(_table_of(denomination=_whole, count=_whole))
_AMOUNTS = ("small_blind", "big_blind", "ante", "small_bet", "big_bet", "table_min", "straddle")
_LIMITS = _table_of(**dict.fromkeys(_AMOUNTS, _whole), ante_kind=_text, structure=_text)
_COUNTED: dict[str, Check] = {"lines": _LINES, "with": _staff}
_RULES: dict[str, Check] = {"rule": _text, "rules": _list_of(_text)}
_SEAT: dict[str, Check] = {"seat": _whole}
_PAID: dict[str, Check] = {"seat": _whole, "amount": _whole}

ARGUMENTS: dict[str, Mapping[str, Check]] = {
    "login": {"staff": _staff, "role": _text, "relieves": _staff, "tables": _whole},
    "logout": {"staff": _staff},
    "confirm": {},
    "open": {"limits": _LIMITS, "button": _whole, "shift": _text},
    "close": _COUNTED,
    "count": {"reason": _text, **_COUNTED},
    "deck": {
        "do": _text,
        "count": _whole,
        "method": _text,
        "before": _list_of(_whole),
        "missing": _list_of(_text),
        "extra": _list_of(_text),
        "new": _text,
        "because": _text,
    },
    "button": {
        **_SEAT,
        "how": _text,
        "draw": _list_of(_table_of(seat=_whole, card=_text)),
        "collected": _whole,
    },
    "settings": {"limits": _LIMITS, "displayed": _flag},
    "shift": {"shift": _text, **_COUNTED},
    "attest": {
        **_RULES,
        "statement": _text,
        "scope": _text,
        "shows": _table_of(small_blind=_whole, big_blind=_whole),
        "boxes": _list_of(_whole),
    },
    "report": {**_RULES, **_SEAT},
    "override": {**_RULES, "until": _text},
    "seat": {**_SEAT, "player": _text, "stack": _whole, "checked": _flag},
    "leave": _SEAT,
    "away": _SEAT,
    "back": {**_SEAT, "waits": _flag},
    "buyin": {**_PAID, "means": _text, "done": _flag},
    "redeem": {**_PAID, "place": _text, "means": _text},
    "change": {"given": _LINES, "taken": _LINES, **_SEAT},
    "fill": {"lines": _LINES},
    "credit": {"lines": _LINES},
    "slip": {"slip": _text, "do": _text, "with": _staff},
    "collect": {"what": _text, "box": _text, "counted": _whole, "with": _staff},
    "meters": {},
    "orphan": {"amount": _whole, "place": _text},
    "adjust": {"hand": _text, "amount": _whole, "from": _text, "to": _text, "with": _staff},
    "straddle": _SEAT,
    "exposed": {**_SEAT, "card": _text},
    "cards": {**_SEAT, "cards": _list_of(_text)},
    "announce": {"seats": _list_of(_whole)},
    "push": _PAID,
    "rake": {"amount": _whole},
    "tip": _PAID,
    "dispute": {},
    "rule": {
        "incident": _text,
        "ruling": _text,
        "card": _text,
        "args": _table_of(card=_text),
        "moves": _list_of(_table_of(**{"from": _text, "to": _text, "amount": _whole})),
        "tabled": _list_of(_table_of(seat=_whole, cards=_list_of(_text))),
        "with": _staff,
    },
    "colour": {"colour": _text, "value": _whole, "player": _text, "box": _whole, "count": _whole},
    "no_more_bets": {"shuffled": _flag, "cut_offered": _flag, "cut_by": _text},
}
"""Every command and its arguments. ``None`` is allowed for each: it is what is left out."""


def check(command: Command) -> None:
    """Raise ``BadCommand`` for a command that holds what nobody may say, or an argument that it does not have."""
    if command.by and (wrong := _staff(command.by)) is not None:
        raise BadCommand("by", shown(command.by), wrong)
    if command.role and (wrong := _text(command.role)) is not None:
        raise BadCommand("role", shown(command.role), wrong)
    if len(command.reason) > LONGEST_REASON or not command.reason.isprintable():
        remedy = f"say it in at most {LONGEST_REASON} printable characters on one line"
        raise BadCommand("reason", shown(command.reason), remedy)
    known = ARGUMENTS.get(command.name)
    if known is None:
        raise BadCommand("command", shown(command.name), f"use one of {', '.join(sorted(ARGUMENTS))}")
    for name, value in command.args.items():
        if name not in known:
            raise BadCommand(shown(name), shown(value), f"{command.name} takes {', '.join(known)}")
        if value is not None and (wrong := known[name](value)) is not None:
            raise BadCommand(name, shown(value), wrong)


def shown(value: Any) -> Any:
    """A value as an error may repeat it: what is long, deep, or not for every screen is told by its kind."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= MOST else str(value) if abs(value) < READABLE else "a larger number"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        start = value[:LONGEST_TEXT]
        return (start if start.isprintable() else ascii(start)[1:-1]) + ("..." if len(value) > LONGEST_TEXT else "")
    return "a list" if isinstance(value, list) else "an object"
