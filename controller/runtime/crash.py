"""What an error that nobody foresaw may say: its kind and where it arose, and never what it was about.

The message of such an error can quote a value: ``KeyError: 'As'`` names a closed card. The messages of our own errors
are written for people to read and hold none.
"""

import sys
import threading
import traceback
from collections.abc import Iterator
from types import TracebackType

from controller.errors import FeltError
from drivers.errors import DeviceError

SPOKEN = (FeltError, DeviceError, OSError)
"""Errors whose message is told: ours, and what the operating system says about files and links."""

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None]


def told(error: BaseException) -> str:
    """A traceback without source values and without foreign messages, the cause first."""
    return "\n".join(line for one in _chain(error) for line in _one(one))


def render(exc_info: ExcInfo) -> str:
    """The same, as a formatter of structlog."""
    return told(exc_info[1])


def install() -> None:
    """Have every error that ends a thread or the process told in this way."""
    sys.excepthook = lambda _kind, error, _trace: _say(error, "the process")
    sys.unraisablehook = lambda args: _say(args.exc_value, "a destructor")
    threading.excepthook = lambda args: _say(args.exc_value, f"thread {args.thread.name if args.thread else '?'}")


def _say(error: BaseException | None, where: str) -> None:
    sys.stderr.write(f"feltd: {where} ended with an error\n{'' if error is None else told(error)}\n")
    sys.stderr.flush()


def _chain(error: BaseException) -> Iterator[BaseException]:
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain:
        chain.append(current)
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return reversed(chain)


def _one(error: BaseException) -> Iterator[str]:
    for frame in traceback.extract_tb(error.__traceback__):
        yield f"  {frame.filename}:{frame.lineno} in {frame.name}"
    kind = type(error).__name__
    yield f"{kind}: {error}" if isinstance(error, SPOKEN) else kind
