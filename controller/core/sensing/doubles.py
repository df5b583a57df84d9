"""One tag on two devices: it can lie in one place only, so one of them, or a copy of the tag, tells what cannot be.

A device notices by itself where two of its own channels claim the same tag (``drivers.conflicts``).
"""

from collections.abc import Container
from dataclasses import dataclass, field

from drivers.readings import DeviceCleared, DeviceConflict, DeviceLost, Reading, TagsSeen

Channel = tuple[str, str]
"""Device and channel."""


@dataclass(slots=True)
class Claim:
    """Two channels say that they have a tag, since ``since``; ``again`` are those that said so once more much later."""

    since: int
    again: set[Channel] = field(default_factory=set)
    told: bool = False


class Doubles:
    """The claims of all readers. A tag that moves is for a while in the inventories of both: the old one learns late.

    So a claim counts when both have repeated it after ``wait`` ns. Only tags that are ``known`` are watched.
    """

    def __init__(self, wait: int, known: Container[str]) -> None:
        self._wait = wait
        self._known = known
        self._last: dict[Channel, frozenset[str]] = {}
        self._owners: dict[str, list[Channel]] = {}
        self._twice: dict[tuple[str, Channel, Channel], Claim] = {}

    def heard(self, reading: Reading, at: int) -> list[DeviceConflict | DeviceCleared]:
        """What one reading says of conflicts between devices: a word for each device that they begin or end for."""
        match reading:
            case TagsSeen():
                return self._inventory(reading, at)
            case DeviceLost(device=device):
                gone = [channel for channel in self._last if channel[0] == device]
                return [one for channel in gone for one in self._changed(channel, frozenset(), at)]
        return []

    def _inventory(self, reading: TagsSeen, at: int) -> list[DeviceConflict | DeviceCleared]:
        channel = (reading.device, reading.channel)
        before = self._last.get(channel, frozenset())
        tags = reading.tags if reading.complete else reading.tags | before
        return self._changed(channel, tags, at) + (self._repeated(channel, tags, at) if self._twice else [])

    def _changed(self, channel: Channel, tags: frozenset[str], at: int) -> list[DeviceConflict | DeviceCleared]:
        before = self._last.get(channel, frozenset())
        self._last[channel] = tags
        if tags == before:
            return []
        for tag in sorted(tags - before, key=lambda tag: (self._owners.get(tag, []), tag)):
            if tag in self._known:
                owners = self._owners.setdefault(tag, [])
                for other in owners:
                    if other[0] != channel[0]:
                        self._twice[tag, other, channel] = Claim(at)
                owners.append(channel)
        devices: set[str] = set()
        for tag in before - tags:
            if channel not in self._owners.get(tag, ()):
                continue
            self._owners[tag].remove(channel)
            for key in [key for key in self._twice if key[0] == tag and channel in key]:
                if self._twice.pop(key).told:
                    devices |= {key[1][0], key[2][0]}
        return [DeviceCleared(device, 0, "conflict") for device in sorted(devices - self._disputing())]

    def _disputing(self) -> set[str]:
        """The devices of conflicts that were told and are not over."""
        return {channel[0] for key, claim in self._twice.items() if claim.told for channel in key[1:]}

    def _repeated(self, channel: Channel, tags: frozenset[str], at: int) -> list[DeviceConflict | DeviceCleared]:
        begun: list[DeviceConflict | DeviceCleared] = []
        for (tag, one, other), claim in self._twice.items():
            if tag not in tags or channel not in (one, other) or claim.told or at - claim.since < self._wait:
                continue
            claim.again.add(channel)
            if len(claim.again) == 2:
                claim.told = True
                begun += [DeviceConflict(device, 0, tag, (which,)) for device, which in sorted((one, other))]
        return begun
