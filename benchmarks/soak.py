"""Plays the same hands for long in one process and fails when memory keeps growing or a hand ends wrong."""

import argparse
import sys
from pathlib import Path

from benchmarks.running import SCRIPTS, command, hands, run

# What interpreters and SQLite settle on differs by a few MB from run to run; a leak over many rounds does not.
SLACK = 16_000_000


def main() -> int:
    """1 when a rehearsal failed or the last quarter needed more than the second by ``SLACK`` bytes."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--hands", type=Path, default=SCRIPTS, help="folder of scenarios and PHH files")
    parser.add_argument("--rounds", type=int, default=20, help="how often all of them are played")
    parser.add_argument("--limit", type=float, default=3600, help="give up after so many seconds")
    options = parser.parse_args()
    files = [str(path) for path in hands(options.hands)]
    if not files:
        print(f"no hands in {options.hands}: name a folder with --hands")
        return 1
    played = files * options.rounds
    done = run([command("feltsim"), "rehearse", "--through", "virtual", *played], options.limit)
    if done.code:
        print(done.output[-4000:])
        return 1
    quarter = len(done.rss) // 4
    if quarter == 0:
        print(f"{len(played)} hands in {done.seconds:.1f} s: too short to judge memory, raise --rounds")
        return 1
    early, late = max(done.rss[quarter : 2 * quarter]), max(done.rss[-quarter:])
    print(f"{len(played)} hands, {done.seconds:.0f} s, {early / 1e6:.0f} MB early, {late / 1e6:.0f} MB late")
    if late > early + SLACK:
        print("memory grew: something is kept per hand")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
