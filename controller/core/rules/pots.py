"""Pots and their split: pure arithmetic on stakes in minor units (CM-4, CM-5, CM-6)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from controller.core.rules.profile import Rake


@dataclass(frozen=True, slots=True)
class Pot:
    """One pot and the seats that can win it, in seat order from the left of the button."""

    amount: int
    eligible: tuple[int, ...]


def layers(paid: Mapping[int, int], dead: int, live: Sequence[int]) -> list[Pot]:
    """Main pot and side pots by the stakes of the live seats (CM-5, HR-12.18, HR-A14, RS-9.8, RS-9.9).

    ``paid`` are the stakes of the hand by seat, folded seats included; ``dead`` is money that belongs to the main
    pot whatever the stakes (an ante posted for the table). Money of folded seats stays in its layers; what only
    folded seats paid merges into the pot below (C13), so no chip is ever lost.
    """
    pots: list[Pot] = []
    floor, carry = 0, dead
    for level in sorted({paid.get(seat, 0) for seat in live}):
        amount = carry + sum(min(stake, level) - min(stake, floor) for stake in paid.values())
        carry = 0
        eligible = tuple(seat for seat in live if paid.get(seat, 0) >= level)
        if amount and pots and pots[-1].eligible == eligible:
            pots[-1] = Pot(pots[-1].amount + amount, eligible)
        elif amount:
            pots.append(Pot(amount, eligible))
        floor = level
    above = sum(max(0, stake - floor) for stake in paid.values()) + carry
    if above and pots:
        pots[-1] = Pot(pots[-1].amount + above, pots[-1].eligible)
    elif above:
        pots.append(Pot(above, tuple(live)))
    return pots


def split(amount: int, winners: Sequence[int], unit: int) -> tuple[dict[int, int], dict[int, int]]:
    """Divide a pot among its winners, given in order from the left of the button (CM-6, HR-15.5, HR-A15, RS-9.7, C9).

    Whole chips of the smallest value ``unit`` are shared evenly; odd chips go one each to the first winners left
    of the button, and nobody gets two. What is smaller than a chip stays with the first. Returns the shares and,
    within them, the odd part.
    """
    chips, crumbs = divmod(amount, unit)
    each, odd = divmod(chips, len(winners))
    shares: dict[int, int] = {}
    extras: dict[int, int] = {}
    for index, seat in enumerate(winners):
        extra = (unit if index < odd else 0) + (crumbs if index == 0 else 0)
        shares[seat] = each * unit + extra
        if extra:
            extras[seat] = extra
    return shares, extras


def uncalled(bets: Mapping[int, int]) -> tuple[int, int] | None:
    """The seat whose bet nobody matched and the part to return (CM-4, HR-12.15), or ``None``."""
    if not bets:
        return None
    seat = max(bets, key=lambda s: bets[s])
    second = max((bet for other, bet in bets.items() if other != seat), default=0)
    excess = bets[seat] - second
    return (seat, excess) if excess > 0 else None


def rake_due(amount: int, rake: Rake) -> int:
    """The commission on a hand after the uncalled part went back, rounded and capped (HR-A16, BG-A12, C20).

    ``amount`` is all that is won in the hand: the cap is for the hand, not for each pot.
    """
    whole, rest = divmod(amount * rake.rate_num, rake.rate_den * rake.rounding)
    half = 2 * rest >= rake.rate_den * rake.rounding
    up = {"down": False, "nearest": half, "up": rest > 0}[rake.rounding_mode]
    due = min((whole + up) * rake.rounding, amount)
    return due if rake.cap is None else min(due, rake.cap)


def take_rake(amounts: Iterable[int], rake: int) -> list[int]:
    """Spread one commission over the pots, main pot first; never more than a pot holds."""
    taken: list[int] = []
    for amount in amounts:
        part = min(amount, rake)
        taken.append(part)
        rake -= part
    return taken
