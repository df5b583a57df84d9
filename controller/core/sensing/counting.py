"""Chips by their tags: what a heap is worth, and the tray's count."""

from collections import Counter
from collections.abc import Collection

from controller.core.facts import Evidence, TrayCounted
from controller.core.setup import Chipset
from controller.core.state import Hand


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


def after_award(hand: Hand) -> dict[int, int | None]:
    """The stack that each seat of the hand should have once the pots are pushed; ``None`` where it is not known."""
    won: dict[int, int] = dict.fromkeys(hand.order, 0)
    for pot in hand.pots:
        for winner in pot["winners"]:
            won[winner["seat"]] += winner["amount"]
    return {seat: None if (stack := hand.stack[seat]) is None else stack + won[seat] for seat in hand.order}
