"""Strict reading of a TOML file: every key is asked for, and what nobody asked for is refused by line."""

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from simulators.errors import ScriptError

HEADER = re.compile(r"^\s*(\[\[?)\s*([A-Za-z0-9_.\"-]+)\s*\]\]?\s*(#.*)?$")
RECORDED = (".phh", ".phhs")
REQUIRED: Any = object()
MOST = 10**12
"""No amount, count or time of a scenario is larger."""
_LAST = re.compile(r"(\.[^.\[]*|\[\d+\])$")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'|#|[\[\]{}]')
KEY = re.compile(r"^\s*(\"[^\"]+\"|[A-Za-z0-9_.-]+)\s*=")


def read(path: Path) -> "Section":
    """Read a whole file. Raises ``ScriptError`` when it cannot be read or is no TOML."""
    if path.suffix in RECORDED:
        remedy = "is a recorded hand: feltsim rehearse plays it as it is; check and expand read scenarios (*.toml)"
        raise ScriptError(path, "file", path.name, remedy)
    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except OSError as error:
        raise ScriptError(path, "file", error.strerror or str(error), "give a readable file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScriptError(path, "file", str(error), "write it as TOML 1.0 in UTF-8") from error
    return Section(path, data, "", locate(text))


def locate(text: str) -> dict[str, int]:
    """The line of every header, key and table of an inline array: ``step[3].do`` -> 41, ``step[3].moves[1]`` -> 43."""
    lines: dict[str, int] = {}
    counts: dict[str, int] = {}
    prefix = ""
    within: _Items | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        header, key = (HEADER.match(line), KEY.match(line)) if within is None else (None, None)
        if header:
            prefix = header[2].replace('"', "")
            if header[1] == "[[":
                counts[prefix] = counts.get(prefix, -1) + 1
                prefix = f"{prefix}[{counts[prefix]}]"
            lines.setdefault(prefix, number)
        elif key:
            name = key[1].strip('"')
            full = f"{prefix}.{name}" if prefix else name
            lines.setdefault(full, number)
            within = _Items(full) if line[key.end() :].lstrip().startswith("[") else None
        if within is not None and not within.read(line[key.end() :] if key else line, number, lines):
            within = None
    return lines


class _Items:
    """The tables of one array that is written inline, over as many lines as it takes."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._depth = self._count = 0

    def read(self, line: str, number: int, lines: dict[str, int]) -> bool:
        """Note the line of each table. Returns whether the array goes on."""
        for mark in _TOKEN.findall(line):
            if mark == "#":
                break
            if mark == "{" and self._depth == 1:
                lines.setdefault(f"{self._name}[{self._count}]", number)
                self._count += 1
            self._depth += (mark in "[{") - (mark in "]}")
            if self._depth == 0:
                return False
        return True


class Section:
    """One table of the file. ``take`` marks a key as known; ``done`` refuses what is left."""

    def __init__(self, path: Path, data: Mapping[str, Any], name: str, lines: Mapping[str, int]) -> None:
        self.path = path
        self.data = data
        self.name = name
        self.lines = lines
        self.asked: set[str] = set()

    def __contains__(self, key: str) -> bool:
        return key in self.data

    @property
    def line(self) -> int | None:
        """Where this table begins."""
        return self.lines.get(self.name)

    def wrong(self, key: str, value: object, remedy: str) -> ScriptError:
        """The error for one key of this table."""
        full = f"{self.name}.{key}" if self.name else key
        there = full
        while there and there not in self.lines:
            there = _LAST.sub("", there) if _LAST.search(there) else ""
        return ScriptError(self.path, full, value, remedy, self.lines.get(there))

    def take(self, key: str, kind: type | tuple[type, ...], default: Any = REQUIRED, remedy: str = "") -> Any:
        """The value of a key. Raises ``ScriptError`` when it is missing without a default, or of another kind."""
        self.asked.add(key)
        if key not in self.data:
            if default is REQUIRED:
                raise self.wrong(key, None, remedy or "this field is required")
            return default
        value = self.data[key]
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise self.wrong(key, value, remedy or f"give {' or '.join(_words(k) for k in kinds)}")
        return value

    def text(self, key: str, default: str | None = REQUIRED) -> Any:
        """A string."""
        return self.take(key, str, default)

    def number(self, key: str, default: int | None = REQUIRED, least: int = 0, most: int = MOST) -> Any:
        """A whole number from ``least`` to ``most``."""
        value = self.take(key, int, default)
        if value is not None and not least <= value <= most:
            raise self.wrong(key, value, f"give a whole number from {least} to {most}")
        return value

    def choice(self, key: str, among: Iterable[str], default: str = REQUIRED) -> Any:
        """One of the given words."""
        value = self.take(key, str, default)
        among = tuple(among)
        if value not in among:
            words = ", ".join(word or '""' for word in among)
            raise self.wrong(key, value, f"use one of {words}{suggestion(value, among)}")
        return value

    def texts(self, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """A list of strings."""
        value = self.take(key, list, list(default))
        if not all(isinstance(item, str) for item in value):
            raise self.wrong(key, value, "give a list of strings")
        return tuple(value)

    def section(self, key: str) -> "Section":
        """A table in this one; empty when it is not there."""
        value = self.take(key, dict, {})
        return Section(self.path, value, f"{self.name}.{key}" if self.name else key, self.lines)

    def sections(self, key: str) -> list["Section"]:
        """An array of tables; empty when it is not there."""
        value = self.take(key, list, [])
        if not all(isinstance(item, dict) for item in value):
            raise self.wrong(key, value, f"write [[{key}]]")
        prefix = f"{self.name}.{key}" if self.name else key
        return [Section(self.path, item, f"{prefix}[{i}]", self.lines) for i, item in enumerate(value)]

    def refuse(self, keys: Mapping[str, str]) -> None:
        """Refuse keys that the format has and this rig does not do yet; the value is the remedy."""
        for key, remedy in keys.items():
            if key in self.data:
                raise self.wrong(key, self.data[key], remedy)

    def done(self) -> None:
        """Refuse what nobody asked for."""
        for key in self.data:
            if key not in self.asked:
                known = sorted(self.asked)
                raise self.wrong(
                    key, self.data[key], f"unknown here; known are {', '.join(known)}{suggestion(key, known)}"
                )


def is_number(text: object) -> bool:
    """Whether a name is a whole number, as seats, boxes and chips are named."""
    return isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= len(str(MOST))


def suggestion(word: str, among: Iterable[str]) -> str:
    """A hint when the word looks like a typing error."""
    near = difflib.get_close_matches(word, list(among), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _words(kind: type) -> str:
    names = {str: "a string", int: "a whole number", bool: "true or false", list: "a list", dict: "a table"}
    return names.get(kind, kind.__name__)
