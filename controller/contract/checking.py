"""Holds published events against their schemas. For those who check: it needs ``jsonschema``, the daemon does not."""

import functools
import json
from typing import Any

import jsonschema

from controller.contract.catalogue import DATA
from controller.contract.schemas import event_schema


class _Float(float):
    """Marks a number that was written as a float: JSON Schema takes 1.0 for an integer, the contract does not."""


def problems(body: bytes) -> list[str]:
    """What in an event does not fit the contract, a line each, with the path of the field; empty if all is well.

    A type that the catalogue does not know is no problem: subscribers ignore unknown types.
    """
    event = json.loads(body, parse_float=_Float)
    kind = event.get("type")
    if kind not in DATA:
        return []
    found = [f"{kind}: {error.json_path}: {error.message}" for error in _validator(kind).iter_errors(event)]
    return found + [f"{kind}: {path}: a float; write an integer, or num and den" for path in _floats(event, "$")]


def _floats(value: Any, path: str) -> list[str]:
    if isinstance(value, _Float):
        return [path]
    if isinstance(value, dict):
        return [hit for name, item in value.items() for hit in _floats(item, f"{path}.{name}")]
    if isinstance(value, list):
        return [hit for index, item in enumerate(value) for hit in _floats(item, f"{path}[{index}]")]
    return []


@functools.cache
def _validator(kind: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(event_schema(kind))
