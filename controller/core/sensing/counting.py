"""Chips by their tags: what a heap is worth, and the tray's count."""

from collections import Counter
from collections.abc import Collection

from controller.core.facts import Evidence, TrayCounted
from controller.core.setup import Chipset


def value(chipset: Chipset, tags: Collection[str]) -> int:
    """What the chips with these tags are worth, in minor units. Tags of no registry are worth nothing (I-28)."""
    worth = {d.id: d.value for d in chipset.denominations}
    return sum(worth[chipset.tags[tag]] for tag in tags if tag in chipset.tags)


def tray_count(chipset: Chipset, tags: Collection[str], source: Evidence) -> TrayCounted:
    """The tray by denomination, and the tags that no registry knows."""
    known = Counter(chipset.tags[tag] for tag in tags if tag in chipset.tags)
    unknown = tuple(sorted(tag for tag in tags if tag not in chipset.tags))
    counts = tuple((d.value, known[d.id]) for d in chipset.denominations if known[d.id])
    return TrayCounted(counts, unknown, evidence=(source,))
