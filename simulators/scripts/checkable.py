"""What is expected of an event, held against the contract's catalogue: what no event can ever say is refused by line.

A ``[[never]]`` that cannot be met would pass whatever the table does. So fields that the catalogue does not list are
refused there, and wherever only their absence counts; in an ``[[expect]]`` only those that look like one it lists, as
another fails when it is played. What is no incident, device or fault is refused everywhere.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from controller.contract.catalogue import DATA
from controller.contract.schema import CARD, SEAT, Schema
from simulators.coverage import INCIDENTS
from simulators.scripts.acts import DECK
from simulators.scripts.matching import HELPERS
from simulators.scripts.strict import Section, suggestion

DEVICES = ("shoe", "keypad", "reader", "camera")
FAULTS = (
    *("jam", "lid", "empty", "reset", "noise", "overflow", "rf", "doubtful", "protocol", "throttle", "antenna", "view"),
    *("flood", "unrecorded"),
)
"""What devices are said to have: ``drivers.readings``, and by the table itself."""
NUMBERS = ("size", "min", "max")
_TYPES: Mapping[str, type] = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict}


def match(section: Section, event: str, *, absent: bool = False, seats: Collection[int] = ()) -> Mapping[str, Any]:
    """The ``match`` of an event. ``absent``: it must not be seen; ``seats``: those of the table, where that is known.

    Raises ``ScriptError`` for what this event never says.
    """
    wanted: Mapping[str, Any] = section.take("match", dict, {})
    if event in DATA:
        hold(section, "match", wanted, _described(event), absent=absent, seats=seats)
    return wanted


def _described(event: str) -> Schema:
    """The catalogue's words for an event, and what a name can be that it leaves open."""
    fields = dict(DATA[event]["properties"])
    if fields.get("code", {}).get("pattern") == "^I-[0-9]+$":
        fields["code"] = {"type": "string", "enum": list(INCIDENTS)}
    if event.startswith("device.") and "kind" in fields:
        fields["kind"] = {"type": "string", "enum": list(DEVICES)}
    if event in ("device.fault", "device.cleared"):
        fields["cause"] = {"type": "string", "enum": list(FAULTS)}
    return {**DATA[event], "properties": fields}


def hold(
    section: Section, key: str, wanted: Any, schema: Schema, *, absent: bool = False, seats: Collection[int] = ()
) -> None:
    """Whether a value that the schema describes can be like this. Raises ``ScriptError`` where it cannot."""
    for path, value, why in _Held(absent, frozenset(seats)).problems(wanted, schema, ""):
        raise section.wrong(f"{key}.{path}" if path else key, value, why)


def cards(section: Section, key: str) -> tuple[str, ...]:
    """A list of cards. Raises ``ScriptError`` for what is in no deck."""
    named = section.texts(key)
    for card in named:
        if card not in DECK:
            raise section.wrong(key, card, "no card of the deck: rank 2-9TJQKA and suit cdhs, for instance Td")
    return named


_Problem = tuple[str, Any, str]


@dataclass(frozen=True, slots=True)
class _Held:
    absent: bool
    seats: frozenset[int]

    def problems(self, wanted: Any, schema: Schema, path: str) -> Iterator[_Problem]:
        """Why a value cannot be like this, with where it stands."""
        if isinstance(wanted, Mapping) and wanted and set(wanted) <= HELPERS:
            for name, value in wanted.items():
                yield from self._helper(name, value, schema, path)
        elif "anyOf" in schema:
            found = [list(self.problems(wanted, one, path)) for one in schema["anyOf"]]
            if all(found):
                yield found[0][0]
        elif isinstance(wanted, Mapping):
            yield from self._object(wanted, schema, path)
        else:
            yield from self._value(wanted, schema, path)

    def _object(self, wanted: Mapping[str, Any], schema: Schema, path: str) -> Iterator[_Problem]:
        if schema.get("type", "object") != "object":
            known = ", ".join(sorted(HELPERS))
            near = next((suggestion(name, HELPERS) for name in wanted if name not in HELPERS), "")
            yield path, dict(wanted), f"this is no table but a {schema['type']}; helpers are {known}{near}"
            return
        fields = schema.get("properties", {})
        for name, value in wanted.items():
            at = f"{path}.{name}" if path else name
            if name in fields:
                yield from self.problems(value, fields[name], at)
            elif fields and ((near := suggestion(name, fields)) or self.absent or _only_absent(value)):
                yield (
                    at,
                    value,
                    f"the event has no such field: see docs/asyncapi.json; it has {', '.join(fields)}{near}",
                )

    def _value(self, wanted: Any, schema: Schema, path: str) -> Iterator[_Problem]:
        kind = schema.get("type")
        if kind is not None and type(wanted) is not _TYPES.get(kind, type(None)):
            yield path, wanted, f"it is never equal: the event has a value of type {kind} here"
        elif "enum" in schema and wanted not in schema["enum"]:
            yield path, wanted, f"use one of {', '.join(schema['enum'])}{suggestion(wanted, schema['enum'])}"
        elif "pattern" in schema and not re.search(schema["pattern"], wanted):
            what = "no card: rank 2-9TJQKA and suit cdhs" if schema == CARD else f"never like {schema['pattern']}"
            yield path, wanted, what
        elif kind == "integer" and not schema.get("minimum", wanted) <= wanted <= schema.get("maximum", wanted):
            yield path, wanted, f"it is from {schema['minimum']} to {schema['maximum']}"
        elif schema == SEAT and self.seats and wanted not in self.seats:
            yield path, wanted, f"nobody is there; there are {', '.join(map(str, sorted(self.seats)))}"
        elif isinstance(wanted, list):
            for number, one in enumerate(wanted):
                yield from self.problems(one, schema.get("items", {}), f"{path}[{number}]")

    def _helper(self, name: str, value: Any, schema: Schema, path: str) -> Iterator[_Problem]:
        at = f"{path}.{name}"
        if name in NUMBERS and type(value) is not int:
            yield at, value, "give a whole number"
        elif name == "absent" and type(value) is not bool:
            yield at, value, "give true or false"
        elif name in ("min", "max") and "integer" not in _kinds(schema):
            yield at, value, "only numbers are compared, and this is none"
        elif name == "has":
            if "array" not in _kinds(schema):
                yield at, value, "this is no list"
            for kind in [one.get("items", {}) for one in schema.get("anyOf", [schema])][:1]:
                yield from self.problems(value, kind, at)
        elif name == "any":
            if not isinstance(value, list) or not value:
                yield at, value, "give a list of values"
                return
            for number, one in enumerate(value):
                yield from self.problems(one, schema, f"{at}[{number}]")


def _kinds(schema: Schema) -> set[str]:
    """Which types a value may have; all where that is not described."""
    kinds = {one.get("type") for one in schema.get("anyOf", [schema])}
    return set(_TYPES) if None in kinds else {str(kind) for kind in kinds}


def _only_absent(value: Any) -> bool:
    return isinstance(value, Mapping) and "absent" in value
