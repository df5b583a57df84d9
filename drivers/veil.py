"""What leaves a driver of closed cards where a house does not want them read: that one lies there, never which.

A reader hears tags, and a tag is a card. So a tag is replaced by a name that is drawn for it, the moment a driver has
told what it hears: before the queue, the core, a capture, the memory of anything else. The name says only that it is
the same piece of pasteboard as before, for as long as the hand lasts; the next hand draws new ones.
"""

import secrets
from collections.abc import Callable, Iterable
from dataclasses import replace

from drivers.readings import UNREAD, CardSeen, CardSighted, DeviceConflict, Reading, TagsSeen

GONE = 1_000_000_000
"""Between hands a card that was not heard for so long (ns) gets a new name when it is heard again."""


def _drawn() -> str:
    return UNREAD + secrets.token_hex(6).upper()


class Veil:
    """The veil over one device. ``cards`` are the tags of the deck in play, ``open_`` the channels where faces lie up.

    A shoe has no channel that is open: no card that leaves it is named.
    """

    def __init__(self, cards: Iterable[str] = (), open_: Iterable[str] = (), draw: Callable[[], str] = _drawn) -> None:
        self._cards = frozenset(cards)
        self._open = frozenset(open_)
        self._draw = draw
        self._playing = True
        self._names: dict[str, str] = {}
        self._heard: dict[str, int] = {}
        self._last: dict[str, TagsSeen] = {}

    def lift(self, open_: frozenset[str], *, playing: bool) -> tuple[Reading, ...]:
        """On these channels cards lie face up now, on no other. Returns what is to be told anew.

        ``playing``: whether a hand is being played, in which a card must keep its name.
        """
        changed, self._open, self._playing = self._open ^ open_, open_, playing
        return tuple(self._over(self._last[channel]) for channel in sorted(changed) if channel in self._last)

    def opened(self) -> None:
        """A new connection: what was heard before it is told no more."""
        self._last.clear()

    def over(self, reading: Reading, now: int) -> Reading:
        """The reading as it may leave the driver. ``now`` in ns."""
        match reading:
            case TagsSeen():
                self._last[reading.channel] = reading
                self._forget(now)
                self._heard |= dict.fromkeys(reading.tags & self._cards, now)
                return self._over(reading)
            case CardSeen():
                return replace(reading, card=None, tag=None, confidence=100)
            case CardSighted() if reading.channel not in self._open:
                return replace(reading, card=None, confidence=100)
            case DeviceConflict() if reading.tag in self._cards:
                return replace(reading, tag=self._name(reading.tag))
        return reading

    def _over(self, reading: TagsSeen) -> TagsSeen:
        if reading.channel in self._open or not reading.tags & self._cards:
            return reading
        tags = frozenset(self._name(tag) if tag in self._cards else tag for tag in reading.tags)
        return replace(reading, tags=tags)

    def _name(self, tag: str) -> str:
        if tag not in self._names:
            self._names[tag] = self._draw()
        return self._names[tag]

    def _forget(self, now: int) -> None:
        if self._playing:
            return
        for tag in [tag for tag in self._names if now - self._heard.get(tag, 0) >= GONE]:
            del self._names[tag]
