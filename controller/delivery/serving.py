"""Answers what subscribers ask over MQTT, between the rows that the pump delivers: a few messages at a time."""

import queue
import time
from collections.abc import Iterator
from pathlib import Path

import structlog

from controller.contract.state import state_body
from controller.contract.topics import Topics
from controller.delivery import replay
from controller.delivery.counters import Counters
from controller.delivery.flight import Flight
from controller.delivery.others import ANOTHER
from controller.delivery.publisher import Asked, Message, Notify
from controller.delivery.refusals import Refusals
from controller.delivery.requests import Desk, Grants, RebirthWanted, Refusal, ReplayWanted, Unanswered, read_json
from controller.ledger.errors import LedgerError

MOST_WAITING = 16
BUSY_MS = 1000
OUTRUN = (
    "outrun: the broker has words of a later connection of this ledger: this file is an older copy, or another process "
    "writes one, and what is written now repeats numbers; compare it with the back office before you play on"
)
UNWELCOME = 4
"""So many connections in a row that ended at a snapshot: it is why."""

_log = structlog.get_logger("delivery")


class Serving:
    """One replay at a time; what comes while one runs is told to come again."""

    def __init__(
        self, path: Path, topics: Topics, grants: Grants, description: bytes, counters: Counters, notify: Notify
    ) -> None:
        self._path = path
        self._notify = notify
        self._outrun = False
        self._topics = topics
        self._description = description
        self._counters = counters
        self._desk = Desk(topics, grants)
        self._grants = grants
        self._refusals = Refusals()
        self._asked: queue.Queue[Asked] = queue.Queue(MOST_WAITING)
        self._listens = bool(grants)
        self._shown: tuple[int, bytes] | None = None
        self._told: tuple[int, int] = (0, 0)
        self._unanswered = False
        self._hang_ups = 0
        self._failed: set[tuple[Path, type[LedgerError]]] = set()
        self.has_spoken = False
        """We were ``ready`` once: whatever else stands on our own topic was said by another since."""

    @property
    def listens_to(self) -> list[str]:
        """The topics to ask for: none where nobody was granted anything.

        Our own ``state`` is among them: whoever else speaks under our name is seen there.
        """
        if not self._listens:
            return []
        return [self._topics.command("replay"), self._topics.command("rebirth"), self._topics.state]

    def offer(self, asked: Asked) -> None:
        """A message has come. From any thread; never blocks: what is too much is dropped and counted."""
        try:
            self._asked.put_nowait(asked)
        except queue.Full:
            self._counters.requests_refused += 1

    def show(self, row: int, body: bytes) -> None:
        """How the table stands after a row, to be retained once that row is out. From any thread."""
        self._shown = row, body

    def booked(self, *, taken: bool) -> None:
        """The broker has taken a snapshot, or refused it: then it is not told any more."""
        self._unanswered, self._hang_ups = False, 0 if taken else UNWELCOME
        if not taken:
            _log.error("the broker refuses the snapshot: give this table the right to write it, then restart")

    def _snapshot(self, flight: Flight) -> Iterator[Message]:
        """The newest snapshot, if this connection has not told it and what it tells of has been sent.

        A broker that can only hang up on what it does not want gets it no more after some times.
        """
        shown = self._shown
        if (
            shown is None
            or not self._is_out(shown[0], flight)
            or self._told == (flight.session, shown[0])
            or self._hang_ups >= UNWELCOME
        ):
            return
        if self._unanswered and self._told[0] != flight.session:
            self._hang_ups += 1
        self._told, self._unanswered = (flight.session, shown[0]), True
        yield Message(self._topics.snapshot, shown[1], retain=True)

    def _is_out(self, row: int, flight: Flight) -> bool:
        """Whether all that the table has told up to a row was sent: nobody is shown what ``play`` has not said."""
        behind = flight.ready or flight.more or flight.held or "play" in self._counters.barred
        return not behind and row <= max(flight.read_to, flight.known_to)

    def answers(self, flight: Flight, ledger: str) -> Iterator[Message]:
        """What is to be said now: how the table stands, and answers."""
        yield from self._snapshot(flight)
        while True:
            try:
                asked = self._asked.get_nowait()
            except queue.Empty:
                break
            if asked.session != flight.session:
                continue
            if asked.topic == self._topics.state:
                self._other_state(asked, flight.session, ledger)
            else:
                yield from self._answer(asked, flight, ledger)
        self._refusals.tell()

    def _answer(self, asked: Asked, flight: Flight, ledger: str) -> Iterator[Message]:
        wanted = self._desk.read(asked, time.monotonic())
        match wanted:
            case Unanswered(why=why, client=client):
                self._refuse(why, client)
            case Refusal():
                self._refuse(wanted.content["error"], wanted.address.client)
                yield wanted.message
            case RebirthWanted(address=address):
                state = state_body("ready", flight.session, ledger)
                for topic, body in ((self._topics.description, self._description), (self._topics.state, state)):
                    yield Message(topic, body, retain=True)
                    yield address.event(body)
                if self._shown and self._is_out(self._shown[0], flight) and self._desk.may_read(address.client, "play"):
                    yield address.event(self._shown[1])
                yield address.answer({"done": True})
            case ReplayWanted(address=address) if flight.replay is not None:
                self._refuse("another replay runs", address.client)
                yield address.answer({"error": "busy", "retry_ms": BUSY_MS})
            case ReplayWanted(address=address):
                yield from self._begin(wanted, flight)

    def _begin(self, wanted: ReplayWanted, flight: Flight) -> Iterator[Message]:
        begun = replay.begin(self._path, wanted, self._unread)
        if isinstance(begun, Refusal):
            self._refuse(begun.content["error"], wanted.address.client)
            yield begun.message
        else:
            self._counters.replays += 1
            _log.info("replay", client=wanted.address.client, stream=wanted.stream, first=wanted.first)
            flight.replay = begun

    def _unread(self, file: Path, error: LedgerError) -> None:
        """A file failed us: said once for each kind of failure, as whoever asked will ask again."""
        if (file, type(error)) not in self._failed:
            self._failed.add((file, type(error)))
            _log.error("a ledger cannot be read for a subscriber", file=str(file), error=str(error))

    def _refuse(self, why: str, client: str | None) -> None:
        """Count it, and let the log have it. A stranger's name is not kept: there may be any number of them."""
        self._counters.requests_refused += 1
        self._refusals.add(why, client if client in self._grants else None)

    def _other_state(self, asked: Asked, session: int, ledger: str) -> None:
        """Somebody's words on our own topic: ours, those of a past ledger of ours, or a stranger's.

        One who has a copy of our ledger is told by the number of the connection: ours only grows.
        """
        said = read_json(asked.body)
        if not isinstance(said, dict):
            return
        state, other, number = said.get("state"), said.get("ledger"), said.get("session")
        comes = state in ("init", "ready")
        if other == ledger:
            # Words from before this connection are ours where its number is smaller; so is the end of an earlier one.
            past = isinstance(number, int) and number < session and (asked.kept or not comes)
            strange = not past and (asked.kept or number != session)
        else:
            strange = (self.has_spoken or comes) and not replay.is_ours(self._path, str(other)[:64], self._unread)
        who, now = str(other)[:64], time.monotonic()
        number = number if isinstance(number, int) else None
        if not comes:
            self._counters.others.went(who, number, now, strange=strange)
        elif strange:
            self._counters.others.came(who, number, now)
        if strange:
            self._counters.conflicts += 1
            _log.error(ANOTHER, ledger=other)
        # A rehearsal may begin one ledger, by its id, as often as it likes.
        ahead = number is not None and (number > session or (asked.kept and number == session))
        if other == ledger and ahead and not self._outrun and not self._topics.test:
            self._outrun = True
            place = {"row": None, "stream": "", "sequence": "0" * 16}
            self._notify("ledger.fault", {"faults": 1, "first": place | {"what": OUTRUN}})
