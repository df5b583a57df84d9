"""Record objects a second: one 6-handed hand of 21 actions to the showdown, beside pokerkit with all its automations.

The same hand on both sides, in the same process and in turns, by processor time. Ours are the records of the rules:
without encoding, chain and sealing. What the salts and commitments to closed cards cost is told apart. With
``--hands FOLDER`` the recorded hands (PHH) of a folder likewise.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from pokerkit import Automation, HandHistory, NoLimitTexasHoldem

from controller.core.cards import commitment, salt
from controller.core.facts import CardCame, Declared, Fact, Finished, HandAttested, Kind, Shown
from controller.core.inputs import Command
from controller.core.rules.profile import Profile, Rake
from controller.core.session import Session
from controller.core.setup import Chipset, Deck, Denomination, Limits, Setup
from simulators.cases import house
from simulators.plan import of_script
from simulators.scripts import phh
from simulators.through.facts import FactsStage, facts_of

SECOND = 1_000_000_000
HOLES = ["7c2d", "Qd9h", "KsKh", "JcTc", "8c3d", "Ah5h"]
DEAL = [HOLES[seat][2 * turn : 2 * turn + 2] for turn in (0, 1) for seat in range(6)]
CALL: tuple[Kind, None] = ("call", None)
FOLD: tuple[Kind, None] = ("fold", None)
CHECK: tuple[Kind, None] = ("check", None)
STREETS: list[tuple[str, list[tuple[Kind, int | None]]]] = [
    ("", [FOLD, CALL, ("raise", 400), CALL, FOLD, CALL, CALL]),
    ("4c 2h Jd 9s", [CHECK, CHECK, ("bet", 900), CALL, FOLD, CALL]),
    ("6s 4d", [CHECK, ("bet", 2000), FOLD, CALL]),
    ("6d Kd", [("bet", 1000), ("raise", 2500), ("raise", 4000), CALL]),
]
ACTIONS = sum(len(actions) for _, actions in STREETS)


def facts() -> list[Fact]:
    """The hand as it happens on the felt."""
    told: list[Fact] = [HandAttested(), *(CardCame("next", card) for card in DEAL)]
    for cards, actions in STREETS:
        told += [CardCame("next", card) for card in cards.split()]
        told += [Declared(kind, None, to) for kind, to in actions]
    return [*told, Shown(4), Shown(5), Finished()]


def table() -> Session:
    """An open table with six players."""
    profile = Profile("bench", "1", "0" * 64, "en", "RS", rake=Rake())
    chips = Chipset("c", (Denomination("c", 1),))
    session = Session(Setup("bench", "t01", "shoe", 6, profile, Limits(50, 100), chips, Deck("d")))
    session.command(Command("open", {"button": 6}, "s-1", "manager"), 0, 0)
    for seat in range(1, 7):
        session.command(Command("seat", {"seat": seat, "stack": 20_000}, "s-1", "manager"), 0, 0)
    return session


def ours(told: list[Fact]) -> tuple[float, int]:
    """Seconds and records of one hand."""
    session = table()
    session.seed(bytes(32))
    count = 0
    began = time.process_time()
    for at, fact in enumerate(told):
        count += len(session.apply(fact, at * SECOND, at * SECOND))
    took = time.process_time() - began
    assert session.state.hands == 1
    assert session.state.hand is None
    return took, count


def theirs() -> float:
    """Seconds of the same hand at pokerkit."""
    moves: dict[Kind, str] = {"fold": "fold", "check": "check_or_call", "call": "check_or_call"}
    began = time.process_time()
    state = NoLimitTexasHoldem.create_state(tuple(Automation), True, 0, (50, 100), 100, 20_000, 6)
    for _, actions in STREETS:
        for kind, to in actions:
            if to is None:
                getattr(state, moves[kind])()
            else:
                state.complete_bet_or_raise_to(to)
    took = time.process_time() - began
    assert not state.status
    return took


def sealing() -> float:
    """Seconds of the salts and commitments of one such hand: its closed cards and burns."""
    seed, closed = bytes(32), len(DEAL) + 3
    began = time.process_time()
    for slot in range(closed):
        commitment("bench-20260101-0001", slot, "As", salt(seed, slot))
    return time.process_time() - began


def medians(runs: list[Callable[[], float]], rounds: int) -> list[float]:
    """The median of each, taken in turns so that all see the same machine: one slow round says nothing."""
    taken = [[run() for run in runs] for _ in range(rounds)]
    return [statistics.median(times) for times in zip(*taken, strict=True)]


def ours_recorded(path: Path) -> tuple[float, int]:
    """Seconds and records of one recorded hand, from the shuffle on."""
    override, rules = house("rs_holdem")
    script = phh.convert(path, rules.heads_up_small_blind)
    session = FactsStage(of_script(script, "rs_holdem", override, rules)).session
    session.seed(bytes(32))
    told = [fact for act in script.acts for fact in facts_of(act)]
    start, count = session.out.at, 0
    began = time.process_time()
    for at, fact in enumerate(told, 1):
        count += len(session.apply(fact, start + at * SECOND, at * SECOND))
    took = time.process_time() - began
    assert session.state.hands == 1
    return took, count


def theirs_recorded(path: Path) -> float:
    """Seconds of the same hand at pokerkit."""
    history = HandHistory.loads(path.read_text(encoding="utf-8"))  # with what its replay of records automates
    began = time.process_time()
    for _ in history:
        pass
    return time.process_time() - began


def recorded(folder: Path) -> None:
    """Print the sums over all hands of a folder."""
    files = sorted(folder.rglob("*.phh"))
    mine = [ours_recorded(path) for path in files]
    peer = sum(theirs_recorded(path) for path in files)
    took, count = sum(one for one, _ in mine), sum(records for _, records in mine)
    print(f"{len(files)} recorded hands   {'us a hand':>12}{'a second':>12}")
    print(f"{'feltd':<24}{took / len(files) * 1e6:>12.0f}{count / took:>12.0f} records ({count} in all)")
    print(f"{'pokerkit':<24}{peer / len(files) * 1e6:>12.0f}{len(files) / peer:>12.0f} hands")
    print(f"feltd is {peer / took:.1f} times as fast")


def main() -> int:
    """Print microseconds a hand and the ratio."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--hands", type=Path, metavar="FOLDER", help="recorded hands of no-limit hold'em as well")
    asked = parser.parse_args()
    rounds = asked.rounds
    told = facts()
    _, records = ours(told)
    whole, apart, peer = medians([lambda: ours(told)[0], sealing, theirs], rounds)
    mine = whole - apart
    print(f"one hand, {ACTIONS} actions   {'us a hand':>12}{'a second':>12}")
    print(f"{'feltd':<24}{mine * 1e6:>12.0f}{records / mine:>12.0f} records ({records} a hand)")
    print(f"{'  and its commitments':<24}{apart * 1e6:>12.0f}")
    print(f"{'pokerkit':<24}{peer * 1e6:>12.0f}{1 / peer:>12.0f} hands")
    print(f"feltd is {peer / mine:.1f} times as fast")
    if asked.hands is not None:
        recorded(asked.hands)
    return 0


if __name__ == "__main__":
    sys.exit(main())
