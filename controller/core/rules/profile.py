"""The house rules as data: what a profile file says after validation. Reading the file is settings' work."""

from dataclasses import dataclass
from typing import Literal

Family = Literal["HR", "RS"]


@dataclass(frozen=True, slots=True)
class Rake:
    """The commission (HR-15.6, RS-7.8). ``rate`` as a fraction, ``cap`` per hand and ``rounding`` in minor units."""

    id: str = "none"
    rate_num: int = 0
    rate_den: int = 1
    cap: int | None = None
    rounding: int = 1
    no_flop: bool = False


@dataclass(frozen=True, slots=True)
class Approval:
    """Who approved a reading of the rules: a document, not an opinion."""

    of: str
    authority: str
    reference: str
    date: str


@dataclass(frozen=True, slots=True)
class Profile:
    """One set of house rules. The names of the fields are the keys of the TOML file.

    ``sha256`` is the hash of the effective values, so that every hand names exactly what it was played under.
    """

    name: str
    version: str
    sha256: str
    language: str
    family: Family
    status: Literal["draft", "approved"] = "draft"
    game: Literal["holdem"] = "holdem"
    structure: Literal["no_limit"] = "no_limit"
    players_min: int = 2
    players_max: int = 10
    own_cards: int = 2
    raise_cap: int | None = None
    raise_cap_heads_up: bool = True
    raise_cap_counts: Literal["every_increase", "full_raises"] = "every_increase"
    heads_up_small_blind: Literal["left_of_button", "button"] = "button"
    show_all: bool = False
    burns_per_street: int = 1
    buy_in_min_bb: int | None = None
    buy_in_max_bb: int | None = None
    require_cut: bool = False
    rake: Rake | None = None
    may_rule: tuple[str, ...] = ("chief_inspector", "manager")
    approvals: tuple[Approval, ...] = ()
