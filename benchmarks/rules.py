"""Measures the rules alone, beside pokerkit: how long a question for the legal bounds takes, how fast hands go through.

``python -m benchmarks.rules``. The same random hands are played by both; numbers are printed, never asserted. Time is
that of the processor, so a busy machine changes little.
"""

import argparse
import sys
import time
from typing import Any

from pokerkit import BoardDealing, CardBurning, CheckingOrCalling, CompletionBettingOrRaisingTo, Folding, HoleDealing

from controller.core.facts import Declared, Fact
from controller.core.inputs import Command
from controller.core.rules import betting, due
from controller.core.session import Session
from tests.oracle import GAMES, Duel

SECOND = 1_000_000_000


class Recorded(Duel):
    """A duel that keeps what it told either side."""

    def __init__(self, name: str, seed: int) -> None:
        super().__init__(name, seed)
        self.name = name
        self.inputs: list[Fact | Command] = []
        plain = self.felt.do

        def do(what: Fact | Command) -> Any:
            self.inputs.append(what)
            return plain(what)

        self.felt.do = do  # type: ignore[method-assign]
        self.opening = [r for r in self.felt.records if r.type in ("table.opened", "seat.taken", "chips.bought")]


def replay(duel: Recorded) -> Session:
    """Our side alone, from the first card on."""
    session = Session.restore(duel.felt.setup, duel.felt.records[: len(duel.opening) + 1])
    session.seed(bytes(32))
    for at, what in enumerate(duel.inputs):
        assert not isinstance(what, Command)
        session.apply(what, at * SECOND, at * SECOND)
    return session


def replay_peer(duel: Recorded) -> None:
    """Pokerkit's side alone."""
    peer = GAMES[duel.name].peer(list(duel.stacks), duel.felt.session.state.limits.ante)
    for operation in duel.peer.operations:
        match operation:
            case HoleDealing(cards=cards, player_index=player):
                peer.deal_hole(cards, player)
            case BoardDealing(cards=cards):
                peer.deal_board(cards)
            case CardBurning(card=card):
                peer.burn_card(card)
            case CheckingOrCalling():
                peer.check_or_call()
            case CompletionBettingOrRaisingTo(amount=amount):
                peer.complete_bet_or_raise_to(amount)
            case Folding():
                peer.fold()
            case _:
                pass


def bounds_us(duels: list[Recorded]) -> tuple[float, float]:
    """Microseconds for ``betting.bounds`` and for ``due`` with the ids behind every bound, at every decision."""
    asked, bounds, owed = 0, 0.0, 0.0
    for duel in duels:
        session = Session.restore(duel.felt.setup, duel.felt.records[: len(duel.opening) + 1])
        session.seed(bytes(32))
        for at, what in enumerate(duel.inputs):
            hand, profile = session.state.hand, duel.felt.setup.profile
            if isinstance(what, Declared) and hand is not None:
                began = time.process_time()
                for _ in range(20):
                    betting.bounds(hand, profile)
                middle = time.process_time()
                for _ in range(20):
                    due.due(session.state, profile)
                bounds, owed = bounds + middle - began, owed + time.process_time() - middle
                asked += 20
            assert not isinstance(what, Command)
            session.apply(what, at * SECOND, at * SECOND)
    return bounds / asked * 1e6, owed / asked * 1e6


def main() -> int:
    """Print one line a structure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rules", description=__doc__)
    parser.add_argument("--hands", type=int, default=300, help="random hands per structure")
    options = parser.parse_args()
    print(f"{'structure':<14}{'bounds us':>11}{'due us':>9}{'hands/s':>10}{'pokerkit/s':>12}")
    for name in GAMES:
        duels = [Recorded(name, seed) for seed in range(options.hands)]
        for duel in duels:
            duel.play()
        bounds, owed = bounds_us(duels)
        began = time.process_time()
        for duel in duels:
            replay(duel)
        ours = time.process_time() - began
        began = time.process_time()
        for duel in duels:
            replay_peer(duel)
        theirs = time.process_time() - began
        print(f"{name:<14}{bounds:>11.2f}{owed:>9.2f}{len(duels) / ours:>10.0f}{len(duels) / theirs:>12.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
