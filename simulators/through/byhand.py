"""Rehearsal on a rig of kind ``felt``: real readers, real chips and cards, and a person who does what is asked for.

Each act is one line on the terminal. It has been performed when the person says so with ENTER; a word before it says
why it could not be, and then the rig has failed, not the product. Where a relay couples the antenna of a place, what
lies there drops out of its field and comes back without anybody.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from simulators.dealer import CardSlides, Deed, KeyDown, KeyUp, Lay, Lift, Turn
from simulators.errors import RigError
from simulators.gestures import Answer
from simulators.plan import Plan
from simulators.rig import Rig
from simulators.scripts.acts import Act, DeviceAct, Flicker, LiftCards, OtherDeck, Pause, Power, Prompt, SystemAct
from simulators.through import moments
from simulators.through.moments import Moment, Then
from simulators.through.rigged import Bench, RigStage

OF_DEVICES: Mapping[str, str] = {
    "unplug": "pull the plug of {device}",
    "plug": "put the plug of {device} in again",
    "reset": "restart {device}",
    "jam": "hold a card fast in the mouth of {device}",
    "clear": "free the mouth of {device}",
    "load": "put a whole deck into {device}",
    "swap": "exchange the plugs of {device} and {other}",
}
"""What a person can do to a device."""


class Person:
    """Whoever stands at the table."""

    def __init__(self, say: TextIO | None = None, hear: TextIO | None = None) -> None:
        self._say = say or sys.stderr
        self._hear = hear or sys.stdin

    def ask(self, what: str) -> None:
        """Ask for something, and wait until it was done. Raises ``RigError`` where it was not."""
        self._say.write(f"{what}  [ENTER] ")
        self._say.flush()
        line = self._hear.readline()
        if not line:
            raise RigError(f"{what}: nobody is there to do it: a rig of kind felt needs a terminal")
        if line.strip():
            raise RigError(f"{what}: could not be done: {line.strip()}")

    def tell(self, what: str) -> None:
        """Say something that needs no answer."""
        self._say.write(f"{what}\n")

    def do(self, what: str, device: str, **args: object) -> Answer:
        """Something that happens to a device."""
        words = OF_DEVICES.get(what)
        if words is None:
            raise RigError(f"{what} {device}: no person can do this")
        other = args.get("other") or "a spare of the same make"
        self.ask(words.format(device=device, other=other))
        return {}


class FeltStage(RigStage):
    """A table at which a person acts."""

    def __init__(self, plan: Plan, folder: Path, rig: Rig, bench: Bench, person: Person) -> None:
        self._person = person
        super().__init__(plan, folder, rig, bench)

    def pause(self, ms: int) -> None:
        """A person takes longer than any dealer's pace: nobody waits besides."""

    def perform(self, act: Act) -> None:
        """One line an act."""
        match act:
            case Prompt(text=text):
                self._person.ask(text)
            case Pause(ms=ms):
                super().pause(ms)
            case OtherDeck(place=place, ms=ms):
                self._person.ask(f"shuffle the other deck over the antenna at {place} for {ms / 1000:g} s")
            case Flicker() | LiftCards() if act.place in self._rig.matrix:
                moments.perform(self.moments(act), super().pause, self.moment)
            case _:
                whats = [then.what for then in self.moments(act) if then.what is not None]
                deeds = [what for what in whats if isinstance(what, Deed)]
                if deeds:
                    self._person.ask(self._told(deeds))
                for what in whats:
                    if not isinstance(what, Deed):
                        self.moment(what)

    def moments(self, act: Act) -> Iterable[Then]:
        """Where a relay couples the antenna of a place, what lies there comes and goes by that alone."""
        thens = super().moments(act)
        if not isinstance(act, Flicker | LiftCards) or act.place not in self._rig.matrix:
            return thens
        return [Then(then.after_ms, Power(act.place, on=isinstance(then.what, Lay))) for then in thens]

    def moment(self, what: Moment) -> None:
        """See ``Stage``."""
        if isinstance(what, Power) and what.name in self._rig.matrix and self._bench.matrix is not None:
            self._bench.matrix.switch(what.name, on=what.on)
        elif isinstance(what, Deed):
            self._person.ask(self._told([what]))
        elif isinstance(what, DeviceAct):
            self._person.do(what.what, what.device, **what.args)
        elif isinstance(what, Power) and what.name not in self._rig.power:
            self._person.ask(f"switch the power of {what.name} {'on' if what.on else 'off'}")
        elif isinstance(what, SystemAct | Power):
            super().moment(what)
        else:
            super().moment(what)

    def _furnish(self, plan: Plan) -> None:
        """What must lie there when the table is opened."""
        for place, tags in sorted(plan.tokens.places.items()):
            if tags and place in self._layout.watched:
                self._person.ask(f"{place}: {self._names(tags)}, and nothing else")
        self._person.ask("all other places: empty; the deck is together")

    def _told(self, deeds: Sequence[Deed]) -> str:
        """The deeds of one act in words."""
        parts: list[str] = []
        keys: list[str] = []
        for deed in deeds:
            match deed:
                case CardSlides(card=card):
                    parts.append(f"let {card or 'a card that it cannot read'} out of the shoe")
                case Lift(place=place, tags=tags) if tags:
                    parts.append(f"take {self._names(tags)} from {place}")
                case Lay(place=place, tags=tags) if tags:
                    parts.append(f"lay {self._names(tags)} at {place}")
                case Turn(place=place):
                    parts.append(f"turn the cards at {place} over")
                case KeyDown(key=key):
                    keys.append(key)
                case KeyUp() | Lift() | Lay():
                    pass
        if keys:
            parts.append(f"press {' '.join(keys)}")
        return ", ".join(parts) or "go on"

    def _names(self, tags: Iterable[str]) -> str:
        """Chips by value and cards by name: what a person sees of them."""
        values, cards = self.plan.tokens.values, self.plan.deck
        chips = Counter(values[tag] for tag in tags if tag in values)
        told = [f"{count} x {value}" for value, count in sorted(chips.items(), reverse=True)]
        return ", ".join([*told, *(cards[tag] for tag in tags if tag in cards)]) or "what lies there"
