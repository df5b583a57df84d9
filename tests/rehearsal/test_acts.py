"""Acts at the same time and again, and odd ones: swapped cards and plugs, doubled and silent tags, a full disk."""

import os
from pathlib import Path

import pytest

from simulators import runnable
from simulators.errors import ScriptError
from simulators.expand import expanded
from simulators.judge import MS
from simulators.plan import of_scenario
from simulators.playing import ScenarioRun
from simulators.rehearse import Ask, Found, play
from simulators.scripts import scenario
from simulators.scripts.acts import (
    CloneTags,
    DeviceAct,
    MoveChips,
    Prompt,
    Rule,
    SwapCards,
    SystemAct,
    Unreadable,
    Unsensed,
)
from simulators.scripts.sequence import groups
from simulators.scripts.variants import Pick
from simulators.through.moments import Then, together
from simulators.through.stage import Journal
from simulators.through.virtual import VirtualStage
from simulators.verdict import Case, Exit

BOTH = (Path(__file__).parent / "scenarios" / "both-tables.toml").read_text(encoding="utf-8")
BASE = BOTH[: BOTH.index("[[variant]]")]


def written(folder: Path, *steps: str, after: str = "deal", more: str = "") -> Path:
    path = folder / "case.toml"
    inserted = f'insert = {{ after = "{after}", steps = [ {", ".join(f"{{ {step} }}" for step in steps)} ] }}\n'
    path.write_text(f'{BASE}\n[[variant]]\nname = "v"\n{inserted}{more}', encoding="utf-8")
    return path


def played(path: Path, through: str = "virtual", table: str = "rfid") -> Case:
    pick = Pick("v", "rfid" if table == "rfid" else "shoe")
    return play(Found(path, "case", pick), Ask(through))


def acts(path: Path, at: int = 3, table: str = "rfid") -> tuple[object, ...]:
    return scenario.load(path, Pick("v", "rfid" if table == "rfid" else "shoe")).steps[at].acts


# ---------------------------------------------------------------- when


def test_rows_of_moments_are_one_in_the_order_of_time() -> None:
    one = [Then(100, None), Then(100, None)]
    other = [Then(0, None), Then(120, None)]
    assert [(at, row) for at, row, _ in together([(0, one), (50, other)])] == [(50, 1), (100, 0), (170, 1), (200, 0)]


BLINDS_AT_ONCE = BASE.replace('id = "big"', 'id = "big"\nwith = "small"\noffset_ms = 150')


def test_two_players_act_at_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "case.toml"
    path.write_text(BLINDS_AT_ONCE, encoding="utf-8")
    script = scenario.load(path, Pick("", "rfid"))
    assert next([step.id for step in group] for group in groups(script.steps)) == ["small", "big"]
    plan, case = of_scenario(script), Case("case", "passed")
    journal = Journal(tmp_path / "ledger", plan.seed)
    try:
        run = ScenarioRun(script, plan, VirtualStage(plan, journal))
        run.play(case)
    finally:
        journal.close()
    assert case.lines == []
    small, big = run.performed["small"], run.performed["big"]
    assert big.began == small.began + 150 * MS
    assert big.began < small.ended < big.ended
    assert big.planned == big.began


@pytest.mark.parametrize(
    ("steps", "field", "remedy"),
    [
        (['do = "pause"', 'do = "pause", with = "small"'], "with", "right before it: that is step-4"),
        (['id = "a", do = "pause"', 'do = "pause", with = "a", gap_ms = 5'], "with", "one of gap_ms"),
        (['do = "pause", offset_ms = 5'], "offset_ms", "goes with"),
        (['do = "pause", at_ms = 9000', 'do = "pause", at_ms = 8000'], "at_ms", "never reached"),
        (['do = "repeat", from = "later"'], "from", "small, big, deal"),
        (['do = "repeat", from = "big", times = 5000'], "times", "at most 1000"),
        (['id = "a#2", do = "pause"'], "id", "repeated"),
    ],
)
def test_a_time_that_makes_no_sense_is_refused(tmp_path: Path, steps: list[str], field: str, remedy: str) -> None:
    with pytest.raises(ScriptError) as refused:
        scenario.load(written(tmp_path, *steps), Pick("v", "rfid"))
    assert refused.value.field.endswith(f".{field}")
    assert remedy in refused.value.remedy


def test_steps_are_repeated_under_names_of_their_own(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        'id = "look", do = "card.lift", at = "seat:1", ms = 300',
        'id = "beside", do = "pause", ms = 100, with = "look"',
        'do = "repeat", from = "look", times = 2',
    )
    script = scenario.load(path, Pick("v", "rfid"))
    names = [step.id for step in script.steps[3:9]]
    assert names == ["look", "beside", "look#2", "beside#2", "look#3", "beside#3"]
    assert script.steps[6].beside == "look#2"
    case = played(path)
    assert (case.outcome, case.lines) == ("passed", [])


# ---------------------------------------------------------------- what


@pytest.mark.parametrize(
    ("step", "act", "incident"),
    [
        ('do = "card.swap", from = "seat:1", to = "seat:2"', SwapCards("seat:1", "seat:2", 1), "I-14"),
        ('do = "tag.clone", at = "seat:1", to = "muck", ms = 1500', CloneTags("seat:1", "muck", 1500, 1), ""),
        (
            'do = "chips.unreadable", at = "stack:1", chips = { 1000 = 1 }, ms = 3000',
            Unreadable("stack:1", {1000: 1}, 3000),
            "",
        ),
        ('do = "chips.unreadable", at = "stack:1", chips = { 1000 = 1 }', Unreadable("stack:1", {1000: 1}), "I-22"),
        ('do = "device.swap", device = "stacks0"', DeviceAct("swap", "stacks0"), "I-33"),
        (
            'do = "device.swap", device = "cards0", for = "bets0"',
            DeviceAct("swap", "cards0", {"other": "bets0"}),
            "I-33",
        ),
        ('do = "disk.fill", ms = 3000', SystemAct("disk.fill", 32_000), ""),
        ('do = "say", text = "look at seat 3"', Prompt("look at seat 3"), ""),
    ],
)
def test_odd_acts_bring_what_they_must(tmp_path: Path, step: str, act: object, incident: str) -> None:
    path = written(tmp_path, step)
    assert acts(path)[0] == act
    case = played(path)
    assert bool(case.incidents[incident]) if incident else not case.incidents
    assert (case.outcome == "passed") is not bool(incident)
    shoe = played(path, table="shoe")
    assert shoe.outcome == "wrong" if "stacks0" in step or "cards0" in step else shoe.outcome == "passed", shoe.lines


def test_a_full_disk_lets_no_hand_begin(tmp_path: Path) -> None:
    path = written(tmp_path, 'do = "disk.fill"', more='expect = [ { event = "ledger.filling", count = 1 } ]\n')
    text = path.read_text(encoding="utf-8")
    assert played(path).outcome == "passed"
    before = BASE.replace('[[step]]\nid = "small"', '[[step]]\ndo = "disk.fill"\n[[step]]\nid = "small"', 1)
    path.write_text(text.replace(BASE, before).replace('after = "deal"', 'after = "small"'), encoding="utf-8")
    case = played(path)
    assert case.outcome == "failed"
    assert case.hands == 0


def test_a_swapped_pair_is_found_by_who_they_are_and_plays_on_when_it_is_put_right(tmp_path: Path) -> None:
    swap = 'do = "device.swap", device = "stacks0", for = "bets0"'
    more = (
        'drop_never = ["incident.opened", "device.fault"]\nexpect = [ { event = "device.lost", count = 2 }, '
        '{ event = "device.fault", match = { cause = "protocol" }, count = 2 } ]\n'
    )
    case = played(written(tmp_path, swap, 'do = "pause", ms = 4000', swap, 'do = "pause", ms = 4000', more=more))
    assert (case.outcome, case.lines) == ("passed", [])


@pytest.mark.parametrize("table", ["rfid", "shoe"])
def test_another_deck_is_loaded(tmp_path: Path, table: str) -> None:
    order = next(line for line in BASE.splitlines() if line.startswith("top = "))
    path = tmp_path / "case.toml"
    load = f'[[step]]\ndo = "deck.load"\n{order}\n\n[[step]]\nid = "small"'
    text = BASE.replace(order, 'top = ["2s"]').replace('[[step]]\nid = "small"', load, 1)
    path.write_text(text, encoding="utf-8")
    pick = Pick("", "rfid" if table == "rfid" else "shoe")
    first = scenario.load(path, pick).steps[0].acts[0]
    assert first == Unsensed("deck.load") if table == "rfid" else isinstance(first, DeviceAct)
    case = play(Found(path, "case", pick), Ask("virtual"))
    assert (case.outcome, case.lines) == ("passed", [])


def test_chips_go_in_several_movements_wherever_they_go(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        'do = "chips.move", from = "tray", to = "stack:1", chips = { 500 = 2 }, movements = 2, pause_ms = 300',
        'do = "chips.move", from = "stack:1", to = "tray", chips = { 500 = 2 }',
    )
    assert acts(path)[0] == MoveChips("tray", "stack:1", {500: 2}, 2, 300)
    with pytest.raises(ScriptError, match="cannot be moved in so many"):
        scenario.load(
            written(tmp_path, 'do = "chips.move", from = "tray", to = "stack:1", chips = { 500 = 1 }, movements = 2'),
            Pick("v", "shoe"),
        )


def test_cards_are_dealt_in_packets(tmp_path: Path) -> None:
    path = tmp_path / "case.toml"
    path.write_text(BASE.replace('pattern = "one_by_one"', 'pattern = "packets"'), encoding="utf-8")
    deal = next(step for step in scenario.load(path, Pick("", "rfid")).steps if step.id == "deal")
    slides = [act.seat for act in deal.acts if hasattr(act, "seat")]
    assert slides == [1, 1, 2, 2, 3, 3, 4, 4]


@pytest.mark.parametrize(
    ("step", "field"),
    [
        ('do = "tag.flicker", at = "bet:9", off_ms = 100', "at"),
        ('do = "card.lift", at = "seat:7", ms = 100', "at"),
        ('do = "deck.second", at = "bord", ms = 100', "at"),
        ('do = "card.move", from = "seat:9", to = "board"', "from"),
        ('do = "card.move", from = "board", to = "seat:9"', "to"),
        ('do = "chips.move", from = "tray", to = "stack:9", chips = { 500 = 1 }', "to"),
        ('do = "chips.move", moves = [ { from = "bank", to = "tray", chips = { 500 = 1 } } ]', "from"),
        ('do = "card.swap", from = "seat:1", to = "seat:9"', "to"),
        ('do = "tag.clone", at = "seat:1", to = "box:1:ante", ms = 5', "to"),
        ('do = "chips.unreadable", at = "stack:11", chips = { 500 = 1 }', "at"),
        ('do = "chips.put", seat = 9, chips = { 500 = 1 }', "seat"),
    ],
)
@pytest.mark.parametrize("table", ["rfid", "shoe"])
def test_a_place_that_the_table_has_not_is_refused(tmp_path: Path, step: str, field: str, table: str) -> None:
    with pytest.raises(ScriptError) as refused:
        scenario.load(written(tmp_path, step), Pick("v", "rfid" if table == "rfid" else "shoe"))
    assert refused.value.field.endswith(f".{field}")
    assert refused.value.remedy


@pytest.mark.parametrize(
    "more",
    [
        'expect = [ { event = "incident.oponed" } ]\n',
        'never = [ { event = "incident.oponed" } ]\n',
        'final = { latency = { from = "chips.put", to = "action.took", p50_ms = 5 } }\n',
    ],
)
def test_an_event_that_no_table_says_is_refused(tmp_path: Path, more: str) -> None:
    with pytest.raises(ScriptError, match=r"no table says this.*did you mean"):
        scenario.load(written(tmp_path, 'do = "pause"', more=more), Pick("v", "rfid"))
    with pytest.raises(ScriptError, match="no table says this"):
        scenario.load(written(tmp_path, 'do = "pause", when = { event = "hand.began" }'), Pick("v", "rfid"))


def test_a_ruling_may_need_another_person_and_more_words(tmp_path: Path) -> None:
    ruling = (
        'do = "rule", code = "I-31", ruling = "accept", who = "s-03", signatures = ["s-02"], args = { card = "As" }'
    )
    assert acts(written(tmp_path, ruling))[0] == Rule(
        "I-31", "accept", "s-03", "chief_inspector", "as the scenario says", {"card": "As", "with": "s-02"}
    )
    for signatures, says in (('["s-03"]', "besides s-03"), ('["s-99"]', "nobody in")):
        with pytest.raises(ScriptError, match=says):
            acts(written(tmp_path, ruling.replace('["s-02"]', signatures)))


# ---------------------------------------------------------------- where


RIG = """
schema = 1
kind = "wire"
[dut]
config = "table.toml"
broker = "mqtt://127.0.0.1:1883"
[devices.keys0]
as = "keypad"
port = "usb:1-1"
"""


@pytest.mark.parametrize(
    ("step", "where", "says"),
    [
        ('do = "broker.freeze"', "virtual", "rehearse through wires"),
        ('do = "broker.freeze"', "rig", "the rig only hears its broker"),
        ('do = "disk.fill"', "rig", "dut.disk"),
        ('do = "clock.step", ms = 5', "wires", "rehearse through virtual"),
        ('do = "clock.step", ms = 5', "rig", "rehearse through virtual"),
        ('do = "power.cut"', "rig", "no relay for dut"),
        ('do = "daemon.kill"', "rig", "set dut.start"),
        ('do = "device.unplug", device = "tray0"', "rig", "no device tray0"),
        ('do = "device.unplug", device = "tray0"', "facts", "there are no devices"),
        ('do = "pause", with = "deal"', "facts", "there are no devices"),
    ],
)
def test_what_cannot_be_done_there_is_said_before_anything_moves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], step: str, where: str, says: str
) -> None:
    path = written(tmp_path, step, more='tables = ["shoe"]\n')
    rig = tmp_path / "rig.toml"
    rig.write_text(RIG, encoding="utf-8")
    assert runnable.main([str(path)]) == Exit.PASSED
    told = ["--rig", str(rig)] if where == "rig" else ["--through", where]
    assert runnable.main([str(path), *told]) == Exit.SCRIPT
    said = capsys.readouterr().err
    assert says in said
    assert "case.toml:" in said
    if where != "rig":
        case = played(path, where, table="shoe")
        assert case.outcome == "skipped"
        assert says in case.lines[0]


def test_steps_that_the_time_allowed_does_not_reach_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, 'do = "pause", ms = 1300000')
    assert runnable.main([str(path), "--through", "virtual"]) == Exit.PASSED
    assert runnable.main([str(path), "--through", "wires"]) == Exit.SCRIPT
    assert "run.timeout_s = 240: its last step is never reached" in capsys.readouterr().err


def test_what_will_be_done_at_the_same_time_is_told_in_the_order_of_time(tmp_path: Path) -> None:
    path = tmp_path / "case.toml"
    path.write_text(BLINDS_AT_ONCE, encoding="utf-8")
    told = expanded(scenario.load(path, Pick("", "rfid")))
    times = [int(line.split()[0]) for line in told]
    assert times == sorted(times)
    steps = [line.split()[1] for line in told]
    assert times[steps.index("big:")] - times[steps.index("small:")] == 150
    assert "big:" in steps[: len(steps) - steps[::-1].index("small:")], "both go on at the same time"


def test_a_scenario_of_the_fake_clock_is_not_played_with_processes(tmp_path: Path) -> None:
    path = tmp_path / "case.toml"
    path.write_text(BASE.replace('clock = "x5"', 'clock = "virtual"'), encoding="utf-8")
    assert runnable.main([str(path), "--through", "virtual"]) == Exit.PASSED
    assert runnable.main([str(path), "--through", "wires"]) == Exit.SCRIPT


# ---------------------------------------------------------------- over wires


@pytest.mark.wires
@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_broker_that_hangs_loses_nothing(tmp_path: Path) -> None:
    """It is stopped with its connections open, as by a disk that does not answer, and goes on."""
    steps = ('do = "broker.freeze"', 'id = "later", do = "pause", ms = 20000', 'do = "broker.start"')
    case = played(written(tmp_path, *steps), "wires")
    assert (case.outcome, case.lines) == ("passed", [])


@pytest.mark.wires
@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk to fill")
def test_a_disk_that_fills_up_over_wires(tmp_path: Path) -> None:
    more = 'expect = [ { event = "ledger.filling", match = { new_hands_refused = true }, count = 1 } ]\n'
    case = played(written(tmp_path, 'do = "disk.fill"', more=more), "wires")
    assert (case.outcome, case.lines) == ("passed", [])


@pytest.mark.wires
@pytest.mark.slow
@pytest.mark.timeout(240)
def test_swapped_plugs_and_acts_at_the_same_time_over_wires(tmp_path: Path) -> None:
    swap = 'do = "device.swap", device = "stacks0", for = "bets0"'
    more = 'drop_never = ["incident.opened", "device.fault"]\nexpect = [ { event = "device.lost" } ]\n'
    path = written(tmp_path, swap, 'do = "pause", ms = 15000', swap, 'do = "pause", ms = 30000', more=more)
    path.write_text(path.read_text(encoding="utf-8").replace(BASE, BLINDS_AT_ONCE), encoding="utf-8")
    case = played(path, "wires")
    assert (case.outcome, case.lines) == ("passed", [])
