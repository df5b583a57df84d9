"""Mistakes in scenario files: whatever one line says, it is played or refused by file, line, field and remedy."""

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from simulators import runnable
from simulators.errors import ScriptError
from simulators.scripts import scenario

HERE = sorted((Path(__file__).parent / "scenarios").glob("*.toml"))
VALUES = (
    *("true", "3", "-3", "0", "60", "1000000000000", "100000000000000000000", "1.5", "1979-05-27"),
    *(
        '"x"',
        '""',
        '"seat:99"',
        '"\\u0000"',
        "[]",
        "[1, 2]",
        "[[1]]",
        "[{}]",
        "{}",
        "{ a = 1 }",
        '{ "\\u00b2" = 1 }',
        '["x"]',
    ),
)
PARTS = re.compile(r'"[^"]*"|\b\d+\b|\btrue\b|\bfalse\b')
EACH = 25


def mutated(text: str, dice: random.Random) -> str:
    """The file with one value, or a part of one, changed."""
    lines = text.split("\n")
    at = dice.choice([n for n, line in enumerate(lines) if "=" in line and not line.lstrip().startswith("#")])
    key, _, old = lines[at].partition("=")
    value, parts = dice.choice(VALUES), list(PARTS.finditer(old))
    if parts and dice.random() < 0.5:
        part = dice.choice(parts)
        value = old[: part.start()] + value + old[part.end() :]
    lines[at] = f"{key}= {value}"
    return "\n".join(lines)


def read(path: Path) -> Iterator[ScriptError]:
    """What is wrong with the cases of a file."""
    try:
        for pick in scenario.cases(path):
            yield from runnable.lacks(scenario.load(path, pick), "wires")
    except ScriptError as error:
        yield error


@pytest.mark.parametrize("path", HERE, ids=lambda path: path.stem)
def test_one_changed_line_is_sound_or_refused_by_name(path: Path, tmp_path: Path) -> None:
    dice, changed = random.Random(path.stem), tmp_path / path.name
    for _ in range(EACH):
        text = mutated(path.read_text(), dice)
        changed.write_text(text)
        for error in read(changed):
            assert error.field, text
            assert error.remedy, text
            assert error.line is not None or error.field.startswith(("file", "run.", "sweep.")), text


PLAY = """
schema = 1
id = "x"
title = "x"
[run]
profile = "rs_holdem"
{run}
[start]
button = 2
{start}
[start.stacks]
2 = {{ 100 = 20, 1000 = 20 }}
3 = {{ 100 = 20, 1000 = 20 }}
[[step]]
id = "deal"
do = "cards.deal"
{step}
"""


def wrong(folder: Path, *, run: str = "", start: str = "", step: str = "") -> ScriptError:
    """The one thing that is wrong with this."""
    path = folder / "x.toml"
    path.write_text(PLAY.format(run=run, start=start, step=step))
    (error, *_) = list(read(path))
    return error


@pytest.mark.parametrize(
    ("step", "field"),
    [
        ('[[step]]\ndo = "card.slide"\nto = "board"\ncount = 60', "count"),
        ('[[step]]\ndo = "card.slide"\nto = "board"\ncount = 49', "count"),
        ("each = 77", "each"),
        ("each = 1000000000000", "each"),
        ("each = 100000000000000000000", "each"),
        ('[[variant]]\nname = "v"\ninsert = [1, 2]', "insert"),
        *((f'[[variant]]\nname = "v"\nreplace.deal = {value}', "replace") for value in ("true", "3", '"x"', "[]")),
    ],
)
def test_what_cannot_be_dealt_or_replaced_is_refused(tmp_path: Path, step: str, field: str) -> None:
    error = wrong(tmp_path, step=step)
    assert field in error.field
    assert error.line is not None
    assert error.remedy


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ('[[never]]\nevent = "hand.closed"\nmatch = { handd = "x" }', "match.handd"),
        ('[[never]]\nevent = "bet.returned"\nmatch = { cause = "stringbet" }', "match.cause"),
        ('[[expect]]\nevent = "bet.returned"\nmatch = { cause = "stringbet" }', "match.cause"),
        ('[[expect]]\nevent = "bet.returned"\ncount = 0\nmatch = { caus = "string_bet" }', "match.caus"),
        ('[[expect]]\nevent = "hand.closed"\nmatch = { caus = { absent = true } }', "match.caus"),
        ('[[never]]\nevent = "blind.posted"\nmatch = { amount = { maxx = 3 } }', "match.amount"),
        ('[[never]]\nevent = "blind.posted"\nmatch = { amount = { max = "3" } }', "match.amount.max"),
        ('[[never]]\nevent = "blind.posted"\nmatch = { amount = "3" }', "match.amount"),
        ('[[never]]\nevent = "blind.posted"\nmatch = { seat = -3 }', "match.seat"),
        ('[[never]]\nevent = "blind.posted"\nmatch = { seat = 9 }', "match.seat"),
        ('[[never]]\nevent = "blind.posted"\nmatch = { seat = { any = [2, 9] } }', "match.seat.any[1]"),
        ('[[expect]]\nevent = "blind.posted"\nmatch = { seatt = 2 }', "match.seatt"),
        ('[[expect]]\nevent = "hand.closed"\nmatch = { result = { revison = 0 } }', "match.result.revison"),
        *(
            (f'[[{section}]]\nevent = "{event}"\nmatch = {{ {match} }}', f"match.{field}")
            for section in ("expect", "never")
            for event, match, field in (
                ("incident.opened", 'code = "I-999"', "code"),
                ("incident.opened", 'code = "I-0"', "code"),
                ("incident.opened", 'code = { any = ["I-3", "I-45"] }', "code.any[1]"),
                ("device.fault", 'kind = "oveflow"', "kind"),
                ("device.fault", 'cause = "oveflow"', "cause"),
                ("device.cleared", 'cause = "overflo"', "cause"),
                ("device.lost", 'kind = "sho"', "kind"),
            )
        ),
        ('[final]\nsealed = ["As", "Zz"]', "final.sealed"),
        ("[final]\nstacks = { 7 = 100 }", "final.stacks.7"),
        ("[final]\nmeters = { dropp = 100 }", "final.meters.dropp"),
        ('[final]\nlatency = { from = "nope", to = "blind.posted", p50_ms = 5 }', "final.latency.from"),
    ],
)
def test_what_can_never_be_checked_is_refused(tmp_path: Path, said: str, field: str) -> None:
    error = wrong(tmp_path, step=said)
    assert error.field.endswith(field)
    assert error.line is not None
    assert error.remedy


@pytest.mark.parametrize(
    "said",
    [
        '[[never]]\nevent = "hand.closed"\nmatch = { hand = "x" }',
        '[[expect]]\nevent = "hand.closed"\nmatch = { a_field_of_tomorrow = 1 }',
        '[[never]]\nevent = "blind.posted"\nmatch = { seat = { any = [2, 3] }, amount = { min = 3 } }',
        '[[never]]\nevent = "card.opened"',
        '[[never]]\nevent = "device.fault"\nmatch = { kind = "reader", cause = "overflow" }',
        '[[expect]]\nevent = "incident.opened"\nmatch = { code = "I-44" }\nwithin_ms = 500',
        '[final]\nsealed = ["As"]\nlatency = { from = "cards.deal", to = "card.opened", p50_ms = 5 }',
    ],
)
def test_what_can_be_checked_is_not(tmp_path: Path, said: str) -> None:
    path = tmp_path / "x.toml"
    path.write_text(PLAY.format(run="", start="", step=said))
    assert [str(error) for error in read(path)] == []


CHIPS = "chips = { 1000 = 3 }"


@pytest.mark.parametrize(
    ("parts", "field", "says"),
    [
        ({"run": 'needs = ["unicorn"]'}, "run.needs", "unicorn"),
        ({"run": "override = { blindz = [5, 10] }"}, "run.override.blindz", "did you mean 'blinds'"),
        ({"run": 'tables = ["rfid"]', "step": '[[step]]\ndo = "device.jam"\ndevice = "cards0"'}, "device", "a"),
        ({"step": '[[step]]\ndo = "device.jam"\ndevice = "keys0"'}, "device", "only a shoe jams"),
        ({"step": '[[step]]\ndo = "rule"\ncode = "I-99"\nruling = "void"'}, "code", "I-1 to I-44"),
        ({"step": '[[step]]\ndo = "declare"\nkind = "raise"\nseat = 2'}, "number", "chips.put"),
        ({"step": '[[step]]\ndo = "card.move"\nfrom = "seat:2"\nto = "muck"\n' * 2}, "from", "in the muck already"),
        ({"step": '[sweep]\nkill_after = "never"'}, "kill_after", 'use one of "", every_step'),
        ({"step": "[sweep]\ngap_ms = []"}, "gap_ms", "no case would be left"),
        ({"step": "[sweep]\nprofile = []"}, "profile", "no case would be left"),
        ({"run": "override = { blinds = [1000, 500] }"}, "override.blinds", "the small blind stands first"),
        *(
            (
                {
                    "run": 'tables = ["rfid"]',
                    "start": "tray = { 100 = 5, 1000 = 2 }",
                    "step": f'[[step]]\ndo = "chips.move"\nfrom = "{place}"\nto = "pot"\n{CHIPS}',
                },
                "chips",
                f"{place} has",
            )
            for place in ("tray", "rake", "pot", "tips", "drop")
        ),
    ],
)
def test_what_cannot_be_so_is_refused_at_its_line(tmp_path: Path, parts: dict[str, str], field: str, says: str) -> None:
    error = wrong(tmp_path, **parts)
    assert error.field.endswith(field)
    assert says in error.remedy
    assert error.line is not None


def test_a_profile_that_is_not_there_is_said_once(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(PLAY.format(run="", start="", step="").replace('"rs_holdem"', '"rs_holdm"'))
    (error,) = read(path)
    assert str(error).count("profile =") == 1
    assert str(error).count("x.toml") == 1
    assert "rs_holdem" in error.remedy


def test_a_raise_that_chips_follow_is_sound(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    said = '[[step]]\ndo = "declare"\nkind = "raise"\nseat = 2\n[[step]]\ndo = "chips.put"\nseat = 2\n' + CHIPS
    path.write_text(PLAY.format(run="", start="", step=said))
    assert [str(error) for error in read(path)] == []


def test_what_stands_in_an_inline_array_has_its_line(tmp_path: Path) -> None:
    good = '{ from = "stack:2", to = "bet:2", chips = { 1000 = 1 } }'
    bad = good.replace("bet:2", "bet:77")
    step = f'[[step]]\ndo = "chips.move"\nmoves = [\n  {good},\n  # [ {{\n  {bad},\n]'
    error = wrong(tmp_path, step=step)
    assert error.field == "step[1].moves[1].to"
    assert error.line is not None
    assert "bet:77" in (tmp_path / "x.toml").read_text().splitlines()[error.line - 1]
