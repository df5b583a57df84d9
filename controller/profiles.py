"""House rules from TOML files: inherited, overridden, validated, hashed.

A profile names the one it inherits from; its own keys replace the inherited ones, table by table. A table's
file may override single values by dotted keys. What comes out is a frozen ``Profile`` and the SHA-256 of its
effective values.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from controller.core.rules.profile import Approval, Family, Profile, Rake
from controller.faults import BadConfiguration, Fault, Section, did_you_mean, dotted, read_toml, shown, translate

ROLES = ("dealer", "inspector", "chief_inspector", "pit_boss", "manager", "cage", "technician")
"""The functions of rules.md 9.5."""

Role = Literal["dealer", "inspector", "chief_inspector", "pit_boss", "manager", "cage", "technician"]


def shipped() -> dict[str, Path]:
    """The profiles that come with feltd, by name."""
    folder = Path(str(files("config"))) / "profiles"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


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


Count = Annotated[Annotated[int, Field(ge=1)] | None, BeforeValidator(_optional)]


class RakeFile(Section):
    """The table ``[rake]`` of a profile."""

    id: Annotated[str, Field(min_length=1)] = "house"
    rate: Annotated[Any, BeforeValidator(_rate)]
    cap: Count = None
    rounding: Annotated[int, Field(ge=1)] = 1
    no_flop: bool = False


class ApprovalFile(Section):
    """One of ``[[approvals]]`` of a profile."""

    of: Literal["rules", "rake", "blinds", "paytable"]
    authority: Annotated[str, Field(min_length=1)]
    reference: Annotated[str, Field(min_length=1)]
    date: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")]


class ProfileFile(Section):
    """The effective values of a profile."""

    schema_: Annotated[Literal[1], Field(alias="schema")]
    name: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,40}$")]
    version: Annotated[str, Field(min_length=1)]
    language: Annotated[str, Field(pattern=r"^[a-z]{2}$")]
    family: Family
    status: Literal["draft", "approved"] = "draft"
    game: Literal["holdem"] = "holdem"
    structure: Literal["no_limit"] = "no_limit"
    players_min: Annotated[int, Field(ge=2, le=11)] = 2
    players_max: Annotated[int, Field(ge=2, le=11)] = 10
    own_cards: Literal[2] = 2
    raise_cap: Count = None
    raise_cap_heads_up: bool = True
    raise_cap_counts: Literal["every_increase", "full_raises"] = "every_increase"
    heads_up_small_blind: Literal["left_of_button", "button"] = "button"
    show_all: bool = False
    burns_per_street: Literal[0, 1] = 1
    buy_in_min_bb: Count = None
    buy_in_max_bb: Count = None
    require_cut: bool = False
    rake: RakeFile | None = None
    may_rule: Annotated[list[Role], Field(min_length=1)] = Field(default=["chief_inspector", "manager"])
    approvals: list[ApprovalFile] = Field(default=[])

    @model_validator(mode="after")
    def _no_contradiction(self) -> "ProfileFile":
        if self.players_min > self.players_max:
            raise ValueError(f"players_min = {self.players_min} is above players_max = {self.players_max}")
        low, high = self.buy_in_min_bb, self.buy_in_max_bb
        if low is not None and high is not None and low > high:
            raise ValueError(f"buy_in_min_bb = {low} is above buy_in_max_bb = {high}")
        if self.status == "approved" and not any(approval.of == "rules" for approval in self.approvals):
            raise ValueError('status = "approved" needs an entry in [[approvals]] with of = "rules"')
        return self


@dataclass(slots=True)
class _Values:
    """Merged values, and which file set each of them."""

    tree: dict[str, Any] = field(default_factory=dict)
    origin: dict[str, str] = field(default_factory=dict)

    def merge(self, values: Mapping[str, Any], file: str) -> None:
        """Lay the values of one file over what is there; tables are merged, everything else is replaced."""
        self._merge(self.tree, values, file, ())

    def _merge(self, into: dict[str, Any], values: Mapping[str, Any], file: str, path: tuple[str, ...]) -> None:
        for key, value in values.items():
            at = (*path, key)
            self.origin[dotted(at)] = file
            if isinstance(value, dict):
                below = into.get(key)
                into[key] = below = below if isinstance(below, dict) else {}
                self._merge(below, value, file, at)
            else:
                into[key] = value

    def file_of(self, key: str, default: str) -> str:
        """The file that set a key, or the table or list it stands in."""
        while key:
            if key in self.origin:
                return self.origin[key]
            key = key.rpartition(".")[0]
        return default


def load(
    name: str, folder: Path | None = None, override: Mapping[str, Any] | None = None, by: str = "[override]"
) -> Profile:
    """The profile of that name: a shipped one, or a ``.toml`` file relative to ``folder``.

    ``override`` maps dotted keys (``rake.rate``) to values; faults in them are reported under the file ``by``.
    Raises ``BadConfiguration`` with every fault.
    """
    chain = _chain(name, folder or Path(), by)
    values = _Values()
    for path, tree in reversed(chain):
        values.merge({key: value for key, value in tree.items() if key != "inherits"}, str(path))
    own, faults = chain[0], []
    faults += [
        Fault(str(own[0]), key, "", "missing: an heir needs a name and version of its own")
        for key in ("name", "version")
        if key not in own[1] and key in values.tree
    ]
    for key, value in (override or {}).items():
        values.merge(_nested(key, value), by)
    try:
        read = ProfileFile.model_validate(values.tree)
    except ValidationError as error:
        faults += [
            _placed(fault, values, by, by if override else str(own[0]))
            for fault in translate(error, ProfileFile, values.tree, "")
        ]
        raise BadConfiguration(faults) from error
    if faults:
        raise BadConfiguration(faults)
    return _frozen(read)


def _placed(fault: Fault, values: _Values, by: str, default: str) -> Fault:
    """Name the file that is to blame, and an override by the key under which it stands there."""
    file = values.file_of(fault.key, default)
    key = f'override."{fault.key}"' if file == by else fault.key
    return Fault(file, key, shown(values.tree, fault.key.split(".")), fault.remedy)


def _nested(key: str, value: Any) -> dict[str, Any]:
    for part in reversed(key.split(".")):
        value = {part: value}
    nested: dict[str, Any] = value
    return nested


def _chain(name: str, folder: Path, asked_by: str) -> list[tuple[Path, dict[str, Any]]]:
    """The file of a profile and those it inherits from, the heir first."""
    chain: list[tuple[Path, dict[str, Any]]] = []
    key = "profile"
    while True:
        path = _find(name, folder, asked_by, key)
        if any(path == seen for seen, _ in chain):
            raise BadConfiguration([Fault(asked_by, key, f'"{name}"', "a circle: it inherits from itself")])
        tree = read_toml(path)
        chain.append((path, tree))
        parent = tree.get("inherits")
        if parent is None:
            return chain
        if not isinstance(parent, str):
            raise BadConfiguration([Fault(str(path), "inherits", str(parent), "must be the name of a profile")])
        name, folder, asked_by, key = parent, path.parent, str(path), "inherits"


def _find(name: str, folder: Path, asked_by: str, key: str) -> Path:
    if name.endswith(".toml"):
        path = (folder / name).resolve()
        if not path.is_file():
            raise BadConfiguration([Fault(asked_by, key, f'"{name}"', f"no such file: {path}")])
        return path
    known = shipped()
    if name not in known:
        remedy = f"no such profile: {did_you_mean(name, known)} (a file of your own ends in .toml)"
        raise BadConfiguration([Fault(asked_by, key, f'"{name}"', remedy)])
    return known[name]


def _frozen(read: ProfileFile) -> Profile:
    effective = read.model_dump(mode="json", by_alias=True, exclude={"rake"})
    rake = None
    if read.rake:
        rate: Fraction = read.rake.rate
        rake = Rake(
            read.rake.id, rate.numerator, rate.denominator, read.rake.cap, read.rake.rounding, read.rake.no_flop
        )
        effective["rake"] = [rake.id, rake.rate_num, rake.rate_den, rake.cap, rake.rounding, rake.no_flop]
    text = json.dumps(effective, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    plain = read.model_dump(exclude={"schema_", "rake", "may_rule", "approvals"})
    return Profile(
        **plain,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        rake=rake,
        may_rule=tuple(read.may_rule),
        approvals=tuple(Approval(**approval.model_dump()) for approval in read.approvals),
    )
