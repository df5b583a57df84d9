"""What enters the core as JSON, and back again as equal values: what ``feltd verify --capture`` replays."""

import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, get_args

from pydantic import TypeAdapter, ValidationError

from controller.core.inputs import Command, HandSeed, Input, Notice, Tick, What
from controller.core.setup import Setup
from drivers.readings import Reading

_KINDS: Mapping[str, type] = {kind.__name__: kind for kind in (*get_args(Reading), Tick, Command, Notice, HandSeed)}


class NotUnderstood(ValueError):
    """A line of a capture that this version does not know."""


_ORIGIN: Mapping[str, type] = {"setup": dict, "ledger": str, "row": int, "devices": list}
_DEVICE: Mapping[str, type] = {"name": str, "driver": str, "uri": str, "expect": dict, "options": dict}
_RUN: Mapping[str, type] = {"run": str, "part": int, "mono": int, "wall": int}
_CALLS: Mapping[str, Mapping[str, type]] = {
    "opening": {},
    "opened": {},
    "due": {},
    "leave": {},
    "lost": {"cause": str},
    "acknowledge": {"reading": int},
}


def known(said: Mapping[str, Any]) -> None:
    """A line must be an input, a call of a driver, the begin of a run or a restart. Raises ``NotUnderstood``."""
    if "run" in said:
        _has(said, _RUN)
        origin = said.get("origin")
        if origin is not None:
            _has(origin, _ORIGIN)
            for device in origin["devices"]:
                _has(device, _DEVICE)
    elif "restored" in said:
        _has(said, {"restored": int})
    elif "call" in said:
        _has(said, {"device": str, "call": str})
        if said["call"] not in _CALLS:
            raise NotUnderstood(f"a call {said['call']!r} that this version does not know")
        _has(said, _CALLS[said["call"]])
    else:
        as_input(said)


def _has(said: Any, wanted: Mapping[str, type]) -> None:
    for name, kind in wanted.items():
        found = said.get(name) if isinstance(said, dict) else None
        if type(found) is not kind or (isinstance(found, int) and found < 0):
            raise NotUnderstood(f"{name} = {found!r} where this version knows {kind.__name__}")


def plain(value: Any) -> Any:
    """Any value of the core as JSON has it: dataclasses and mappings as objects, sets sorted, bytes as hex."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, AbstractSet):
        return sorted(plain(item) for item in value)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value.hex() if isinstance(value, bytes) else value


def line(**said: Any) -> bytes:
    """One line of the interface of inputs."""
    return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode()


def input_line(what: Input) -> bytes:
    """An input as a line."""
    return line(input=what.no, at=what.at, wall=what.wall, kind=type(what.what).__name__, what=plain(what.what))


def as_input(said: Mapping[str, Any]) -> Input:
    """The input of a line. Raises ``NotUnderstood``."""
    try:
        return Input(said["input"], said["at"], said["wall"], _what(said["kind"], said["what"]))
    except (KeyError, TypeError, ValueError) as error:
        raise NotUnderstood(f"an input that this version does not know ({type(error).__name__})") from error


def _what(kind: str, said: Any) -> What:
    if kind == HandSeed.__name__:
        return HandSeed(bytes.fromhex(said["seed"]))
    made: What = _adapter(_KINDS[kind]).validate_python(said)
    return made


def as_setup(said: Any) -> Setup:
    """The table that a capture was made at. Raises ``NotUnderstood``."""
    try:
        made: Setup = _adapter(Setup).validate_python(said)
    except ValidationError as error:
        raise NotUnderstood(f"a table that this version does not know ({error.error_count()} values)") from error
    return made


@cache
def _adapter(kind: type) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
