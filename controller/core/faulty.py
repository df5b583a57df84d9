"""Which devices are in trouble now, for the people at the table: they may be up all the same.

Nothing follows from it. After a restart it is unknown until the devices, which begin anew as well, have said it again.
"""

from dataclasses import dataclass, field

from drivers.readings import DeviceCleared, DeviceConflict, DeviceFault, DeviceUp, Reading


@dataclass(slots=True)
class Faulty:
    """By device: what was told of it and is not over. A conflict may be one of its own, and one with another device."""

    _own: dict[str, set[str]] = field(default_factory=dict)
    _with_others: set[str] = field(default_factory=set)

    def heard(self, reading: Reading) -> None:
        """A device, or its driver, has said something."""
        match reading:
            case DeviceFault(device=device, fault=fault):
                self._own.setdefault(device, set()).add(fault)
            case DeviceConflict(device=device):
                self._own.setdefault(device, set()).add("conflict")
            case DeviceCleared(device=device, fault=fault):
                self._own.get(device, set()).discard(fault)
            case DeviceUp(device=device):
                # A driver that had to start over has done so; nobody else tells of the end of that.
                self._own.get(device, set()).discard("protocol")

    def contradicted(self, news: DeviceConflict | DeviceCleared) -> None:
        """Two devices have the same tag, or have it no longer: a word for each."""
        (self._with_others.add if isinstance(news, DeviceConflict) else self._with_others.discard)(news.device)

    def told(self, flooding: list[str]) -> dict[str, list[str]]:
        """The troubles of each device that has any. ``flooding``: the keypads that are not listened to."""
        found = {device: set(faults) for device, faults in self._own.items() if faults}
        for fault, devices in (("conflict", self._with_others), ("flood", flooding)):
            for device in devices:
                found.setdefault(device, set()).add(fault)
        return {device: sorted(faults) for device, faults in sorted(found.items())}
