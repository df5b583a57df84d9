"""What is due at a poker table: at every moment who must do what, within which bounds, and by which rules."""

from dataclasses import dataclass, field
from typing import Any, Literal

from controller.core.rules import betting, places, starting, unread
from controller.core.rules.betting import Bounds
from controller.core.rules.breaches import ids
from controller.core.rules.profile import Family, Profile
from controller.core.state import BOARD_SIZE, STREETS, Hand, State

What = Literal["open", "ruling", "hand", "post", "card", "action", "show", "name", "rake", "announce", "push"]
Ids = tuple[str, ...]
ByFamily = dict[Family, Ids]


@dataclass(frozen=True, slots=True)
class Due:
    """One thing that is due. ``seats`` are those it is due from, in the order in which they are asked.

    ``card``: ``place`` says where the next card goes. ``name``: so many ``cards`` that lie open there have to be said,
    for no device reads them. ``post``: ``amount`` of ``kind``. ``action``: ``options`` with
    exact bounds in minor units (totals for the round) and the rules behind each; ``barred`` why no raise may be.
    """

    what: What
    seats: tuple[int, ...] = ()
    rules: Ids = ()
    place: str = ""
    kind: str = ""
    amount: int | None = None
    options: tuple[dict[str, Any], ...] = ()
    barred: Ids = ()
    more: dict[str, Any] = field(default_factory=dict)

    def as_data(self) -> dict[str, Any]:
        """JSON-shaped, without what does not apply."""
        data: dict[str, Any] = {"what": self.what, "seats": list(self.seats), "rules": list(self.rules)}
        data |= {"place": self.place, "kind": self.kind, "options": list(self.options), "barred": list(self.barred)}
        data = {name: value for name, value in data.items() if value or name == "what"}
        return data | ({} if self.amount is None else {"amount": self.amount}) | self.more


POSTS: dict[str, ByFamily] = {
    "small": {"HR": ("HR-11.2",), "BG": ("BG-5.1",), "RS": ("RS-2.2",)},
    "big": {"HR": ("HR-11.3",), "BG": ("BG-5.2",), "RS": ("RS-2.2",)},
}
DEALT: ByFamily = {
    "HR": ("HR-11.5", "CM-20"),
    "BG": ("BG-3.3", "BG-4.1", "CM-20"),
    "RS": ("RS-2.4", "CM-20"),
}
BURNS: ByFamily = {"HR": ("HR-12.1", "HR-13.1", "HR-14.1"), "BG": ("BG-5.14", "BG-5.24", "BG-5.26")}
BOARDS: ByFamily = {
    "HR": ("HR-12.2", "HR-13.1", "HR-14.1"),
    "BG": ("BG-5.15", "BG-5.24", "BG-5.26"),
    "RS": ("RS-4.1", "RS-5.1", "RS-5.2"),
}
TURNS: dict[str, ByFamily] = {
    "preflop": {"HR": ("HR-11.6",), "BG": ("BG-5.4", "BG-4.3"), "RS": ("RS-3.2", "RS-3.4")},
    "later": {"HR": ("HR-12.4", "HR-A7"), "BG": ("BG-5.16", "BG-4.3"), "RS": ("RS-4.2",)},
}
OPTIONS: dict[str, ByFamily] = {
    "fold": {"HR": ("HR-11.7", "HR-A8"), "BG": ("BG-5.5", "BG-5.20"), "RS": ("RS-7.6",)},
    "check": {"HR": ("HR-12.5", "HR-A6"), "BG": ("BG-5.17",), "RS": ("RS-7.3",)},
    "call": {"HR": ("HR-11.7", "HR-12.6", "HR-12.14"), "BG": ("BG-5.6", "BG-5.21"), "RS": ("RS-7.4",)},
    "bet": {"HR": ("HR-12.4",), "BG": ("BG-5.25",), "RS": ("RS-7.1",)},
    "raise": {"HR": ("HR-11.7",), "BG": ("BG-5.7", "BG-5.22"), "RS": ("RS-7.1",)},
}
SHOWS: ByFamily = {"HR": ("HR-15.1", "HR-A10"), "BG": ("BG-5.27", "BG-A8"), "RS": ("RS-6.1", "RS-A6")}
PUSHES: ByFamily = {"HR": ("HR-15.4", "HR-12.19"), "BG": ("BG-5.28", "BG-5.31"), "RS": ("RS-9.8", "RS-12.1")}
SHUFFLES: ByFamily = {"HR": ("HR-16.1",), "BG": ("BG-4.4",), "RS": ("RS-2.1",)}


def due(state: State, profile: Profile) -> Due:
    """What is due now."""
    family = profile.family
    if state.session is None:
        return Due("open")
    if state.held is not None:
        held = state.held
        rules = tuple(ids("held", family))
        if held.silent:
            return Due("ruling", rules=rules)
        return Due("ruling", rules=rules, more={"incident": held.id, "code": held.code, "proposed": held.proposed})
    hand = state.hand
    if hand is None:
        return Due("hand", rules=SHUFFLES.get(family, ()))
    if hand.phase == "deal" and not hand.slots and (owed := starting.dues(hand)):
        seat, kind, amount = owed[0]
        return Due("post", (seat,), POSTS.get(kind, {}).get(family, ("CM-18",)), kind=kind, amount=amount)
    if hand.phase == "bet":
        bounds = betting.bounds(hand, profile)
        assert bounds is not None
        return _action(hand, profile, bounds)
    if hand.phase == "award":
        return _award(hand, profile)
    if waiting := to_show(hand):
        all_in = ("HR-12.16",) if family == "HR" and hand.phase == "board" else ()
        rules = ("CM-8",) if hand.phase == "board" and family != "HR" else SHOWS.get(family, ())
        return Due("show", waiting, (*all_in, *rules, "CM-7"))
    return _card(hand, profile)


def to_show(hand: Hand) -> tuple[int, ...]:
    """The seats whose hands are to be shown and are not tabled yet."""
    if hand.phase != "showdown" and not hand.must_show:
        return ()
    return tuple(seat for seat in hand.must_show or hand.live if seat in hand.live and seat not in hand.shown)


def _card(hand: Hand, profile: Profile) -> Due:
    family = profile.family
    unnamed = unread.unnamed(hand)
    if unnamed and len(hand.board) in BOARD_SIZE.values():
        return Due("name", (), ("CM-24",), place="board", more={"cards": len(unnamed)})
    place, seat = places.next_place(hand)
    if place == "seat" and seat is not None:
        rules = ("RS-10.1", "CM-20") if profile.game == "omaha" else DEALT.get(family, ())
        return Due("card", (seat,), rules, place="seat")
    table = BURNS.get(family, ()) if place == "burn" else BOARDS.get(family, ())
    number = STREETS.index(hand.street)
    rules = table[number : number + 1]
    return Due("card", (), (*rules, "CM-9") if place == "burn" else rules, place=place)


def _action(hand: Hand, profile: Profile, bounds: Bounds) -> Due:
    family = profile.family
    first = TURNS["preflop" if hand.street == "preflop" else "later"].get(family, ())
    options: list[dict[str, Any]] = [_option("fold", 0, 0, family)]
    if bounds.call or not bounds.must_open:
        options.append(_option("call" if bounds.call else "check", bounds.call, bounds.call, family))
    if bounds.raising:
        behind = [*ids(bounds.least_by, family), *ids(bounds.most_by, family)]
        options.append(_option(bounds.raising, bounds.min_to, bounds.max_to, family, behind))
    barred = tuple(ids(bounds.barred, family)) if bounds.barred else ()
    return Due("action", (bounds.seat,), first, options=tuple(options), barred=barred)


def _option(kind: str, low: int, high: int | None, family: Family, behind: list[str] | None = None) -> dict[str, Any]:
    rules = list(dict.fromkeys([*OPTIONS[kind].get(family, ()), *(behind or [])]))
    return {"kind": kind, "min": low, "max": high, "rules": rules}


def _award(hand: Hand, profile: Profile) -> Due:
    rake = profile.rake
    if profile.announce_winner and hand.announced is None:
        return Due("announce", rules=("HR-15.2",))
    if rake is not None and rake.box and hand.rake and hand.dropped is None:
        return Due("rake", rules=tuple(ids("rake_wrong", profile.family)), place=rake.box, amount=hand.rake)
    winners = tuple(dict.fromkeys(w["seat"] for pot in reversed(hand.pots) for w in pot["winners"] if w["amount"]))
    return Due("push", winners, PUSHES.get(profile.family, ()))
