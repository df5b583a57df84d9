"""The scenario engine: what it reads, what it refuses, and that each of its checks can fail."""

from collections.abc import Callable
from pathlib import Path

import pytest

from simulators.errors import ScriptError
from simulators.invariants import after_final, broken, unfinished
from simulators.rehearse import Ask, Found, main, play
from simulators.scripts import scenario
from simulators.scripts.acts import Attest, Declare, Muck, Slide
from simulators.scripts.matching import differences, matches
from simulators.seen import Seen
from simulators.verdict import Case, Exit

HERE = Path(__file__).parent / "scenarios"
HAND = (HERE / "whole-hand.toml").read_text(encoding="utf-8")


@pytest.fixture
def rehearse(tmp_path: Path) -> Callable[[str], Case]:
    """Play the whole hand with something in its text changed."""

    def run(text: str) -> Case:
        path = tmp_path / "case.toml"
        path.write_text(text, encoding="utf-8")
        return play(Found(path, "case"), Ask("virtual"))

    return run


def changed(old: str, new: str) -> str:
    assert HAND.count(old) >= 1, old
    return HAND.replace(old, new, 1)


# ------------------------------------------------------------------ it passes


@pytest.mark.parametrize("name", ["whole-hand", "side-pot", "premature-flop", "shoe-unplugged", "daemon-killed"])
def test_shipped_scenarios_pass_through_virtual_devices(name: str) -> None:
    case = play(Found(HERE / f"{name}.toml", name), Ask("virtual"))
    assert case.outcome == "passed", case.lines


@pytest.mark.parametrize("name", ["whole-hand", "side-pot", "premature-flop"])
def test_scenarios_without_devices_pass_through_facts(name: str) -> None:
    case = play(Found(HERE / f"{name}.toml", name), Ask("facts"))
    assert case.outcome == "passed", case.lines


@pytest.mark.wires
@pytest.mark.parametrize(
    "name",
    ["shoe-unplugged", *(pytest.param(name, marks=pytest.mark.slow) for name in ("broker-stopped", "daemon-killed"))],
)
@pytest.mark.ci
def test_accidents_over_wires_leave_the_hand_right_and_nothing_lost(name: str) -> None:
    case = play(Found(HERE / f"{name}.toml", name), Ask("wires"))
    assert case.outcome == "passed", case.lines


def test_what_a_rig_cannot_do_is_skipped_with_the_reason() -> None:
    case = play(Found(HERE / "broker-stopped.toml", "broker-stopped"), Ask("virtual"))
    assert case.outcome == "skipped"
    assert "through wires" in case.lines[0]


def test_what_a_scenario_needs_is_skipped_where_it_is_missing(rehearse: Callable[[str], Case]) -> None:
    case = rehearse(changed("seed = 7", 'seed = 7\nneeds = ["broker"]'))
    assert (case.outcome, case.lines) == ("skipped", ["broker: virtual has not got it: rehearse through wires"])


def test_noise_on_the_wire_costs_no_card(rehearse: Callable[[str], Case]) -> None:
    noise = '[[step]]\nid = "noise"\ndo = "link.noise"\ndevice = "shoe0"\nms = 300\nrate = 10\n\n[[step]]\nid = "raise"'
    fault = '[[expect]]\nevent = "device.fault"\nmatch = { device = "shoe0", cause = "noise" }\n\n[final]'
    text = changed('[[step]]\nid = "raise"', noise).replace("[final]", fault)
    case = rehearse(text)
    assert case.outcome == "passed", case.lines


def test_the_same_seed_gives_the_same_events(tmp_path: Path) -> None:
    ledgers = [tmp_path / "one", tmp_path / "two"]
    for ledger in ledgers:
        code = main(["--through", "virtual", "--ledger", str(ledger), str(HERE / "whole-hand.toml")])
        assert code == Exit.PASSED
    first, second = (events(ledger) for ledger in ledgers)
    assert len(first) > 40
    assert first == second


def events(ledger: Path) -> list[bytes]:
    """The events of a ledger; signatures differ, because each run makes keys of its own."""
    from simulators.through.wires import bodies_after

    return [body.partition(b'"data":')[2] for body in bodies_after(ledger, 0) if b'"ledger.signed"' not in body]


# ------------------------------------------------------------------- it can fail


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("min_next = 5000", "min_next = 6000", "nearest: min_next: expected 6000, found 5000"),
        ('street = "flop", cards = ["Kd"', 'street = "flop", cards = ["Qd"', "never seen: street.opened"),
        ('after = "raise"\nwithin_ms = 1500', 'after = "deal"\nwithin_ms = 1', "came after"),
        ("count = 1", "count = 2", "expected 2 x award.computed"),
        ('order = ["tabled3", "tabled1"]', 'order = ["tabled1", "tabled3"]', "order: tabled3 came before tabled1"),
        ('event = "action.refused"', 'event = "hand.tabled"', "must never be seen, and was: hand.tabled"),
        ('between = ["raise", "fold2"]', 'between = ["raise", "call3"]', "must never be seen, and was: action.taken"),
        ("1 = 16500", "1 = 16501", "final.stacks: seat 1 has 16500, expected 16501"),
        ("rake = 0", "rake = 100", "final.rake: 0, expected 100"),
        ('sealed = ["9c"', 'sealed = ["Ah"', "final.sealed: card.opened shows Ah"),
        ("incidents_open = 0", "incidents_open = 1", "final.incidents_open: 0, expected 1"),
    ],
)
def test_a_wrong_expectation_fails_the_case(
    rehearse: Callable[[str], Case], old: str, new: str, complaint: str
) -> None:
    case = rehearse(changed(old, new))
    assert case.outcome == "failed"
    assert any(complaint in line for line in case.lines), case.lines


def test_a_forbidden_event_outside_its_span_is_no_fault(rehearse: Callable[[str], Case]) -> None:
    case = rehearse(changed("match = { seat = 2 }\nbetween", "match = { seat = 3 }\nbetween"))
    assert case.outcome == "passed", case.lines


def test_an_incident_nobody_expects_fails_the_case(rehearse: Callable[[str], Case]) -> None:
    pulled = (HERE / "shoe-unplugged.toml").read_text(encoding="utf-8")
    begin = pulled.index('[[expect]]\nevent = "incident.opened"')
    end = pulled.index("[[expect]]", begin + 1)
    case = rehearse(pulled[:begin] + pulled[end:])
    assert case.outcome == "failed"
    assert any(line.startswith("unexpected incident.opened: code=I-33") for line in case.lines)


def test_a_refused_key_is_seen(rehearse: Callable[[str], Case]) -> None:
    case = rehearse(changed("number = 3000", "number = 1500"))
    assert case.outcome == "failed"
    assert any("must never be seen, and was: action.refused" in line for line in case.lines)


# ------------------------------------------------------------- it refuses


@pytest.mark.parametrize(
    ("old", "new", "field", "remedy"),
    [
        ("schema = 1", "schema = 2", "schema", "schema 1"),
        ('kind = "raise"', 'kind = "rise"', "step[1].kind", "did you mean 'raise'"),
        ("number = 3000", "nummer = 3000", "step[1].nummer", "did you mean 'number'"),
        ("seat = 1\nkind", "seat = 7\nkind", "step[1].seat", "seats in play: 1, 2, 3"),
        ('top = ["9c", "Ks"', 'top = ["9c", "9c"', "deck.top", "twice"),
        ('top = ["9c"', 'top = ["1c"', "deck.top", "rank 2-9TJQKA"),
        ("chips = { 1000 = 2 }", "chips = { 250 = 2 }", "step[3].chips", "100"),
        ('after = "raise"', 'after = "rise"', "expect[0].after", "there is no such id"),
        ('between = ["raise", "fold2"]', 'between = ["fold2", "raise"]', "never[0].between", "must come after"),
        ("button = 1", "button = 9", "start.button", "1, 2, 3"),
        ('profile = "rs_holdem"', 'profile = "rs_holdum"', "run.profile", "rs_holdem"),
        ('tables = ["shoe"]', 'tables = ["pit"]', "run.tables", "shoe, rfid"),
        ('clock = "x10"', 'clock = "fast"', "run.clock", "real"),
        ("number = 3000", "number = 3100", "step[1].number", "500"),
        ("[final]", "[final]\nlatency = 3", "final.latency", "a table or a list"),
        ("[final]", '[final]\nlatency = { from = "chips.put", to = "action.taken" }', "final.latency", "p50_ms"),
        ("[final]", "[final]\ntray = { delta = 1, 500 = 2 }", "final.tray", "delta = -4500"),
        ("[final]", '[final]\nstate = "asleep"', "final.state", "closed, open_between_hands"),
        ("[deck]", '[sweep]\nkill_after = "never"\n[deck]', "sweep.kill_after", "every_step"),
    ],
)
def test_what_is_wrong_is_refused_with_file_line_field_and_remedy(
    tmp_path: Path, old: str, new: str, field: str, remedy: str
) -> None:
    path = tmp_path / "case.toml"
    path.write_text(changed(old, new), encoding="utf-8")
    with pytest.raises(ScriptError) as refused:
        scenario.load(path)
    assert refused.value.field == field
    assert remedy in str(refused.value)
    assert refused.value.line
    assert str(refused.value).startswith(f"{path}:{refused.value.line}: ")


def test_a_refused_scenario_is_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "case.toml"
    path.write_text(changed('do = "card.turn"', 'do = "card.burn"'), encoding="utf-8")
    assert main([str(path)]) == Exit.SCRIPT
    assert "use one of" in capsys.readouterr().out


# -------------------------------------------------------------------- its parts


def test_chips_become_the_keys_a_table_without_bet_sensors_needs() -> None:
    script = scenario.load(HERE / "whole-hand.toml")
    acts = {step.id: step.acts for step in script.steps}
    assert [type(act) for act in acts["deal"]] == [Attest] + [Slide] * 6
    assert acts["raise"] == (Declare("raise", 1, 3000, name_seat=True),)
    assert acts["fold2"] == (Muck(2),)
    assert acts["call3"][0] == Declare("call", 3, None, name_seat=True)


def test_chips_that_fulfil_a_declaration_press_nothing_more(tmp_path: Path) -> None:
    path = tmp_path / "case.toml"
    chips = '[[step]]\nid = "chips"\ndo = "chips.put"\nseat = 1\nchips = { 1000 = 3 }\n\n[[step]]\nid = "fold2"'
    path.write_text(changed('[[step]]\nid = "fold2"', chips), encoding="utf-8")
    step = next(step for step in scenario.load(path).steps if step.id == "chips")
    assert not any(isinstance(act, Declare) for act in step.acts)


@pytest.mark.parametrize(
    ("wanted", "found", "good"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": 1}, {"a": 2}, False),
        ({"a": True}, {"a": 1}, False),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2, "c": 3}]}, True),
        ({"a": [1]}, {"a": [1, 2]}, False),
        ({"a": {"has": 2}}, {"a": [1, 2]}, True),
        ({"a": {"has": {"b": 1}}}, {"a": [{"b": 1, "c": 2}]}, True),
        ({"a": {"has": 3}}, {"a": [1, 2]}, False),
        ({"a": {"size": 0}}, {"a": []}, True),
        ({"a": {"min": 2, "max": 4}}, {"a": 5}, False),
        ({"a": {"any": [1, 2]}}, {"a": 2}, True),
        ({"a": {"absent": True}}, {}, True),
        ({"a": {"absent": True}}, {"a": None}, False),
        ({"a": {"absent": False}}, {"a": None}, True),
        ({"a": None}, {}, False),
    ],
)
def test_matching(wanted: object, found: object, good: bool) -> None:
    assert matches(wanted, found) is good
    assert bool(differences(wanted, found)) is not good


def event(kind: str, number: int = 1, **data: object) -> Seen:
    return Seen(number, "play", kind, {"hand": "h-1", **data})


def test_nothing_follows_the_end_of_a_hand_but_corrections() -> None:
    assert after_final([event("hand.final"), event("hand.corrected")]) == []
    assert after_final([event("hand.final"), event("action.taken")]) == ["action.taken of h-1 after its hand.final"]


def test_every_hand_and_incident_has_an_end() -> None:
    assert unfinished([event("hand.started"), event("hand.final")]) == []
    opened = event("incident.opened", incident="i-1", code="I-4")
    assert unfinished([event("hand.started"), opened]) == [
        "h-1 was started and has no end",
        "code=I-4 incident=i-1 was never closed",
    ]


def body(sequence: int, prev: str, *, test: str = "true", data: str = "{}") -> bytes:
    return (
        f'{{"type":"x.y","id":"l/play/{sequence}","source":"/felt/rig/t01/play","ledger":"l",'
        f'"sequence":"{sequence:016d}","test":{test},"prev":"{prev}","data":{data}}}'
    ).encode()


def test_streams_are_whole_chained_and_never_change() -> None:
    from controller.contract.integrity import GENESIS, digest

    first = body(1, GENESIS)
    second = body(2, digest(first))
    third = body(3, digest(second))
    assert broken([first, second, third, second]) == []
    assert broken([second, third], whole=False) == []
    assert "1 is missing" in broken([second, third])[0]
    assert "2 is missing" in broken([first, third])[0]
    assert "different bytes" in broken([first, body(1, GENESIS, data='{"a":1}')])[0]
    assert "prev is not the hash" in broken([first, body(2, GENESIS)])[0]
    assert "test flag" in broken([body(1, GENESIS, test="false")])[0]
