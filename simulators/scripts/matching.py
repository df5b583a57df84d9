"""Does an event say what was expected? A match is a subset, with a few helpers where equality is too much."""

from collections.abc import Mapping, Sequence
from typing import Any

HELPERS = frozenset({"has", "size", "min", "max", "any", "absent"})
MISSING = object()


def matches(wanted: Any, found: Any) -> bool:
    """Named fields must be equal; lists must agree in length and order; helpers say what else will do."""
    return not differences(wanted, found)


def differences(wanted: Any, found: Any, path: str = "") -> list[str]:
    """What keeps ``found`` from matching, one line a field; empty when it matches."""
    if isinstance(wanted, Mapping):
        if wanted and set(wanted) <= HELPERS:
            return [line for name, value in wanted.items() for line in _helper(name, value, found, path)]
        if not isinstance(found, Mapping):
            return [f"{path or 'data'}: expected {dict(wanted)}, found {_show(found)}"]
        return [
            line
            for key, value in wanted.items()
            for line in differences(value, found.get(key, MISSING), f"{path}.{key}" if path else key)
        ]
    if isinstance(wanted, list):
        if not isinstance(found, list) or len(found) != len(wanted):
            return [f"{path}: expected {wanted}, found {_show(found)}"]
        return [
            line
            for i, (w, f) in enumerate(zip(wanted, found, strict=True))
            for line in differences(w, f, f"{path}[{i}]")
        ]
    # JSON knows no difference between 1 and true; we do.
    if found is MISSING or wanted != found or isinstance(wanted, bool) != isinstance(found, bool):
        return [f"{path}: expected {wanted!r}, found {_show(found)}"]
    return []


def _helper(name: str, value: Any, found: Any, path: str) -> list[str]:
    match name:
        case "absent":
            good = (found is MISSING) is bool(value)
        case "any":
            good = found is not MISSING and any(matches(option, found) for option in value)
        case "has":
            good = isinstance(found, Sequence) and any(matches(value, item) for item in found)
        case "size":
            good = isinstance(found, Sequence | Mapping) and len(found) == value
        case "min":
            good = isinstance(found, int) and found >= value
        case _:
            good = isinstance(found, int) and found <= value
    return [] if good else [f"{path}: expected {name} {value!r}, found {_show(found)}"]


def _show(found: Any) -> str:
    return "nothing" if found is MISSING else repr(found)
