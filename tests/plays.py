"""Hands of the shipped profiles for tests of the rules: dealt, sensed by antennas, played to the award."""

from typing import Any

from controller.core.facts import (
    CardCame,
    HandAttested,
    StakePlaced,
)
from tests.felt import Felt
from tests.floors import ANY_STACK, House

CUSTOMARY = ("hr_thp", "bg_holdem_customary", "rs_holdem")
STACKS = [5000] * 3
HOLES = {1: "AsAh", 2: "KsKh", 3: "QsQh"}
BOARD = "2c3d4h9s8c"


def dealt(name: str, stacks: list[int] | None = None, **change: Any) -> House:
    return House(name, **(ANY_STACK | change)).ready(stacks or STACKS).deal(HOLES, board=BOARD)


def begun(name: str, kind: str = "shoe") -> House:
    """A hand whose blinds are posted and whose deal has not begun; at a table of antennas with ``rfid``."""
    felt = House(name, kind=kind, **ANY_STACK).ready(STACKS)
    felt.session.seed(bytes(32))
    felt.do(HandAttested())
    if kind == "rfid":
        felt.do(StakePlaced(1, 50))
        felt.do(StakePlaced(2, 100))
    return felt


def sensed(name: str) -> House:
    """A table of antennas, all closed cards dealt."""
    felt = begun(name, "rfid")
    for turn in range(felt.hand.own_cards):
        for seat in felt.hand.order:
            felt.do(CardCame("seat", f"{'23456789TJQKA'[seat + 3 * turn - 1]}{'cd'[turn % 2]}", seat))
    return felt


def calls(felt: Felt) -> Felt:
    """The round is checked or called to its end."""
    while felt.session.state.hand is not None and felt.hand.phase == "bet":
        felt.act("c" if felt.legal.call else "k")
    return felt


def lay(felt: Felt, *cards: str, burn: str = "") -> Felt:
    """Cards that antennas see: the burn, and those of the board."""
    if burn:
        felt.do(CardCame("burn", burn))
    for card in cards:
        felt.do(CardCame("board", card))
    return felt


def incident(felt: Felt) -> tuple[str, list[str]]:
    opened = felt.all("incident.opened")[-1]
    return opened["code"], opened["rules"]


def to_award(name: str, **change: Any) -> House:
    """Seat 1 has won 300 with the aces; everybody has shown."""
    felt = dealt(name, **change)
    for _ in range(3):
        calls(felt).street()
    calls(felt).show(1, 2, 3)
    return felt
