"""What a bad line does to the answers of a device: days that hypothesis draws, and bytes from nowhere."""

from hypothesis import strategies as st

from tests.virtual_wire import Spoil, VirtualWire

DAYS = ("ok", "lose", "crc", "noise", "twice")
"""A frame comes whole, not at all, with a wrong check sum, behind noise, or twice."""
BABBLE = st.lists(st.tuples(st.binary(max_size=40), st.integers(0, 400)), max_size=25)
"""Bytes from nowhere, and how many milliseconds pass after each."""


def days(most: int = 40, *more: str) -> st.SearchStrategy[list[str]]:
    """What becomes of so many frames at the most; ``more``: further kinds of day."""
    return st.lists(st.sampled_from((*DAYS, *more)), max_size=most)


def spoiling(weather: list[str], noise: bytes) -> Spoil:
    """A wire with a day for each frame, the last of them first; when all are over it is clean.

    ``swap``: the frame comes after the next one that is whole.
    """
    left, held = list(weather), list[bytes]()

    def spoil(frame: bytes) -> list[bytes]:
        match left.pop() if left else "ok":
            case "lose":
                return []
            case "crc":
                return [frame[:-1] + bytes((frame[-1] ^ 0x10,))]
            case "noise":
                return [noise, frame]
            case "twice":
                return [frame, frame]
            case "swap":
                held.append(frame)
                return []
            case _:
                out = [frame, *held]
                held.clear()
                return out

    return spoil


def persevere(wire: VirtualWire, times: int) -> None:
    """Three seconds, so often; who has given up is opened again, as the supervisor does."""
    for _ in range(times):
        wire.run(3000)
        if wire.failed is not None:
            wire.open()


def babble(wire: VirtualWire, pieces: list[tuple[bytes, int]]) -> None:
    """The host hears the pieces until it gives up."""
    for data, pause in pieces:
        if wire.failed is None:
            wire.hear(data)
            wire.run(pause)
