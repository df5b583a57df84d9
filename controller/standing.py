"""The last word on each device and place: a table that is rebuilt from the ledger has to hear it again."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from drivers.readings import CardSighted, DeviceLost, DeviceUp, Reading, TagsSeen


@dataclass(slots=True)
class Standing:
    """What devices said last and tell no second time. Iterating gives it in the order in which it came."""

    _last: dict[tuple[str, str], Reading] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Reading]:
        return iter(self._last.values())

    def remember(self, reading: Reading) -> None:
        """Keep a reading that stands until the next one of its device or place."""
        match reading:
            case DeviceUp() | DeviceLost():
                if isinstance(reading, DeviceLost):
                    for key in [key for key, was in self._last.items() if _sighting(was, reading.device)]:
                        del self._last[key]
                self._last[reading.device, ""] = reading
            case CardSighted():  # a camera tells a card that only lies there no second time
                key = (reading.device, f"card {reading.object}")
                self._last.pop(key, None)
                if reading.present:
                    self._last[key] = reading
            case TagsSeen():
                self._last[reading.device, reading.channel] = reading


def _sighting(reading: Reading, device: str) -> bool:
    return isinstance(reading, CardSighted) and reading.device == device
