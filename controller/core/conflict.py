"""Two channels claim the same tag: a record for whoever looks after the devices. The tag stays inside."""

from controller.core.out import Out
from drivers.readings import DeviceConflict


def conflict(out: Out, reading: DeviceConflict, cause: str = "one_tag_twice") -> None:
    """``device.conflict``: ``role`` names the places whose channels contradict each other, or another device's.

    ``cause``: ``one_tag_twice`` on two channels of this device; ``one_tag_on_two_devices``: told for each of them.
    """
    info = next((d for d in out.setup.devices if d.name == reading.device), None)
    places = info.places if info else {}
    data = {
        "device": reading.device,
        "role": sorted(places[channel] for channel in reading.channels if channel in places),
        "kind": info.kind if info else "",
        "cause": cause,
        "basis": "sensor",
    }
    out.emit("ops", "device.conflict", reading.device, data)
