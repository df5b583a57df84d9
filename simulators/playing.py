"""Plays one case on a stage: a recorded hand or a scenario, and says what became of it."""

import itertools
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from controller.core.rules.breaches import ids
from controller.core.rules.profile import Profile
from simulators import ending, golden, invariants, judge, sealed, verdict
from simulators.dealer import Dealer, keys_of
from simulators.dealer_rfid import keys_at
from simulators.errors import ProductFailure, RigError
from simulators.judge import MS, Performed
from simulators.plan import Plan
from simulators.scripts.acts import (
    Act,
    Attest,
    Check,
    CloneTags,
    DeviceAct,
    Flicker,
    LiftCards,
    OtherDeck,
    Power,
    ReplaceChips,
    Script,
    Slide,
    SwapCards,
    SystemAct,
    Unreadable,
)
from simulators.scripts.expectations import Expect
from simulators.scripts.matching import matches
from simulators.scripts.scenario import Scenario
from simulators.scripts.sequence import Step, When, groups
from simulators.seen import Seen, hand_seen, hands
from simulators.through.moments import Then, together
from simulators.through.stage import Asked, Captured, Stage
from simulators.verdict import Case

ANSWER_MS = 20_000
"""How long the table may take to close a hand or itself once everything has been done."""
KILLS = 3
"""So often a process is killed where a scenario asks for a kill after every step: a sample of the same points."""
REST_MS = 4000
SPREAD_MS = 3000
MOST_ATTEMPTS = 5


def play_hand(script: Script, acts: Sequence[Act], departed: bool, plan: Plan, stage: Stage, case: Case) -> None:
    """Perform the acts of one recorded hand, close the table, and hold what was seen against the record."""
    dealer = Dealer(plan.stakes.unit, plan.seed, plan.pace)
    for act in acts:
        stage.pause(dealer.pause())
        stage.perform(act)
        if isinstance(act, Attest) and plan.reads == "field":
            until_attested(stage)
    done_at = stage.now
    stage.until(lambda: told(stage, "hand.closed", "hand.voided"), ANSWER_MS)
    case.added_ms = _added(stage, done_at)
    close_table(plan, stage)
    ended = stage.end()
    case.changed += len(ended)
    case.lines += ended
    judge_hand(script, acts, departed, plan, stage, case)


def _added(stage: Stage, done_at: int) -> int:
    """How long the table took to close the last hand after ``done_at``, in its own ms."""
    closed = [event.at for event in stage.seen if event.type == "hand.closed"]
    return round(max(0, closed[-1] - done_at) * stage.speed / MS) if closed else 0


def until_attested(stage: Stage) -> None:
    """HAND is refused where a stack is not what is booked: its chips are looked at, and HAND is pressed again."""
    for attempt in range(1, MOST_ATTEMPTS):

        def answered(refusals: int = attempt) -> bool:
            refused = sum(event.type == "breach.noted" for event in stage.seen)
            return told(stage, "attestation.recorded") or refused >= refusals

        stage.until(answered, ANSWER_MS)
        if told(stage, "attestation.recorded"):
            return
        stage.perform(ReplaceChips())
        stage.pause(SPREAD_MS)
        stage.perform(Attest())


def judge_hand(script: Script, acts: Sequence[Act], departed: bool, plan: Plan, stage: Stage, case: Case) -> None:
    """Fill a case with what became of a recorded hand."""
    seen = stage.seen
    lines, notes = verdict.compare(script, seen, departed, flop_at_once=plan.kind == "rfid")
    verdict.count(case, seen)
    keys = keys_at if plan.kind == "rfid" else keys_of
    case.keys = sum(len(keys(act, plan.stakes.unit)) for act in acts)
    case.compared = not departed
    case.table = plan.kind
    case.lines += lines
    case.notes += notes
    case.wrong = len(lines)
    case.needless_holds = case.incidents.total()
    case.lines += [f"incident {code} was opened" for code in case.incidents]
    named = house_breaches(plan.rules) | (set(ids("stack_differs", plan.rules.family)[:1]) if plan.dead else set())
    case.needless_breaches = sum(count for code, count in case.breaches.items() if code not in named)
    case.lines += [f"breach {code} was noted" for code in case.breaches if code not in named]
    broken = always(stage)
    case.changed += len(broken)
    case.lines += broken


def house_breaches(rules: Profile) -> set[str]:
    """What a hand played elsewhere may break under these house rules, by the first id of each."""
    asked = {
        "raise_cap": rules.raise_cap is not None,
        "must_show": rules.show_all,
        "must_show_all_in": True,
        "check_raise": not rules.check_raise,
        "blind_reraise": not rules.blinds_reraise,
        "must_open": rules.open_late_rounds == "duty",
        "table_minimum": rules.open_late_rounds != "free",
        "over_pot": rules.pot_limit_rule == "amount_in",
    }
    return {ids(key, rules.family)[0] for key, yes in asked.items() if yes and ids(key, rules.family)}


def always(stage: Stage) -> list[str]:
    """The checks that are always on."""
    seen = stage.seen
    bodies = [event.body for event in seen if event.body]
    return invariants.broken(bodies, whole=stage.whole) + invariants.after_final(seen) + invariants.unfinished(seen)


class ScenarioRun:
    """One scenario on one stage. ``kills``: the daemon is killed after some of the steps and started again."""

    def __init__(
        self,
        scenario: Scenario,
        plan: Plan,
        stage: Stage,
        *,
        kills: bool = False,
        through: str = "virtual",
        most_late_ms: int | None = None,
    ) -> None:
        """``most_late_ms``: an act performed later than planned by more is the rig's fault."""
        self.through = through
        self._most_late = most_late_ms
        self.scenario = scenario
        self.plan = plan
        self.stage = stage
        self.dealer = Dealer(plan.stakes.unit, plan.seed, plan.pace)
        self.performed: dict[str, Performed] = {}
        self.lines: list[str] = []
        self.struck: list[str] = []
        """The kinds of fault that devices had so far."""
        self._answers: dict[str, None] = {}
        """What of sealed cards the daemon has answered to somebody, each once."""
        self.began = stage.now
        steps = range(1, len(scenario.steps))
        dice = random.Random(f"kills/{plan.seed}")
        self._kill_before = set(dice.sample(steps, min(KILLS, len(steps)))) if kills else set()

    def play(self, case: Case, progress: Callable[[Step], Any] | None = None) -> None:
        """Perform all steps, end the table, and judge. ``progress`` is told each step before it happens."""
        scenario, stage = self.scenario, self.stage
        deadline = time.monotonic() + scenario.run.timeout_s
        number = 0
        for group in groups(scenario.steps):
            if self._kill_before & set(range(number, number + len(group))):
                self._kill()
            number += len(group)
            if time.monotonic() > deadline:
                raise ProductFailure(f"step {group[0].id} was not reached within {scenario.run.timeout_s} s")
            if progress is not None:
                for step in group:
                    progress(step)
            self.steps(group)
            self._ask()
            drawn = [*self.dealer.drawn(), *stage.drawn()]
            case.drawn += [(group[0].id, name, ms) for name, ms in drawn]
        done_at = stage.now
        if scenario.close:
            stage.until(lambda: not hand_open(stage.seen), ANSWER_MS)
            case.added_ms = _added(stage, done_at)
            close_table(self.plan, stage)
        else:
            stage.pause(2000)
        self._ask(last=True)
        changed = stage.end()
        seen = stage.seen
        changed += always(stage) if scenario.close else invariants.after_final(seen)
        verdict.count(case, seen)
        leaked = self._leaked()
        final = [*ending.final(seen, scenario.final), *self._counted(), *self._slow(case), *leaked]
        unexpected = invariants.unexpected(seen, scenario.expects, scenario.tolerated)
        holds = sum(line.startswith("unexpected incident.opened") for line in unexpected)
        case.table, case.faulted = self.plan.kind, _faulted(scenario)
        case.needless_holds += holds
        case.needless_breaches += len(unexpected) - holds
        case.wrong += len(final) - len(leaked)
        case.leaked += len(leaked)
        case.changed += len(changed)
        keys = keys_at if self.plan.kind == "rfid" else keys_of
        case.keys += sum(len(keys(act, self.plan.stakes.unit)) for step in scenario.steps for act in step.acts)
        case.lines += self.lines
        case.shown.update(self.struck)
        case.lines += judge.judge(seen, self.performed, self._expects(), scenario.nevers, self.began)
        case.steps = [one.as_json(step, self.began) for step, one in self.performed.items()]
        case.met = judge.met(seen, self.performed, scenario.expects, self.began)
        case.lines += [*final, *unexpected, *changed]
        case.lines += golden.differences(scenario, seen, self.through)

    def _expects(self) -> list[Expect]:
        """What the scenario expects; the kills of a sweep are not its own, so their recoveries come on top."""
        extra = len(self._kill_before)
        return [
            replace(e, count=e.count + extra) if e.event == "recovery.completed" and e.count is not None else e
            for e in self.scenario.expects
        ]

    def _leaked(self) -> list[str]:
        """Where a scenario seals cards: what of them is in events, and in what its daemon has left."""
        cards, stage = self.scenario.final.sealed, self.stage
        if not cards:
            return []
        found = [*sealed.told(stage.seen, cards, self.plan.deck), *self._answers]
        if isinstance(stage, Captured):
            found += sealed.left(stage.capture.parent, cards, self.plan.deck)
        return [f"final.sealed: {line}" for line in found]

    def _ask(self, *, last: bool = False) -> None:
        """Where cards are sealed, the daemon is asked what anybody may ask it, after every step."""
        if self.scenario.final.sealed and isinstance(self.stage, Asked):
            pages = self.stage.pages(last=last)
            self._answers |= dict.fromkeys(sealed.answered(pages, self.scenario.final.sealed, self.plan.deck))

    def _slow(self, case: Case) -> list[str]:
        found = []
        for wanted in self.scenario.final.latency:
            took = ending.answers(self.stage.seen, self.scenario.steps, self.performed, wanted, self.stage.speed)
            case.answers_ms += took
            found += ending.slow(wanted, took)
        return found

    def _counted(self) -> list[str]:
        """Where the rig has counted every chip: what the table says of tray and stacks must be what lies there."""
        tokens, wanted = self.stage.tokens, self.scenario.final
        played = hands(self.stage.seen)
        found = ending.tray(self.stage.seen, wanted, self.plan.tokens, tokens, self.scenario.tray_change)
        if tokens is None or not wanted.conserved or not played:
            return found
        if tokens.total() != self.plan.tokens.total():
            found.append("final.conserved: chips have come or gone")
        for seat, stack in hand_seen(self.stage.seen, played[-1]).stacks.items():
            if (lies := tokens.worth(f"stack:{seat}")) != stack:
                found.append(f"final.conserved: seat {seat} has {stack} by the table, and {lies} lie before it")
        return found

    def _kill(self) -> None:
        """``kill -9`` while nothing moves: what is done by then is on record."""
        self.stage.pause(REST_MS)
        for what in ("daemon.kill", "daemon.start"):
            self.stage.perform(SystemAct(what))
        self.stage.pause(REST_MS)

    def steps(self, group: Sequence[Step]) -> None:
        """Perform one step, or steps that happen at the same time, when it is their time."""
        if len(group) == 1:
            self.step(group[0])
            return
        planned = self._wait_for(group[0])
        began = self.stage.now
        rows = [(step.offset_ms, itertools.chain.from_iterable(self._moments(step))) for step in group]
        performed: dict[str, Performed] = {}
        passed = 0
        for at, row, then in together(rows):
            self.stage.pause(at - passed)
            passed = at
            first = performed.get(group[row].id)
            due = None if planned is None else planned + round(group[row].offset_ms * MS / self.stage.speed)
            start = self.stage.now if first is None else first.began
            if first is None:
                self._in_time(group[row], due, start)
            if then.what is not None:
                self.stage.moment(then.what)
            performed[group[row].id] = Performed(start, self.stage.now, due)
        for step in group:  # what leaves no trace happens all the same
            at = began + round(step.offset_ms * MS / self.stage.speed)
            self.performed[step.id] = performed.get(step.id, Performed(at, at, at))
        self.stage.pause(0)

    def _moments(self, step: Step) -> Iterator[Iterable[Then]]:
        for number, act in enumerate(step.acts):
            if number and not isinstance(act, Slide):
                yield [Then(self.dealer.pause("put_ms"), None)]
            self._note(act)
            yield self.stage.moments(act)

    def _in_time(self, step: Step, planned: int | None, began: int) -> None:
        """Raises ``RigError`` for an act that is too late to prove anything about the product."""
        late = 0 if planned is None else (began - planned) // MS
        if self._most_late is not None and late > self._most_late:
            raise RigError(f"step {step.id}: began {late} ms late, clock.max_act_late_ms = {self._most_late}")

    def _note(self, act: Act) -> None:
        if isinstance(act, DeviceAct):
            self.struck.append(str(act.args.get("kind", act.what)))

    def step(self, step: Step) -> None:
        """Perform one step, when it is its time."""
        stage = self.stage
        planned = self._wait_for(step)
        began = stage.now
        self._in_time(step, planned, began)
        for number, act in enumerate(step.acts):
            if number and not isinstance(act, Slide):
                stage.pause(self.dealer.pause("put_ms"))
            if isinstance(act, Check):
                expects = [e for e in self.scenario.expects if e.after is None or e.after in self.performed]
                self.lines += judge.judge(stage.seen, self.performed, expects, (), self.began)
            stage.perform(act)
            self._note(act)
        self.performed[step.id] = Performed(began, stage.now, planned)

    def _wait_for(self, step: Step) -> int | None:
        """Wait until it is its time, and return that time; ``None`` where it waits for the table."""
        stage, when, planned = self.stage, step.when, None
        if step.at_ms is not None:
            planned = self.began + step.at_ms * MS
            stage.pause(max(0, (planned - stage.now) // MS))
        elif when is None:
            gap = self.dealer.draw("gap_ms", step.gap) if step.gap else self.dealer.pause()
            planned = stage.now + round(gap * MS / stage.speed)
            stage.pause(gap)
        else:
            # An answer counts from the step before: what an earlier hand brought is no answer.
            last = max((performed.began for performed in self.performed.values()), default=self.began)
            if not stage.until(lambda: _came(stage.seen, when, last), when.timeout_ms):
                self.lines.append(f"step {step.id}: {when.event} did not come within {when.timeout_ms} ms")
        return planned


def _faulted(scenario: Scenario) -> bool:
    """Whether the scenario makes something go wrong."""
    ours = (DeviceAct, SystemAct, Power, Flicker, LiftCards, SwapCards, CloneTags, Unreadable, OtherDeck)
    return scenario.killed or any(isinstance(act, ours) for step in scenario.steps for act in step.acts)


def close_table(plan: Plan, stage: Stage) -> None:
    """The table is closed, and the last hand becomes final."""
    stage.perform(plan.closing(stage.tokens))
    stage.until(lambda: told(stage, "table.closed"), ANSWER_MS)


def told(stage: Stage, *types: str) -> bool:
    """Whether one of these events has been seen."""
    return any(event.type in types for event in stage.seen)


def hand_open(seen: Sequence[Seen]) -> bool:
    """Whether a hand is being played."""
    for event in reversed(seen):
        if event.type in ("hand.closed", "hand.voided", "hand.started"):
            return event.type == "hand.started"
    return False


def _came(seen: Sequence[Seen], when: When, since: int) -> bool:
    """Whether the answer has come; an incident that still is open has, whatever happened since."""
    closed = {one.data.get("incident") for one in seen if one.type == "incident.closed"}
    stands = when.event == "incident.opened"
    return any(
        one.type == when.event
        and matches(when.match, one.data)
        and (one.at >= since or (stands and one.data["incident"] not in closed))
        for one in seen
    )
