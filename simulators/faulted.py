"""Hands with a seeded fault: none may be silently wrong, and holding everything would be a failure too.

Each hand that is struck gets one fault of one kind on one device, at one moment; the dealer does what people do: waits
for a device that is dark, and plays on. What is lost on a link is what its protocol must make good, so a hold need not
have been, unless the fault has hidden so much that nobody could tell from before and after what came first.
"""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from controller.core.rules.breaches import ids
from simulators import invariants, playing, verdict
from simulators.errors import ScriptError
from simulators.faults import CHANGES, KINDS, OF_CLOCKS
from simulators.judge import MS
from simulators.plan import Plan
from simulators.scripts.acts import (
    Act,
    Attest,
    Declare,
    DeviceAct,
    Finish,
    Muck,
    Push,
    Return,
    Script,
    Show,
    Slide,
    Stake,
    Sweep,
)
from simulators.seen import Seen
from simulators.through.stage import Stage
from simulators.verdict import Case

HELD_PCT = 10
"""Of a hundred struck hands so many may be held that need not be (scenarios.md section 6)."""
OF_KEYS = ("delay", "deaf", "unplug")
"""A key's report is one USB packet: the bus itself checks and repeats it, so it comes whole, late or not at all."""
SHORT_MS, LONG_MS = 300, 3000
NEEDED, NEEDLESS = "held and needed", "held and not needed"
FATES = ("right", NEEDED, NEEDLESS, "waits", "silently wrong")
HIDES = 2
"""One act that a device has missed shows in what lies there afterwards; the order of two does not."""
TOUCHES: Mapping[str, tuple[type, ...]] = {
    "shoe": (Slide,),
    "keys": (Attest, Declare, Show, Muck, Finish),
    "cards": (Slide, Muck, Finish),
    "bets": (Stake, Sweep, Return, Push),
    "stacks": (Stake, Return, Push),
}
"""Which acts a device would see, by the beginning of its name."""


@dataclass(frozen=True, slots=True)
class Faults:
    """``--faults seed=N,rate=R``: which hands are struck (``rate`` from 0 to 1), and by what."""

    seed: int
    rate: float = 1.0
    kinds: tuple[str, ...] = KINDS

    def __str__(self) -> str:
        kinds = "" if self.kinds == KINDS else f",kinds={'+'.join(self.kinds)}"
        return f"seed={self.seed},rate={self.rate:g}{kinds}"

    @classmethod
    def read(cls, text: str) -> Self:
        """From the command line; also ``kinds=drop+flip``. Raises ``ScriptError``."""
        try:
            given = dict(part.split("=", 1) for part in text.split(","))
            made = cls(
                int(given.pop("seed")),
                float(given.pop("rate", 1)),
                tuple(given.pop("kinds", "+".join(KINDS)).split("+")),
            )
        except (ValueError, KeyError) as error:
            raise ScriptError(
                "arguments", "--faults", text, "write seed=7,rate=0.5 or seed=7,kinds=drop+flip"
            ) from error
        if given or not 0 <= made.rate <= 1 or not set(made.kinds) <= set(KINDS):
            known = ", ".join(KINDS)
            raise ScriptError("arguments", "--faults", text, f"seed, rate from 0 to 1, kinds among {known}")
        return made


@dataclass(frozen=True, slots=True)
class Struck:
    """What strikes a hand: before which of its acts, on which device, for how long."""

    kind: str
    device: str
    act: int
    ms: int
    args: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.kind} at {self.device or 'the clock'} before act {self.act}, {self.ms} ms"


def drawn(faults: Faults, name: str, acts: int, plan: Plan, *, virtual: bool) -> Struck | None:
    """The fault of a hand, the same for the same seed and name; ``None`` for a hand that is spared."""
    dice = random.Random(f"{faults.seed}/{name}")
    if dice.random() >= faults.rate:
        return None
    kind = dice.choice([kind for kind in faults.kinds if virtual or kind not in OF_CLOCKS] or ["drop"])
    devices = [d.name for d in plan.layout.devices if d.kind != "keypad" or kind in OF_KEYS]
    device = "" if kind in OF_CLOCKS else dice.choice(devices)
    ms = dice.randint(SHORT_MS, LONG_MS)
    args: dict[str, Any] = {}
    if kind in CHANGES:
        args = {"kind": kind, "ms": ms, "rate": round(dice.uniform(0.2, 1), 2), "seed": dice.randrange(1 << 30)}
    elif kind in OF_CLOCKS:
        args = {"ms": dice.choice((-1, 1)) * dice.randint(1_000, 600_000)}
    return Struck(kind, device, dice.randrange(acts), ms, args)


def play_hand(
    script: Script, acts: Sequence[Act], departed: bool, plan: Plan, stage: Stage, case: Case, struck: Struck
) -> None:
    """Play a recorded hand with a fault in it, and say what became of it."""
    dealer = plan.dealer()
    hidden, until = 0, 0
    case.fault = struck.kind
    case.notes.append(str(struck))
    for number, act in enumerate(acts):
        stage.pause(dealer.pause())
        if number == struck.act:
            _strike(struck, stage)
            until = stage.now + round(struck.ms * MS / stage.speed)
        stage.until(lambda: not _dark(stage.seen), playing.ANSWER_MS)
        hidden += stage.now < until and isinstance(act, TOUCHES.get(struck.device.rstrip("0123456789"), ()))
        stage.perform(act)
        if isinstance(act, Attest) and plan.reads == "field":
            playing.until_attested(stage)
    stage.until(lambda: playing.told(stage, "hand.closed", "hand.voided"), playing.ANSWER_MS)
    playing.close_table(plan, stage)
    case.lines += stage.end()
    _judge(script, departed, plan, stage, case, hidden)


def _strike(struck: Struck, stage: Stage) -> None:
    match struck.kind:
        case "unplug":
            stage.perform(DeviceAct("unplug", struck.device))
            stage.pause(struck.ms)
            stage.perform(DeviceAct("plug", struck.device))
        case "reset":
            stage.perform(DeviceAct("reset", struck.device))
        case "clock":
            stage.perform(DeviceAct("clock", "", struck.args))
        case _:
            stage.perform(DeviceAct("fault", struck.device, struck.args))
            if struck.kind == "deaf" and struck.device.startswith("keys"):
                stage.pause(struck.ms)  # its lamp is out: nobody presses keys of a pad that is dead


def _dark(seen: Sequence[Seen]) -> set[str]:
    """The devices that the table calls lost."""
    lost: set[str] = set()
    for event in seen:
        if event.type == "device.lost":
            lost.add(event.data["device"])
        elif event.type == "device.up":
            lost.discard(event.data["device"])
    return lost


def _judge(script: Script, departed: bool, plan: Plan, stage: Stage, case: Case, hidden: int) -> None:
    seen = stage.seen
    verdict.count(case, seen)
    case.compared = not departed
    differences, _ = verdict.compare(script, seen, departed, flop_at_once=plan.kind == "rfid")
    named = playing.house_breaches(plan.rules) | set(ids("stack_differs", plan.rules.family)[:1])
    differences += [f"breach {code} was noted" for code in case.breaches if code not in named]
    held = [e.data["code"] for e in seen if e.type == "incident.opened" and e.data["holds"] != "none"]
    closed = any(event.type == "hand.closed" for event in seen)
    bodies = [event.body for event in seen if event.body]
    wrong = invariants.broken(bodies, whole=stage.whole) + invariants.after_final(seen)
    case.notes += [f"incident {code} held" for code in held]
    if held:
        case.fate = NEEDED if hidden >= HIDES else NEEDLESS
    elif not closed:
        case.fate = "waits"
        case.notes += differences
    elif differences:
        case.fate = "silently wrong"
        case.lines += differences
    else:
        case.fate = "right"
        wrong += invariants.unfinished(seen)
    case.lines += wrong


def struck_of(cases: Sequence[Case]) -> list[Case]:
    """The cases that a fault struck and that were played to an end."""
    return [case for case in cases if case.fault and case.fate]


def within_budget(cases: Sequence[Case]) -> bool:
    """Whether no more hands were held, or left waiting, than may be."""
    struck = struck_of(cases)
    needless = sum(case.fate in (NEEDLESS, "waits") for case in struck)
    return needless * 100 <= HELD_PCT * len(struck)


def summary(cases: Sequence[Case]) -> Iterator[str]:
    """What became of the hands that were struck, kind by kind."""
    struck = struck_of(cases)
    if not struck:
        return
    total = Counter(case.fate for case in struck)
    parts = ", ".join(f"{total[fate]} {fate}" for fate in FATES)
    needless = 100 * (total[NEEDLESS] + total["waits"]) / len(struck)
    budget = f"{needless:.1f} % held that need not be ({HELD_PCT} % allowed)"
    yield f"{len(struck)} hands were struck by a fault: {parts}; {budget}"
    for kind in KINDS:
        fates = Counter(case.fate for case in struck if case.fault == kind)
        if fates:
            yield f"  {kind:10} {fates.total():5} hands: " + ", ".join(f"{fates[f]} {f}" for f in FATES if fates[f])


def as_json(cases: Sequence[Case]) -> dict[str, Any]:
    """The same for programs."""
    struck = struck_of(cases)
    kinds = {kind: dict(Counter(case.fate for case in struck if case.fault == kind)) for kind in KINDS}
    return {
        "struck": len(struck),
        "fates": {fate: sum(case.fate == fate for case in struck) for fate in FATES},
        "kinds": {kind: fates for kind, fates in kinds.items() if fates},
        "within_budget": within_budget(cases),
    }
