"""One table as a rehearsal needs it: made from a script or a scenario, and told to the daemon in two ways.

``setup`` is for a core in this process, ``simulators.config`` writes the same as a configuration file.
"""

import hashlib
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

from controller.core.rules.profile import Profile
from controller.core.setup import Chipset, Currency, Deck, Denomination, Limits, Setup
from simulators import boxtable, duties, layout
from simulators.dealer import Dealer
from simulators.dealer_rfid import AntennaDealer
from simulators.layout import Closed, Kind, Layout
from simulators.readrate import DEAD, Reads
from simulators.scripts.acts import DECK, Order, Script, SeatStart, Stakes
from simulators.scripts.scenario import PACE, Scenario
from simulators.scripts.sequence import Span
from simulators.tokens import Tokens, card_tag, opening_chips

SITE, TABLE = "rig", "t01"
SOFTWARE = MappingProxyType({"version": "0.0.0", "sha256": "0" * 64})
"""A core in this process is no installed program: events of it name none."""


@dataclass(frozen=True)
class Plan:
    """The table of one rehearsal. ``override`` are dotted keys of the profile, ``rules`` the outcome.

    ``kind`` is the kind of table; at an RFID table ``reads`` says how well its antennas read (``simulators.readrate``).
    """

    name: str
    profile: str
    override: Mapping[str, Any]
    rules: Profile
    stakes: Stakes
    seats: tuple[SeatStart, ...]
    button: int
    seed: int
    people: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({"dealer": "s-01"}))
    pace: Mapping[str, Span] = field(default_factory=lambda: PACE)
    cold: bool = False
    kind: Kind = "shoe"
    reads: Reads = "perfect"
    tray_chips: Mapping[int, int] | None = None
    closed_cards: Closed = "read"
    shoe: bool = False
    """Whether an RFID table has a shoe beside its antennas."""
    disk: bool = False
    """Whether its ledger lies on a small disk of its own, to be filled."""
    metrics: bool = False
    """Whether its daemon serves its numbers, to be looked through."""
    six: bool = False
    """An RFID table of six devices of six makes (``layout.six_table``)."""

    @property
    def boxes(self) -> bool:
        """Whether seats are boxes: the house-banked game."""
        return self.rules.game == "ultimate"

    @property
    def layout(self) -> Layout:
        """The devices of the table."""
        table: Layout = (boxtable if self.boxes else layout).of(self.kind, self.places)
        if self.six:
            table = layout.six_table(self.places)
        if not self.boxes:
            table = layout.furnished(table, shoe=self.shoe, closed_cards=self.closed_cards)
        if self.reads == "perfect":
            return table
        return layout.in_the_field(table, f"{self.name}/{self.seed}", sorted(self.dead))

    @cached_property
    def tokens(self) -> Tokens:
        """Where all chips lie when the table is opened. Copy it before you move any."""
        seats = self.seats if self.kind == "rfid" else ()
        return opening_chips(self.stakes.chips, seats, self.tray_chips, "purse" if self.boxes else "stack")

    @cached_property
    def dead(self) -> frozenset[str]:
        """Chips whose tag is dead, among those before the players."""
        if self.reads == "perfect":
            return frozenset()
        dice = random.Random(f"dead/{self.name}/{self.seed}")
        stacks = [place for place in self.tokens.places if place.startswith("stack:")]
        return frozenset(tag for place in stacks for tag in self.tokens.at(place) if dice.random() < DEAD)

    def dealer(self) -> Dealer | AntennaDealer:
        """A dealer for this kind of table."""
        if self.kind == "rfid":
            tokens, unit, shoe = self.tokens.copy(), self.stakes.unit, self.shoe or self.six
            return AntennaDealer(tokens, unit, self.seed, self.pace, self.dead, shoe=shoe, camera=self.six)
        return Dealer(self.stakes.unit, self.seed, self.pace)

    @property
    def limits(self) -> Limits:
        """Blinds and ante."""
        return Limits(**self.limits_data())

    def limits_data(self) -> dict[str, Any]:
        """Blinds, ante and structure as configuration and command spell them."""
        stakes = self.stakes
        mode = self.rules.structure if "mode" in self.rules.requires else None
        more = {"structure": stakes.structure or mode, "small_bet": stakes.small_bet, "big_bet": stakes.big_bet}
        return {
            "small_blind": stakes.small_blind,
            "big_blind": stakes.big_blind,
            "ante": stakes.ante,
            "ante_kind": stakes.ante_kind,
        } | {name: value for name, value in more.items() if value}

    @property
    def tags(self) -> Mapping[str, str]:
        """The registry of the chips' tags. At a shoe table four of each kind have one and lie in the tray."""
        return {tag: f"c{value}" for tag, value in self.tokens.values.items()}

    @property
    def deck(self) -> Mapping[str, str]:
        """The registry of the cards' tags; at a shoe table the shoe reads rank and suit."""
        return {card_tag(card): card for card in DECK} if self.kind == "rfid" else {}

    @property
    def tray(self) -> tuple[str, ...]:
        """The tags in the tray when the table is opened."""
        return self.tokens.at("tray")

    @property
    def places(self) -> int:
        """Seats of the felt."""
        least = 1 if self.boxes else 2 if self.kind == "rfid" else 10
        return max(least, *(seat.seat for seat in self.seats))

    def setup(self) -> Setup:
        """The table for a core in this process."""
        return Setup(
            site=SITE,
            table=TABLE,
            kind=self.kind,
            seats=self.places,
            profile=self.rules,
            limits=self.limits,
            chipset=Chipset(
                "rehearsal",
                tuple(Denomination(f"c{value}", value) for value in sorted(self.stakes.chips)),
                MappingProxyType(dict(self.tags)),
            ),
            deck=Deck("rehearsal", MappingProxyType(dict(self.deck))),
            devices=tuple(device.info for device in self.layout.devices),
            currency=Currency(self.stakes.currency, self.stakes.exponent),
            software=SOFTWARE,
            test=True,
            closed_cards=self.closed_cards,
        )

    def opening(self) -> list[Order]:
        """What people say until the table can play: log in, open, sit down. Nothing at a cold table."""
        if self.cold:
            return []
        people = duties.staffed(self.people, self.rules)
        role, who = next(iter(people.items()))
        logins = [Order("login", {"staff": staff, "role": r}, staff, r) for r, staff in people.items()]
        placed = {} if "button_draw" in self.rules.requires else {"button": self.button}
        opened = Order("open", {} if self.boxes else placed | {"limits": self.limits_data()}, who, role)
        seated = [Order("seat", {"seat": s.seat, "player": s.player, "stack": s.stack}, who, role) for s in self.seats]
        before = duties.before_open(self.rules, people, self.tokens.chips("tray"))
        after = duties.before_hand(self.rules, people, [s.seat for s in self.seats], self.button)
        return [*logins, *before, opened, *seated, *after]

    def closing(self, tokens: Tokens | None = None) -> Order:
        """The table is closed: the last hand becomes final. ``tokens``: where the chips lie by then, where counted."""
        tray = (tokens or self.tokens).chips("tray")
        return duties.closing(self.rules, duties.staffed(self.people, self.rules), tray)

    def hand_seed(self, number: int) -> bytes:
        """The seed of a hand, from the seed of the rehearsal: salts are the same again on the next run."""
        return hashlib.sha256(f"{self.name}/{self.seed}/{number}".encode()).digest()


def of_script(script: Script, profile: str, override: Mapping[str, Any], rules: Profile, seed: int = 0) -> Plan:
    """The table on which a recorded hand is played."""
    return Plan(script.name, profile, override, rules, script.stakes, script.seats, script.button, seed)


def of_scenario(scenario: Scenario) -> Plan:
    """The table of a scenario."""
    run = scenario.run
    return Plan(
        name=scenario.id,
        profile=run.profile,
        override=run.override,
        rules=run.rules,
        stakes=scenario.stakes,
        seats=scenario.seats,
        button=scenario.button,
        seed=run.seed,
        people=scenario.people,
        pace=scenario.pace,
        cold=scenario.cold,
        kind=scenario.table,
        tray_chips=scenario.tray,
    )
