"""The house rules as data: what a profile file says after validation. Reading the file is settings' work."""

from dataclasses import dataclass
from typing import Literal

from controller.core.rules.ultimate.house import Ultimate

Family = Literal["HR", "BG", "RS", "LT"]
Structure = Literal["no_limit", "pot_limit", "fixed_limit"]
PotLimitRule = Literal["amount_in", "raise_by_precall_pot", "raise_by_postcall_pot"]


@dataclass(frozen=True, slots=True)
class Rake:
    """The commission (HR-15.6, BG-2.3, RS-7.8). ``rate`` as a fraction, ``cap`` per hand in minor units (C20).

    What is due is rounded to a multiple of ``rounding`` minor units, ``rounding_mode`` says which way. With ``no_flop``
    a hand that ends before the flop is free. ``box`` names the box on the table that takes it (BG-5.30).
    """

    id: str = "none"
    rate_num: int = 0
    rate_den: int = 1
    cap: int | None = None
    rounding: int = 1
    no_flop: bool = False
    rounding_mode: Literal["down", "nearest", "up"] = "down"
    box: str | None = None


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
    game: Literal["holdem", "omaha", "ultimate"] = "holdem"
    structures: tuple[Structure, ...] = ("no_limit", "pot_limit", "fixed_limit")
    """The structures that the text allows (BG-6.1: no fixed limit)."""
    structure: Structure = "no_limit"
    """The one that is played unless the table's limits name another (HR-A3, BG-A10, RS-A8)."""
    players_min: int = 2
    players_max: int = 10
    players_over: Literal["seat", "hand"] = "hand"
    """What one player too many blocks: his seat (BG-2.6), or the next hand (HR-21.2)."""
    own_cards: int = 2
    raise_cap: int | None = None
    """Increases per round by all players together (HR-11.8, HR-A1)."""
    raise_cap_heads_up: bool = True
    raise_cap_counts: Literal["every_increase", "full_raises"] = "every_increase"
    raise_cap_counts_open_bet: bool = False
    min_raise: Literal["last_full_increment", "any_greater"] = "last_full_increment"
    """CM-2, or any sum greater than the last one (BG-5.7, BG-A5)."""
    reopen: Literal["full_raise", "half_in_limit"] = "half_in_limit"
    """What an all-in has to be to open raising again (CM-3, C19): a full raise; in fixed limit, half of one."""
    pot_limit_rule: PotLimitRule = "raise_by_postcall_pot"
    """How the most that may be added is counted (BG-A2, RS-7.12; rules.md 8.3)."""
    open_late_rounds: Literal["free", "minimum", "duty"] = "free"
    """Rounds 3 and 4: as any other; an opening bet of at least the table minimum; or the duty to make it (BG-A4)."""
    check_raise: bool = True
    """Whether a seat that has checked may raise in the same round (BG-A14)."""
    blinds_reraise: bool = True
    """Whether a blind may raise in round 1 after somebody has (BG-5.10, BG-A3)."""
    heads_up_small_blind: Literal["left_of_button", "button"] = "button"
    button_rule: Literal["dead", "moving"] = "moving"
    """``dead``: to the former small blind's place, even if empty (HR-17.1, HR-A21); ``moving``: one player on."""
    dead_small_blind: bool = False
    """With a dead button: nobody posts the small blind when the former big blind's place is empty (CM-18)."""
    first_button: Literal["lowest_card", "highest_card", "house"] = "house"
    """How the first button is drawn (HR-10.5, CM-21)."""
    missed_blinds: Literal["post", "wait", "free"] = "post"
    """How one who missed blinds comes back (I-24): posts them, waits for the big blind, or owes nothing."""
    straddle: bool = False
    """Whether the seat left of the big blind may post a straddle."""
    show_all: bool = False
    announce_winner: bool = False
    """Whether the winner is announced before the pot is pushed (HR-15.2)."""
    royal_flush: bool = True
    """Whether the text names the royal flush (BG does not)."""
    burns_per_street: int = 1
    buy_in_min_bb: int | None = None
    buy_in_max_bb: int | None = None
    require_cut: bool = False
    requires: tuple[str, ...] = ()
    """Duties outside the hands, met by what people record: words of ``floor.conditions.DUTIES``."""
    inspector_max_tables: int | None = None
    """How many tables one inspector may watch (BG-A1)."""
    rake: Rake | None = None
    may_rule: tuple[str, ...] = ("chief_inspector", "manager")
    confirm_resume: bool = False
    """Whether a person has to confirm that a hand goes on after a power cut (I-32). In test mode nobody is asked."""
    ruling_due_ms: int | None = 300_000
    """How long a ruling may take before its incident is more severe (incidents.md: *house*). ``None``: for ever."""
    approvals: tuple[Approval, ...] = ()
    ultimate: Ultimate | None = None
    """What an Ultimate table needs beside; ``None`` at a poker table."""
