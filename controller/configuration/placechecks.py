"""Which place a channel can be said to watch: one that there is, and that a device of this kind can see."""

import re
from collections.abc import Iterator

from controller.faults import Fault

PLACES = re.compile(
    r"shoe|board|burn|muck|stub|pot|rake|tips|drop|tray|button|discard|dealer|(?:seat|stack|bet):([1-9]\d?)"
    r"|box:([1-9]):(?:ante|blind|trips|play|cards|under_play)"
)
OF_CARDS = re.compile(r"shoe|board|burn|muck|stub|discard|dealer|seat:.*|box:.:cards")
OF_KIND = {
    "shoe": (re.compile("shoe"), 'a shoe reads what comes out of it: "shoe" is its only place'),
    "camera": (OF_CARDS, 'a camera tells cards, no chips: "board", "seat:3", "dealer", "burn", "muck" ...'),
    "keypad": (re.compile("(?!)"), "a keypad watches no place: leave its channels out"),
}
"""What devices of a kind can watch, in a pattern and in words; a reader's antenna may lie anywhere."""


def check(file: str, at: str, channel: str, place: str, kind: str, seats: int | None) -> Iterator[Fault]:
    """Every fault of one line of ``channels``, ``at`` its dotted key."""
    if not re.fullmatch(r"0|[1-9][0-9]{0,3}", channel):
        yield Fault(file, at, "", "a channel is a plain number: 0, 1, 2 ...")
    match = PLACES.fullmatch(place)
    if match is None:
        remedy = 'no such place: for example "shoe", "tray", "board", "seat:3"'
        yield Fault(file, at, f'"{place}"', remedy)
        return
    if (number := match[1] or match[2]) and seats and int(number) > seats:
        yield Fault(file, at, f'"{place}"', f"the table has {seats} {'seats' if match[1] else 'boxes'}")
    if kind in OF_KIND and not OF_KIND[kind][0].fullmatch(place):
        yield Fault(file, at, f'"{place}"', OF_KIND[kind][1])
