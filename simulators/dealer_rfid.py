"""The dealer of an RFID table: acts become chips and cards that leave one place and arrive at another.

Players pay with the chips they have. Who cannot pay an amount exactly changes a chip at the tray first; that is no
bet. Where the money lies is counted here, chip by chip, and never asked of the table under test.
"""

import random
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from simulators.dealer import CardSlides, Dealer, Drawn, KeyDown, KeyUp, Lay, Lift, Timed, Turn, keys_of
from simulators.errors import RigError
from simulators.scripts.acts import (
    DECK,
    Act,
    CloneTags,
    Finish,
    Flicker,
    LiftCards,
    MoveCards,
    MoveChips,
    Muck,
    OtherDeck,
    Push,
    ReplaceChips,
    Return,
    Show,
    Slide,
    Stake,
    SwapCards,
    Sweep,
    Unreadable,
)
from simulators.scripts.sequence import Span
from simulators.tokens import Counts, Tokens, card_tag, exact, fewest, second_deck_tag

SWEEP_MS = Span(200, 350, 700)
"""From one bet spot to the next when the bets are pulled in."""
RIFFLE_MS = 120


class AntennaDealer:
    """One dealer and the players at one RFID table. ``tokens`` is where everything lies; it is kept up to date.

    With a ``camera`` a hand is shown by turning it over, and no key says so.
    """

    def __init__(
        self,
        tokens: Tokens,
        unit: int,
        seed: int,
        pace: Mapping[str, Span],
        dead: Collection[str] = (),
        *,
        shoe: bool = False,
        camera: bool = False,
    ) -> None:
        self.tokens = tokens
        self._camera = camera
        self._dead = dead
        self._shoe = shoe
        self._unit = unit
        self._hands = Dealer(unit, seed, pace)
        self._kinds = sorted(set(tokens.values.values()))
        self._mute: set[str] = set()
        """Tags that no antenna reads any more, though they read well before."""

    @property
    def dice(self) -> random.Random:
        """What pauses are drawn with."""
        return self._hands.dice

    def pause(self, name: str = "gap_ms") -> int:
        """How long the dealer waits, in ms."""
        return self._hands.pause(name)

    def drawn(self) -> list[Drawn]:
        """Every duration that was drawn since this was asked last."""
        return self._hands.drawn()

    def deeds(self, act: Act) -> Iterator[Timed]:
        """What hands do for one act, each deed after a pause. Tags that are read no more move unnoticed."""
        for timed in self._deeds(act):
            yield self._unnoticed(timed) if self._mute else timed

    def _unnoticed(self, timed: Timed) -> Timed:
        deed = timed.deed
        if not isinstance(deed, Lift | Lay):
            return timed
        return replace(timed, deed=replace(deed, tags=tuple(tag for tag in deed.tags if tag not in self._mute)))

    def _deeds(self, act: Act) -> Iterator[Timed]:
        match act:
            case Slide():
                yield from self._slide(act)
            case Muck(seat=seat):
                yield from self._move(f"seat:{seat}", "muck", self._cards(f"seat:{seat}"))
            case Stake():
                yield from self._stake(act)
            case Sweep():
                yield from self._sweep()
            case Return(seat=seat, amount=amount) | Push(seat=seat, amount=amount):
                yield from self._pay("pot", f"stack:{seat}", amount)
            case MoveChips():
                yield from self._chips(act)
            case MoveCards(source=source, target=target, count=count):
                cards = self._cards(source)
                yield from self._move(source, target, cards[-count:] if count else cards)
            case ReplaceChips():
                yield from self._replace_dead()
            case LiftCards(place=place, ms=ms):
                cards = self._cards(place)
                yield Timed(0, Lift(place, tuple(cards)))
                yield Timed(ms, Lay(place, tuple(cards)))
            case SwapCards():
                yield from self._swap(act)
            case Flicker():
                yield from self._flicker(act)
            case CloneTags(place=place, target=target, ms=ms, count=count):
                tags = self.tokens.at(place)[-count:]
                yield Timed(0, Lay(target, tags))
                yield Timed(ms, Lift(target, tags))
            case Unreadable():
                yield from self._silence(act)
            case OtherDeck():
                yield from self._other_deck(act)
            case Show(seat=seat) if self._camera and seat is not None:
                yield Timed(0, Turn(f"seat:{seat}", tuple(self._cards(f"seat:{seat}"))))
            case Finish():
                yield from self._collect()
            case _:
                yield from self._hands.deeds(act)

    # ------------------------------------------------------------------ cards

    def _slide(self, act: Slide) -> Iterator[Timed]:
        """A card leaves the shoe, where there is one, and lies at its place a moment later."""
        if act.card is None:
            raise RigError("an antenna reads a tag or nothing: a card without a value is for a shoe")
        where = f"seat:{act.seat}" if act.place == "seat" else act.place
        if self._shoe and act.shoe != "-":
            yield Timed(0, CardSlides(act.shoe or act.card, act.confidence))
        pause = act.slide_ms or self.pause("slide_ms")
        if act.lands:
            tag = card_tag(act.card)
            self.tokens.lay([tag], where)
            yield Timed(pause, Lay(where, (tag,)))

    def _cards(self, place: str) -> list[str]:
        return [tag for tag in self.tokens.at(place) if tag not in self.tokens.values]

    def _collect(self) -> Iterator[Timed]:
        for place in [place for place in self.tokens.places if self._cards(place)]:
            cards = self._cards(place)
            self.tokens.lift(cards, place)
            yield Timed(self._hands.draw("sweep_ms", SWEEP_MS), Lift(place, tuple(cards)))

    # ------------------------------------------------------------------ chips

    def _stake(self, act: Stake) -> Iterator[Timed]:
        stack, spot = f"stack:{act.seat}", f"bet:{act.seat}"
        amount = act.to - self.tokens.worth(spot)
        if amount <= 0:
            raise RigError(f"seat {act.seat}: {act.to} should lie there, and {self.tokens.worth(spot)} does already")
        yield from self._change(stack, amount)
        counts = exact(amount, self.tokens.chips(stack))
        assert counts is not None
        if act.raises and sum(counts.values()) == 1 and self.tokens.worth(stack) != amount:
            for key, down in _keys(("RAISE", *str(act.to // self._unit), "ENTER")):
                yield Timed(70, KeyDown(key) if down else KeyUp(key))
        yield from self._move(stack, spot, self.tokens.choose(stack, counts))

    def _sweep(self) -> Iterator[Timed]:
        for place in sorted(place for place in self.tokens.places if place.startswith("bet:")):
            chips = self.tokens.at(place)
            if chips:
                self._carry(chips, place, "pot")
                yield Timed(self._hands.draw("sweep_ms", SWEEP_MS), Lift(place, chips))
                yield Timed(self._hands.draw("sweep_ms", SWEEP_MS), Lay("pot", chips))

    def _pay(self, source: str, target: str, amount: int) -> Iterator[Timed]:
        yield from self._change(source, amount)
        counts = exact(amount, self.tokens.chips(source))
        assert counts is not None
        yield from self._move(source, target, self.tokens.choose(source, counts))

    def _chips(self, act: MoveChips) -> Iterator[Timed]:
        parts = _parts(act.chips, act.movements)
        for number, part in enumerate(parts):
            if number:
                yield Timed(act.pause_ms, Lift(act.source, ()))
            yield from self._move(act.source, act.target, self.tokens.choose(act.source, part))

    def _change(self, place: str, amount: int) -> Iterator[Timed]:
        """One chip of a place is changed at the tray where ``amount`` cannot be paid exactly out of it.

        Raises ``RigError`` where there is not so much money, or the tray has no change.
        """
        has = self.tokens.chips(place)
        if amount > self.tokens.worth(place):
            raise RigError(f"{place} has {self.tokens.worth(place)}, not {amount}")
        if exact(amount, has) is not None:
            return
        gap, unused = _short_of(amount, has)
        large = min(value for value, count in unused.items() if count)  # larger than the gap, or it would be used
        small = [kind for kind in self._kinds if kind < large]
        change = Counter(fewest(gap, small)) + Counter(fewest(large - gap, small))
        for source, target, counts in ((place, "tray", {large: 1}), ("tray", place, change)):
            yield from self._move(source, target, self.tokens.choose(source, counts))

    def _move(self, source: str, target: str, tags: Iterable[str]) -> Iterator[Timed]:
        """Tags leave one place and are at the other ``put_ms`` later; with no target they leave the felt."""
        tags = tuple(tags)
        if not tags:
            raise RigError(f"{source} -> {target or 'off the felt'}: there is nothing to move")
        self._carry(tags, source, target)
        yield Timed(0, Lift(source, tags))
        if target:
            yield Timed(self.pause("put_ms"), Lay(target, tags))

    def _carry(self, tags: Iterable[str], source: str, target: str) -> None:
        tags = tuple(tags)
        self.tokens.lift(tags, source)
        if target:
            self.tokens.lay(tags, target)

    def _replace_dead(self) -> Iterator[Timed]:
        """Chips that no antenna reads are found by spreading the stacks, and changed for good ones out of the tray."""
        for place in [place for place in self.tokens.places if place.startswith("stack:")]:
            for tag in [tag for tag in self.tokens.at(place) if tag in self._dead]:
                good = self.tokens.choose("tray", {self.tokens.values[tag]: 1})
                self._carry([tag], place, "box")
                yield Timed(self.pause("put_ms"), Lift(place, (tag,)))
                yield from self._move("tray", place, good)

    # -------------------------------------------------------------- accidents

    def _flicker(self, act: Flicker) -> Iterator[Timed]:
        tags = self.tokens.at(act.place)
        for _ in range(act.times):
            yield Timed(act.off_ms, Lift(act.place, tags))
            yield Timed(act.off_ms, Lay(act.place, tags))

    def _swap(self, act: SwapCards) -> Iterator[Timed]:
        """Cards are exchanged: both are in the air before either lies again."""
        ones, others = self._cards(act.one)[-act.count :], self._cards(act.other)[-act.count :]
        if not ones or len(ones) != len(others):
            raise RigError(f"{act.one} and {act.other}: {len(ones)} cards cannot be exchanged for {len(others)}")
        for tags, source in ((ones, act.one), (others, act.other)):
            self.tokens.lift(tags, source)
            yield Timed(0, Lift(source, tuple(tags)))
        for tags, target in ((others, act.one), (ones, act.other)):
            self.tokens.lay(tags, target)
            yield Timed(self.pause("put_ms"), Lay(target, tuple(tags)))

    def _silence(self, act: Unreadable) -> Iterator[Timed]:
        tags = tuple(self.tokens.choose(act.place, act.chips))
        yield Timed(0, Lift(act.place, tags))
        self._mute.update(tags)
        if act.ms:
            yield Timed(act.ms, Lift(act.place, ()))
            self._mute.difference_update(tags)
            for place in self.tokens.places:
                there = tuple(tag for tag in tags if tag in self.tokens.at(place))
                if there:
                    yield Timed(0, Lay(place, there))

    def _other_deck(self, act: OtherDeck) -> Iterator[Timed]:
        """Some of its cards at a time are near enough to be read."""
        for _ in range(max(1, act.ms // (2 * RIFFLE_MS))):
            tags = tuple(second_deck_tag(card) for card in self.dice.sample(DECK, act.cards))
            yield Timed(RIFFLE_MS, Lay(act.place, tags))
            yield Timed(RIFFLE_MS, Lift(act.place, tags))


def keys_at(act: Act, unit: int) -> tuple[str, ...]:
    """The keys of one act at an RFID table, where collecting the cards says that the hand is over."""
    return () if isinstance(act, Finish | Muck) else keys_of(act, unit)


def _keys(names: Iterable[str]) -> Iterator[tuple[str, bool]]:
    for name in names:
        yield name, True
        yield name, False


def _short_of(amount: int, has: Counts) -> tuple[int, dict[int, int]]:
    """What is missing of ``amount`` after paying with all chips that fit, the large ones first, and what is left."""
    left = dict(has)
    for value in sorted(has, reverse=True):
        paid = min(has[value], amount // value)
        amount -= paid * value
        left[value] -= paid
    return amount, left


def _parts(counts: Counts, parts: int) -> list[dict[int, int]]:
    """Chips in so many movements, the first with as few as it can be: the larger ones come last."""
    chips = [value for value in sorted(counts) for _ in range(counts[value])]
    if not 1 <= parts <= len(chips):
        raise RigError(f"{len(chips)} chips cannot be moved in {parts} movements")
    firsts = [chips[n : n + 1] for n in range(parts - 1)]
    return [dict(Counter(part)) for part in (*firsts, chips[parts - 1 :])]
