"""House rules from TOML files: inherited, overridden, validated, hashed.

A profile names the one it inherits from; its own keys replace the inherited ones, table by table. A table's
file may override single values by dotted keys. What comes out is a frozen ``Profile`` and the SHA-256 of its
effective values.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from controller.configuration import ultimateprofile
from controller.configuration.profilechecks import contradictions
from controller.configuration.profilefile import ANSWERS, ROLES, ProfileFile, Role
from controller.core.rules.profile import Approval, Profile, Rake
from controller.faults import BadConfiguration, Fault, did_you_mean, dotted, read_toml, shown, translate

__all__ = ["ROLES", "Role", "Value", "explain", "load", "shipped"]


def shipped() -> dict[str, Path]:
    """The profiles that come with feltd, by name."""
    folder = Path(str(files("config"))) / "profiles"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


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


@dataclass(frozen=True, slots=True)
class Value:
    """One effective value: its dotted key, the file that set it (``default`` where none did), the rules it decides."""

    key: str
    value: Any
    origin: str
    rules: tuple[str, ...]


def load(
    name: str, folder: Path | None = None, override: Mapping[str, Any] | None = None, by: str = "[override]"
) -> Profile:
    """The profile of that name: a shipped one, or a ``.toml`` file relative to ``folder``.

    ``override`` maps dotted keys (``rake.rate``) to values; faults in them are reported under the file ``by``.
    Raises ``BadConfiguration`` with every fault.
    """
    return _frozen(_read(name, folder, override, by)[0])


def explain(
    name: str, folder: Path | None = None, override: Mapping[str, Any] | None = None, by: str = "[override]"
) -> tuple[Profile, list[Value]]:
    """The profile, and each of its values with where it came from. Raises ``BadConfiguration`` as ``load`` does."""
    read, values = _read(name, folder, override, by)
    plain = read.model_dump(by_alias=True)
    told = [
        Value(key, value, values.file_of(key, "default"), ANSWERS.get(key.partition(".")[0], ()))
        for key, value in _flat(plain)
    ]
    return _frozen(read), told


def _flat(tree: Mapping[str, Any], path: tuple[str, ...] = ()) -> list[tuple[str, Any]]:
    pairs: list[tuple[str, Any]] = []
    for key, value in tree.items():
        at = (*path, key)
        if isinstance(value, dict):
            pairs += _flat(value, at)
        else:
            pairs.append((dotted(at), str(value) if isinstance(value, Fraction) else value))
    return pairs


def _read(name: str, folder: Path | None, override: Mapping[str, Any] | None, by: str) -> tuple[ProfileFile, _Values]:
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
    default = by if override else str(own[0])
    try:
        read = ProfileFile.model_validate(values.tree)
    except ValidationError as error:
        faults += [_placed(fault, values, by, default) for fault in translate(error, ProfileFile, values.tree, "")]
        raise BadConfiguration(faults) from error
    faults += [_placed(Fault("", key, "", remedy), values, by, default) for key, remedy in contradictions(read)]
    if faults:
        raise BadConfiguration(faults)
    return read, values


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
            read.rake.id,
            rate.numerator,
            rate.denominator,
            read.rake.cap,
            read.rake.rounding,
            read.rake.no_flop,
            read.rake.rounding_mode,
            read.rake.box,
        )
        effective["rake"] = list(astuple(rake))
    text = json.dumps(effective, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    lists = {"structures", "may_rule", "requires", "approvals"}
    plain = read.model_dump(exclude={"schema_", "rake"} | lists | ultimateprofile.KEYS)
    return Profile(
        **plain,
        structures=tuple(read.structures),
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        rake=rake,
        may_rule=tuple(read.may_rule),
        requires=tuple(read.requires),
        approvals=tuple(Approval(**approval.model_dump()) for approval in read.approvals),
        ultimate=ultimateprofile.frozen(read) if read.game == "ultimate" else None,
    )
