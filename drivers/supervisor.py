"""The thread around one device: open, converse, deliver, reconnect. No fault of a device gets further than here."""

import queue
import threading
import time
from collections.abc import Callable, Mapping

from drivers import catalog
from drivers.address import path_of
from drivers.attendant import Attendant, Outbox
from drivers.backoff import Backoff
from drivers.conversation import Conversation, Step
from drivers.errors import LinkError, LocalError
from drivers.link import Link, open_link
from drivers.readings import Reading
from drivers.tapping import Tap, TappedAttendant
from drivers.veil import Veil

LONGEST_WAIT_S = 0.5
"""The longest wait in a read: ``progress`` moves at least that often while the thread is well."""
HOLD_S = 0.005
"""How soon a full queue is offered the reading again."""
STABLE_S = 5.0
"""A device that was up for this long had a good connection: the next reconnect begins with a short wait."""
MOST_ACKNOWLEDGEMENTS = 1024

Make = Callable[[str, str, str, Mapping[str, str] | None, Mapping[str, object] | None], Conversation]


class Supervisor:
    """Owns one device for as long as the daemon runs.

    ``emit`` takes a reading into the core's queue and answers ``False`` when it is full; it is called from
    the supervisor's thread alone. ``clock`` is the monotonic time in ns that conversations see; with
    ``speed`` above 1 it runs that much faster than real time, and real waits are that much shorter.

    ``tap`` is told all that happens, for a capture; ``veil`` keeps closed cards from being named. Making one checks
    the configuration and raises ``ConfigError``; nothing is opened before ``start``.
    """

    def __init__(
        self,
        name: str,
        uri: str,
        driver: str,
        *,
        emit: Callable[[Reading], bool],
        clock: Callable[[], int],
        expect: Mapping[str, str] | None = None,
        options: Mapping[str, object] | None = None,
        test_mode: bool = False,
        speed: float = 1.0,
        backoff: Backoff | None = None,
        make: Make = catalog.make,
        tap: Tap | None = None,
        veil: Veil | None = None,
    ) -> None:
        path = path_of(uri, test_mode=test_mode)
        self.name = name
        self._uri = uri
        self._test_mode = test_mode
        self._clock = clock
        self._speed = speed
        self._backoff = backoff or Backoff()
        conversation = make(driver, name, path, expect, options)
        self._attendant = (
            TappedAttendant(name, path, conversation, tap, veil) if tap else Attendant(name, path, conversation, veil)
        )
        self._lifted: tuple[frozenset[str], bool] | None = None
        self._outbox = Outbox(emit)
        self._acknowledged: queue.Queue[Reading] = queue.Queue(MOST_ACKNOWLEDGEMENTS)
        self._stopping = threading.Event()
        self._guard = threading.Lock()
        self._link: Link | None = None
        self._deadline: int | None = None
        self._failed: str | None = None
        self._progress = 0
        self._trouble = ""
        self._counts = {"attempts": 0, "losses": 0, "bytes_in": 0, "bytes_out": 0, "acknowledgements_dropped": 0}
        self._thread = threading.Thread(target=self._run, name=f"device-{name}", daemon=True)

    # ------------------------------------------------------------ from other threads

    def start(self) -> None:
        """Begin. A device that is not there is reported and waited for."""
        self._thread.start()

    def stop(self, timeout_s: float = 5.0) -> bool:
        """Leave the device quiet and end the thread. ``False`` when it did not end in time."""
        self._stopping.set()
        self._wake()
        if self._thread.ident is not None:
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def acknowledge(self, reading: Reading) -> bool:
        """The outcome of ``reading`` is durable: hand that on, without waiting for the device.

        ``False`` when too many wait already; the device will send that reading again.
        """
        try:
            self._acknowledged.put_nowait(reading)
        except queue.Full:
            self._counts["acknowledgements_dropped"] += 1
            return False
        self._wake()
        return True

    def lift(self, open_: frozenset[str], *, playing: bool) -> None:
        """Cards lie face up on these channels now, on no other (``drivers.veil``); only the newest word counts."""
        self._lifted = (open_, playing)
        self._wake()

    def progress(self) -> int:
        """Grows while the thread is well; a watchdog compares it with what it was."""
        return self._progress

    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def up(self) -> bool:
        """Whether the device has said who it is and was not lost since."""
        return self._attendant.up

    def trouble(self) -> str:
        """The last fault of the link, in words; empty while there was none."""
        return self._trouble

    def counts(self) -> dict[str, int]:
        """Counters since the start, for metrics."""
        own = {"overtaken": self._outbox.overtaken, "held_back": self._outbox.refused}
        return self._counts | self._attendant.noise() | own

    # ------------------------------------------------------------ the thread

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._counts["attempts"] += 1
            self._attendant.opening()
            cause = self._connection()
            if cause is not None:
                self._counts["losses"] += 1
                self._outbox.put(self._attendant.lost(cause).readings)
                self._rest(self._backoff.next_s() / self._speed)

    def _connection(self) -> str | None:
        """One connection from open to close: the cause of its end, or ``None`` when it was our wish."""
        try:
            link = open_link(self._uri, test_mode=self._test_mode)
            with self._guard:
                self._link = link
            try:
                return self._converse(link)
            finally:
                with self._guard:
                    self._link = None
                link.close()
        except LinkError as fault:
            self._trouble = str(fault)
            return fault.cause
        except LocalError as fault:
            self._trouble = str(fault)
            return "refused"

    def _converse(self, link: Link) -> str | None:
        self._failed = None
        self._apply(link, self._attendant.opened(self._clock()))
        up_since: int | None = None
        while not self._over():
            self._progress += 1
            self._outbox.flush()
            self._hand_on(link)
            if self._stopping.is_set():
                self._apply(link, self._attendant.leave(self._clock()))
                return None
            now = self._clock()
            if self._attendant.up:
                up_since = now if up_since is None else up_since
                if now - up_since >= STABLE_S * 1e9:
                    self._backoff.reset()
            if self._outbox.holding():
                # The device keeps what we do not read. Acknowledgements go on, for they make room.
                self._stopping.wait(HOLD_S)
                continue
            data = link.read(self._patience(now))
            if data:
                self._counts["bytes_in"] += len(data)
                self._apply(link, self._attendant.received(data, self._clock()))
            now = self._clock()
            if self._deadline is not None and now >= self._deadline and not self._over():
                self._apply(link, self._attendant.due(now))
        return self._failed

    def _over(self) -> bool:
        """Whether the conversation has given the device up."""
        return self._failed is not None

    def _apply(self, link: Link, step: Step) -> None:
        """Do what a step says. Readings first: a link that breaks while we write must not cost a card."""
        self._deadline = step.deadline
        self._failed = self._failed or step.failed
        self._outbox.put(step.readings)
        if step.baud is not None:
            link.set_baud(step.baud)
        for frame in step.send:
            link.write(frame)
            self._counts["bytes_out"] += len(frame)

    def _hand_on(self, link: Link | None) -> None:
        """Give the conversation what has become durable."""
        if (lifted := self._lifted) is not None:
            self._outbox.put(self._attendant.lift(lifted[0], playing=lifted[1]))
            if self._lifted is lifted:
                self._lifted = None
        while not self._acknowledged.empty():
            step = self._attendant.acknowledge(self._acknowledged.get_nowait(), self._clock())
            if link is None:
                # Nobody to send it to. The conversation has noted it and confirms when the device repeats.
                self._outbox.put(step.readings)
            else:
                self._apply(link, step)

    def _patience(self, now: int) -> float:
        """How long a read may wait, in real seconds."""
        if self._deadline is None:
            return LONGEST_WAIT_S
        return min(LONGEST_WAIT_S, max(0, self._deadline - now) / 1e9 / self._speed)

    def _rest(self, seconds: float) -> None:
        """Wait before the next attempt, in real seconds; deliver meanwhile what is still to be delivered."""
        end = time.monotonic() + seconds
        while not self._stopping.is_set() and (left := end - time.monotonic()) > 0:
            self._progress += 1
            self._outbox.flush()
            self._hand_on(None)
            self._stopping.wait(min(left, HOLD_S if self._outbox.waiting() else LONGEST_WAIT_S))

    def _wake(self) -> None:
        with self._guard:
            if self._link is not None:
                self._link.wake()
