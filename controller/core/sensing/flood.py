"""A keypad that pours out what nobody keys: told once and counted, not written down key by key.

A few refusals in a second are a dealer in a hurry. Many are a child, a spilt drink or a broken cable: from then on the
keypad is not listened to until it has been quiet for a second. Both ends of that time are on record, with the count.
"""

from dataclasses import dataclass, field

MOST = 20
"""So many refused entries within ``WINDOW`` are no dealer."""
WINDOW = 1_000_000_000
QUIET = 1_000_000_000


@dataclass(slots=True)
class _Keypad:
    refused: list[int] = field(default_factory=list)
    shut: bool = False
    last: int = 0
    ignored: int = 0


@dataclass(slots=True)
class Floods:
    """What is known of each keypad. ``at`` is monotonic ns."""

    _keypads: dict[str, _Keypad] = field(default_factory=dict)

    def ignores(self, device: str, at: int) -> bool:
        """Whether a key of this keypad is not listened to now; it is counted then."""
        keypad = self._keypads.get(device)
        if keypad is None or not keypad.shut:
            return False
        keypad.last = at
        keypad.ignored += 1
        return True

    def refused(self, device: str, count: int, at: int) -> bool:
        """So many entries were refused now. True if that is a flood, which begins with it."""
        if not count:
            return False
        keypad = self._keypads.setdefault(device, _Keypad())
        keypad.refused = [*(one for one in keypad.refused if at - one < WINDOW), *[at] * count]
        if len(keypad.refused) < MOST:
            return False
        self._keypads[device] = _Keypad(shut=True, last=at)
        return True

    def over(self, at: int) -> list[tuple[str, int]]:
        """The keypads that have been quiet long enough, and how many keys of each were not listened to."""
        if not self._keypads:
            return []
        quiet = [name for name, keypad in self._keypads.items() if keypad.shut and at - keypad.last >= QUIET]
        return [(name, self._keypads.pop(name).ignored) for name in quiet]

    def shut(self) -> list[str]:
        """The keypads that are not listened to now."""
        return [name for name, keypad in self._keypads.items() if keypad.shut]

    def deadline(self) -> int | None:
        """When ``over`` has something to say at the earliest."""
        return min((keypad.last + QUIET for keypad in self._keypads.values() if keypad.shut), default=None)
