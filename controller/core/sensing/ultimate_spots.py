"""What is remembered of the bet spots of an Ultimate table, and of one round."""

from dataclasses import dataclass, field

from controller.core.rules.ultimate.house import Spot


@dataclass(slots=True)
class Lying:
    """One bet spot: what was told of it in this round, and since when its chips move."""

    box: int
    spot: Spot
    told: int | None = None
    changed_at: int | None = None
    began: int = 0
    due: int = 0
    """When to look again, while ``changed_at`` is set."""
    changes: bool = False
    """Whether some of them come from the tray or go there: it may be change."""
    check_at: int | None = None
    """When what lies here is held against what is on record, after nobody watched it."""


@dataclass(slots=True)
class Round:
    """What is remembered of one round, and forgotten with it."""

    id: str = ""
    given_up: set[int] = field(default_factory=set)
    tuck_since: dict[int, int] = field(default_factory=dict)
    tuck_told: set[int] = field(default_factory=set)
    clear_since: int | None = None
