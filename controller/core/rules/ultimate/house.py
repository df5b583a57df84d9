"""What a house has decided for Ultimate: pay tables, readings, limits. Data of the profile, frozen.

``None`` stands for a choice that has not been made. Where the text leaves no default (rules.md 9.1), the table does
not open with it.
"""

from dataclasses import dataclass
from typing import Literal

Spot = Literal["ante", "blind", "trips", "play"]
SPOTS: tuple[Spot, ...] = ("ante", "blind", "trips", "play")
"""The four bet spots of a box, in the order in which stakes are usually laid."""

Reading = Literal["push", "settle"]


@dataclass(frozen=True, slots=True)
class PayTable:
    """What a spot pays by the category of the player's hand: (category, numerator, denominator).

    ``otherwise`` is what becomes of a stake whose category is not listed.
    """

    name: str
    odds: tuple[tuple[str, int, int], ...]
    otherwise: Literal["push", "lose"]

    def pays(self, category: str) -> tuple[int, int] | None:
        """The odds of a category, or ``None``."""
        return next(((num, den) for name, num, den in self.odds if name == category), None)


@dataclass(frozen=True, slots=True)
class NotQualified:
    """What becomes of each stake when the dealer has no pair (LT-A2). ``None``: the house has not decided."""

    ante: Reading | None = None
    play: Reading | None = None
    blind: Reading | None = None


@dataclass(frozen=True, slots=True)
class Switches:
    """The readings under which one round is settled.

    ``unit``: payouts are rounded down to it (LT-A13). ``max_payout``: most that one box wins in a round.
    ``luck_on_win``: whether a winning stake of luck chips stays with the player (LT-A12).
    """

    not_qualified: NotQualified
    fold_trips: Literal["lost", "settled"]
    unit: int = 1
    max_payout: int | None = None
    luck_on_win: Literal["returned", "taken"] = "returned"


@dataclass(frozen=True, slots=True)
class PayTables:
    """The two tables of a round."""

    trips: PayTable
    blind: PayTable


@dataclass(frozen=True, slots=True)
class Ultimate:
    """The rules of an Ultimate table. Amounts in minor units."""

    trips_paytable: PayTable
    blind_paytable: PayTable | None = None
    not_qualified: NotQualified = NotQualified()
    fold_trips: Literal["lost", "settled"] | None = None
    trips_posted: tuple[int, ...] | None = ()
    """The amounts on the table sign (LT-3.5). ``None``: any amount of LT-3.4; empty: not decided."""
    trips_min: int = 1
    trips_max: int = 250_000
    ante_min: int | None = None
    ante_max: int | None = None
    boxes_valid: Literal["until_changed", "one_round"] = "until_changed"
    board: Literal["drawn", "predealt"] = "drawn"
    cut_offer: Literal["BLOCK", "FLAG"] = "BLOCK"
    early_fold: bool = True
    misdeal_after_play: Literal["bets_stay", "play_returned"] = "bets_stay"
    payout_unit: int | None = None
    """Payouts are rounded down to this; ``None``: the smallest value chip."""
    max_payout: int | None = None
    luck_on_win: Literal["returned", "taken"] | None = None

    def tables(self) -> PayTables:
        """Both pay tables. Raises ``LookupError`` where the house has not chosen one: such a table does not open."""
        if self.blind_paytable is None:
            raise LookupError("blind_paytable is not set; choose one before the table opens (LT-A1)")
        return PayTables(self.trips_paytable, self.blind_paytable)

    def switches(self, chip: int) -> Switches:
        """The readings of a round; ``chip`` is the smallest value chip. Raises ``LookupError`` as ``tables``."""
        if self.fold_trips is None:
            raise LookupError("fold_trips is not set; choose lost or settled before the table opens (LT-A4)")
        unit = self.payout_unit if self.payout_unit is not None else chip
        return Switches(self.not_qualified, self.fold_trips, unit, self.max_payout, self.luck_on_win or "returned")
