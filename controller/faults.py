"""Faults of a configuration: every one is named, none is guessed away."""

import difflib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError

from controller.errors import FeltError


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
    """The content of a TOML file. Raises ``BadConfiguration`` where it is missing, unreadable or no TOML."""
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise BadConfiguration([unreadable(path, error)]) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfiguration([Fault(str(path), "", "", f"not valid TOML: {error}")]) from error


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
