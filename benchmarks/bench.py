"""Measures what a table feels: how fast hands go through, how long a command takes to start, how much memory it needs.

Numbers are printed, never asserted: they belong to the machine they were taken on.
"""

import argparse
import sys
from pathlib import Path

from benchmarks.running import SCRIPTS, command, hands, run


def main() -> int:
    """Print one line a measurement; 1 when a rehearsal failed."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--hands", type=Path, default=SCRIPTS, help="folder of scenarios and PHH files")
    parser.add_argument("--repeat", type=int, default=5, help="how often each is played")
    options = parser.parse_args()
    files = [str(path) for path in hands(options.hands)]
    if not files:
        print(f"no hands in {options.hands}: name a folder with --hands")
        return 1
    print(f"{'what':<24}{'hands':>8}{'seconds':>10}{'per second':>12}{'peak MB':>10}")
    start = run([command("feltd"), "--help"], limit_s=60)
    print(f"{'feltd --help':<24}{'':>8}{start.seconds:>10.2f}{'':>12}{start.peak_mb:>10.0f}")
    for through in ("facts", "virtual"):
        played = files * options.repeat
        done = run([command("feltsim"), "rehearse", "--through", through, *played], limit_s=1800)
        if done.code:
            print(done.output)
            return 1
        rate = len(played) / done.seconds
        print(f"{through:<24}{len(played):>8}{done.seconds:>10.1f}{rate:>12.1f}{done.peak_mb:>10.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
