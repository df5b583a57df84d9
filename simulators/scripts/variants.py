"""Cases of one scenario file: its variants, the kinds of table it is for, and the values it is swept over."""

import copy
import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simulators.layout import Kind
from simulators.scripts.strict import Section

KINDS: tuple[Kind, ...] = ("shoe", "rfid")
EVERY_STEP = "every_step"


@dataclass(frozen=True, slots=True)
class Pick:
    """One case of a file. ``variant`` ``""`` is the scenario itself; the other fields are as the sweep says.

    ``seed`` takes the place of the file's own.
    """

    variant: str = ""
    table: Kind | None = None
    gap_ms: int | None = None
    profile: str | None = None
    killed: bool = False
    seed: int | None = None

    @property
    def label(self) -> str:
        """What reports add to the name of the file."""
        swept = [f"gap_ms={self.gap_ms}"] if self.gap_ms is not None else []
        swept += [f"profile={self.profile}"] if self.profile is not None else []
        swept += [f"kill_after={EVERY_STEP}"] if self.killed else []
        return "".join(f"[{part}]" for part in (self.variant, ",".join(swept), self.table) if part)


def picks(top: Section) -> list[Pick]:
    """All cases of a file, in order. Raises ``ScriptError``."""
    found: list[Pick] = []
    tables = _tables(top.section("run"), KINDS)
    sweep = top.section("sweep")
    gaps: Sequence[Any] = sweep.take("gap_ms", list, [None])
    profiles: Sequence[Any] = sweep.take("profile", list, [None])
    kills = (False, True) if sweep.choice("kill_after", ("", EVERY_STEP), "") else (False,)
    if not all(gap is None or (isinstance(gap, int) and gap >= 0) for gap in gaps):
        raise sweep.wrong("gap_ms", gaps, "give a list of whole numbers of ms")
    if not all(profile is None or isinstance(profile, str) for profile in profiles):
        raise sweep.wrong("profile", profiles, "give a list of profiles by name")
    for key, values in (("gap_ms", gaps), ("profile", profiles)):
        if not values:
            raise sweep.wrong(key, [], "no case would be left: give one value or more, or leave it out")
    sweep.done()
    for name, variant in [("", None), *variants(top).items()]:
        kinds = tables if variant is None else _tables(variant, tables)
        for table, gap, profile, killed in itertools.product(kinds, gaps, profiles, kills):
            found.append(Pick(name, table, gap, profile, killed))
    return found


def variants(top: Section) -> dict[str, Section]:
    """The variants of a file by name. Raises ``ScriptError`` for a name given twice."""
    named: dict[str, Section] = {}
    for section in top.sections("variant"):
        name = section.text("name")
        if not name or name in named:
            raise section.wrong("name", name, "give each variant a name of its own")
        named[name] = section
    return named


def _tables(section: Section, default: Sequence[Kind]) -> list[Kind]:
    given = section.texts("tables", tuple(default) if section.name.startswith("variant") else ("shoe",))
    kinds = [kind for kind in KINDS if kind in given]
    if not kinds or len(kinds) != len(given):
        raise section.wrong("tables", list(given), f"this rig has tables of the kinds {', '.join(KINDS)}")
    return kinds


def of(top: Section, pick: Pick) -> Section:
    """The scenario as this case plays it. Raises ``ScriptError``."""
    named = variants(top)
    for key in ("step", "expect", "never"):
        top.sections(key)
    for key in ("pace", "run"):
        top.section(key)
    if pick.variant and pick.variant not in named:
        raise top.wrong("variant", pick.variant, f"there are {', '.join(named) or 'none'}")
    data: dict[str, Any] = copy.deepcopy({k: v for k, v in top.data.items() if k not in ("variant", "sweep")})
    lines = dict(top.lines)
    if pick.variant:
        _apply(named[pick.variant], data, lines)
    if pick.gap_ms is not None:
        data.setdefault("pace", {})["gap_ms"] = pick.gap_ms
    if pick.profile is not None:
        data.setdefault("run", {})["profile"] = pick.profile
    if pick.seed is not None:
        data.setdefault("run", {})["seed"] = pick.seed
    return Section(top.path, data, "", lines)


def _apply(variant: Section, data: dict[str, Any], lines: dict[str, int]) -> None:
    variant.text("name")
    variant.texts("tables")
    stood = {id(one): f"{key}[{at}]" for key in ("expect", "never") for at, one in enumerate(data.get(key, []))}
    for key in ("expect", "never"):
        stood |= {id(one.data): one.name for one in variant.sections(key)}
    steps: list[tuple[int | None, dict[str, Any]]] = list(enumerate(data.get("step", [])))
    stop = variant.text("stop_after", None)
    replaced = variant.take("replace", dict, {})
    for name, step in replaced.items():
        if not isinstance(step, dict) or not step:
            raise variant.wrong(f"replace.{name}", step, "write the step that takes its place: { do = .. }")
    if stop is not None:
        steps = steps[: _index(variant, "stop_after", stop, steps) + 1]
        data["close"] = False  # the hand has no end that could be closed
        _cut(data, [step["id"] for _, step in steps if "id" in step], replaced)
    for name, step in replaced.items():
        at = _index(variant, "replace", name, steps)
        steps[at] = (steps[at][0], {"id": name, **step})
    for name in variant.texts("remove"):
        del steps[_index(variant, "remove", name, steps)]
    inserts = variant.take("insert", (dict, list), [])
    for insert in [inserts] if isinstance(inserts, dict) else inserts:
        sound = isinstance(insert, dict) and set(insert) == {"after", "steps"} and isinstance(insert["steps"], list)
        if not sound or not all(isinstance(step, dict) for step in insert["steps"]):
            raise variant.wrong("insert", insert, "write { after = STEP, steps = [ { do = .. }, .. ] }")
        at = _index(variant, "insert", insert["after"], steps) + 1
        steps[at:at] = [(None, step) for step in insert["steps"]]
    _expectations(variant, data)
    for key in ("expect", "never"):
        _follow(lines, key, [stood.get(id(one), "") for one in data[key]], variant.line)
    variant.done()
    data["tolerated"] = _tolerated(variant)
    data["step"] = [step for _, step in steps]
    _relocate(lines, [number for number, _ in steps], variant.line)


def _index(variant: Section, key: str, name: str, steps: Sequence[tuple[int | None, Mapping[str, Any]]]) -> int:
    for at, (_, step) in enumerate(steps):
        if step.get("id") == name:
            return at
    known = ", ".join(str(step["id"]) for _, step in steps if "id" in step)
    raise variant.wrong(key, name, f"there is no step with this id; there are {known}")


def _expectations(variant: Section, data: dict[str, Any]) -> None:
    for key, drop in (("expect", "drop_expect"), ("never", "drop_never")):
        dropped = variant.take(drop, (str, list), [])
        kept = data.get(key, [])
        named = dropped == "all" if isinstance(dropped, str) else all(isinstance(one, str) for one in dropped)
        if not named:
            raise variant.wrong(drop, dropped, 'write "all", or a list of ids and events')
        if dropped == "all":
            kept = []
        else:
            kept = [one for one in kept if one.get("id") not in dropped and one.get("event") not in dropped]
        data[key] = [*kept, *variant.take(key, list, [])]
    final = variant.take("final", (str, dict), None)
    if isinstance(final, str) and final != "none":
        raise variant.wrong("final", final, 'write "none", or the table of what must be at the end')
    if final is not None:
        data["final"] = {} if final == "none" else final


def _cut(data: dict[str, Any], left: Sequence[str], replaced: Collection[str]) -> None:
    """Where a variant stops early, the scenario's own expectations count that belong to a step which is as it was.

    What it rules out between two steps is ruled out where both are left.
    """
    kept = [one for one in data.get("expect", []) if one.get("after") in left and one["after"] not in replaced]
    data["expect"] = [one for one in kept if not one.get("order")]
    data["never"] = [one for one in data.get("never", []) if all(name in left for name in one.get("between", ()))]


def _tolerated(variant: Section) -> list[str]:
    """Events that must never be seen in the scenario, and may be in the variant: it names none of them itself."""
    dropped = variant.take("drop_never", (str, list), [])
    named = [one.get("event") for one in variant.take("expect", list, [])]
    return [] if isinstance(dropped, str) else [event for event in dropped if event not in named]


def _follow(lines: dict[str, int], key: str, names: Sequence[str], otherwise: int | None) -> None:
    """Expectations have moved: each is found where it stood, or where the variant does."""
    before = dict(lines)
    for name in [name for name in lines if name.startswith(f"{key}[")]:
        del lines[name]
    for now, stood in enumerate(names):
        for name, line in before.items():
            if stood and (name == stood or name.startswith(f"{stood}.")):
                lines[f"{key}[{now}]{name.removeprefix(stood)}"] = line
        if otherwise is not None:
            lines.setdefault(f"{key}[{now}]", otherwise)


def _relocate(lines: dict[str, int], numbers: Sequence[int | None], inserted: int | None) -> None:
    """Steps have moved: find their lines again. What was inserted stands where the variant does."""
    before = {key: line for key, line in lines.items() if key.startswith("step[")}
    for key in before:
        del lines[key]
    for now, number in enumerate(numbers):
        if number is None:
            if inserted is not None:
                lines[f"step[{now}]"] = inserted
            continue
        head = f"step[{number}]"
        for key, line in before.items():
            if key == head or key.startswith(f"{head}."):
                lines[f"step[{now}]{key.removeprefix(head)}"] = line
