"""When to tell what lies in a field, and what to make of devices that never say that a tag is gone."""

from collections.abc import Iterable

Said = tuple[frozenset[str], bool]
"""Tags of a channel, and whether the inventory is complete."""


class Teller:
    """Tells a change at once, and again until it has settled; an unchanged field only now and then.

    All times are ns.
    """

    def __init__(self, settle: int, repeat: int) -> None:
        self._settle = settle
        self._repeat = repeat
        self._told: dict[str, Said] = {}
        self._told_at: dict[str, int] = {}
        self._changed_at: dict[str, int] = {}

    def forget(self) -> None:
        """A new connection: everything is worth telling again."""
        self._told.clear()

    def worth(self, channel: str, said: Said, now: int) -> bool:
        """Whether this is to be told; it counts as told when it is."""
        if self._told.get(channel) != said:
            self._told[channel] = said
            self._changed_at[channel] = now
        elif now >= self._changed_at[channel] + self._settle and now < self._told_at[channel] + self._repeat:
            return False
        self._told_at[channel] = now
        return True


class Sightings:
    """What is in the fields of a device that tells what it hears, again and again, and never what it misses.

    A tag is gone when it has not been heard for ``window`` ns in which nothing else can have been missed.
    *Noise is not absence*: ``taint`` begins that time anew for all tags. Until one whole clean window has
    passed since the last taint an inventory is not complete.
    """

    def __init__(self, window: int, channels: Iterable[str]) -> None:
        self._window = window
        self._heard: dict[str, dict[str, int]] = {channel: {} for channel in channels}
        self._clean_since = 0
        self._whole_at = 0
        self._whole = False

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels, as they were given."""
        return tuple(self._heard)

    @property
    def whole(self) -> bool:
        """Whether a clean window has passed: what is not told now is not there."""
        return self._whole

    def begin(self, now: int) -> None:
        """A new connection: nothing is known."""
        for heard in self._heard.values():
            heard.clear()
        self._whole_at = now
        self.taint(now)

    def taint(self, now: int) -> None:
        """Something may have been said that was not understood."""
        self._clean_since = now
        self._whole = False

    def hear(self, channel: str, tag: str, now: int) -> bool:
        """A tag was heard. ``False`` for a channel that is not watched."""
        heard = self._heard.get(channel)
        if heard is None:
            return False
        heard[tag] = now
        return True

    def proven(self, now: int) -> None:
        """The device has just proved that all it had to say up to ``now`` has come: forget what was not heard."""
        for heard in self._heard.values():
            for tag in [tag for tag, at in heard.items() if max(at, self._clean_since) + self._window <= now]:
                del heard[tag]
        self._whole = now >= self._clean_since + self._window
        if self._whole:
            self._whole_at = now

    def said(self, channel: str) -> Said:
        """What there is to tell of a channel."""
        return frozenset(self._heard[channel]), self._whole

    def silent_for(self, now: int) -> int:
        """How long there has been no complete inventory, in ns: the backstop of a link that stays noisy."""
        return now - self._whole_at
