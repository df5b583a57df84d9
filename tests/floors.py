"""Tables of the shipped profiles for tests: whoever the text asks for is there and has said what the text asks."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Self

from controller.configuration import profiles
from controller.core.cards import DECK
from controller.core.inputs import Command
from controller.core.records import Record
from controller.core.rules.profile import Profile
from controller.core.setup import Limits, Setup
from tests.felt import Felt, setup

CHIPS = [{"denomination": 1, "count": 5000}]
"""The float of these tables: chips of one minor unit."""
OPEN_RULES = ("HR-4.1", "HR-20.2", "HR-23.1", "HR-11.1")


@cache
def profile(name: str) -> Profile:
    """A shipped profile with every duty of its text; only a rake is decided, and it is none."""
    return profiles.load(name, override={"rake.rate": "0%"})


ANY_STACK: dict[str, Any] = {"buy_in_min_bb": None, "buy_in_max_bb": None}
"""For tests that need stacks of their own."""
TEXTS = ("hr_thp", "bg_holdem", "rs_holdem")
"""The literal profiles of the three poker texts."""


class House(Felt):
    """A felt of a shipped profile. ``ready`` meets every duty, ``bare`` meets none."""

    def __init__(
        self, name: str = "hr_thp", limits: Limits | None = None, seats: int = 11, kind: Any = "shoe", **change: Any
    ) -> None:
        made = setup(profile=replace(profile(name), **change))
        super().__init__(replace(made, seats=seats, limits=limits or made.limits, kind=kind))

    @classmethod
    def of(cls, made: Setup) -> Self:
        """A felt of a setup that a test has changed."""
        felt = cls.__new__(cls)
        Felt.__init__(felt, made)
        return felt

    def by(self, staff: str, role: str, name: str, reason: str = "test", /, **args: Any) -> list[Record]:
        return self.do(Command(name, args, staff, role, reason))

    def staff(self) -> Self:
        for staff, role in (("s-1", "dealer"), ("s-2", "inspector"), ("s-3", "chief_inspector")):
            self.say("login", staff=staff, role=role)
        return self

    def prepare(self) -> Self:
        """Everything before the opening."""
        self.staff()
        if self.setup.profile.family == "HR":
            self.say("attest", rules=list(OPEN_RULES))
            self.by("s-1", "dealer", "count", reason="open", lines=CHIPS, **{"with": "s-3"})
        return self

    def seat_all(self, stacks: Sequence[int | None]) -> Self:
        for seat, stack in enumerate(stacks, 1):
            self.say("seat", seat=seat, stack=stack, checked=True)
        return self

    def draw(self, button: int) -> Self:
        """The draw that gives a seat the button, by the lowest card."""
        others = iter(DECK[4:])
        cards = [{"seat": s, "card": "2d" if s == button else next(others)} for s in sorted(self.session.state.seats)]
        self.say("button", draw=cards, collected=52)
        return self

    def ready(self, stacks: Sequence[int | None], button: int | None = None) -> Self:
        """Open, seated, the deck verified, the button drawn (or placed): the next thing is a hand."""
        self.prepare()
        needs = self.setup.profile.requires
        more: dict[str, Any] = {} if "button_draw" in needs else {"button": button or len(stacks)}
        if "mode" in needs and self.setup.limits.structure is None:
            limits = self.setup.limits
            more["limits"] = {"small_blind": limits.small_blind, "big_blind": limits.big_blind, "structure": "no_limit"}
        self.say("open", **more)
        self.seat_all(stacks)
        if "deck_face_up" in needs:
            self.say("deck", do="verify")
        if "button_draw" in needs:
            self.draw(button or len(stacks))
        return self

    def open(self, stacks: Sequence[int | None], button: int | None = None) -> Self:
        return self.ready(stacks, button)

    @property
    def breaches(self) -> list[dict[str, Any]]:
        """What the last act broke."""
        return [record.data for record in self.last if record.type == "breach.noted"]

    @property
    def broken(self) -> list[str]:
        """The first rule of everything that the last act broke."""
        return [breach["rules"][0] for breach in self.breaches if breach["rules"]]
