"""The bytes of an event: CloudEvents 1.0 in structured JSON, made once and never again.

The bytes are what is hashed, stored, published and replayed. Whoever needs to look inside parses a copy.
"""

import json
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from controller.contract.catalogue import version_of
from controller.contract.errors import ContractError
from controller.contract.integrity import digest

MAX_BYTES = 64 * 1024


def _encoder() -> Callable[[Any], str]:
    """JSON without blanks, as ``json`` writes it, by an encoder that is made once: ``json`` makes one for each text.

    What goes round in circles it finds by the depth, so it need not keep account of where it has been.
    """
    plain = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":"))
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:  # an interpreter without json's C part
        return plain.encode
    chunks = make(None, plain.default, json.encoder.encode_basestring, None, ":", ",", False, False, False)
    return lambda what: "".join(chunks(what, 0))


_encode = _encoder()
_text = lru_cache(maxsize=256)(_encode)
"""A string as JSON. Remembered: hands, sessions, types and sources are few at a time."""


class Position(NamedTuple):
    """Where an event stands: its stream's own number, the table's total order, and the hash of the one before."""

    ledger: str
    stream: str
    sequence: int
    row: int
    prev: str


def time_text(wall_ns: int) -> str:
    """UTC with six decimals; ``wall_ns`` is nanoseconds since 1970. What is below a microsecond is cut off."""
    seconds, rest = divmod(wall_ns, 1_000_000_000)
    days, second = divmod(seconds, 86_400)
    return f"{_date(days)}T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}.{rest // 1000:06d}Z"


@lru_cache(maxsize=2)
def _date(days: int) -> str:
    """A day, counted from 1970. Remembered: records come many in one."""
    return time.strftime("%Y-%m-%d", time.gmtime(days * 86_400))


def event_id(ledger: str, stream: str, sequence: int) -> str:
    """The event's id: with its source unique for ever."""
    return f"{ledger}/{stream}/{sequence:016d}"


def schema_urn(kind: str) -> str:
    """The ``dataschema`` of an event type in the version we write."""
    return f"urn:felt:schema:{kind}:{version_of(kind)}"


@lru_cache(maxsize=256)
def _schema(kind: str) -> str:
    return _text(schema_urn(kind))


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
    # Written out: a dictionary of all this, made and encoded for each event, takes as long as its data does.
    ledger, stream, sequence = position.ledger, position.stream, position.sequence
    about = f',"subject":{_text(subject)}' if subject else ""
    sitting = f',"session":{_text(session)}' if session is not None else ""
    members = (
        f'"specversion":"1.0","id":"{event_id(ledger, stream, sequence)}","source":{_text(source)},"type":{_text(kind)}'
        f',"time":"{time_text(wall_ns)}"{about},"datacontenttype":"application/json","dataschema":{_schema(kind)}'
        f',"sequence":"{sequence:016d}","ledger":{_text(ledger)},"row":"{position.row:016d}","gamingday":{_text(day)}'
        f'{sitting},"test":{"true" if test else "false"},"prev":"{position.prev}"'
    )
    return _bytes(kind, members, data)


def withheld(original: bytes, cause: str) -> bytes:
    """What is published in the place of an event that the broker refused: same id, same sequence, no content."""
    event = json.loads(original)
    kind = "record.withheld"
    data = {"original_type": event["type"], "original_sha256": digest(original), "cause": cause}
    del event["data"]
    event |= {"type": kind, "dataschema": schema_urn(kind)}
    return _bytes(kind, _encode(event)[1:-1], data)


def _bytes(kind: str, members: str, data: Mapping[str, Any]) -> bytes:
    """The event of these members, and its data behind them."""
    try:
        body = f'{{{members},"data":{_encode(data)}}}'.encode()
    except (TypeError, ValueError, RecursionError) as error:
        # The cause is not chained: its text may quote the data.
        raise ContractError(f"type: {kind!r}: data must be plain JSON ({type(error).__name__})") from None
    if len(body) > MAX_BYTES:
        raise ContractError(f"type: {kind!r}: {len(body)} bytes: an event has at most {MAX_BYTES}; split its content")
    return body
