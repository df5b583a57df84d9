"""One device through all its connections, without IO: numbering, loss and return, and what must not be dropped.

The supervisor's thread and the virtual wire both work through it, so that a device behaves the same on a
fake clock and on real wires.
"""

from collections.abc import Callable
from dataclasses import replace

from drivers.conflicts import Conflicts
from drivers.conversation import Conversation, Step
from drivers.errors import DeviceError
from drivers.framing import Noise
from drivers.readings import DeviceFault, DeviceLost, DeviceUp, Reading, TagsSeen
from drivers.veil import Veil

_UNFORESEEN = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, DeviceError)
"""What a conversation raises when bytes come that its author did not foresee: it must not end the process."""


class Attendant:
    """Stands beside a conversation and tells a device's story without gaps.

    The readings of a device are numbered densely across reconnects. A loss is told once, however many
    attempts fail after it, and a return with the number of the attempt that succeeded. With a ``veil`` closed cards
    are not named, whatever the driver has heard.
    """

    def __init__(self, device: str, path: str, conversation: Conversation, veil: Veil | None = None) -> None:
        self._device = device
        self._path = path
        self._conversation = conversation
        self._veil = veil
        self._reading = 0
        self._attempt = 0
        self._told_lost = False
        self._conflicts = Conflicts(device)
        self.up = False

    def opening(self) -> None:
        """An attempt to open the link begins."""
        self._attempt += 1

    def opened(self, now: int) -> Step:
        """The link is open: the conversation begins."""
        self._conflicts.forget()
        if self._veil is not None:
            self._veil.opened()
        return self._guarded(lambda: self._conversation.start(now), now)

    def received(self, data: bytes, now: int) -> Step:
        """Bytes, or one report, came."""
        return self._guarded(lambda: self._conversation.feed(data, now), now)

    def due(self, now: int) -> Step:
        """The deadline of the last step passed."""
        return self._guarded(lambda: self._conversation.tick(now), now)

    def acknowledge(self, reading: Reading, now: int) -> Step:
        """The outcome of ``reading`` is durable. Taken at any time, also while the device is away."""
        return self._guarded(lambda: self._conversation.acknowledge(reading, now), now)

    def lift(self, open_: frozenset[str], *, playing: bool) -> tuple[Reading, ...]:
        """Cards lie face up on these channels now: see ``Veil.lift``. Returns what is to be told anew."""
        readings = self._veil.lift(open_, playing=playing) if self._veil is not None else ()
        return tuple(self._stamped(reading) for reading in readings)

    def noise(self) -> dict[str, int]:
        """What was not good on the link so far: ``crc``, ``resync``, ``dropped``, ``timeouts``."""
        noise = getattr(self._conversation, "noise", None)
        return dict(noise.counts()) if isinstance(noise, Noise) else {}

    def leave(self, now: int) -> Step:
        """The link will be closed on purpose."""
        self.up = False
        return self._guarded(lambda: self._conversation.stop(now), now)

    def lost(self, cause: str) -> Step:
        """The link could not be opened, or is gone. Told once until the device is up again."""
        self.up = False
        if self._veil is not None:
            self._veil.opened()
        if self._told_lost:
            return Step()
        self._told_lost = True
        return Step((DeviceLost(self._device, self._next(), cause, self._path, max(1, self._attempt)),))

    def _guarded(self, call: Callable[[], Step], now: int) -> Step:
        try:
            step = call()
        except _UNFORESEEN as fault:
            # Name and place only: the message of an exception may quote what the device said, and a closed
            # card's value must not get out that way.
            raised = type(fault).__name__
            traceback = fault.__traceback__
            while traceback and traceback.tb_next:
                traceback = traceback.tb_next
            line = traceback.tb_lineno if traceback else 0
            where = traceback.tb_frame.f_globals.get("__name__", "?") if traceback else "?"
            detail = f"{raised} at {where}:{line}; the driver starts over"
            return Step((DeviceFault(self._device, self._next(), "protocol", detail),), failed="refused")
        told = [each for reading in step.readings for each in (reading, *self._conflicts.found(reading))]
        return replace(step, readings=tuple(self._stamped(self._veiled(reading, now)) for reading in told))

    def _veiled(self, reading: Reading, now: int) -> Reading:
        return reading if self._veil is None else self._veil.over(reading, now)

    def _stamped(self, reading: Reading) -> Reading:
        number = self._next()
        if isinstance(reading, DeviceUp):
            reading = replace(reading, attempt=max(1, self._attempt))
            self._attempt = 0
            self._told_lost = False
            self.up = True
        return replace(reading, reading=number)

    def _next(self) -> int:
        self._reading += 1
        return self._reading


class Outbox:
    """Readings on their way to a queue that may be full.

    Nothing is dropped but an inventory that a newer one of the same channel has overtaken. ``holding`` says
    that the device must not be read meanwhile: it keeps what it has, and this list stays as short as one
    step and one inventory a channel.
    """

    def __init__(self, emit: Callable[[Reading], bool]) -> None:
        self._emit = emit
        self._waiting: list[Reading] = []
        self.overtaken = 0
        self.refused = 0

    def put(self, readings: tuple[Reading, ...]) -> None:
        """Add readings in order and pass on what the queue takes."""
        for reading in readings:
            if isinstance(reading, TagsSeen):
                before = len(self._waiting)
                self._waiting = [old for old in self._waiting if not _overtakes(reading, old)]
                self.overtaken += before - len(self._waiting)
            self._waiting.append(reading)
        self.flush()

    def flush(self) -> None:
        """Pass on what the queue takes now."""
        while self._waiting:
            if not self._emit(self._waiting[0]):
                self.refused += 1
                return
            del self._waiting[0]

    def holding(self) -> bool:
        """A reading waits that must not be lost."""
        return any(not isinstance(reading, TagsSeen) for reading in self._waiting)

    def waiting(self) -> int:
        """How many readings wait."""
        return len(self._waiting)


def _overtakes(new: TagsSeen, old: Reading) -> bool:
    return isinstance(old, TagsSeen) and old.channel == new.channel
