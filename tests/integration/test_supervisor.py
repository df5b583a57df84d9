"""The thread around a device: a real pty, the real pyserial, and a driver of one-line messages."""

import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.attendant import Attendant, Outbox
from drivers.backoff import Backoff
from drivers.conversation import Conversation, Step
from drivers.errors import ConfigError, ProtocolError, UnknownDriver
from drivers.options import MS
from drivers.readings import CardSeen, DeviceFault, DeviceLost, DeviceUp, KeyPressed, Reading, TagsSeen
from drivers.supervisor import Supervisor
from tests.ptywire import PtyWire, open_files
from tests.waiting import wait_until

pytestmark = pytest.mark.wires


class Lines:
    """A driver for devices that speak lines: ``ID x``, ``CARD n``, ``TAGS a,b``, ``KEY k``, ``WRONG``, ``BUG``."""

    def __init__(self, timeout_ms: int = 60_000) -> None:
        self._timeout = timeout_ms * MS
        self._buffer = b""

    def start(self, now: int) -> Step:
        self._buffer = b""
        return Step(send=(b"WHO\n",), deadline=now + self._timeout)

    def feed(self, data: bytes, now: int) -> Step:
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        readings: list[Reading] = []
        for line in lines:
            word, _, rest = line.decode().partition(" ")
            match word:
                case "ID":
                    readings.append(DeviceUp("dev", 7, "lines", rest, "1", "1", "p"))
                case "CARD":
                    readings.append(CardSeen("dev", 7, "0", "As", None, 100, int(rest)))
                case "TAGS":
                    readings.append(TagsSeen("dev", 7, "0", frozenset(rest.split(",")), complete=True))
                case "KEY":
                    readings.append(KeyPressed("dev", 7, rest))
                case "WRONG":
                    return Step(tuple(readings), failed="wrong_device")
                case "BUG":
                    raise ValueError(f"secret {rest}")
        return Step(tuple(readings), deadline=now + self._timeout)

    def tick(self, now: int) -> Step:
        return Step(failed="timeout")

    def acknowledge(self, reading: Reading, now: int) -> Step:
        number = reading.sequence if isinstance(reading, CardSeen) else 0
        return Step(send=(f"ACK {number}\n".encode(),), deadline=now + self._timeout)

    def stop(self, now: int) -> Step:
        return Step(send=(b"BYE\n",))


class Table:
    """Where the readings go: a bounded queue, as the core has."""

    def __init__(self, room: int = 1000) -> None:
        self.queue: queue.Queue[Reading] = queue.Queue(room)
        self.seen: list[Reading] = []

    def emit(self, reading: Reading) -> bool:
        try:
            self.queue.put_nowait(reading)
        except queue.Full:
            return False
        return True

    def next(self, kind: type[Reading] | None = None) -> Reading:
        """The next reading, of one kind, after any others."""
        deadline = time.monotonic() + 10
        while True:
            reading = self.queue.get(timeout=max(0.01, deadline - time.monotonic()))
            self.seen.append(reading)
            if kind is None or isinstance(reading, kind):
                return reading


Start = Callable[..., Supervisor]


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[PtyWire]:
    under_test = PtyWire(tmp_path / "dev")
    yield under_test
    under_test.unplug()


@pytest.fixture
def table() -> Table:
    return Table()


@pytest.fixture
def start(table: Table) -> Iterator[Start]:
    started: list[Supervisor] = []

    def begin(uri: str, *, driver: Lines | None = None, speed: float = 1.0, emit: Table = table) -> Supervisor:
        conversation = driver or Lines()

        def make(*_: object) -> Conversation:
            return conversation

        supervisor = Supervisor(
            "dev",
            uri,
            "lines",
            emit=emit.emit,
            clock=lambda: int(time.monotonic_ns() * speed),
            speed=speed,
            backoff=Backoff(0.01, 0.05),
            make=make,
        )
        started.append(supervisor)
        supervisor.start()
        return supervisor

    yield begin
    for supervisor in started:
        assert supervisor.stop()


def expect(wire: PtyWire, said: bytes) -> None:
    got = b""
    deadline = time.monotonic() + 10
    while said not in got:
        assert time.monotonic() < deadline, f"waited for {said!r}, heard {got!r}"
        got += wire.heard(0.05)


def answer(wire: PtyWire, lines: bytes) -> None:
    """Say something once the driver has opened the port and asked: what comes before that is thrown away."""
    expect(wire, b"WHO\n")
    wire.send(lines)


def test_up_then_a_card_then_its_acknowledgement(wire: PtyWire, table: Table, start: Start) -> None:
    supervisor = start(wire.uri)
    answer(wire, b"ID shoe\nCARD 4")
    up = table.next()
    assert up == DeviceUp("dev", 1, "lines", "shoe", "1", "1", "p", attempt=1)
    assert supervisor.up()
    wire.send(b"2\n")
    card = table.next()
    assert card == CardSeen("dev", 2, "0", "As", None, 100, 42)
    assert wire.heard(0.05) == b"", "acknowledged before it was durable"
    assert supervisor.acknowledge(card)
    expect(wire, b"ACK 42\n")
    assert supervisor.counts()["bytes_in"] == len(b"ID shoe\nCARD 42\n")


def test_an_acknowledgement_does_not_wait_for_the_read(
    wire: PtyWire, table: Table, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drivers.supervisor.LONGEST_WAIT_S", 3600)
    supervisor = start(wire.uri)
    answer(wire, b"ID shoe\nCARD 1\n")
    card = table.next(CardSeen)
    for _ in range(200):
        supervisor.acknowledge(card)
        expect(wire, b"ACK 1\n")


def test_stopping_leaves_the_device_quiet(wire: PtyWire, table: Table, start: Start) -> None:
    supervisor = start(wire.uri)
    answer(wire, b"ID shoe\n")
    table.next(DeviceUp)
    assert supervisor.stop()
    expect(wire, b"BYE\n")
    assert not supervisor.alive()
    assert supervisor.stop()


def test_missing_at_the_start_is_told_once_and_then_it_appears(wire: PtyWire, table: Table, start: Start) -> None:
    wire.unplug()
    supervisor = start(wire.uri)
    assert table.next() == DeviceLost("dev", 1, "missing", str(wire.path), attempt=1)
    wait_until(lambda: supervisor.counts()["attempts"] > 3)
    assert table.queue.empty()
    assert "plug it in" in supervisor.trouble()
    wire.plug()
    answer(wire, b"ID shoe\n")
    up = table.next()
    assert isinstance(up, DeviceUp)
    assert up.reading == 2
    assert up.attempt > 3


def test_a_port_that_another_holds_is_refused_until_it_is_free(wire: PtyWire, table: Table, start: Start) -> None:
    first = start(wire.uri)
    answer(wire, b"ID shoe\n")
    table.next(DeviceUp)
    other = Table()
    start(wire.uri, emit=other)
    assert other.next() == DeviceLost("dev", 1, "refused", str(wire.path), attempt=1)
    wire.send(b"KEY 7\n")
    assert table.next() == KeyPressed("dev", 2, "7")
    assert first.stop()
    answer(wire, b"ID shoe\n")
    assert isinstance(other.next(), DeviceUp)


def test_a_deaf_device_is_lost_by_timeout(wire: PtyWire, table: Table, start: Start) -> None:
    start(wire.uri, driver=Lines(timeout_ms=20))
    assert table.next() == DeviceLost("dev", 1, "timeout", str(wire.path), attempt=1)


def test_scaled_time_shortens_the_real_waits(wire: PtyWire, table: Table, start: Start) -> None:
    start(wire.uri, driver=Lines(timeout_ms=600_000), speed=10_000)
    assert table.next() == DeviceLost("dev", 1, "timeout", str(wire.path), attempt=1)


def test_the_wrong_device_is_let_go_and_asked_again(wire: PtyWire, table: Table, start: Start) -> None:
    start(wire.uri)
    answer(wire, b"WRONG\n")
    assert table.next() == DeviceLost("dev", 1, "wrong_device", str(wire.path), attempt=1)
    answer(wire, b"ID shoe\n")
    assert isinstance(table.next(), DeviceUp)


def test_a_bug_in_a_driver_is_a_fault_without_what_the_device_said(wire: PtyWire, table: Table, start: Start) -> None:
    supervisor = start(wire.uri)
    answer(wire, b"ID shoe\nBUG As\n")
    fault = table.next(DeviceFault)
    assert isinstance(fault, DeviceFault)
    assert fault.fault == "protocol"
    assert "ValueError at" in fault.detail
    assert "As" not in fault.detail
    assert "secret" not in fault.detail
    assert isinstance(table.next(), DeviceLost)
    answer(wire, b"ID shoe\n")
    assert isinstance(table.next(), DeviceUp)
    assert supervisor.alive()


def test_keys_and_cards_are_held_back_and_never_dropped(wire: PtyWire, start: Start) -> None:
    table = Table(room=2)
    supervisor = start(wire.uri, emit=table)
    answer(wire, b"ID shoe\n" + b"".join(b"CARD %d\n" % number for number in range(1, 101)))
    wait_until(lambda: supervisor.counts()["held_back"] > 10)
    before = supervisor.progress()
    wait_until(lambda: supervisor.progress() > before, what="the thread is well while it holds back")
    assert isinstance(table.next(), DeviceUp)
    cards = [table.next(CardSeen) for _ in range(100)]
    assert [card.sequence for card in cards if isinstance(card, CardSeen)] == list(range(1, 101))
    assert [card.reading for card in cards] == list(range(2, 102))


def test_acknowledgements_go_on_while_readings_are_held_back(wire: PtyWire, start: Start) -> None:
    table = Table(room=2)
    supervisor = start(wire.uri, emit=table)
    answer(wire, b"ID shoe\nCARD 1\nCARD 2\nCARD 3\n")
    wait_until(lambda: supervisor.counts()["held_back"] > 0)
    assert supervisor.acknowledge(CardSeen("dev", 2, "0", "As", None, 100, 1))
    expect(wire, b"ACK 1\n")


def test_stop_is_bounded_while_holding_back_and_while_backing_off(wire: PtyWire, start: Start) -> None:
    full = start(wire.uri, emit=Table(room=1))
    answer(wire, b"ID shoe\nCARD 1\n")
    wait_until(lambda: full.counts()["held_back"] > 0)
    assert full.stop(5)
    wire.unplug()
    absent = start(wire.uri)
    wait_until(lambda: absent.counts()["attempts"] > 1)
    assert absent.stop(5)


def test_too_many_acknowledgements_are_counted_not_queued(wire: PtyWire, table: Table) -> None:
    supervisor = Supervisor("dev", wire.uri, "lines", emit=table.emit, clock=lambda: 0, make=lambda *_: Lines())
    card = CardSeen("dev", 1, "0", None, None, 0, 1)
    results = [supervisor.acknowledge(card) for _ in range(2000)]
    assert results.count(True) == 1024
    assert supervisor.counts()["acknowledgements_dropped"] == 976


def test_fifty_replugs_tell_each_loss_once_and_leak_nothing(wire: PtyWire, table: Table, start: Start) -> None:
    supervisor = start(wire.uri)

    def cycle(number: int) -> None:
        answer(wire, b"ID shoe\nCARD %d\n" % number)
        assert isinstance(table.next(), DeviceUp)
        assert isinstance(table.next(), CardSeen)
        wire.unplug()
        lost = table.next()
        assert isinstance(lost, DeviceLost)
        assert lost.cause == "unplugged"
        wire.plug()

    cycle(0)
    threads, files = threading.active_count(), open_files()
    for number in range(1, 51):
        cycle(number)
    wait_until(lambda: threading.active_count() <= threads)
    wait_until(lambda: open_files() <= files + 6, what="descriptors are closed")  # it may have the port open just now
    assert [reading.reading for reading in table.seen] == list(range(1, len(table.seen) + 1))
    assert supervisor.stop()
    wait_until(lambda: open_files() <= files, what="descriptors are closed")


def test_a_faulty_configuration_is_refused_before_anything_starts(table: Table) -> None:
    with pytest.raises(ConfigError, match="must begin with"):
        Supervisor("dev", "/dev/ttyUSB0", "feig", emit=table.emit, clock=lambda: 0)
    with pytest.raises(ConfigError, match="test mode only"):
        Supervisor("dev", "usbip://127.0.0.1:1/1-1", "shoe", emit=table.emit, clock=lambda: 0)
    with pytest.raises(UnknownDriver, match="use one of"):
        Supervisor("dev", "serial:///dev/null", "fig", emit=table.emit, clock=lambda: 0)
    with pytest.raises(ConfigError, match=r"dev\.poll"):
        Supervisor("dev", "serial:///dev/null", "feig", emit=table.emit, clock=lambda: 0, options={"poll": 1})


# ---------------------------------------------------------------- without a thread


@given(
    floor=st.floats(0.001, 10),
    more=st.floats(0, 100),
    chances=st.lists(st.floats(0, 1), min_size=1, max_size=50),
    resets=st.sets(st.integers(0, 50)),
)
def test_backoff_stays_between_floor_and_cap(floor: float, more: float, chances: list[float], resets: set[int]) -> None:
    draws = iter(chances)
    backoff = Backoff(floor, floor + more, lambda: next(draws))
    ceiling = floor
    for number, chance in enumerate(chances):
        if number in resets:
            backoff.reset()
            ceiling = floor
        ceiling = min(floor + more, ceiling * 2)
        wait = backoff.next_s()
        assert floor <= wait <= ceiling + 1e-9
        assert wait == pytest.approx(floor + chance * (ceiling - floor))


@pytest.mark.parametrize(("floor", "cap"), [(0, 1), (-1, 1), (2, 1)])
def test_backoff_refuses_what_would_spin(floor: float, cap: float) -> None:
    with pytest.raises(ValueError, match="give 0 < floor_s <= cap_s"):
        Backoff(floor, cap)


def tags(reading: int, channel: str = "0") -> TagsSeen:
    return TagsSeen("dev", reading, channel, frozenset({str(reading)}), complete=True)


def test_of_inventories_the_newest_of_a_channel_wins() -> None:
    taken: list[Reading] = []
    room = [False]
    outbox = Outbox(lambda reading: room[0] and not taken.append(reading))  # type: ignore[func-returns-value]
    outbox.put((tags(1), tags(2, "1"), tags(3)))
    assert not outbox.holding(), "an inventory is no reason to stop reading"
    outbox.put((KeyPressed("dev", 4, "7"), tags(5)))
    assert outbox.holding()
    room[0] = True
    outbox.flush()
    assert [reading.reading for reading in taken] == [2, 4, 5]
    assert (outbox.overtaken, outbox.waiting()) == (2, 0)


KINDS: Mapping[str, Callable[[int], Reading]] = {
    "key": lambda number: KeyPressed("dev", number, "7"),
    "tray": tags,
    "lost": lambda number: DeviceLost("dev", number, "unplugged", "p"),
}


@given(st.lists(st.tuples(st.sampled_from(sorted(KINDS)), st.booleans())))
def test_whatever_the_queue_takes_order_is_kept_and_only_old_inventories_vanish(steps: list[tuple[str, bool]]) -> None:
    taken: list[Reading] = []
    room = [True]

    def emit(reading: Reading) -> bool:
        if room[0]:
            taken.append(reading)
        return room[0]

    outbox = Outbox(emit)
    made: list[Reading] = []
    for number, (kind, room[0]) in enumerate(steps):
        made.append(KINDS[kind](number))
        outbox.put((made[-1],))
    room[0] = True
    outbox.flush()
    numbers = [reading.reading for reading in taken]
    assert numbers == sorted(numbers)
    assert [reading for reading in made if not isinstance(reading, TagsSeen)] == [
        reading for reading in taken if not isinstance(reading, TagsSeen)
    ]
    assert len(made) - len(taken) == outbox.overtaken
    if made:
        assert taken[-1] == made[-1]


class Broken(Lines):
    """Raises what a driver may raise."""

    def tick(self, now: int) -> Step:
        raise ProtocolError("quotes As")


def test_losses_are_told_once_until_the_device_is_up_again() -> None:
    attendant = Attendant("dev", "p", Lines())
    attendant.opening()
    assert attendant.lost("missing").readings == (DeviceLost("dev", 1, "missing", "p", 1),)
    attendant.opening()
    assert attendant.lost("refused").readings == ()
    attendant.opening()
    attendant.opened(0)
    assert attendant.received(b"ID x\n", 0).readings == (DeviceUp("dev", 2, "lines", "x", "1", "1", "p", attempt=3),)
    assert attendant.lost("unplugged").readings == (DeviceLost("dev", 3, "unplugged", "p", 1),)


def test_what_a_driver_raises_ends_the_connection_and_quotes_nothing() -> None:
    step = Attendant("dev", "p", Broken()).due(0)
    assert step.failed == "refused"
    (fault,) = step.readings
    assert isinstance(fault, DeviceFault)
    assert "ProtocolError at" in fault.detail
    assert "As" not in fault.detail.replace("Broken", "")
