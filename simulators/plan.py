"""One table as a rehearsal needs it: made from a script or a scenario, and told to the daemon in two ways.

``setup`` is for a core in this process, ``simulators.config`` writes the same as a configuration file.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from controller.core.rules.profile import Profile
from controller.core.setup import Chipset, Currency, Deck, Denomination, DeviceInfo, Limits, Setup
from simulators import duties
from simulators.scripts.acts import Order, Script, SeatStart, Stakes
from simulators.scripts.scenario import PACE, Scenario
from simulators.scripts.steps import Span

SITE, TABLE = "rig", "t01"
SOFTWARE = MappingProxyType({"version": "0.0.0", "sha256": "0" * 64})
"""A core in this process is no installed program: events of it name none."""
DEVICES = (
    DeviceInfo("shoe0", "shoe", MappingProxyType({"0": "shoe"}), "shoe"),
    DeviceInfo("keys0", "keypad", MappingProxyType({}), "keypad"),
    DeviceInfo("tray0", "feig", MappingProxyType({"0": "tray"}), "reader"),
)


@dataclass(frozen=True, slots=True)
class Plan:
    """The table of one rehearsal. ``override`` are dotted keys of the profile, ``rules`` the outcome."""

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
        """The registry of the chips' tags: four of each kind have one and lie in the tray."""
        return {
            f"E004{number:04X}{worth & 0xFFFFFFFF:08X}": f"c{worth}"
            for worth in sorted(self.stakes.chips)
            for number in range(1, duties.TAGGED + 1)
        }

    @property
    def tray(self) -> tuple[str, ...]:
        """The tags in the tray when the table is opened."""
        return tuple(self.tags)

    @property
    def places(self) -> int:
        """Seats of the felt."""
        return max(10, *(seat.seat for seat in self.seats))

    def setup(self) -> Setup:
        """The table for a core in this process."""
        return Setup(
            site=SITE,
            table=TABLE,
            kind="shoe",
            seats=self.places,
            profile=self.rules,
            limits=self.limits,
            chipset=Chipset(
                "rehearsal",
                tuple(Denomination(f"c{value}", value) for value in sorted(self.stakes.chips)),
                MappingProxyType(dict(self.tags)),
            ),
            deck=Deck("rehearsal"),
            devices=DEVICES,
            currency=Currency(self.stakes.currency, self.stakes.exponent),
            software=SOFTWARE,
            test=True,
        )

    def opening(self) -> list[Order]:
        """What people say until the table can play: log in, open, sit down. Nothing at a cold table."""
        if self.cold:
            return []
        people = duties.staffed(self.people, self.rules)
        role, who = next(iter(people.items()))
        logins = [Order("login", {"staff": staff, "role": r}, staff, r) for r, staff in people.items()]
        placed = {} if "button_draw" in self.rules.requires else {"button": self.button}
        opened = Order("open", placed | {"limits": self.limits_data()}, who, role)
        seated = [Order("seat", {"seat": s.seat, "player": s.player, "stack": s.stack}, who, role) for s in self.seats]
        before = duties.before_open(self.rules, people, self.stakes.chips)
        after = duties.before_hand(self.rules, people, [s.seat for s in self.seats], self.button)
        return [*logins, *before, opened, *seated, *after]

    def closing(self) -> Order:
        """The table is closed: the last hand becomes final."""
        return duties.closing(self.rules, duties.staffed(self.people, self.rules), self.stakes.chips)

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
    )
