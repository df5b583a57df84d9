"""Where tags lie: what one inventory shows at once is told in an order that says nothing of which tag is which."""

from itertools import permutations

import pytest

from controller.core.sensing.whereabouts import MS, Whereabouts

NAMES = ("E1", "E2", "E3", "E4")


def played(names: tuple[str, ...]) -> list[tuple[str | None, int]]:
    """Cards come to two seats one by one, one seat's go to the other, and all leave in one inventory."""
    where = Whereabouts(400 * MS, lambda _tag, _place: 1500 * MS)
    lying: dict[str, set[str]] = {"seat:1": set(), "seat:3": set(), "muck": set()}
    at = 0

    def rest() -> list[tuple[str | None, int]]:
        nonlocal at
        moved = []
        for _ in range(4):
            at += 250 * MS
            for place, tags in lying.items():
                where.inventory(place, tags, at, complete=True)
            moved += [(move.before, names.index(move.tag)) for move in where.tick(at)]
        return moved

    for number, name in enumerate(names):
        lying["seat:1" if number % 2 else "seat:3"].add(name)
        rest()
    lying["seat:1"] |= lying["seat:3"]
    lying["seat:3"] = set()
    first = rest()
    lying["muck"], lying["seat:1"] = lying["seat:1"], set()
    return first + rest()


@pytest.mark.parametrize("names", list(permutations(NAMES)))
def test_the_order_of_moves_does_not_depend_on_the_names_of_tags(names: tuple[str, ...]) -> None:
    assert played(names) == played(NAMES)
