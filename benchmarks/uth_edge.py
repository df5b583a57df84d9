"""The edge of Ultimate under ``lt_uth_customary``, from sampled flops and exact play behind each of them.

For a sampled flop all 1,176 hands of a player are played against every turn, river and dealer's hand: what the last
two decisions are worth is exact, and so is the best choice. Only the flop is sampled, and the first decision follows a
table by hand, so the sample is of near-optimal play. Ranks come from ``controller.core.rules.ranking``, payments from
``controller.core.rules.ultimate.settlement``.

    python -m benchmarks.uth_edge --flops 200

Published for perfect play: 2.184971 % of ANTE for the house; -10.771908 % where the dealer always qualifies.
"""

import argparse
import sys
import time
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from controller.configuration import profiles
from controller.core.cards import RANKS, SUITS
from controller.core.rules.ranking import CATEGORIES, category, rank
from controller.core.rules.ultimate.house import NotQualified, PayTables, Switches
from controller.core.rules.ultimate.settlement import Played, contest

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]

PUBLISHED = {"qualifier": 2.184971, "no qualifier": -10.771908, "difference": 2.184971 + 10.771908}
CARDS = tuple(r + s for r in RANKS for s in SUITS)
PAIRS = np.array(list(combinations(range(52), 2)), dtype=np.int32)
LOW, HIGH = PAIRS[:, 0], PAIRS[:, 1]
WEIGHTS = np.array(
    [0, 1, 5, 22, 98, 453, 2031, 8698, 22854, 83661, 262349, 636345, 1479181], dtype=np.int32
)  # the sum over seven cards names their ranks: ``tables`` checks that no two patterns share one
PLAYS = (1, 2, 4)
QUALIFIED = 6185
"""The weakest rank of a pair."""


@dataclass(frozen=True)
class Tables:
    """Ranks of seven cards: by the sum of their weights, and of a suit's cards by their bits."""

    plain: Ints
    flush: Ints


def tables() -> Tables:
    """Every pattern of ranks and every flush, ranked once."""
    plain = np.zeros(int(WEIGHTS[12] * 4 + WEIGHTS[11] * 3) + 1, dtype=np.int32)
    for ranks in combinations_with_replacement(range(13), 7):
        if max(ranks.count(r) for r in ranks) <= 4:
            key = int(sum(WEIGHTS[r] for r in ranks))
            if plain[key]:
                raise ValueError(f"two patterns of ranks share the sum {key}; choose other weights")
            plain[key] = rank(_no_flush(ranks))
    flush = np.zeros(1 << 13, dtype=np.int32)
    for size in (5, 6, 7):
        for suited in combinations(range(13), size):
            flush[sum(1 << r for r in suited)] = rank([RANKS[r] + "s" for r in suited])
    return Tables(plain, flush)


def _no_flush(ranks: tuple[int, ...]) -> list[str]:
    """Cards of these ranks of which no five share a suit."""
    cards: list[str] = []
    for turn, r in enumerate(sorted(set(ranks))):
        cards += [RANKS[r] + SUITS[(turn + i) % 4] for i in range(ranks.count(r))]
    return cards


def ranks_of(board: tuple[int, ...], known: Tables) -> Ints:
    """The rank of each of the 1,326 pairs with this board."""
    held = np.array(board)
    keys = WEIGHTS[held // 4].sum() + WEIGHTS[LOW // 4] + WEIGHTS[HIGH // 4]
    found = known.plain[np.minimum(keys, len(known.plain) - 1)]
    for suit in range(4):
        mine = [card // 4 for card in board if card % 4 == suit]
        if len(mine) < 3:
            continue
        low, high = np.equal(LOW % 4, suit), np.equal(HIGH % 4, suit)
        bits = sum(1 << r for r in mine) | np.where(low, 1 << (LOW // 4), 0) | np.where(high, 1 << (HIGH // 4), 0)
        is_flush = len(mine) + low + high >= 5
        found = np.where(is_flush, known.flush[bits], found)
    ranked: Ints = found.astype(np.int32)
    return ranked


@dataclass(frozen=True)
class Payments:
    """Gains in ANTEs: ``[play, category, dealer qualified]`` for a win, ``[play, qualified]`` for a loss."""

    win: Floats
    lose: Floats


NAMES = tuple(name for _, name in CATEGORIES)
WORST = np.array([worst for worst, _ in CATEGORIES], dtype=np.int32)


def payments(switches: Switches, pay: PayTables) -> Payments:
    """What our settlement gives in each case, for an ANTE of two so that 3:2 is a whole number."""
    win, lose = np.zeros((len(PLAYS), 10, 2)), np.zeros((len(PLAYS), 2))
    for at, play in enumerate(PLAYS):
        box = Played(2, 2, 2 * play)
        for qualified in (0, 1):
            for c, name in enumerate(NAMES):
                lines = contest(box, "win", bool(qualified), name, switches, pay.blind)
                win[at, c, qualified] = sum(line.net for line in lines) / 2
            lost = contest(box, "lose", bool(qualified), NAMES[-1], switches, pay.blind)
            lose[at, qualified] = sum(line.net for line in lost) / 2
    return Payments(win, lose)


def at_the_river(ranks: Ints, valid: NDArray[np.bool_], paid: list[Payments]) -> list[Floats]:
    """For each way to pay: the worth of each valid pair with PLAY of 1, 2 and 4 against every dealer's hand."""
    chosen = np.flatnonzero(valid)
    mine = ranks[chosen]
    order = np.argsort(mine, kind="stable")
    ordered = mine[order]
    low, high = LOW[chosen], HIGH[chosen]
    marks = np.zeros((52, len(chosen) + 1), dtype=np.int16)
    places = np.arange(1, len(chosen) + 1)
    marks[low[order], places] = 1
    marks[high[order], places] = 1
    upto = np.cumsum(marks, axis=1, dtype=np.int16)

    def at_most(position: NDArray[np.intp], own: NDArray[np.bool_] | bool) -> Floats:
        """Dealer's hands among the first ``position`` that share no card with the pair."""
        return np.asarray(position - upto[low, position] - upto[high, position] + own, dtype=np.float64)

    better = at_most(np.searchsorted(ordered, mine, side="left"), own=False)
    not_worse = at_most(np.searchsorted(ordered, mine, side="right"), own=True)
    edge = np.full(len(mine), np.searchsorted(ordered, QUALIFIED, side="right"))
    with_pair = at_most(edge, mine <= QUALIFIED)
    everyone = at_most(np.full(len(mine), len(mine)), own=True)
    win_q = np.maximum(with_pair - not_worse, 0)
    lose_q = np.minimum(better, with_pair)
    win_n, lose_n = everyone - not_worse - win_q, better - lose_q
    kinds = np.searchsorted(WORST, mine)
    worth = []
    for pay in paid:
        ev = win_q * pay.win[:, kinds, 1] + win_n * pay.win[:, kinds, 0]
        ev += lose_q * pay.lose[:, 1:2] + lose_n * pay.lose[:, 0:1]
        full = np.zeros((len(PLAYS), len(PAIRS)))
        full[:, chosen] = ev / everyone
        worth.append(full)
    return worth


def flop_worth(flop: tuple[int, ...], known: Tables, paid: list[Payments]) -> list[tuple[Floats, Floats]]:
    """For each way to pay and each pair: the worth of 4x before this flop, and of the best play after it."""
    rest = [card for card in range(52) if card not in flop]
    sums = [np.zeros((3, len(PAIRS))) for _ in paid]
    boards = np.zeros(len(PAIRS))
    for two in combinations(rest, 2):
        board = (*flop, *two)
        valid = ~(np.isin(LOW, board) | np.isin(HIGH, board))
        for total, (one, double, four) in zip(sums, at_the_river(ranks_of(board, known), valid, paid), strict=True):
            total[0] += four
            total[1] += double
            total[2] += np.where(valid, np.maximum(one, -2.0), 0)
        boards += valid
    boards = np.maximum(boards, 1)
    return [(t[0] / boards, np.maximum(np.maximum(t[1], t[2]) / boards, -2.0)) for t in sums]


# --- the first decision --------------------------------------------------------------------------------------------

FOUR_TIMES: tuple[dict[str, str], dict[str, str], str] = (
    {"A": "2", "K": "2", "Q": "6", "J": "8"},
    {"A": "2", "K": "5", "Q": "8", "J": "T"},
    "3",
)
"""What is worth 4x before the flop, as published: by the higher card the lowest partner suited, then offsuit; the
lowest pair. Whether the dealer qualifies changes none of it: ANTE is the same with 4x and without.
"""


def raises() -> NDArray[np.bool_]:
    """Which pairs play 4x before the flop."""
    suited, offsuit, pairs = FOUR_TIMES
    found = np.zeros(len(PAIRS), dtype=np.bool_)
    for at, (low, high) in enumerate(PAIRS):
        small, big = sorted((int(low) // 4, int(high) // 4))
        if small == big:
            found[at] = small >= RANKS.index(pairs)
        else:
            table = suited if low % 4 == high % 4 else offsuit
            least = table.get(RANKS[big])
            found[at] = least is not None and small >= RANKS.index(least)
    return found


def ways() -> dict[str, Payments]:
    """The two ways to pay that have published edges."""
    house = profiles.load("lt_uth_customary").ultimate
    if house is None:
        raise LookupError("lt_uth_customary is no profile of Ultimate")
    always = Switches(NotQualified("settle", "settle", "settle"), "settled")
    return {
        "qualifier": payments(house.switches(1), house.tables()),
        "no qualifier": payments(always, house.tables()),
    }


def check(known: Tables, dice: np.random.Generator, times: int = 500) -> None:
    """Hold the tables against the ranking itself. Raises ``ValueError`` where they differ."""
    for _ in range(times):
        cards = [int(card) for card in dice.choice(52, 7, replace=False)]
        pair = tuple(sorted(cards[:2]))
        at = int(np.flatnonzero(np.equal(LOW, pair[0]) & np.equal(HIGH, pair[1]))[0])
        ours, kind = rank([CARDS[card] for card in cards]), category(rank([CARDS[card] for card in cards]))
        if int(ranks_of(tuple(cards[2:]), known)[at]) != ours or kind != NAMES[int(np.searchsorted(WORST, ours))]:
            raise ValueError(f"the tables misjudge {[CARDS[card] for card in cards]}")


def chosen(count: int, dice: np.random.Generator) -> list[tuple[int, ...]]:
    """A systematic sample: of all 22,100 flops, laid so that neighbours are alike, every so many from a random start.

    It holds as many paired, suited, high and low flops as there are, so that their great differences do not count as
    chance.
    """

    def kind(flop: tuple[int, ...]) -> tuple[int, ...]:
        ranks = sorted((card // 4 for card in flop), reverse=True)
        return (len(set(ranks)), len({card % 4 for card in flop}), *ranks)

    every = sorted(combinations(range(52), 3), key=kind)
    step = len(every) / count
    start = dice.random() * step
    return [every[int(start + at * step)] for at in range(count)]


def interval(edges: Floats) -> tuple[float, float]:
    """Mean and half the interval of 95 %. In a systematic sample chance is what neighbours differ by."""
    steps = np.diff(edges)
    return float(edges.mean()), 1.96 * float((steps**2).sum() / (2 * len(steps)) / len(edges)) ** 0.5


def sample(flops: int, seed: int, known: Tables) -> dict[str, Floats]:
    """The house's edge in per cent of ANTE on each sampled flop, by way to pay."""
    dice = np.random.default_rng(seed)
    check(known, dice)
    named = ways()
    first = raises()
    edges: dict[str, list[float]] = {name: [] for name in named}
    for flop in chosen(flops, dice):
        free = ~(np.isin(LOW, flop) | np.isin(HIGH, flop))
        for name, (four, later) in zip(named, flop_worth(flop, known, list(named.values())), strict=True):
            edges[name].append(-100 * float(np.where(first, four, later)[free].mean()))
    found = {name: np.array(values) for name, values in edges.items()}
    return found | {"difference": found["qualifier"] - found["no qualifier"]}  # on the same flops: the sharpest of all


def main() -> int:
    """Print the edge and its interval of 95 %; 1 where a published edge lies outside."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.uth_edge", description=__doc__)
    parser.add_argument("--flops", type=int, default=100, help="flops to sample, at about a second each")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.monotonic()
    found = sample(options.flops, options.seed, tables())
    outside = 0
    print(f"{'way to pay':<14}{'edge %':>10}{'interval of 95 %':>24}{'published':>12}")
    for name, edges in found.items():
        mean, half = interval(edges)
        outside += not mean - half <= PUBLISHED[name] <= mean + half
        print(f"{name:<14}{mean:>10.3f}{f'{mean - half:.3f} to {mean + half:.3f}':>24}{PUBLISHED[name]:>12.6f}")
    print(f"{options.flops} flops, 1,271,256 boards with hands each, {time.monotonic() - began:.0f} s")
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
