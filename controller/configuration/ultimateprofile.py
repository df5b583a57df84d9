"""What may stand in a profile of Ultimate beside the keys of every game, and what contradicts what in it."""

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from controller.core.rules.ranking import CATEGORIES
from controller.core.rules.ultimate.house import NotQualified, PayTable, Ultimate
from controller.faults import Section

LT_5_1 = {
    "royal_flush": (50, 1),
    "straight_flush": (40, 1),
    "four": (30, 1),
    "full_house": (8, 1),
    "flush": (7, 1),
    "straight": (4, 1),
    "three": (3, 1),
}
"""What TRIPS pays, to the letter."""
NAMES = tuple(name for _, name in CATEGORIES)


def _optional(value: Any) -> Any:
    """TOML has no null: the word ``none`` stands for what is not decided, or not limited."""
    return None if value == "none" else value


def _odds(value: Any) -> Any:
    """``500:1`` or ``3:2`` as a pair of whole numbers."""
    match = re.fullmatch(r"([1-9]\d{0,5}):([1-9]\d{0,3})", value) if isinstance(value, str) else None
    if match is None:
        raise PydanticCustomError("odds", 'write odds as text: "500:1" or "3:2"')
    return int(match[1]), int(match[2])


def _posted(value: Any) -> Any:
    """``any`` stands for every amount within the limits of TRIPS."""
    return None if value == "any" else value


Amount = Annotated[Annotated[int, Field(ge=1)] | None, BeforeValidator(_optional)]
Odds = Annotated[tuple[int, int], BeforeValidator(_odds)]
Spot = Annotated[Literal["push", "settle"] | None, BeforeValidator(_optional)]
Name = Annotated[str | None, BeforeValidator(_optional)]


class PayTableFile(Section):
    """One of ``[paytables.NAME]``: ``odds`` by category, and what becomes of a stake whose hand is not listed."""

    otherwise: Literal["push", "lose"]
    odds: Annotated[dict[str, Odds], Field(min_length=1)]


class NotQualifiedFile(Section):
    """``[dealer_not_qualified]``."""

    ante: Spot = None
    play: Spot = None
    blind: Spot = None


class TripsFile(Section):
    """``[trips]``."""

    posted: Annotated[list[Annotated[int, Field(ge=1)]] | None, BeforeValidator(_posted)] = Field(default=[])
    min: Annotated[int, Field(ge=1)] = 1
    max: Annotated[int, Field(ge=1)] = 250_000


class AnteFile(Section):
    """``[ante]``."""

    min: Amount = None
    max: Amount = None


class BoxesFile(Section):
    """``[boxes]``."""

    valid: Literal["until_changed", "one_round"] = "until_changed"


class UltimateKeys(Section):
    """The keys of an Ultimate table. At a poker table they keep their defaults."""

    paytables: dict[str, PayTableFile] = Field(default={})
    trips_paytable: Name = None
    blind_paytable: Name = None
    dealer_not_qualified: NotQualifiedFile = NotQualifiedFile()
    fold_trips: Annotated[Literal["lost", "settled"] | None, BeforeValidator(_optional)] = None
    trips: TripsFile = TripsFile()
    ante: AnteFile = AnteFile()
    boxes: BoxesFile = BoxesFile()
    board: Literal["drawn", "predealt"] = "drawn"
    cut_offer: Literal["BLOCK", "FLAG"] = "BLOCK"
    early_fold: bool = True
    misdeal_after_play: Literal["bets_stay", "play_returned"] = "bets_stay"
    payout_unit: Amount = None
    max_payout: Amount = None
    luck_on_win: Annotated[Literal["returned", "taken"] | None, BeforeValidator(_optional)] = None


KEYS = frozenset(UltimateKeys.model_fields)

ANSWERS: dict[str, tuple[str, ...]] = {
    "paytables": ("LT-5.1", "LT-10.5", "LT-A1"),
    "trips_paytable": ("LT-5.1",),
    "blind_paytable": ("LT-10.5", "LT-A1"),
    "dealer_not_qualified": ("LT-A2",),
    "fold_trips": ("LT-A4",),
    "trips": ("LT-3.4", "LT-3.5"),
    "ante": ("LT-A13",),
    "boxes": ("LT-2.2",),
    "board": ("LT-A9",),
    "cut_offer": ("LT-1.4",),
    "early_fold": ("LT-A11",),
    "misdeal_after_play": ("LT-A5",),
    "payout_unit": ("LT-A13",),
    "luck_on_win": ("LT-A12",),
}
"""Which rules and readings a key decides."""


def contradictions(read: UltimateKeys, *, lithuanian: bool) -> Iterator[tuple[str, str]]:
    """Everything that cannot stand together: the key to blame and what to do about it."""
    for name, table in read.paytables.items():
        for category in table.odds:
            if category not in NAMES:
                yield f"paytables.{name}.odds.{category}", f"no such hand: use {', '.join(NAMES)}"
    trips = read.paytables.get(read.trips_paytable or "")
    for key in ("trips_paytable", "blind_paytable"):
        chosen = getattr(read, key)
        if chosen is not None and chosen not in read.paytables:
            known = ", ".join(sorted(read.paytables)) or "none"
            yield key, f"no such pay table: there are {known}; write it under [paytables.{chosen}]"
    if read.trips_paytable is None:
        yield "trips_paytable", "name the pay table of TRIPS (LT-5.1)"
    elif lithuanian and trips is not None and trips.odds != LT_5_1:
        yield "trips_paytable", "LT-5.1 prescribes what TRIPS pays: restore the odds of the text"
    if read.trips.min > read.trips.max:
        yield "trips.min", f"is above trips.max = {read.trips.max}: lower it"
    if lithuanian and (read.trips.min < 1 or read.trips.max > 250_000):
        yield "trips.max", "LT-3.4: TRIPS goes from 0.01 to 2500.00: lower it to 250000"
    for amount in read.trips.posted or ():
        if not read.trips.min <= amount <= read.trips.max:
            yield "trips.posted", f"LT-3.5: {amount} lies outside {read.trips.min} to {read.trips.max}: take it off"
    if read.ante.min is not None and read.ante.max is not None and read.ante.min > read.ante.max:
        yield "ante.min", f"is above ante.max = {read.ante.max}: lower it"


def frozen(read: UltimateKeys) -> Ultimate:
    """The rules as the core knows them. ``contradictions`` has been asked before."""
    trips = _table(read, read.trips_paytable)
    if trips is None:
        raise LookupError("trips_paytable names no pay table; contradictions() says so")
    nq = read.dealer_not_qualified
    return Ultimate(
        trips_paytable=trips,
        blind_paytable=_table(read, read.blind_paytable),
        not_qualified=NotQualified(nq.ante, nq.play, nq.blind),
        fold_trips=read.fold_trips,
        trips_posted=None if read.trips.posted is None else tuple(read.trips.posted),
        trips_min=read.trips.min,
        trips_max=read.trips.max,
        ante_min=read.ante.min,
        ante_max=read.ante.max,
        boxes_valid=read.boxes.valid,
        board=read.board,
        cut_offer=read.cut_offer,
        early_fold=read.early_fold,
        misdeal_after_play=read.misdeal_after_play,
        payout_unit=read.payout_unit,
        max_payout=read.max_payout,
        luck_on_win=read.luck_on_win,
    )


def _table(read: UltimateKeys, name: str | None) -> PayTable | None:
    table = read.paytables.get(name) if name is not None else None
    if name is None or table is None:
        return None
    return PayTable(name, tuple((category, num, den) for category, (num, den) in table.odds.items()), table.otherwise)
