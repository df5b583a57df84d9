"""pokerkit plays the same random hands as our rules: bounds and final stacks agree, or a named difference says why.

The names are those of ``corners.md``. Where the two differ in what a seat may do, both go on with what both allow, so
one difference hides no other.
"""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from pokerkit import Automation, FixedLimitTexasHoldem, NoLimitTexasHoldem, PotLimitOmahaHoldem
from pokerkit.games import PotLimitPokerMixin, TexasHoldemMixin, UnfixedLimitHoldem
from pokerkit.hands import Hand, OmahaHoldemHand, StandardHighHand
from pokerkit.lookups import Entry

from controller.core.cards import DECK
from controller.core.facts import CardCame, Declared, Finished, HandAttested, Shown
from controller.core.rules.betting import Bounds
from controller.core.rules.profile import Profile
from tests.felt import RS, Felt, setup

AUTOMATIONS = (
    Automation.ANTE_POSTING,
    Automation.BET_COLLECTION,
    Automation.BLIND_OR_STRADDLE_POSTING,
    Automation.HOLE_CARDS_SHOWING_OR_MUCKING,
    Automation.HAND_KILLING,
    Automation.CHIPS_PUSHING,
    Automation.CHIPS_PULLING,
)
SMALL, BIG = 50, 100
STACKS = (110, 150, 300, 700, 1000, 2500, 10_000)


class Remembering(Hand):
    """pokerkit ranks the same hand many times in one deal, which is nearly all its time: once will do."""

    known: ClassVar[dict[tuple[object, ...], Any]] = {}

    @classmethod
    def from_game(cls, hole_cards: Any, board_cards: Any = ()) -> Any:
        """As pokerkit's own."""
        key = (cls, tuple(hole_cards), tuple(board_cards))
        if key not in cls.known:
            if len(cls.known) > 100:
                cls.known.clear()
            cls.known[key] = super().from_game(key[1], key[2])
        return cls.known[key]

    @cached_property
    def entry(self) -> Entry:
        """As pokerkit's own: it looks it up again whenever two hands are compared."""
        return super().entry


class HighHand(Remembering, StandardHighHand):
    """Hold'em hands."""


class OmahaHand(Remembering, OmahaHoldemHand):
    """Omaha hands."""


class NoLimit(NoLimitTexasHoldem):
    """No-limit Hold'em."""

    hand_types = (HighHand,)


class FixedLimit(FixedLimitTexasHoldem):
    """Fixed-limit Hold'em."""

    hand_types = (HighHand,)


class PotLimit(PotLimitPokerMixin, TexasHoldemMixin, UnfixedLimitHoldem):
    """Pot-limit Hold'em: pokerkit names no such game; it is made of its own parts."""

    hand_types = (HighHand,)


class Omaha(PotLimitOmahaHoldem):
    """Pot-limit Omaha."""

    hand_types = (OmahaHand,)


def _unfixed(kind: Any) -> Callable[[list[int], int], Any]:
    return lambda stacks, ante: kind(AUTOMATIONS, True, ante, (SMALL, BIG), BIG)(stacks, len(stacks))


def _fixed(stacks: list[int], ante: int) -> Any:
    return FixedLimit(AUTOMATIONS, True, ante, (SMALL, BIG), BIG, 2 * BIG)(stacks, len(stacks))


@dataclass(frozen=True, slots=True)
class Game:
    """One structure: our profile and pokerkit's table."""

    profile: Profile
    peer: Callable[[list[int], int], Any]


GAMES = {
    "no_limit": Game(RS, _unfixed(NoLimit)),
    "pot_limit": Game(replace(RS, structure="pot_limit"), _unfixed(PotLimit)),
    # pokerkit counts every bet and raise of a round, four of them; before the flop the blinds are none.
    "fixed_limit": Game(replace(RS, structure="fixed_limit", raise_cap=4, raise_cap_counts_open_bet=True), _fixed),
    "omaha": Game(replace(RS, game="omaha", own_cards=4, structure="pot_limit"), _unfixed(Omaha)),
}


class Disagreement(AssertionError):
    """Ours and pokerkit's word differ, and no named difference explains it."""


@dataclass(slots=True)
class Round:
    """What the named differences look at: the increases of this round."""

    street: str = ""
    increments: tuple[int, ...] = ()
    full: int = 0
    """The largest full bet or raise so far, 0 where none was made."""


class Duel:
    """One random hand, played by both."""

    def __init__(self, name: str, seed: int) -> None:
        self.chance = random.Random(f"{name}/{seed}")
        game = GAMES[name]
        count = self.chance.randint(2, 10)
        self.stacks = [self.chance.choice(STACKS) + self.chance.randint(0, 99) for _ in range(count)]
        ante = self.chance.choice([0, 0, 10])
        self.fixed = name == "fixed_limit"
        self.felt = Felt(setup(game.profile))
        self.felt.say("open", button=count, limits={"small_blind": SMALL, "big_blind": BIG, "ante": ante})
        for seat, stack in enumerate(self.stacks, 1):
            self.felt.say("seat", seat=seat, stack=stack)
        self.peer = game.peer(list(self.stacks), ante)
        self.deck = list(DECK)
        self.chance.shuffle(self.deck)
        self.round = Round()
        self.named: Counter[str] = Counter()

    def play(self) -> Counter[str]:
        """Play to the end; which named differences showed. Raises ``Disagreement``."""
        felt, peer, count = self.felt, self.peer, len(self.stacks)
        felt.session.seed(bytes(32))
        felt.do(HandAttested())
        own: int = felt.hand.own_cards
        for turn in range(own * count):
            card = self.deck.pop()
            felt.do(CardCame("next", card))
            peer.deal_hole(card, player_index=turn % count)
        while felt.hand.phase != "award":
            if felt.hand.phase != "bet" and peer.actor_indices:
                self._formal_check()
            {"bet": self._act, "board": self._street}.get(felt.hand.phase, self._show)()
        self._compare_stacks()
        return self.named

    # --- what both may do ------------------------------------------------------------------------------------

    def _act(self) -> None:
        legal: Bounds = self.felt.legal
        peer = self.peer
        if legal.seat != peer.actor_index + 1 or legal.call != peer.checking_or_calling_amount:
            raise Disagreement(f"turn and call: {legal} against {peer.actor_index + 1}")
        if self.felt.hand.street != self.round.street:
            self.round = Round(self.felt.hand.street)
        theirs = (
            peer.min_completion_betting_or_raising_to_amount,
            peer.max_completion_betting_or_raising_to_amount,
        )
        ours = (legal.min_to, legal.max_to) if legal.raising else (None, None)
        both = ours == theirs
        if not both:
            self.named[self._name(legal, theirs)] += 1
        self._do(self._choose(legal, raising=both and legal.raising is not None))

    def _formal_check(self) -> None:
        """CM-8: pokerkit asks the big blind although everybody else is all-in; here no betting can follow."""
        if self.peer.checking_or_calling_amount or self.peer.can_complete_bet_or_raise_to():
            raise Disagreement(f"pokerkit waits for seat {self.peer.actor_index + 1}")
        self.peer.check_or_call()
        self.named["CM-8"] += 1

    def _name(self, legal: Bounds, theirs: tuple[int | None, int | None]) -> str:
        """The named difference behind unlike bounds."""
        hand = self.felt.hand
        acted = hand.acted.get(legal.seat)
        faced = hand.level - (acted or 0)
        short = [one for one in self.round.increments if one < self.round.full or not self.round.full]
        if legal.raising and theirs[0] is None and acted is not None:
            size = (2 if hand.street in ("turn", "river") else 1) * BIG
            if self.fixed and 2 * faced >= size:
                return "C19"
            if len(short) > 1 and faced >= hand.step:
                return "C3"
        if legal.barred == "not_reopened" and theirs[0] is not None and not self.round.full:
            return "C18"
        raise Disagreement(
            f"{legal} against {theirs}, {self.round}, acted {acted}, level {hand.level}, step {hand.step}"
        )

    def _choose(self, legal: Bounds, *, raising: bool) -> Declared:
        roll = self.chance.random()
        if raising and legal.raising and legal.max_to is not None and roll < 0.4:
            low, high = legal.min_to, legal.max_to
            to = low if roll < 0.14 else high if roll < 0.24 else self.chance.randint(low, min(high, low * 3))
            return Declared(legal.raising, None, to)
        if legal.call and roll > 0.8:
            return Declared("fold")
        return Declared("call" if legal.call else "check")

    def _do(self, what: Declared) -> None:
        level = self.felt.hand.level
        self.felt.do(what)
        if not self.felt.taken:
            raise Disagreement(f"{what} was refused: {self.felt.last}")
        if what.kind == "fold":
            self.peer.fold()
        elif what.kind in ("check", "call"):
            self.peer.check_or_call()
        else:
            self.peer.complete_bet_or_raise_to(what.to)
            done = next(record.data for record in self.felt.last if record.type == "action.taken")
            increment = done["to"] - level
            self.round.increments = (*self.round.increments, increment)
            if done["full_raise"]:
                self.round.full = max(self.round.full, increment)

    # --- cards -----------------------------------------------------------------------------------------------

    def _street(self) -> None:
        hand = self.felt.hand
        for seat in sorted(set(hand.must_show) - set(hand.shown)):
            self.felt.do(Shown(seat))
        self.peer.burn_card("??")
        self.felt.do(CardCame("next", self.deck.pop()))
        for _ in range(3 if hand.street == "preflop" else 1):
            card = self.deck.pop()
            self.felt.do(CardCame("next", card))
            self.peer.deal_board(card)

    def _show(self) -> None:
        hand = self.felt.hand
        for seat in sorted(set(hand.live) - set(hand.shown)):
            self.felt.do(Shown(seat))

    def _compare_stacks(self) -> None:
        odd = sum(len(pot["odd"]) for pot in self.felt.hand.pots)
        self.felt.do(Finished())
        ours = self.felt.result()
        if sum(ours.values()) != sum(self.stacks):
            raise Disagreement(f"{ours}: chips were lost or made")
        if [ours[seat] for seat in range(1, len(self.stacks) + 1)] == list(self.peer.stacks):
            return
        apart = [abs(ours[seat] - self.peer.stacks[seat - 1]) for seat in ours]
        if odd < 2 or max(apart) > odd:
            raise Disagreement(f"{ours} against {list(self.peer.stacks)}")
        self.named["C9"] += 1


def duels(game: str, seeds: range) -> Counter[str]:
    """Many hands of one game; how often each named difference showed."""
    named: Counter[str] = Counter()
    for seed in seeds:
        try:
            named += Duel(game, seed).play()
        except Disagreement as error:
            raise Disagreement(f"{game} {seed}: {error}") from error
    return named
