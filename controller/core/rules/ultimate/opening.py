"""What a house must have decided before an Ultimate table opens, and what the opening says of it."""

from controller.core.out import Out
from controller.core.rules.ultimate.house import PayTable
from controller.core.rules.ultimate.start import limits_data
from controller.core.rules.ultimate.talk import Data, breach, house


def undecided(out: Out) -> bool:
    """BLOCK the opening for every choice that is missing (LT-A1, LT-A2, LT-A4, LT-3.5, LT-A12, LT-A13)."""
    rules, found = house(out.setup), []
    if rules.blind_paytable is None:
        found.append(("blind_undecided", "choose the pay table of BLIND: blind_paytable"))
    spots = [s for s in ("ante", "play", "blind") if getattr(rules.not_qualified, s) is None]
    if spots:
        asked = f"decide what becomes of {', '.join(spots)} when the dealer has no pair: dealer_not_qualified"
        found.append(("not_qualified_undecided", asked))
    if rules.fold_trips is None:
        found.append(("fold_trips_undecided", "decide what becomes of TRIPS when a box is given up: fold_trips"))
    if rules.trips_posted == ():
        found.append(("trips_sign", "say which amounts of TRIPS stand on the sign: trips.posted"))
    beyond = [a for a in rules.trips_posted or () if not rules.trips_min <= a <= rules.trips_max]
    if beyond:
        asked = f"the sign shows TRIPS of {beyond[0]}; it goes from {rules.trips_min} to {rules.trips_max}"
        found.append(("trips_sign_range", asked))
    if rules.ante_min is None or rules.ante_max is None:
        found.append(("ante_undecided", "set the limits of ANTE: ante.min and ante.max"))
    if rules.luck_on_win is None and any(d.kind == "promo" for d in out.setup.chipset.denominations):
        found.append(("luck_undecided", "decide whether a winning stake of luck chips stays: luck_on_win"))
    for key, asked in found:
        breach(out, key, "BLOCK", asked)
    return bool(found)


def data(out: Out) -> Data:
    """The fields of ``table.opened`` that a table of boxes has instead of a poker table's."""
    tables = house(out.setup).tables()
    paytables = {"trips": _table(tables.trips), "blind": _table(tables.blind)}
    return {"limits": limits_data(out) | {"paytables": paytables}, "rake": None, "boxes": out.setup.seats}


def _table(table: PayTable) -> Data:
    lines = [{"category": name, "odds": {"num": num, "den": den}} for name, num, den in table.odds]
    return {"name": table.name, "lines": lines, "otherwise": table.otherwise}
