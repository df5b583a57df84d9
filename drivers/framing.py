"""From a stream of bytes to frames: one bounded buffer, one way to resynchronise, one set of counters.

A protocol gives two functions. ``measure`` looks at the head of the buffer and tells how long the frame is
that may begin there; ``decode`` turns exactly those bytes into a frame or raises ``ProtocolError``. All
else (split, glued and broken frames, noise before and after) is the same for every protocol.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from drivers.errors import ChecksumError, ProtocolError

NOT_A_FRAME = 0
"""``measure`` returns this where no frame can begin; ``None`` where it needs more bytes to tell."""

F = TypeVar("F")


@dataclass(slots=True)
class Noise:
    """Counters of one link since it was made; they only grow.

    ``crc`` frames with a wrong checksum, ``resync`` times that the start of a frame had to be searched,
    ``dropped`` bytes thrown away, ``timeouts`` requests left unanswered.
    """

    crc: int = 0
    resync: int = 0
    dropped: int = 0
    timeouts: int = 0

    def counts(self) -> tuple[tuple[str, int], ...]:
        """The counters by name, as a ``DeviceFault`` carries them."""
        return (("crc", self.crc), ("resync", self.resync), ("dropped", self.dropped), ("timeouts", self.timeouts))

    def bad(self) -> int:
        """A number that grows with every byte or frame that was not good. Silence is not noise."""
        return self.crc + self.resync + self.dropped


class Framer(Generic[F]):
    """Streaming parser: ``feed`` bytes as they come, get whole good frames in order.

    A frame that has begun is waited for: nothing inside it is taken for a frame, because the data of one
    frame may look like another. Only when its checksum fails, or when the line has gone silent and
    ``flush`` says so, is the search taken up behind its first byte. A frame found by such a search is good
    but not *clean*: see ``clean``.

    Memory is bounded: between two calls the buffer holds less than one frame of the longest kind, because
    ``measure`` refuses every longer claim.
    """

    def __init__(
        self, measure: Callable[[bytearray], int | None], decode: Callable[[bytes], F], noise: Noise | None = None
    ) -> None:
        self._measure = measure
        self._decode = decode
        self._buffer = bytearray()
        self._searching = False
        self.noise = noise if noise is not None else Noise()
        self.clean = True
        """False when a byte has been skipped since ``reset``: what was said may not be all that was sent."""

    @property
    def pending(self) -> int:
        """Bytes that wait for the rest of their frame."""
        return len(self._buffer)

    def reset(self) -> None:
        """A new link or a new exchange: forget what is left over and be clean again."""
        self.noise.dropped += len(self._buffer)
        self._buffer.clear()
        self._searching = False
        self.clean = True

    def feed(self, data: bytes) -> list[F]:
        """Take bytes in any cut; return the frames that are whole now."""
        self._buffer += data
        return self._scan(final=False)

    def flush(self) -> list[F]:
        """The line is silent, so a frame that has not ended never will: search behind its beginning."""
        return self._scan(final=True)

    def _scan(self, final: bool) -> list[F]:
        frames: list[F] = []
        buffer = self._buffer
        while buffer:
            size = self._measure(buffer)
            if size is None or size > len(buffer):
                if not final:
                    break
                size = NOT_A_FRAME
            frame = self._decoded(size) if size != NOT_A_FRAME else None
            if frame is None:
                self._skip()
            else:
                frames.append(frame)
                del buffer[:size]
                self._searching = False
        return frames

    def _decoded(self, size: int) -> F | None:
        try:
            return self._decode(bytes(self._buffer[:size]))
        except ChecksumError:
            self.noise.crc += 1
        except ProtocolError:
            return None  # it only looked like one; the bytes are counted as they are skipped
        return None

    def _skip(self) -> None:
        if not self._searching:
            self._searching = True
            self.noise.resync += 1
        self.noise.dropped += 1
        self.clean = False
        del self._buffer[:1]
