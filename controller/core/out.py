"""Where the core's conclusions leave it: a record is emitted once, and changes the state at that moment."""

from datetime import UTC, datetime, timedelta
from typing import Any

from controller.core.evolve import evolve
from controller.core.facts import Basis, Sources
from controller.core.records import Record, Stream
from controller.core.rules.breaches import Reaction, ids
from controller.core.rules.moments import precise
from controller.core.rules.ultimate.state import Coming
from controller.core.setup import Setup
from controller.core.state import Hand, State

Data = dict[str, Any]


def cite(evidence: Sources) -> list[dict[str, str]]:
    """Evidence as the contract spells it."""
    return [{"device": e.device, "reading": str(e.reading)} for e in evidence]


class Out:
    """Collects the records of one input and lets each change the state as it is emitted."""

    def __init__(self, setup: Setup, state: State) -> None:
        self.setup = setup
        self.state = state
        self.records: list[Record] = []
        self.at = 0
        self.wall = 0
        self._began: dict[str, int] = {}
        self._held: dict[str, int] = {}
        self._first = (0, 0)
        """Monotonic and wall time of the first input of this run."""

    def begin(self, at: int, wall: int) -> None:
        """A new input: monotonic and wall time in ns."""
        if not self.wall:
            self._first = at, wall
        self.at, self.wall, self.records = at, wall, []

    def day(self) -> str:
        """The gaming day of this moment: a local day that begins at the house's hour."""
        shift = timedelta(minutes=self.setup.utc_offset_min - self.setup.day_starts_min)
        return (datetime.fromtimestamp(self.wall // 1_000_000_000, UTC) + shift).date().isoformat()

    def emit(
        self, stream: Stream, kind: str, subject: str, data: Data, *, secret: Data | None = None, day: str | None = None
    ) -> Record:
        """Emit one record outside a hand."""
        state = self.state
        if day is None:
            day = state.day if state.session is not None else self.day()
        return self._put(Record(stream, kind, subject, data, secret, day, state.session))

    def open_session(self, day: str, session: str, data: Data) -> None:
        """Emit ``table.opened``: it carries the session and the gaming day that it begins."""
        self._put(Record("play", "table.opened", session, data, None, day, session))

    def _put(self, record: Record) -> Record:
        evolve(self.state, record)
        self.records.append(record)
        return record

    # --- hands -----------------------------------------------------------------------------------------------

    def t_ms(self, hand: str, last_t_ms: int) -> int:
        """Milliseconds since the hand began; after a restart it goes on from the last record of the hand."""
        began = self._began.get(hand)
        if began is None:
            began = self._began[hand] = self.at - last_t_ms * 1_000_000
        now = (self.at - began) // 1_000_000
        return max(last_t_ms, now)

    def hold(self, incident: str) -> None:
        """An incident begins to wait for a person."""
        self._held[incident] = self.at

    def held_ms(self, incident: str) -> int | None:
        """How long it waited, by the monotonic clock; ``None`` for one that was opened before a restart."""
        since = self._held.pop(incident, None)
        return None if since is None else (self.at - since) // 1_000_000

    def asked_at(self, incident: str, since: int) -> int:
        """Since when an incident waits, in monotonic ns. ``since``: when it was opened by the clock on the wall.

        That is all there is of one that was opened before a restart; a clock that says it comes yet is not believed.
        """
        at, wall = self._first
        return self._held.get(incident, at - max(0, wall - since))

    def start_hand(self, hand: str, day: str, data: Data, secret: Data) -> Hand:
        """Emit ``hand.started``. Returns the hand that it made."""
        self._began = {hand: self.at} | {k: v for k, v in self._began.items() if self._is_pending(k)}
        head = {"hand": hand, "n": 0, "t_ms": 0}
        self._put(Record("play", "hand.started", hand, head | data, secret, day, self.state.session))
        made = self.state.hand
        assert made is not None
        return made

    def next_hand(self) -> str:
        """The name of the next hand, if it begins on this gaming day."""
        state, day = self.state, self.day()
        number = state.hands_today + 1 if day == state.day else 1
        return f"{self.setup.table}-{day.replace('-', '')}-{number:04d}"

    def coming(self) -> Coming:
        """The name of the round to come: what is staked before an Ultimate deal carries it."""
        state, day = self.state, self.day()
        coming = state.table.coming
        if coming is not None and (coming.day == day or state.table.boxes):
            return coming
        number = state.hands_today + 1 if day == state.day else 1
        return Coming(f"{self.setup.table}-{day.replace('-', '')}-{number:04d}", day, number)

    def before_deal(self, kind: str, data: Data, basis: Basis, evidence: Sources = ()) -> Record:
        """Emit one record of the round to come."""
        coming = self.coming()
        full: Data = {"hand": coming.id, "n": coming.n} | data | {"basis": basis}
        if evidence:
            full["evidence"] = cite(evidence)
        return self._put(Record("play", kind, coming.id, full, None, coming.day, self.state.session))

    def start_round(self, coming: Coming, data: Data, secret: Data) -> None:
        """Emit ``hand.started`` of an Ultimate round: it goes on with the numbers of what was staked before."""
        self._began = {coming.id: self.at} | {k: v for k, v in self._began.items() if self._is_pending(k)}
        head = {"hand": coming.id, "n": coming.n, "t_ms": 0}
        self._put(Record("play", "hand.started", coming.id, head | data, secret, coming.day, self.state.session))

    def _is_pending(self, hand: str) -> bool:
        return self.state.pending is not None and self.state.pending.hand == hand

    def hand(
        self, kind: str, data: Data, basis: Basis, evidence: Sources = (), *, secret: Data | None = None
    ) -> Record:
        """Emit one record of the hand under way."""
        state = self.state
        hand = state.hand or state.table.coup
        assert hand is not None
        t_ms = self.t_ms(hand.id, hand.t_ms)
        full: Data = {"hand": hand.id, "n": hand.n, "t_ms": t_ms, **data, "basis": basis}
        if state.lost and self._degraded():
            full["degraded"] = True
        if evidence:
            full["evidence"] = cite(evidence)
        return self._put(Record("play", kind, hand.id, full, secret, hand.day, state.session))

    def _degraded(self) -> bool:
        """Whether a device is missing that should see what happens in the hand (I-33)."""
        return any(one.name in self.state.lost and self.setup.needs(one) for one in self.setup.devices)

    # --- breaches --------------------------------------------------------------------------------------------

    def rules(self, key: str) -> list[str]:
        """The rule ids behind a breach key under this table's profile."""
        now = precise(key, self.state, self.setup.profile)
        return ids(key, self.setup.profile.family) if now is None else list(now)

    def breach(
        self,
        key: str,
        reaction: Reaction,
        asked: str,
        *,
        allowed: list[Data] | None = None,
        seat: int | None = None,
        box: int | None = None,
        evidence: Sources = (),
        secret: Data | None = None,
        basis: Basis = "derived",
        rules: list[str] | None = None,
        more: Data | None = None,
    ) -> Record:
        """Emit ``breach.noted``: which rule, what the house does about it, what was asked and what may be done now."""
        rules = self.rules(key) if rules is None else rules
        repeat = self.state.repeats.get(rules[0] if rules else key, 0) + 1
        data: Data = {"rules": rules, "reaction": reaction, "what": key, "asked": asked, "repeat": repeat}
        data["allowed_now"] = allowed or []
        data |= more or {}
        if seat is not None:
            data["seat"] = seat
        if box is not None:
            data["box"] = box
        if self.state.play is not None:
            return self.hand("breach.noted", data, basis, evidence, secret=secret)
        if evidence:
            data["evidence"] = cite(evidence)
        data["basis"] = basis
        return self.emit("play", "breach.noted", f"{self.setup.table}", data, secret=secret)
