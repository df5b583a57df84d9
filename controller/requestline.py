"""One request at the command socket: a line of JSON, read strictly.

What JSON leaves to its reader is refused here: a key that stands twice, a number that is none, a nesting that is
endless, a text that is no Unicode. Such a line has no one meaning, and a table needs one.
"""

import json
from typing import Any, NoReturn

from controller.core.said import LONGEST_TEXT, shown
from controller.errors import LocalError

FIELDS: dict[str, Any] = {"command": None, "args": {}, "by": "", "role": "", "reason": ""}
DEEPEST = 8
LONGEST_NUMBER = 18
"""Digits, with a sign: what is longer is no amount, and costs time to read."""


def read(line: bytes) -> dict[str, Any]:
    """A request with all its fields. Raises ``LocalError`` for what is none."""
    try:
        given = json.loads(
            line.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_number, parse_int=_int, parse_float=_whole
        )
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise LocalError("request", "", "send one JSON object a line, as UTF-8") from None
    except RecursionError:
        raise LocalError("request", "", f"nested too deep: at most {DEEPEST} levels") from None
    if not isinstance(given, dict):
        raise LocalError("request", type(given).__name__, "send one JSON object a line")
    for name, value in given.items():
        if name not in FIELDS:
            raise LocalError(shown(name), "", f"unknown field: use {', '.join(FIELDS)}")
        if not isinstance(value, dict if name == "args" else str):
            raise LocalError(name, shown(value), f"must be {'an object' if name == 'args' else 'a text'}")
    if not given.get("command"):
        raise LocalError("command", given.get("command"), "name a command")
    _check(given)
    return {**FIELDS, "args": {}, **given}


def _check(given: dict[str, Any]) -> None:
    """No level below the deepest, and every text can be written: half of a pair of surrogates cannot."""
    level: list[Any] = [given]
    for _ in range(DEEPEST):
        for text in level:
            if isinstance(text, str) and not _writable(text):
                raise LocalError("request", shown(text), "holds text that is no Unicode: send UTF-8")
        lists = [item for item in level if isinstance(item, list)]
        tables = [item for item in level if isinstance(item, dict)]
        level = [item for one in lists for item in one]
        level += [item for one in tables for pair in one.items() for item in pair]
    if level:
        raise LocalError("request", "", f"nested too deep: at most {DEEPEST} levels")


def _writable(text: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise LocalError(shown(name), "", "stands twice: say it once")
        found[name] = value
    return found


def _no_number(word: str) -> NoReturn:
    raise LocalError("request", word, "is no number: leave it out, or give a whole number")


def _int(digits: str) -> int:
    if len(digits) > LONGEST_NUMBER:
        raise LocalError("request", f"a number of {len(digits)} digits", f"give at most {LONGEST_NUMBER - 1}")
    return int(digits)


def _whole(text: str) -> NoReturn:
    raise LocalError("request", text[:LONGEST_TEXT], "give a whole number: no fraction and no exponent")
