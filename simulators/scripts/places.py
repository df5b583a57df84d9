"""The places of a table, as its scenario may name them: one that it has not got is refused by line."""

from simulators.scripts.felt import Felt
from simulators.scripts.strict import Section, suggestion

OFF = ""
"""Off the felt: where cards may go that no antenna is to see."""


def place(section: Section, key: str, felt: Felt, *, off: bool = False) -> str:
    """A step's place. ``off``: it may also be off the felt. Raises ``ScriptError`` for one that this table has not."""
    return known(section, key, section.text(key), felt, off=off)


def known(section: Section, key: str, name: str, felt: Felt, *, off: bool = False) -> str:
    """The same for a place that was read already."""
    there = felt.places()
    if name in there or (off and name == OFF):
        return name
    kinds = dict.fromkeys(one.partition(":")[0] for one in there)
    numbers = sorted({int(one.split(":")[1]) for one in there if ":" in one})
    seats = f"{'boxes' if 'box' in kinds else 'seats'} {numbers[0]} to {numbers[-1]}"
    raise section.wrong(
        key, name, f"no place of this table, which has {seats} and {', '.join(kinds)}{suggestion(name, there)}"
    )
