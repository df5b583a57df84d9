"""What subscribers may ask of a table over MQTT: a replay, a rebirth. Nothing else comes in this way.

A message does not say who sent it. But the answer goes under ``{root}/{site}/{table}/reply/{client}/``, which the
broker lets that client alone read, so a request is answered by what that client was granted, whoever sent it. A
request without such an address is not answered at all.

The allowance is that of the client in the address, too: whoever may write requests can use up another's.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.contract.topics import STREAMS, Topics
from controller.delivery.publisher import Asked, Message

Grants = Mapping[str, frozenset[str]]
"""Client -> the streams it may have."""

LONGEST = 4096
"""A request has at most so many bytes."""
MOST = 5000
"""The most events of one replay; whoever needs more asks again from ``next``."""
USUAL = 500
BURST = 5
PER_S = 1.0
"""Each client may ask so many times at once, and then so often."""
BUSY_EVERY_S = 1.0
"""Who asks too often is told so once in so long. An answer to each would make the table talk as much as the sender."""

_REST = re.compile(r"[A-Za-z0-9_/-]{1,64}")
_NUMBER = re.compile(r"[0-9]{1,16}")
_FIELDS = frozenset({"stream", "ledger", "from", "to", "max", "reply_to", "correlation_id"})


@dataclass(frozen=True, slots=True)
class Address:
    """Where an answer goes. ``words`` is the correlation as the body of the request gave it."""

    client: str
    topic: str
    correlation: bytes | None = None
    words: str | None = None

    def answer(self, content: Mapping[str, Any]) -> Message:
        """A message that is no event: the end of a replay, or why there is none."""
        named = content if self.words is None else {**content, "correlation_id": self.words}
        return Message(self.topic, json.dumps(named, separators=(",", ":")).encode(), correlation=self.correlation)

    def event(self, body: bytes) -> Message:
        """The bytes of an event, as they were."""
        return Message(self.topic, body, correlation=self.correlation)


@dataclass(frozen=True, slots=True)
class ReplayWanted:
    """A range of one stream. ``ledger`` ``None``: the current one; ``last`` ``None``: up to the head."""

    address: Address
    stream: str
    ledger: str | None
    first: int
    last: int | None
    most: int


@dataclass(frozen=True, slots=True)
class RebirthWanted:
    """State and description once more, to all and to who asked."""

    address: Address


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not served."""

    address: Address
    content: Mapping[str, Any]

    @property
    def message(self) -> Message:
        """The answer."""
        return self.address.answer(self.content)


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A request that gets no answer, and why. ``client`` is ``None`` where nobody who was granted anything is named."""

    why: str
    client: str | None = None


def read_json(body: bytes) -> Any:
    """What somebody else wrote; ``None`` where that is no JSON, or deeper than anybody means."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


@dataclass(slots=True)
class Desk:
    """Reads requests: who asks, whether that may be, and whether it is not too often. ``now`` is monotonic seconds."""

    topics: Topics
    grants: Grants
    _tokens: dict[str, tuple[float, float]] = field(default_factory=dict)
    _busy: dict[str, float] = field(default_factory=dict)

    def read(self, asked: Asked, now: float) -> ReplayWanted | RebirthWanted | Refusal | Unanswered:
        """The request, or the refusal of it, or why not even that is said."""
        if asked.kept:  # it would come again at each connection, to the end of time
            return Unanswered("retained at the broker")
        if len(asked.body) > LONGEST:
            return Unanswered(f"longer than {LONGEST} bytes")
        body = read_json(asked.body)
        if not isinstance(body, dict):
            return Unanswered("no JSON object")
        address = self._address(asked, body)
        if address is None:
            return Unanswered("no address to answer to")
        client = address.client
        if client not in self.grants:
            # All strangers together have one allowance: they must not make us talk.
            if self._allowed("", now) is not None:
                return Unanswered("strangers ask too often")
            return Refusal(address, {"error": "denied"})
        wait = self._allowed(client, now)
        if wait is not None:
            if now - self._busy.get(client, now - BUSY_EVERY_S) < BUSY_EVERY_S:
                return Unanswered("asks too often, was told so", client)
            self._busy[client] = now
            return Refusal(address, {"error": "busy", "retry_ms": wait})
        if asked.topic == self.topics.command("rebirth"):
            return RebirthWanted(address)
        return self._replay(address, body)

    def may_read(self, client: str, stream: str) -> bool:
        """Whether a client was granted a stream."""
        return stream in self.grants.get(client, ())

    def _address(self, asked: Asked, body: Mapping[str, Any]) -> Address | None:
        topic = asked.reply_to or body.get("reply_to")
        start = f"{self.topics.base}/reply/"
        if not isinstance(topic, str) or not topic.startswith(start):
            return None
        client, _, rest = topic.removeprefix(start).partition("/")
        if not re.fullmatch(r"[a-z0-9-]{1,32}", client) or not _REST.fullmatch(rest):
            return None
        words = body.get("correlation_id")
        return Address(client, topic, asked.correlation, words if isinstance(words, str) and len(words) < 200 else None)

    def _replay(self, address: Address, body: Mapping[str, Any]) -> ReplayWanted | Refusal:
        unknown = set(body) - _FIELDS
        ledger, most = body.get("ledger"), body.get("max", USUAL)
        numbers = [str(body.get(name) or "") for name in ("from", "to")]
        fits = all(_NUMBER.fullmatch(number) or not number for number in numbers)
        if unknown or not fits or isinstance(most, bool) or not isinstance(most, int) or most < 1:
            return Refusal(address, {"error": "denied", "why": "use stream, ledger, from, to (digits) and max"})
        if body.get("stream") not in STREAMS or body["stream"] not in self.grants[address.client]:
            return Refusal(address, {"error": "denied"})
        if most > MOST:
            return Refusal(address, {"error": "too_many", "max": MOST})
        first, last = (int(number) if number else None for number in numbers)
        return ReplayWanted(address, body["stream"], None if ledger is None else str(ledger), first or 1, last, most)

    def _allowed(self, who: str, now: float) -> int | None:
        """Take one from an allowance; the milliseconds to wait when it is used up."""
        left, at = self._tokens.get(who, (float(BURST), now))
        left = min(float(BURST), left + (now - at) * PER_S)
        if left < 1:
            self._tokens[who] = left, now
            return round((1 - left) / PER_S * 1000) + 1
        self._tokens[who] = left - 1, now
        return None
