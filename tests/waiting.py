"""Waiting for another thread or process without guessing how long it takes."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class InVain(AssertionError):
    """What was waited for did not come in time."""


def wait_until(ask: Callable[[], T], seconds: float = 10.0, what: str = "") -> T:
    """Ask until the answer is true and return it.

    Raises ``InVain`` naming ``what`` when the answer is still false after ``seconds``.
    """
    deadline = time.monotonic() + seconds
    while not (answer := ask()):
        if time.monotonic() > deadline:
            name = what or getattr(ask, "__name__", repr(ask))
            raise InVain(f"waited {seconds} s in vain for: {name}")
        time.sleep(0.005)
    return answer


def wait_while_it_falls(left: Callable[[], int], seconds: float, what: str) -> None:
    """Wait until nothing is left, however long it takes, as long as it becomes less within each ``seconds``."""
    least = left()
    while least:
        before = least
        wait_until(lambda before=before: left() < before, seconds, f"fewer than {before} {what}")  # type: ignore[misc]
        least = left()
