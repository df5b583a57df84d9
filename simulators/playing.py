"""Plays one case on a stage: a recorded hand or a scenario, and says what became of it."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from controller.core.rules.breaches import ids
from controller.core.rules.profile import Profile
from simulators import invariants, judge, verdict
from simulators.dealer import Dealer, keys_of
from simulators.dealer_rfid import keys_at
from simulators.errors import ProductFailure
from simulators.judge import MS, Performed
from simulators.plan import Plan
from simulators.scripts.acts import Act, Attest, Check, ReplaceChips, Script, Slide
from simulators.scripts.matching import matches
from simulators.scripts.scenario import Scenario
from simulators.scripts.steps import Step
from simulators.seen import Seen
from simulators.through.stage import Stage
from simulators.verdict import Case

ANSWER_MS = 20_000
"""How long the table may take to close a hand or itself once everything has been done."""
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
    stage.until(lambda: told(stage, "hand.closed", "hand.voided"), ANSWER_MS)
    close_table(plan, stage)
    case.lines += stage.end()
    judge_hand(script, acts, departed, plan, stage, case)


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
    case.lines += lines
    case.notes += notes
    case.lines += [f"incident {code} was opened" for code in case.incidents]
    named = house_breaches(plan.rules) | (set(ids("stack_differs", plan.rules.family)[:1]) if plan.dead else set())
    case.lines += [f"breach {code} was noted" for code in case.breaches if code not in named]
    case.lines += always(stage)


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
    """One scenario on one stage."""

    def __init__(self, scenario: Scenario, plan: Plan, stage: Stage) -> None:
        self.scenario = scenario
        self.plan = plan
        self.stage = stage
        self.dealer = Dealer(plan.stakes.unit, plan.seed, plan.pace)
        self.performed: dict[str, Performed] = {}
        self.lines: list[str] = []
        self.began = stage.now

    def play(self, case: Case, progress: Callable[[Step], Any] | None = None) -> None:
        """Perform all steps, end the table, and judge. ``progress`` is told each step before it happens."""
        scenario, stage = self.scenario, self.stage
        deadline = time.monotonic() + scenario.run.timeout_s
        for step in scenario.steps:
            if time.monotonic() > deadline:
                raise ProductFailure(f"step {step.id} was not reached within {scenario.run.timeout_s} s")
            if progress is not None:
                progress(step)
            self._step(step)
        if scenario.close:
            stage.until(lambda: not hand_open(stage.seen), ANSWER_MS)
            close_table(self.plan, stage)
        else:
            stage.pause(2000)
        case.lines += stage.end()
        seen = stage.seen
        verdict.count(case, seen)
        case.lines += self.lines
        case.lines += judge.judge(seen, self.performed, scenario.expects, scenario.nevers, self.began)
        case.lines += judge.final(seen, scenario.final)
        case.lines += invariants.unexpected(seen, scenario.expects)
        case.lines += always(stage) if scenario.close else invariants.after_final(seen)

    def _step(self, step: Step) -> None:
        stage = self.stage
        self._wait_for(step)
        began = stage.now
        for number, act in enumerate(step.acts):
            if number and not isinstance(act, Slide):
                stage.pause(self.dealer.pause("put_ms"))
            if isinstance(act, Check):
                expects = [e for e in self.scenario.expects if e.after is None or e.after in self.performed]
                self.lines += judge.judge(stage.seen, self.performed, expects, (), self.began)
            stage.perform(act)
        self.performed[step.id] = Performed(began, stage.now)

    def _wait_for(self, step: Step) -> None:
        stage, when = self.stage, step.when
        if step.at_ms is not None:
            stage.pause(max(0, (self.began + step.at_ms * MS - stage.now) // MS))
        elif when is None:
            stage.pause(step.gap.draw(self.dealer.dice) if step.gap else self.dealer.pause())
        else:
            # An answer counts from the step before: what an earlier hand brought is no answer.
            last = max((performed.began for performed in self.performed.values()), default=self.began)
            if not stage.until(lambda: _came(stage.seen, when.event, when.match, last), when.timeout_ms):
                self.lines.append(f"step {step.id}: {when.event} did not come within {when.timeout_ms} ms")


def close_table(plan: Plan, stage: Stage) -> None:
    """The table is closed, and the last hand becomes final."""
    stage.perform(plan.closing())
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


def _came(seen: Sequence[Seen], event: str, match: Any, since: int) -> bool:
    return any(one.at >= since and one.type == event and matches(match, one.data) for one in seen)
