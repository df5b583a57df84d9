"""The meters: sums since the shift began, derived from records alone, read each hour, at close and on request.

A subscriber checks: win = drop + closer + credits - opener - fills; a poker table wins its rake and so 0 by its tray.
"""

from datetime import UTC, datetime

from controller.core.floor import words
from controller.core.floor.words import Data, person
from controller.core.inputs import Command
from controller.core.out import Out

HOUR = 3_600 * 1_000_000_000
UNRESOLVED = {"play": "0" * 16, "cash": "0" * 16}
"""Only the ledger knows how far its streams go; it puts that in."""


def utc(wall: int) -> str:
    """Wall time as the contract spells it: UTC with six decimals."""
    seconds, rest = divmod(wall, 1_000_000_000)
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S") + f".{rest // 1000:06d}Z"


def meters(out: Out, command: Command) -> None:
    """``meters``: read them now."""
    if words.needs_open(out):
        read(out, "request", [person(command)])


def read(out: Out, reason: str, by: list[dict[str, str]]) -> None:
    """``meter.read``. ``reason``: ``hour`` ``close`` ``shift`` ``request``."""
    now = out.state.cash.meters
    at = utc(out.wall)
    data: Data = {"reason": reason, "since": now.since or at, "at": at}
    data |= {"drop": now.drop, "fills": now.fills, "credits": now.credits}
    data |= {"opener": now.opener, "closer": now.closer, "rake": now.rake, "tips": now.tips, "orphans": now.orphans}
    data |= {"bets_by_spot": dict(sorted(now.bets.items())), "wins_by_spot": dict(sorted(now.wins.items()))}
    data |= {"hands": now.hands, "hands_void": now.hands_void, "through": dict(UNRESOLVED)}
    words.cash(out, "meter.read", by, data, basis="derived")


def pass_time(out: Out) -> None:
    """Read the meters where a new hour of the clock on the wall has begun: what is read belongs to an hour.

    The hour of the last reading is on record, so a restart leaves none out and reads none twice. A clock that was set
    back reads nothing until it is past that hour again.
    """
    if out.state.session is not None and out.wall // HOUR > out.state.cash.meters.hour:
        read(out, "hour", [])


def deadline(out: Out) -> int | None:
    """When the next hour begins, in monotonic ns; ``None`` while the table is closed or nothing was fed yet."""
    if out.state.session is None or not out.wall:
        return None
    return out.at + max(0, (out.state.cash.meters.hour + 1) * HOUR - out.wall)
