"""A rehearsal that is ended before all was played: by a signal, or because its time is up.

What is being played then is given up and put away in order; what was played before counts and is told. A signal cuts
only into play: where processes are started and ended it is heeded once that is done. A second one changes nothing.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class BrokenOff(KeyboardInterrupt):
    """What is being played is given up. The message says what ended it, and ``during`` which case that is."""

    during = ""


@dataclass(slots=True)
class _State:
    """Signals come to a process, so there is one of these in it. ``why`` is empty as long as play may go on."""

    why: str = ""
    cuts: bool = False
    """Whether a signal ends at once what is going on."""
    seconds: int = 0


_state = _State()


def check(during: str = "") -> None:
    """Raises ``BrokenOff`` once the rehearsal is to end."""
    if _state.why:
        ended = BrokenOff(_state.why)
        ended.during = during
        raise ended


@contextmanager
def at_once() -> Iterator[None]:
    """What is done in here is cut short. Raises ``BrokenOff``."""
    before, _state.cuts = _state.cuts, True
    try:
        check()
        yield
    finally:
        _state.cuts = before


@contextmanager
def heeded(seconds: int = 0) -> Iterator[None]:
    """SIGINT, SIGTERM and the end of so many ``seconds`` (0: any) end the rehearsal, and no longer the process."""
    heard = (*SIGNALS, signal.SIGALRM)
    before = {number: signal.signal(number, _came) for number in heard}
    _state.why, _state.seconds = "", seconds
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
        _state.why = ""  # what comes next in this process is another rehearsal


def in_worker() -> None:
    """A process that plays cases for another one, to its end. The terminal's Ctrl-C comes to all of them."""
    for number in SIGNALS:
        signal.signal(number, _came)


def _came(number: int, frame: FrameType | None) -> None:
    del frame
    if _state.why:
        return
    _state.why = f"after {_state.seconds} s" if number == signal.SIGALRM else f"by {signal.Signals(number).name}"
    if _state.cuts:
        raise BrokenOff(_state.why)
