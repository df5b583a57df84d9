"""Two channels of one device claim the same tag: a record for whoever looks after the devices. The tag stays inside."""

from controller.core.out import Out
from drivers.readings import DeviceConflict


def conflict(out: Out, reading: DeviceConflict) -> None:
    """``device.conflict``: ``role`` names the places whose channels contradict each other."""
    info = next((d for d in out.setup.devices if d.name == reading.device), None)
    places = info.places if info else {}
    data = {
        "device": reading.device,
        "role": sorted(places[channel] for channel in reading.channels if channel in places),
        "kind": info.kind if info else "",
        "cause": "one_tag_twice",
        "basis": "sensor",
    }
    out.emit("ops", "device.conflict", reading.device, data)
