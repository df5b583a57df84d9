"""What the cameras of a rig are shown: cards that come into a region, are turned over, and leave it."""

from collections.abc import Mapping
from typing import Protocol

from simulators.dealer import Deed, Lay, Lift, Turn
from simulators.gestures import Answer
from simulators.layout import Layout

FACE_UP = ("board",)
"""Where cards are laid face up; elsewhere they lie on their faces until somebody turns them."""


class Do(Protocol):
    """Does one thing to a simulated device."""

    def __call__(self, what: str, device: str, **args: object) -> Answer:
        """See ``simulators.gestures``."""


class Eye:
    """Follows what hands do with cards. ``deck`` is tag -> card; other tags are no cards of this table."""

    def __init__(self, table: Layout, deck: Mapping[str, str]) -> None:
        self._regions = table.regions
        self._deck = deck
        self._objects: dict[tuple[str, str], int] = {}
        """The camera's number of each card, by place and tag."""
        self._up: set[tuple[str, str]] = set()

    def follow(self, deed: Deed, do: Do) -> None:
        """Show a deed to the camera that watches its place; nobody looks where none does."""
        if not isinstance(deed, Lay | Lift | Turn) or deed.place not in self._regions:
            return
        device, region = self._regions[deed.place]
        for tag in deed.tags:
            card = self._deck.get(tag)
            lying = (deed.place, tag)
            if card is None:
                continue
            if isinstance(deed, Lay):
                up = deed.place in FACE_UP
                answer = do("lay", device, channel=region, card=card if up else None, up=up)
                self._objects[lying] = int(answer["object"])
                if up:
                    self._up.add(lying)
            elif isinstance(deed, Lift):
                self._up.discard(lying)
                do("lift", device, object=self._objects.pop(lying))
            elif lying not in self._up:
                self._up.add(lying)
                do("turn", device, object=self._objects[lying], card=card)
