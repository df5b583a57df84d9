"""Tells the events of a table as a story. Only what was published is told; that is all anybody may know."""

from collections.abc import Mapping, Sequence
from typing import Any

from simulators.seen import Seen

SUITS = {"c": "♣", "d": "♦", "h": "♥", "s": "♠"}
CATEGORIES = {
    "high_card": "high card",
    "pair": "a pair",
    "two_pair": "two pair",
    "three": "three of a kind",
    "straight": "a straight",
    "flush": "a flush",
    "full_house": "a full house",
    "four_of_a_kind": "four of a kind",
    "straight_flush": "a straight flush",
    "royal_flush": "a royal flush",
}
BLINDS = {"small": "the small blind", "big": "the big blind", "ante": "the ante", "big_blind_ante": "the ante for all"}


class Teller:
    """Remembers names and money, and turns each event into a line, or into nothing."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._code = ""
        self._exponent = 0

    def tell(self, event: Seen) -> str | None:
        """One line, or ``None`` for what belongs to no story."""
        data = event.data
        match event.type:
            case "table.opened":
                self._code, self._exponent = data["currency"]["code"], data["currency"]["exponent"]
                limits = data["limits"]
                blinds = f"{self._money(limits['small_blind'])}/{self._money(limits['big_blind'])}"
                return f"The table is open: {data['profile']['name']}, blinds {blinds} {self._code}."
            case "seat.taken":
                self._names[data["seat"]] = data.get("player", f"seat {data['seat']}")
                return None
            case "chips.bought":
                return f"  {self._who(data)} sits down with {self._money(data['amount'])}."
            case "hand.started":
                return f"\nHand {data['number']}, {self._names.get(data['button'], '?')} has the button."
            case "blind.posted":
                return self._blind(data)
            case "action.taken":
                return f"  {self._who(data)} {self._action(data)}."
            case "street.opened":
                before = self._cards(data["board"][: -len(data["cards"])])
                new = self._cards(data["cards"])
                return f"  -- {data['street'].capitalize()}: {f'{before} / {new}' if before else new}"
            case "bet.returned":
                return f"  {self._money(data['amount'])} that nobody called go back to {self._who(data)}."
            case "hand.tabled":
                made = f": {CATEGORIES[data['category']]}" if "category" in data else ""
                return f"  {self._who(data)} shows {self._cards(data['cards'])}{made}."
            case "hand.mucked":
                return f"  {self._who(data)} mucks."
            case "award.computed":
                return "\n".join(self._pot(pot, len(data["pots"])) for pot in data["pots"])
            case _:
                return self._trouble(event)

    def _trouble(self, event: Seen) -> str | None:
        data = event.data
        match event.type:
            case "device.lost":
                return f"  !! {data['device']} is gone ({data['cause']})."
            case "device.up":
                return f"  ({data['device']}: {data['model']} is up)"
            case "link.lost":
                return "  !! The broker is gone; the table plays on."
            case "link.restored":
                return "  (the broker is back, and gets what it missed)"
            case "recovery.completed":
                return "  (the daemon is back, and the hand is where it was)"
            case "incident.opened":
                return f"  !! Incident {data['code']}: {data['kind']}."
            case "breach.noted":
                return f"  !! Breach {', '.join(data['rules']) or data['what']}."
            case "hand.closed":
                return f"  Hand closed after {data['actions']} actions."
        return None

    def _blind(self, data: Mapping[str, Any]) -> str | None:
        kind = BLINDS.get(data["kind"], data["kind"])
        return f"  {self._who(data)} posts {kind}, {self._money(data['amount'])}{', all in' if data['all_in'] else ''}."

    def _action(self, data: Mapping[str, Any]) -> str:
        match data["kind"]:
            case "fold":
                return "folds"
            case "check":
                return "checks"
            case "call":
                said = f"calls {self._money(data['added'])}"
            case "bet":
                said = f"bets {self._money(data['to'])}"
            case _:
                said = f"raises to {self._money(data['to'])}"
        return f"{said} and is all in" if data["all_in"] else said

    def _pot(self, pot: Mapping[str, Any], count: int) -> str:
        name = "The pot" if count == 1 else "The main pot" if pot["pot"] == 0 else "The side pot"
        total, winners = self._money(pot["amount"]), pot["winners"]
        if len(winners) == 1:
            return f"  ** {name} of {total} goes to {self._who(winners[0])}."
        shares = " and ".join(f"{self._who(one)} {self._money(one['amount'])}" for one in winners)
        odd = "; the odd chip goes left of the button" if pot["odd"] else ""
        return f"  ** {name} of {total} is shared: {shares}{odd}."

    def _who(self, data: Mapping[str, Any]) -> str:
        return self._names.get(data["seat"], f"Seat {data['seat']}")

    def _money(self, amount: int) -> str:
        whole, rest = divmod(amount, 10**self._exponent)
        return f"{whole:,}" + (f".{rest:0{self._exponent}d}" if rest else "")

    def _cards(self, cards: Sequence[str]) -> str:
        return " ".join(card[0].replace("T", "10") + SUITS[card[1]] for card in cards)
