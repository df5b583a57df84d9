"""What a round pays, from cards and stakes alone: a pure question, asked once a box lies open.

The player's best five of seven meet the dealer's (LT-9.4, LT-9.5, LT-A17); suits never count (LT-9.6). A box that was
given up loses ANTE and BLIND, and its TRIPS as the house reads it (LT-A4).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Literal

from controller.core.rules import ranking
from controller.core.rules.ultimate.house import PayTable, PayTables, Spot, Switches

Against = Literal["win", "lose", "tie", "fold"]
Result = Literal["win", "lose", "push"]
ORDER: tuple[Spot, ...] = ("ante", "blind", "play", "trips")
EVEN = (1, 1)


@dataclass(frozen=True, slots=True)
class Played:
    """One box at the end of a round. Amounts in minor units; ``luck`` is the part of a stake in luck chips.

    ``cards`` are needed where something is settled by cards: always, but for a folded box without such a TRIPS.
    """

    ante: int
    blind: int
    play: int = 0
    trips: int = 0
    cards: tuple[str, ...] = field(default=(), repr=False)
    folded: bool = False
    luck: Mapping[Spot, int] = field(default_factory=lambda: MappingProxyType({}))

    def stake(self, spot: Spot) -> int:
        """What lies on a spot."""
        return {"ante": self.ante, "blind": self.blind, "play": self.play, "trips": self.trips}[spot]


@dataclass(frozen=True, slots=True)
class Line:
    """One spot settled. ``net`` is the player's gain; ``left`` what rounding kept from ``pays``, exactly."""

    spot: Spot
    stake: int
    outcome: Result
    odds: tuple[int, int] | None
    pays: int
    net: int
    left: Fraction = Fraction(0)
    taken: int = 0
    """Luck chips of a winning stake that the house keeps."""
    capped: int = 0
    """What the limit of a box took from ``pays``."""


@dataclass(frozen=True, slots=True)
class Settled:
    """One box settled. ``returned`` is what the player takes back: stakes that stand, and winnings."""

    against: Against
    lines: tuple[Line, ...]
    stake: int
    returned: int
    promo_stake: int
    rounding_left: int

    @property
    def house_net(self) -> int:
        """What the house won, negative where it lost."""
        return self.stake - self.returned

    @property
    def pays(self) -> int:
        """What goes from the tray to the box."""
        return sum(line.pays for line in self.lines)


def qualifies(dealer: Sequence[str], board: Sequence[str]) -> bool:
    """Whether the dealer has a pair of twos or better (LT-10.2); a pair on the board is one (LT-A15)."""
    return ranking.category(ranking.rank([*dealer, *board])) != "high_card"


def settle(
    box: Played, dealer: Sequence[str], board: Sequence[str], switches: Switches, paytables: PayTables
) -> Settled:
    """Settle one box. ``dealer`` two cards, ``board`` five; both may be empty where a folded box needs no cards."""
    lines: list[Line] = []
    if box.folded:
        against: Against = "fold"
        lines += [_lost(box, spot) for spot in ORDER[:2]]
        category = ""
        if box.trips and switches.fold_trips == "settled":
            category = ranking.category(ranking.rank([*box.cards, *board]))
    else:
        mine, theirs = ranking.rank([*box.cards, *board]), ranking.rank([*dealer, *board])
        against = "win" if mine < theirs else "lose" if mine > theirs else "tie"
        category = ranking.category(mine)
        lines += contest(box, against, qualifies(dealer, board), category, switches, paytables.blind)
    if box.trips:
        lines.append(_bonus(box, category, switches, paytables.trips))
    lines = _limited([line for line in lines if line.stake], switches.max_payout)
    staked = sum(line.stake for line in lines)
    return Settled(
        against=against,
        lines=tuple(lines),
        stake=staked,
        returned=staked + sum(line.net for line in lines),
        promo_stake=sum(box.luck.values()),
        rounding_left=int(sum(line.left for line in lines)),
    )


def contest(
    box: Played, against: Against, qualified: bool, category: str, switches: Switches, table: PayTable
) -> list[Line]:
    """ANTE, BLIND and PLAY of a box that stayed (LT-10.3 to LT-10.5; LT-A2 without a pair; LT-A3 for a tie)."""
    readings = switches.not_qualified
    lines = []
    for spot in ORDER[:3]:
        reading = {"ante": readings.ante, "blind": readings.blind, "play": readings.play}[spot]
        if against == "tie" or (not qualified and reading == "push"):
            lines.append(Line(spot, box.stake(spot), "push", None, 0, 0))
        elif against == "lose":
            lines.append(_lost(box, spot))
        else:
            odds = table.pays(category) if spot == "blind" else EVEN
            lines.append(_won(box, spot, odds, switches) if odds else _unlisted(box, spot, table))
    return lines


def _bonus(box: Played, category: str, switches: Switches, table: PayTable) -> Line:
    """TRIPS by the player's own hand alone (LT-4.1, LT-5.1)."""
    odds = table.pays(category)
    return _won(box, "trips", odds, switches) if odds else _unlisted(box, "trips", table)


def _unlisted(box: Played, spot: Spot, table: PayTable) -> Line:
    return Line(spot, box.stake(spot), "push", None, 0, 0) if table.otherwise == "push" else _lost(box, spot)


def _lost(box: Played, spot: Spot) -> Line:
    stake = box.stake(spot)
    return Line(spot, stake, "lose", None, 0, -stake)


def _won(box: Played, spot: Spot, odds: tuple[int, int], switches: Switches) -> Line:
    stake = box.stake(spot)
    exact = Fraction(stake * odds[0], odds[1])
    pays = int(exact // switches.unit) * switches.unit
    taken = box.luck.get(spot, 0) if switches.luck_on_win == "taken" else 0
    return Line(spot, stake, "win", odds, pays, pays - taken, exact - pays, taken)


def _limited(lines: list[Line], most: int | None) -> list[Line]:
    """Hold a box to the house's limit: the longest odds give way first."""
    over = sum(line.pays for line in lines) - most if most is not None else 0
    if over <= 0:
        return lines
    longest = sorted((line for line in lines if line.odds), key=lambda line: -Fraction(*line.odds or EVEN))
    cut: dict[Spot, int] = {}
    for line in longest:
        cut[line.spot] = part = min(over, line.pays)
        over -= part
    return [
        Line(
            line.spot,
            line.stake,
            line.outcome,
            line.odds,
            line.pays - cut.get(line.spot, 0),
            line.net - cut.get(line.spot, 0),
            line.left,
            line.taken,
            cut.get(line.spot, 0),
        )
        for line in lines
    ]
