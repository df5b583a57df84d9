"""The devices of a table of boxes: at the one kind a shoe and a keypad, at the other antennas under every spot."""

from simulators import layout
from simulators.layout import CARDS_POLL_MS, KEYS, Kind, Layout, reader

SPOTS = ("ante", "blind", "trips", "play")


def of(kind: Kind, boxes: int) -> Layout:
    """The layout of a kind of table with so many boxes."""
    if kind == "shoe":
        return layout.shoe_table()
    ring = range(1, boxes + 1)
    cards = [f"box:{box}:{place}" for box in ring for place in ("cards", "under_play")]
    return Layout.of(
        (
            reader("cards0", ["dealer", "board", "muck", *cards], CARDS_POLL_MS),
            reader("bets0", [f"box:{box}:{spot}" for box in ring for spot in SPOTS]),
            reader("tray0", ["tray"]),
            KEYS,
        )
    )
