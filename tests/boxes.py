"""An Ultimate table for tests of the core: boxes, stakes, and short words for what happens on the felt."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from controller.core.cards import DECK
from controller.core.facts import BoxDecided, CardCame, Fact, Finished, HandAttested, StakeLies, Turned
from controller.core.inputs import Command
from controller.core.records import Record
from controller.core.rules.profile import Profile
from controller.core.rules.ultimate.house import NotQualified, Ultimate
from controller.core.session import Session
from controller.core.setup import Chipset, Deck, Denomination, DeviceInfo, Limits, Setup
from tests.unit.test_ultimate_settlement import BLIND, TRIPS

RULES = Ultimate(
    trips_paytable=TRIPS,
    blind_paytable=BLIND,
    not_qualified=NotQualified("push", "settle", "settle"),
    fold_trips="settled",
    trips_posted=(500,),
    ante_min=500,
    ante_max=10_000,
    payout_unit=1,
)
SECOND = 1_000_000_000
WALL = 1_796_000_000 * SECOND
DEVICES = (
    DeviceInfo("shoe0", "shoe", {}, "shoe"),
    DeviceInfo("keys0", "keypad", {}, "keypad"),
)


def profile(**rules: Any) -> Profile:
    return Profile(
        "lt_uth", "1", "2" * 64, "lt", "LT", game="ultimate", may_rule=("pit_boss", "manager"),
        ultimate=replace(RULES, **rules),
    )  # fmt: skip


def setup(
    seats: int = 6, chips: Sequence[Denomination] | None = None, house: dict[str, Any] | None = None, **more: Any
) -> Setup:
    denominations = tuple(chips) if chips else (Denomination("c500", 500), Denomination("c1000", 1000))
    fields: dict[str, Any] = {"devices": DEVICES, "test": True, "kind": "shoe"} | more
    kind = fields.pop("kind")
    chipset = fields.pop("chipset", Chipset("test", denominations))
    deck = fields.pop("deck", Deck("d1"))
    return Setup("vno", "t21", kind, seats, profile(**(house or {})), Limits(0, 1), chipset, deck, **fields)


class Boxes:
    """A session with boxes; every act takes one second. ``records`` keeps all, ``last`` those of the last act."""

    def __init__(self, table: Setup | None = None) -> None:
        self.setup = table or setup()
        self.session = Session(self.setup)
        self.records: list[Record] = []
        self.last: list[Record] = []
        self.at = 0
        self.deck: list[str] = []

    def do(self, what: Fact | Command) -> list[Record]:
        self.at += SECOND
        if self.session.wants_seed:
            self.session.seed(bytes(32))
        if isinstance(what, Command):
            self.last = self.session.command(what, self.at, WALL + self.at)
        else:
            self.last = self.session.apply(what, self.at, WALL + self.at)
        self.records += self.last
        return self.last

    def say(self, name: str, role: str = "pit_boss", reason: str = "test", /, **args: Any) -> list[Record]:
        return self.do(Command(name, args, "s-12", role, reason))

    def open(self, boxes: Sequence[int] = (1, 2, 3), players: dict[int, str] | None = None) -> "Boxes":
        self.say("open")
        for box, player in (players or {}).items():
            self.say("seat", seat=box, player=player, stack=None)
        self.say("attest", rule="LT-2.2", boxes=list(boxes))
        return self

    def bet(self, box: int, ante: int = 1000, *, blind: int | None = None, trips: int = 0, play: int = 0) -> "Boxes":
        for spot, amount in (
            ("ante", ante),
            ("blind", ante if blind is None else blind),
            ("trips", trips),
            ("play", play),
        ):
            if amount:
                self.lay(box, spot, amount)
        return self

    def lay(self, box: int, spot: Any, amount: int, basis: Any = "sensor") -> list[Record]:
        return self.do(StakeLies(box, spot, amount, basis=basis))

    def deal(self, cards: str = "", dead: str = "") -> "Boxes":
        """HAND and the closed cards: ``cards`` leave the shoe first, the rest as they come."""
        top = cards.split()
        self.deck = top + [card for card in DECK if card not in top and card not in dead.split()]
        self.do(HandAttested())
        assert self.session.state.table.coup is not None, self.whats()
        for _ in range(2 * (len(self.coup.in_deal) + 1)):
            self.card()
        return self

    def card(self, place: str = "next", box: int | None = None) -> list[Record]:
        return self.do(CardCame(place, self.deck.pop(0), box))

    def board(self, count: int) -> "Boxes":
        for _ in range(count):
            self.card()
        return self

    def act(self, *words: str) -> "Boxes":
        """``1k`` check, ``1f`` give up, ``1p3000`` PLAY of that amount, ``1p`` PLAY of the least."""
        for word in words:
            kind: Any = {"k": "check", "f": "fold", "p": "play"}[word[1]]
            amount = int(word[2:]) if len(word) > 2 else None
            self.do(BoxDecided(kind, int(word[0]), amount))
            assert any(r.type == "box.decided" for r in self.last), f"{word}: {self.whats()}"
        return self

    def show(self, *boxes: int) -> "Boxes":
        """The dealer's cards without a box; else those boxes."""
        if not boxes:
            self.do(Turned("next"))
        for box in boxes:
            self.do(Turned("box", box))
        return self

    def done(self, basis: Any = "keyed") -> "Boxes":
        self.do(Finished(basis=basis))
        return self

    @property
    def coup(self) -> Any:
        coup = self.session.state.table.coup
        assert coup is not None, self.whats()
        return coup

    def all(self, kind: str) -> list[dict[str, Any]]:
        return [record.data for record in self.records if record.type == kind]

    def whats(self) -> list[Any]:
        return [(r.type, r.data.get("what") or r.data.get("code") or r.data.get("why")) for r in self.last]

    def broken(self) -> list[str]:
        """The first rule of each breach, incident and refusal of the last act."""
        kinds = ("breach.noted", "incident.opened")
        return [r.data["rules"][0] for r in self.last if r.type in kinds and r.data["rules"]]
