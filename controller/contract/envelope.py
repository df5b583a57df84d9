"""The bytes of an event: CloudEvents 1.0 in structured JSON, made once and never again.

The bytes are what is hashed, stored, published and replayed. Whoever needs to look inside parses a copy.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from controller.contract.catalogue import version_of
from controller.contract.errors import ContractError
from controller.contract.integrity import digest

MAX_BYTES = 64 * 1024

# A prepared encoder: json.dumps with settings of its own would build a new one for each event.
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_text = lru_cache(maxsize=256)(_encode)
"""A string as JSON. Remembered: hands, sessions, types and sources are few at a time."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where an event stands: its stream's own number, the table's total order, and the hash of the one before."""

    ledger: str
    stream: str
    sequence: int
    row: int
    prev: str


def time_text(wall_ns: int) -> str:
    """UTC with six decimals; ``wall_ns`` is nanoseconds since 1970. What is below a microsecond is cut off."""
    seconds, rest = divmod(wall_ns, 1_000_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest // 1000:06d}Z"


def event_id(ledger: str, stream: str, sequence: int) -> str:
    """The event's id: with its source unique for ever."""
    return f"{ledger}/{stream}/{sequence:016d}"


def schema_urn(kind: str) -> str:
    """The ``dataschema`` of an event type in the version we write."""
    return f"urn:felt:schema:{kind}:{version_of(kind)}"


def encode(
    position: Position,
    *,
    source: str,
    kind: str,
    wall_ns: int,
    subject: str,
    day: str,
    session: str | None,
    test: bool,
    data: Mapping[str, Any],
) -> bytes:
    """Make the exact bytes of one event.

    An empty ``subject`` and a ``session`` of ``None`` are left out. Raises ``ContractError`` if ``data`` is not
    JSON, or the event would be larger than 64 KiB; the message names the type and never the data.
    """
    number = f"{position.sequence:016d}"
    # Written out: a dictionary of all this, made and encoded for each event, takes as long as its data does.
    members = [
        f'"specversion":"1.0","id":"{event_id(position.ledger, position.stream, position.sequence)}"',
        f'"source":{_text(source)},"type":{_text(kind)},"time":"{time_text(wall_ns)}"',
        f'"datacontenttype":"application/json","dataschema":{_text(schema_urn(kind))},"sequence":"{number}"',
        f'"ledger":{_text(position.ledger)},"row":"{position.row:016d}","gamingday":{_text(day)}',
        f'"test":{"true" if test else "false"},"prev":"{position.prev}"',
    ]
    if subject:
        members.insert(2, f'"subject":{_text(subject)}')
    if session is not None:
        members.insert(-1, f'"session":{_text(session)}')
    return _bytes(kind, members, data)


def withheld(original: bytes, cause: str) -> bytes:
    """What is published in the place of an event that the broker refused: same id, same sequence, no content."""
    event = json.loads(original)
    kind = "record.withheld"
    data = {"original_type": event["type"], "original_sha256": digest(original), "cause": cause}
    del event["data"]
    event |= {"type": kind, "dataschema": schema_urn(kind)}
    return _bytes(kind, [_encode(event)[1:-1]], data)


def _bytes(kind: str, members: list[str], data: Mapping[str, Any]) -> bytes:
    """The event of these members, and its data behind them."""
    try:
        body = f'{{{",".join(members)},"data":{_encode(data)}}}'.encode()
    except (TypeError, ValueError, RecursionError) as error:
        # The cause is not chained: its text may quote the data.
        raise ContractError(f"type: {kind!r}: data must be plain JSON ({type(error).__name__})") from None
    if len(body) > MAX_BYTES:
        raise ContractError(f"type: {kind!r}: {len(body)} bytes: an event has at most {MAX_BYTES}; split its content")
    return body
