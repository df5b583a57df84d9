"""What may stand in a profile's file: every key, its type, its default."""

from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from controller.configuration.ultimateprofile import ANSWERS as BOX_ANSWERS
from controller.configuration.ultimateprofile import UltimateKeys
from controller.core.rules.profile import Family, PotLimitRule, Structure
from controller.faults import Section

ROLES = ("dealer", "inspector", "chief_inspector", "pit_boss", "manager", "cage", "technician")
"""The functions of rules.md 9.5."""

Role = Literal["dealer", "inspector", "chief_inspector", "pit_boss", "manager", "cage", "technician"]


def _optional(value: Any) -> Any:
    """TOML has no null: the word ``none`` stands for it, so that a profile can undo what it inherits."""
    return None if value == "none" else value


def _rate(value: Any) -> Any:
    """``5%``, ``2.5%`` or ``1/20`` as a fraction of the pot, not below 0 and not above 1."""
    if not isinstance(value, str):
        raise PydanticCustomError("share", 'write it as text: "5%" or "1/20"')
    try:
        rate = Fraction(value.removesuffix("%").strip()) / (100 if value.endswith("%") else 1)
    except (ValueError, ZeroDivisionError) as error:
        raise ValueError('not a share: write "5%" or "1/20"') from error
    if not 0 <= rate <= 1:
        raise ValueError("must lie between 0% and 100%")
    return rate


Duty = Literal[
    "inventory",
    "float",
    "rules_displayed",
    "blinds_displayed",
    "call_to_play",
    "identity",
    "dress",
    "dealer",
    "inspector",
    "pit_boss",
    "mode",
    "deck_face_up",
    "button_draw",
    "closing_count",
]
"""The duties outside the hands: ``controller.core.floor.conditions`` says when each is due."""
Count = Annotated[Annotated[int, Field(ge=1)] | None, BeforeValidator(_optional)]
Word = Annotated[Annotated[str, Field(min_length=1)] | None, BeforeValidator(_optional)]


class RakeFile(Section):
    """The table ``[rake]`` of a profile."""

    id: Annotated[str, Field(min_length=1)] = "house"
    rate: Annotated[Any, BeforeValidator(_rate)]
    cap: Count = None
    rounding: Annotated[int, Field(ge=1)] = 1
    rounding_mode: Literal["down", "nearest", "up"] = "down"
    no_flop: bool = False
    box: Word = None


class ApprovalFile(Section):
    """One of ``[[approvals]]`` of a profile."""

    of: Literal["rules", "rake", "blinds", "paytable"]
    authority: Annotated[str, Field(min_length=1)]
    reference: Annotated[str, Field(min_length=1)]
    date: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")]


class ProfileFile(UltimateKeys):
    """The effective values of a profile. ``Profile`` tells what each key means."""

    schema_: Annotated[Literal[1], Field(alias="schema")]
    name: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,40}$")]
    version: Annotated[str, Field(min_length=1)]
    language: Annotated[str, Field(pattern=r"^[a-z]{2}$")]
    family: Family
    status: Literal["draft", "approved"] = "draft"
    game: Literal["holdem", "omaha", "ultimate"] = "holdem"
    structures: Annotated[list[Structure], Field(min_length=1)] = Field(
        default=["no_limit", "pot_limit", "fixed_limit"]
    )
    structure: Structure = "no_limit"
    players_min: Annotated[int, Field(ge=2, le=11)] = 2
    players_max: Annotated[int, Field(ge=2, le=11)] = 10
    players_over: Literal["seat", "hand"] = "hand"
    own_cards: Literal[2, 4] = 2
    raise_cap: Count = None
    raise_cap_heads_up: bool = True
    raise_cap_counts: Literal["every_increase", "full_raises"] = "every_increase"
    raise_cap_counts_open_bet: bool = False
    min_raise: Literal["last_full_increment", "any_greater"] = "last_full_increment"
    reopen: Literal["full_raise", "half_in_limit"] = "half_in_limit"
    pot_limit_rule: PotLimitRule = "raise_by_postcall_pot"
    open_late_rounds: Literal["free", "minimum", "duty"] = "free"
    check_raise: bool = True
    blinds_reraise: bool = True
    heads_up_small_blind: Literal["left_of_button", "button"] = "button"
    button_rule: Literal["dead", "moving"] = "moving"
    dead_small_blind: bool = False
    first_button: Literal["lowest_card", "highest_card", "house"] = "house"
    missed_blinds: Literal["post", "wait", "free"] = "post"
    straddle: bool = False
    show_all: bool = False
    announce_winner: bool = False
    royal_flush: bool = True
    burns_per_street: Literal[0, 1] = 1
    buy_in_min_bb: Count = None
    buy_in_max_bb: Count = None
    require_cut: bool = False
    requires: list[Duty] = Field(default=[])
    inspector_max_tables: Count = None
    rake: RakeFile | None = None
    may_rule: Annotated[list[Role], Field(min_length=1)] = Field(default=["chief_inspector", "manager"])
    confirm_resume: bool = False
    ruling_due_ms: Count = 300_000
    approvals: list[ApprovalFile] = Field(default=[])


ANSWERS: dict[str, tuple[str, ...]] = {
    "status": ("HR-25.1",),
    "structures": ("BG-6.1",),
    "structure": ("HR-A3", "BG-A10", "RS-A8"),
    "players_min": ("HR-10.1", "HR-21.2", "BG-2.5"),
    "players_max": ("HR-21.2", "BG-2.6", "RS-A4"),
    "players_over": ("HR-21.2", "BG-2.6"),
    "own_cards": ("HR-11.5", "BG-3.3", "RS-2.4", "RS-10.1"),
    "raise_cap": ("HR-11.8", "RS-A4"),
    "raise_cap_heads_up": ("HR-A1",),
    "raise_cap_counts": ("HR-A1",),
    "raise_cap_counts_open_bet": ("HR-A1",),
    "min_raise": ("BG-A5", "RS-A2", "CM-2"),
    "reopen": ("HR-A13", "RS-A3", "CM-3"),
    "pot_limit_rule": ("BG-A2", "RS-7.12"),
    "open_late_rounds": ("BG-5.25", "BG-A4"),
    "check_raise": ("BG-5.18", "BG-A14"),
    "blinds_reraise": ("BG-5.10", "BG-A3"),
    "heads_up_small_blind": ("HR-A5", "BG-A11", "RS-2.5"),
    "button_rule": ("HR-17.1", "HR-A21", "CM-18"),
    "dead_small_blind": ("CM-18",),
    "first_button": ("HR-10.5", "CM-21"),
    "missed_blinds": ("HR-A25", "BG-A13"),
    "show_all": ("HR-A10", "BG-A8", "RS-A6"),
    "announce_winner": ("HR-15.2",),
    "royal_flush": ("HR-18.1", "BG-5.33", "RS-8.1"),
    "burns_per_street": ("HR-12.1", "BG-5.14", "RS-A1", "CM-9"),
    "buy_in_min_bb": ("HR-9.2", "HR-A2"),
    "buy_in_max_bb": ("HR-9.2", "HR-A2"),
    "require_cut": ("HR-A17", "BG-4.4"),
    "requires": ("HR-4.1", "HR-10.2", "HR-10.4", "HR-3.1", "HR-3.2", "BG-1.2", "BG-1.3", "BG-6.1"),
    "inspector_max_tables": ("BG-A1",),
    "rake": ("HR-15.6", "HR-A16", "BG-2.3", "BG-A12", "RS-7.8"),
    "may_rule": ("HR-22.1", "CM-23"),
} | BOX_ANSWERS
"""Which rules and readings a key decides: what ``feltd rules --explain`` puts beside its value."""
