"""One tag, two channels: it can lie in one place only, so both say something that cannot be true."""

from drivers.readings import DeviceCleared, DeviceConflict, Reading, TagsSeen


class Conflicts:
    """Watches the channels of one device. A driver's own readings pass by and are not changed.

    A chip that moves from one antenna to the next is for a moment in the last inventories of both: told by the
    new one, not yet gone from the old. So a claim counts as a conflict only when both channels have made it
    after the other had: two inventories each, in turn.
    """

    def __init__(self, device: str) -> None:
        self._device = device
        self._seen: dict[str, frozenset[str]] = {}
        self._twice: dict[tuple[str, tuple[str, ...]], set[str]] = {}
        self._told: set[tuple[str, tuple[str, ...]]] = set()

    def forget(self) -> None:
        """A new connection: what is where is unknown. Conflicts that were told stay open until disproved."""
        self._seen.clear()
        self._twice.clear()

    def found(self, reading: Reading) -> tuple[Reading, ...]:
        """What one more reading says about conflicts: they begin, or all of them are over."""
        if not isinstance(reading, TagsSeen):
            return ()
        channel = reading.channel
        # An inventory that is not complete proves presence but no absence.
        before = self._seen.get(channel, frozenset())
        self._seen[channel] = reading.tags if reading.complete else reading.tags | before
        claims = {
            (tag, tuple(sorted((channel, other))))
            for other, tags in self._seen.items()
            if other != channel
            for tag in tags & self._seen[channel]
        }
        for claim in [claim for claim in self._twice if channel in claim[1] and claim not in claims]:
            del self._twice[claim]
        begun: list[Reading] = []
        for claim in sorted(claims):
            # The first to complete the pair says only what the other may not have noticed yet.
            if claim in self._twice:
                self._twice[claim].add(channel)
            else:
                self._twice[claim] = set()
            if len(self._twice[claim]) == len(claim[1]) and claim not in self._told:
                self._told.add(claim)
                begun.append(DeviceConflict(self._device, 0, claim[0], claim[1]))
        return (*begun, *self._over(channel, claims))

    def _over(self, channel: str, claims: set[tuple[str, tuple[str, ...]]]) -> tuple[Reading, ...]:
        ended = {claim for claim in self._told if channel in claim[1] and claim not in claims}
        if not ended:
            return ()
        self._told -= ended
        return () if self._told else (DeviceCleared(self._device, 0, "conflict"),)
