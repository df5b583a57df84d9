"""How well tags are read: by their depth in the stack and by their neighbours, independent in every inventory.

The figures follow what is public of tables in the field. Two cards in a stack read, the third is doubtful; stacks of
20 chips read as a rule, 35 is the most; several stacks on one antenna disturb each other a little. A few tags are
slow: a card that comes to lie on another is not heard at once. A few are dead and are never heard.
"""

import random
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

Reads = Literal["perfect", "field"]

CARDS = (0.97, 0.94, 0.6, 0.35)
"""Chance of a card by how many lie between it and the antenna; further ones are read like the last."""
CHIPS = 0.985
SURE_HIGH, MOST_HIGH = 20, 35
DEEP = 0.1
"""Chance of a chip higher than ``MOST_HIGH``."""
NEIGHBOUR = 0.997
"""Each further stack on the same antenna takes so much of the chance."""
SLOW = 0.1
"""How many of the cards that come to lie on another are slow."""
SLOWEST = 6
"""For so many inventories at most a slow tag is silent."""
DEAD = 1 / 2000
"""How many of the chips before the players have a dead tag."""
PILE = 20
"""So high do players and dealers stack chips."""


def chip_chance(depth: int, piles: int) -> float:
    """The chance of one chip, ``depth`` chips above the antenna, with ``piles`` on the antenna."""
    if depth < SURE_HIGH:
        chance = CHIPS
    elif depth < MOST_HIGH:
        chance = CHIPS - (CHIPS - 0.5) * (depth - SURE_HIGH) / (MOST_HIGH - SURE_HIGH)
    else:
        chance = DEEP
    return chance * NEIGHBOUR ** max(0, piles - 1)


def is_card(tag: str) -> bool:
    """Whether a tag of a rehearsal is a card's."""
    return tag.startswith("E016")


@dataclass(slots=True)
class ReadRate:
    """The hearing of one reader: give it as ``FeigReader(hearing=...)``.

    ``spread`` are the channels on which tags lie beside each other, not on a heap; ``dead`` the tags never heard.
    """

    seed: str
    spread: Collection[int] = ()
    dead: Collection[str] = ()
    pile: int = PILE
    _slow: dict[str, int] = field(default_factory=dict)
    _lying: dict[int, frozenset[str]] = field(default_factory=dict)
    _dice: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._dice = random.Random(self.seed)

    def __call__(self, channel: int, tags: Sequence[str]) -> Iterable[str]:
        """The tags of one field that one inventory hears."""
        self._arrivals(channel, tags)
        chances = self._chances(channel, tags)
        return [tag for tag, chance in zip(tags, chances, strict=True) if self._heard(tag, chance)]

    def _arrivals(self, channel: int, tags: Sequence[str]) -> None:
        lying, before = frozenset(tags), self._lying.get(channel, frozenset())
        if lying == before:
            return
        self._lying[channel] = lying
        for number, tag in enumerate(tags):
            if tag not in before and number and is_card(tag) and self._dice.random() < SLOW:
                self._slow[tag] = self._dice.randint(1, SLOWEST)

    def _chances(self, channel: int, tags: Sequence[str]) -> list[float]:
        if channel in self.spread:
            return [CARDS[0] if is_card(tag) else CHIPS for tag in tags]
        piles = -(-sum(not is_card(tag) for tag in tags) // self.pile)
        chances: list[float] = []
        cards = chips = 0
        for tag in tags:
            if is_card(tag):
                chances.append(CARDS[min(cards, len(CARDS) - 1)])
                cards += 1
            else:
                chances.append(chip_chance(chips % self.pile, piles))
                chips += 1
        return chances

    def _heard(self, tag: str, chance: float) -> bool:
        if tag in self.dead:
            return False
        silent = self._slow.get(tag, 0)
        if silent:
            self._slow[tag] = silent - 1
            return False
        return self._dice.random() < chance
