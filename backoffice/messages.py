"""The one door for what came over MQTT: an object of JSON as somebody may mean it, or nothing.

Whoever may publish has written it. What is no object, too long, too deep, or holds what no store can keep is ``None``,
and never an exception: one message must not end the listening to all tables.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from controller.contract.checkpoint import Head
from controller.contract.topics import STREAMS

LONGEST = 1 << 20
"""No message of a table is nearly so long: an event has at most 64 KiB."""
DEEPEST = 40

_NUMBER = re.compile(r"[0-9]{16}", re.ASCII)
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Previous:
    """The ledger before this one, as ``ledger.began`` names it: its heads by stream."""

    ledger: str
    heads: Mapping[str, Head]


def read(body: bytes) -> dict[str, Any] | None:
    """The object in a message."""
    if len(body) > LONGEST:
        return None
    try:
        told = json.loads(body.decode(), parse_constant=_no_number)
        return told if isinstance(told, dict) and _can_be_kept(told) else None
    except (ValueError, RecursionError):
        return None


def number(said: object) -> int | None:
    """A sequence as the contract spells it, 16 digits."""
    return int(said) if isinstance(said, str) and _NUMBER.fullmatch(said) else None


def text(said: object) -> bool:
    """Whether this is a text that every store can keep."""
    return isinstance(said, str) and "\0" not in said


def data_of(payload: bytes) -> dict[str, Any]:
    """The data of an event; empty where there is none."""
    data = (read(payload) or {}).get("data")
    return data if isinstance(data, dict) else {}


def previous_of(payload: bytes) -> Previous | None:
    """What a ``ledger.began`` says of the ledger before; ``None`` for the first, and for what makes no sense."""
    said = data_of(payload).get("previous")
    if not isinstance(said, dict) or not text(said.get("ledger")) or not isinstance(said.get("heads"), dict):
        return None
    heads: dict[str, Head] = {}
    for stream, head in said["heads"].items():
        at = number(head.get("sequence")) if isinstance(head, dict) else None
        sha = head.get("sha256") if isinstance(head, dict) else None
        if stream not in STREAMS or at is None or not isinstance(sha, str) or not _HASH.fullmatch(sha):
            return None
        heads[stream] = Head(at, sha)
    return Previous(said["ledger"], heads)


def _can_be_kept(told: dict[str, Any]) -> bool:
    """Walks it without recursion. Raises ``ValueError`` for a text that is no Unicode."""
    level: list[Any] = [told]
    for _ in range(DEEPEST):
        below: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                below += one.keys()
                below += one.values()
            elif isinstance(one, list):
                below += one
            elif isinstance(one, str) and not one.isascii():
                one.encode()
        if not below:
            return True
        level = below
    return False


def _no_number(said: str) -> NoReturn:
    raise ValueError(f"{said} is no number of JSON")
