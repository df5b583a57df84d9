"""Every rule of the four texts, the common defaults and the readings: what it asks, and where it is kept and shown.

``config/rules/rules.csv`` says what each is; ``config/rules/bindings.csv`` where the code keeps it and which tests show
it. The second is made from code and tests (``python -m tests.tracing``), and a test fails where it is stale.
"""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

BREAKABLE = frozenset("PSAM")
"""Preconditions, sequences, actions and money can be broken: each is shown broken once and kept once."""
FAMILIES = ("HR", "BG", "RS", "LT", "CM")
READING, DEFAULT = "reading", "default"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. ``code``: dotted names or keys of a profile; ``broken``, ``kept``, ``shown``: tests by their ids."""

    id: str
    kind: str
    reaction: str
    summary: str
    code: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()

    @property
    def family(self) -> str:
        """``HR`` ``BG`` ``RS`` ``LT``, or ``CM`` for a common default."""
        return self.id.partition("-")[0]

    @property
    def can_be_broken(self) -> bool:
        """Whether somebody at the table can break it, so that the table has to react."""
        return self.reaction != "-" and bool(BREAKABLE & set(self.kind.split()))

    @property
    def tests(self) -> tuple[str, ...]:
        """Every test that shows it."""
        return tuple(dict.fromkeys((*self.broken, *self.kept, *self.shown)))

    def lacks(self) -> list[str]:
        """What is missing: ``code``, ``broken``, ``kept`` or ``test``. Empty: it is bound."""
        found = [] if self.code else ["code"]
        if self.can_be_broken:
            return found + [side for side in ("broken", "kept") if not getattr(self, side)]
        return found if self.tests else [*found, "test"]


def rules() -> tuple[Rule, ...]:
    """All rules in the order of the texts, the common defaults last."""
    folder = files("config") / "rules"
    bound = _bindings(folder / "bindings.csv")
    return tuple(
        Rule(row["id"], row["kind"], row["reaction"], row["summary"], **bound.get(row["id"], {}))
        for row in _rows(folder / "rules.csv")
    )


def _bindings(path: Traversable) -> dict[str, dict[str, tuple[str, ...]]]:
    bound: dict[str, dict[str, tuple[str, ...]]] = {}
    if not path.is_file():
        return bound
    for row in _rows(path):
        sides = bound.setdefault(row["id"], {})
        sides[row["side"]] = (*sides.get(row["side"], ()), row["name"])
    return bound


def _rows(path: Traversable) -> Iterator[Mapping[str, str]]:
    yield from csv.DictReader(path.read_text(encoding="utf-8").splitlines())
