"""What an unforeseen error may say, and what no representation of a closed card says."""

import dataclasses
import importlib
import io
import json
import logging
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import structlog

import controller.core
from controller.core.errors import BadCommand
from controller.core.inputs import Command, HandSeed, Input
from controller.core.records import Record
from controller.core.rules.ultimate.state import Dealt
from controller.core.state import Slot
from controller.runtime import crash, logs
from drivers import readings
from drivers.readings import CardSeen, TagsSeen

SECRET = frozenset({"card", "cards", "tag", "tags", "salt", "seed", "secret", "unknown", "confidence"})


def _failure() -> Exception:
    nothing: dict[str, int] = {}
    try:
        try:
            nothing["Kd"] += 1
        except KeyError as cause:
            raise ValueError("the 9c of seat 3") from cause
    except ValueError as error:
        return error
    raise AssertionError


def test_a_foreign_error_tells_kind_and_place_and_not_its_message() -> None:
    text = crash.told(_failure())
    assert "Kd" not in text
    assert "9c" not in text
    assert text.count("test_crash.py:") == 2
    assert text.splitlines()[-1] == "ValueError"


def test_our_own_errors_speak() -> None:
    assert crash.told(BadCommand("seat", 77, "use 1 to 10")).endswith("BadCommand: seat: 77: use 1 to 10")


def test_a_logged_exception_tells_no_foreign_message(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(structlog._config, "_CONFIG", structlog._config._Configuration())
    logs.configure(json_lines=True, level=logging.DEBUG, stream=out)
    try:
        raise _failure()
    except ValueError:
        structlog.get_logger().exception("failed", card="Kd")
    line = json.loads(out.getvalue())
    assert line["card"] == "withheld"
    assert "Kd" not in out.getvalue()
    assert "9c" not in out.getvalue()
    assert "ValueError" in line["exception"]


@pytest.mark.parametrize("where", ["thread", "process", "destructor"])
def test_no_end_of_a_thread_or_the_process_quotes_a_card(where: str) -> None:
    fail = {
        "thread": "t = threading.Thread(target=lambda: {}['As'], name='core'); t.start(); t.join()",
        "process": "{}['As']",
        "destructor": "class D:\n    def __del__(self): {}['As']\nD()",
    }[where]
    code = f"import threading\nfrom controller.runtime import crash\ncrash.install()\n{fail}\n"
    root = Path(__file__).resolve().parents[2]
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=30, check=False
    )
    assert "KeyError" in ended.stderr
    assert "As" not in ended.stderr


def _modules() -> list[Any]:
    names = [info.name for info in pkgutil.walk_packages(controller.core.__path__, "controller.core.")]
    return [readings, *map(importlib.import_module, names)]


def test_no_representation_holds_what_a_closed_card_could_be_known_by() -> None:
    shown = [
        f"{kind.__name__}.{field.name}"
        for module in _modules()
        for kind in vars(module).values()
        if isinstance(kind, type) and dataclasses.is_dataclass(kind) and kind.__module__ == module.__name__
        for field in dataclasses.fields(kind)
        if field.name in SECRET and field.repr
    ]
    assert shown == []


def test_what_a_traceback_could_show_says_nothing() -> None:
    seen = CardSeen("shoe0", 1, "0", "As", "E004015A00000001", 99, 7)
    for one in (
        seen,
        Input(1, 2, 3, seen),
        TagsSeen("cards0", 1, "0", frozenset({"E004015A00000001"}), complete=True),
        HandSeed(b"As" * 16),
        Command("rule", {"card": "As"}),
        Record("play", "card.dealt", "h", {"slot": 0}, {"card": "As", "salt": "5a" * 16}),
        Slot("seat", 1, "As", "5a" * 16),
        Dealt("box", 1, "As", "5a" * 16),
    ):
        text = repr(one)
        assert "As" not in text.replace("frozenset", "")
        assert "5a5a" not in text
        assert "E00401" not in text
