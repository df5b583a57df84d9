"""What sensing costs and how long it waits: inventories a second, and chips at rest to an accepted action.

An antenna table on a fake clock, fed with readings. The floor of the first is to keep the newest inventory of each
place and do nothing; the floor of the second is what the configuration asks to wait (``debounce_ms`` + ``merge_ms``).
"""

import argparse
import statistics
import sys
import time

from controller.core.inputs import Input
from drivers.readings import TagsSeen
from tests.felt import WALL
from tests.unit.test_rfid_table import HOLES, MS, Rfid


def started() -> Rfid:
    """A table whose blinds are posted and whose cards are dealt."""
    table = Rfid()
    table.open()
    table.bet(1, 500)
    table.bet(2, 1000)
    table.deal(HOLES)
    return table


def inventories(table: Rfid, rounds: int) -> list[TagsSeen]:
    """What the readers tell in so many rounds: every third inventory misses a tag, as real ones do."""
    told: list[TagsSeen] = []
    for number in range(rounds):
        for device in table.setup.devices:
            for channel, place in device.places.items():
                lying = table.places.get(place, [])
                seen = frozenset(lying[1:] if number % 3 == 2 else lying)
                told.append(TagsSeen(device.name, 10_000_000 + len(told), channel, seen, complete=True))
    return told


def ours(table: Rfid, told: list[TagsSeen]) -> float:
    """Inventories a second through the whole core, by processor time."""
    began = time.process_time()
    for number, reading in enumerate(told):
        table.at += 10 * MS
        table.table.feed(Input(table.no + number + 1, table.at, WALL + table.at, reading))
    return len(told) / (time.process_time() - began)


def floor(told: list[TagsSeen]) -> float:
    """The same, kept and not looked at."""
    newest: dict[tuple[str, str], frozenset[str]] = {}
    began = time.process_time()
    for reading in told:
        newest[reading.device, reading.channel] = reading.tags
    return len(told) / (time.process_time() - began)


def waits(count: int) -> list[float]:
    """Milliseconds of the table's time from chips that rest to the action: one call in each of ``count`` hands."""
    taken = []
    for number in range(count):
        table = started()
        table.run(37 * (number % 7))  # the readers are somewhere else in their round each time
        rests = table.at
        table.put(table.chips("stack:3", 1000), "bet:3")
        while not table.all("action.taken"):
            table.run(5)
        taken.append((table.at - rests) / MS)
    return taken


def main() -> int:
    """Print both, beside their floors."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--hands", type=int, default=40)
    options = parser.parse_args()
    table = started()
    told = inventories(table, options.rounds)
    bare, whole = floor(told), ours(table, told)
    print(f"inventories a second: feltd {whole:,.0f}, kept and not looked at {bare:,.0f}")
    wait = sorted(waits(options.hands))
    timing = table.setup.timing
    least = timing.debounce_ms + timing.merge_ms
    p99 = wait[min(len(wait) - 1, int(len(wait) * 0.99))]
    figures = f"p50 {statistics.median(wait):.0f} ms, p99 {p99:.0f} ms"
    print(f"chips at rest to action: {figures} of table time; floor {least} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
