"""Faults of a configuration: every one is named, none is guessed away."""

import codecs
import difflib
import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError

from controller.errors import FeltError

LARGEST = 2**53 - 1

PATTERNS = {
    r"^[a-z0-9-]{1,32}$": "use 1 to 32 small letters, digits and hyphens",
    r"^[A-Z]{3}$": "give the three capital letters of the currency, for example EUR",
    r"^([01]\d|2[0-3]):[0-5]\d$": "give a time of day as hours and minutes, for example 06:00",
    r"^[+-](0\d|1[0-4]):[0-5]\d$": "give the offset from UTC with its sign, for example +01:00",
    r"^\d{4}-\d\d-\d\d$": "give a day as year, month and day, for example 2026-11-30",
    r"^[a-z0-9_]{1,40}$": "use 1 to 40 small letters, digits and underscores",
    r"^[a-z]{2}$": "give the two small letters of the language, for example hr",
    r"^[0-9a-f]{64}$": "give the SHA-256 as 64 small hexadecimal digits",
    r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$": "use up to 64 letters, digits, dots, hyphens, colons and underscores",
}
"""What a text must look like, in words: a person reads the message, not the expression behind it."""
SAID = {
    "bool_type": "write true or false",
    "dict_type": "make it a table with keys of its own",
    "float_type": "write a number",
    "greater_than_equal": "write {ge} or more",
    "int_type": "write a whole number, without quotes",
    "less_than_equal": "write {le} or less",
    "list_type": "write a list in square brackets",
    "literal_error": "use {expected}",
    "model_type": "make it a table with keys of its own",
    "string_too_short": "write at least {min_length} character",
    "string_type": "write a text in quotes",
    "too_short": "write at least {min_length}",
}
"""What to do about a value of the wrong kind, by the name that pydantic has for it."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: in which ``file``, at which dotted ``key``, what stands there, and what to do about it."""

    file: str
    key: str
    value: str
    remedy: str

    def __str__(self) -> str:
        where = f"{self.file}: {self.key}" if self.key else self.file
        return f"{where} = {self.value}: {self.remedy}" if self.value else f"{where}: {self.remedy}"


class BadConfiguration(FeltError):
    """A configuration that cannot be used. ``faults`` holds all that is wrong with it."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(map(str, self.faults)))


class Section(BaseModel):
    """A part of a configuration file: strict types, no unknown keys, no secrets in messages."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)

    @classmethod
    def known(cls, values: object) -> Self | None:
        """The section from its known keys alone, or ``None`` where one of them is wrong or missing.

        For checks across sections: an unknown key in one must not hide a fault in another.
        """
        if not isinstance(values, dict):
            return None
        names = {field.alias or name for name, field in cls.model_fields.items()}
        try:
            return cls.model_validate({key: value for key, value in values.items() if key in names})
        except ValidationError:
            return None


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file.

    Raises ``BadConfiguration`` where it is missing, unreadable, no TOML, or holds a number beyond every bound.
    """
    tree, beyond = read_within(path)
    if beyond:
        raise BadConfiguration(beyond)
    return tree


def read_within(path: Path) -> tuple[dict[str, Any], list[Fault]]:
    """The content of a TOML file without the numbers that are beyond every bound, and a fault for each of these.

    For who goes on to find the other faults. Raises ``BadConfiguration`` for a file that is missing, unreadable or no
    TOML.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadConfiguration([unreadable(path, error)]) from error
    if mark := byte_order_mark(content):
        raise BadConfiguration([Fault(str(path), "", "", mark)])
    try:
        tree = tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise BadConfiguration([Fault(str(path), "", "", "not UTF-8 text: save it as UTF-8")]) from error
    except RecursionError as error:
        raise BadConfiguration([Fault(str(path), "", "", "nested too deep: write tables and lists flat")]) from error
    except ValueError as error:  # no TOML, or a number of thousands of digits
        remedy = f"not valid TOML: {error}: put that place right"
        raise BadConfiguration([Fault(str(path), "", "", remedy)]) from error
    faults: list[Fault] = []
    return _within(tree, (), str(path), faults), faults


def byte_order_mark(content: bytes) -> str | None:
    """A remedy where a file begins with a mark that some editors put there; it is part of no value."""
    if content.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "begins with a byte order mark: save it as UTF-8 without BOM"
    return None


def _within(value: Any, at: tuple[str | int, ...], file: str, faults: list[Fault]) -> Any:
    """The value without whole numbers that not every reader of an event keeps exactly, and those that are none."""
    if isinstance(value, int) and abs(value) > LARGEST:
        # Python refuses to write out a number of thousands of digits, and nobody would read it.
        bits = value.bit_length()
        shown_ = str(value) if bits <= 256 else f"a number of {bits} bits"
        faults.append(Fault(file, dotted(at), shown_, f"too large: no number here is above {LARGEST}"))
        return None
    if isinstance(value, float) and not math.isfinite(value):
        faults.append(Fault(file, dotted(at), str(value), "is no number: write one, or leave the key out"))
        return None
    if isinstance(value, dict):
        kept = {key: _within(item, (*at, key), file, faults) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item is not None}
    if isinstance(value, list):
        return [_within(item, (*at, key), file, faults) for key, item in enumerate(value)]
    return value


def unreadable(path: Path, error: OSError, file: str = "", key: str = "") -> Fault:
    """The fault of a file that cannot be read; ``file`` and ``key`` say who asked for it."""
    remedy = f"cannot be read ({error.strerror or type(error).__name__}): name a file that exists and is readable"
    return Fault(file or str(path), key, str(path) if key else "", remedy)


def translate(error: ValidationError, model: type[BaseModel], values: Mapping[str, Any], file: str) -> list[Fault]:
    """What pydantic found, as faults with a remedy."""
    return [
        Fault(file, dotted(item["loc"]), shown(values, item["loc"]), _remedy(item["type"], item["msg"], model, item))
        for item in error.errors(include_url=False, include_input=False)
    ]


def dotted(loc: Sequence[str | int]) -> str:
    """``("devices", "tray0", "uri")`` as ``devices.tray0.uri``."""
    return ".".join(map(str, loc))


def shown(values: Any, loc: Sequence[str | int]) -> str:
    """The value at ``loc`` as it stands in the file, or an empty text where there is none or it is a whole table."""
    for step in loc:
        try:
            values = values[step]
        except (KeyError, IndexError, TypeError):
            return ""
    if isinstance(values, str):
        return f'"{values}"'
    if isinstance(values, bool):
        return "true" if values else "false"
    return "" if isinstance(values, dict | list) else str(values)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint at the closest known word, or the list of what is known."""
    known = sorted(known)
    if not known:
        return "remove it"
    close = difflib.get_close_matches(word, known, n=1)
    return f'did you mean "{close[0]}"?' if close else f"known are {', '.join(known)}"


def _remedy(kind: str, message: str, model: type[BaseModel], item: Any) -> str:
    loc = item["loc"]
    if kind == "extra_forbidden":
        return f"unknown key: {did_you_mean(str(loc[-1]), _keys_at(model, loc[:-1]))}"
    if kind == "missing":
        return "missing: set it"
    if kind == "value_error":
        return message.removeprefix("Value error, ")
    if kind == "string_pattern_mismatch":
        return PATTERNS.get(item["ctx"]["pattern"], "is written in another form: docs/configuration.md shows it")
    if kind in SAID:
        return SAID[kind].format(**item.get("ctx", {}))
    return message[:1].lower() + message[1:]


def _keys_at(model: type[BaseModel], loc: Sequence[str | int]) -> list[str]:
    """The keys that the table at ``loc`` may have."""
    current: Any = model
    steps = iter(loc)
    for step in steps:
        field = current.model_fields.get(str(step))
        current = _first_model(field.annotation) if field else None
        if current is None:
            return []
        if field and get_origin(field.annotation) in (dict, list):
            next(steps, None)  # the name or number of an entry
    return [field.alias or name for name, field in current.model_fields.items()]


def _first_model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_first_model(part) for part in get_args(annotation))
    return next(filter(None, found), None)
