"""Where every chip and card of a rehearsal lies: the rig's own count, which the table under test never sees."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from simulators import duties
from simulators.errors import RigError
from simulators.scripts.acts import DECK, SeatStart

TRAY_EACH = 24
"""Chips of each kind in the tray when the table is opened: enough to make change."""
PURSE_EACH = 12
"""Chips of each kind that the player of a box has at least."""
SMALL_EACH = 3
"""Chips of each kind that a player likes to have before larger ones are taken."""

UNCOUNTED = 3
"""How many of the largest chips a stack is worth that nobody has counted."""

Counts = Mapping[int, int]
"""Chips by value in minor units: how many."""


def chip_tag(value: int, number: int) -> str:
    """The tag of a chip: ISO 15693, so that it begins with E004."""
    return f"E004{number & 0xFFFF:04X}{value & 0xFFFFFFFF:08X}"


def card_tag(card: str) -> str:
    """The tag of a card of the deck in play."""
    return f"E0160000C0DE{DECK.index(card):04X}"


def second_deck_tag(card: str) -> str:
    """The tag of the same card in the other deck, which is shuffled beside the table."""
    return f"E0160001C0DE{DECK.index(card):04X}"


def heap(amount: int, kinds: Sequence[int]) -> dict[int, int]:
    """A heap of chips worth ``amount``: some of each small kind, so that most bets can be paid exactly.

    Raises ``RigError`` where the smallest chip does not divide it.
    """
    fewest(amount, kinds)
    counts: Counter[int] = Counter()
    rest = amount
    for kind in sorted(kinds):
        taken = min(SMALL_EACH, rest // kind)
        counts[kind] += taken
        rest -= taken * kind
    return dict(counts + Counter(fewest(rest, kinds)))


def fewest(amount: int, kinds: Sequence[int]) -> dict[int, int]:
    """The fewest chips worth ``amount``. Raises ``RigError`` where the smallest chip does not divide it."""
    counts: dict[int, int] = {}
    rest = amount
    for kind in sorted(kinds, reverse=True):
        if rest >= kind:
            counts[kind], rest = divmod(rest, kind)
    if rest:
        raise RigError(f"{amount} cannot be paid in chips of {sorted(kinds)}")
    return counts


def exact(amount: int, has: Counts) -> dict[int, int] | None:
    """Chips out of ``has`` that are worth exactly ``amount``, the large ones first; ``None`` where there are none."""
    kinds = tuple(sorted(((kind, count) for kind, count in has.items() if count), reverse=True))
    found = _exact(amount, kinds)
    return None if found is None else {kind: count for kind, count in found if count}


@lru_cache(maxsize=65536)
def _exact(amount: int, kinds: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...] | None:
    if amount == 0:
        return ()
    if not kinds or amount > sum(kind * count for kind, count in kinds):
        return None
    (kind, has), rest = kinds[0], kinds[1:]
    for count in range(min(has, amount // kind), -1, -1):
        found = _exact(amount - count * kind, rest)
        if found is not None:
            return ((kind, count), *found)
    return None


def opening_chips(
    kinds: Sequence[int], seats: Iterable[SeatStart], tray: Counts | None = None, before: str = "stack"
) -> "Tokens":
    """The chips of a table that is opened: a tray, and what each of these seats has before it.

    Without seats, as at a table that does not sense chips, the few in the tray are all that have tags. ``before`` is
    the place where a player's chips lie: a stack, or the purse that no antenna sees.
    """
    tokens = Tokens()
    numbers: Counter[int] = Counter()

    def new(counts: Counts, place: str) -> None:
        for value in sorted(counts, reverse=True):
            for _ in range(counts[value]):
                numbers[value] += 1
                tag = chip_tag(value, numbers[value])
                tokens.values[tag] = value
                tokens.lay([tag], place)

    seats = tuple(seats)
    new(tray or dict.fromkeys(kinds, TRAY_EACH if seats else duties.TAGGED), "tray")
    for seat in seats:
        amount = seat.stack if seat.stack is not None else UNCOUNTED * max(kinds)
        new(seat.chips or heap(amount, kinds), f"{before}:{seat.seat}")
    return tokens


class Tokens:
    """Every tag by place, in the order in which they were laid there: the first lies next to the antenna."""

    def __init__(self) -> None:
        self.places: dict[str, list[str]] = {}
        self.values: dict[str, int] = {}

    def copy(self) -> "Tokens":
        """The same chips and cards, to be moved without moving these."""
        twin = Tokens()
        twin.places = {place: list(tags) for place, tags in self.places.items()}
        twin.values = dict(self.values)
        return twin

    def lay(self, tags: Iterable[str], place: str) -> None:
        """Tags come to a place."""
        self.places.setdefault(place, []).extend(tags)

    def lift(self, tags: Iterable[str], place: str) -> None:
        """Tags leave a place. Raises ``RigError`` for one that is not there."""
        lying = self.places.get(place, [])
        for tag in tags:
            if tag not in lying:
                raise RigError(f"{place}: what should be lifted there is not there")
            lying.remove(tag)

    def at(self, place: str) -> tuple[str, ...]:
        """The tags at a place."""
        return tuple(self.places.get(place, ()))

    def chips(self, place: str) -> Counter[int]:
        """The chips at a place, by value."""
        return Counter(self.values[tag] for tag in self.at(place) if tag in self.values)

    def worth(self, place: str) -> int:
        """What the chips at a place come to, in minor units."""
        return sum(self.values.get(tag, 0) for tag in self.at(place))

    def choose(self, place: str, counts: Counts) -> list[str]:
        """These chips of a place, the uppermost first. Raises ``RigError`` where they are not there."""
        left = Counter(counts)
        chosen: list[str] = []
        for tag in reversed(self.at(place)):
            value = self.values.get(tag)
            if value is not None and left[value] > 0:
                left[value] -= 1
                chosen.append(tag)
        if +left:
            raise RigError(f"{place} has not the chips {dict(+left)}; it has {dict(self.chips(place))}")
        return chosen

    def total(self) -> Counter[int]:
        """All chips of the table, by value: no act may change this."""
        return sum((self.chips(place) for place in self.places), Counter())
