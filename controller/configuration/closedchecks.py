"""Whether a table that does not have its closed cards read can be played with the devices it has."""

from collections.abc import Iterator, Mapping
from typing import Any

from controller.configuration.tablefile import DeviceFile
from controller.core.rules.profile import Profile
from controller.faults import Fault
from drivers import catalog

CLOSED = ("seat:", "burn", "muck")


def check(file: str, tree: Mapping[str, Any], profile: Profile | None) -> Iterator[Fault]:
    """Every fault of ``closed_cards`` and what hangs on it."""
    unread = tree.get("closed_cards") == "unread"
    given = tree.get("devices", {})
    devices = {name: DeviceFile.known(values) for name, values in given.items()} if isinstance(given, dict) else {}
    if unread and profile and profile.game == "ultimate":
        remedy = f"{profile.name} is settled from the cards that sensors have read: leave it out, or use poker rules"
        yield Fault(file, "closed_cards", '"unread"', remedy)
    first: tuple[str, str] | None = None
    for name, device in devices.items():
        if device is None:
            continue
        said = device.options.get("closed_cards")
        if device.driver == "shoe" and said is not None and said != tree.get("closed_cards", "read"):
            remedy = f'is for the whole table: write closed_cards = "{said}" at the top, and leave it out here'
            yield Fault(file, f"devices.{name}.options.closed_cards", f'"{said}"', remedy)
        if not unread or device.driver not in catalog.names() or catalog.role(device.driver) != "reader":
            continue
        for channel, place in device.channels.items():
            if not place.startswith(CLOSED):
                continue
            first = first or (name, place)
            if name != first[0]:
                remedy = f"{first[0]} watches {first[1]}: with unread cards one reader watches seats, burn and muck, "
                remedy += "for only the one that saw a card come knows it again"
                yield Fault(file, f"devices.{name}.channels.{channel}", f'"{place}"', remedy)
