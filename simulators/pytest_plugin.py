"""pytest on the engine of the rehearsals: a table to play on, what it must say, and what it must never say.

    pytest_plugins = ["simulators.pytest_plugin"]

    @pytest.mark.table("whole-hand.toml")
    def test_a_raise(play, seen, never):
        play({"do": "cards.deal", "seats": [2, 3, 1], "each": 2, "pattern": "one_by_one"})
        play({"id": "raise", "do": "declare", "seat": 1, "kind": "raise", "number": 3000})
        seen("action.taken", seat=1, kind="raise", to=3000)
        never("incident.opened")

The file is a scenario: its run, start and deck are the table; its own steps are not played. ``--felt-through`` says
whether the table is in this process (``virtual``, the default) or on wires, with a daemon of its own.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from simulators import playing
from simulators.plan import of_scenario
from simulators.playing import ScenarioRun
from simulators.process import DaemonProcess
from simulators.scripts import scenario
from simulators.scripts.matching import matches
from simulators.scripts.sequence import groups
from simulators.seen import Seen
from simulators.through.stage import Journal, Stage
from simulators.through.virtual import VirtualStage
from simulators.through.wires import WiresStage

SEEN_MS = 5000
"""The table may take so long to say what is expected of it, in its own time."""

Play = Callable[..., None]


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--felt-through``."""
    parser.addoption("--felt-through", choices=("virtual", "wires"), default="virtual", help="where tables are played")


def pytest_configure(config: pytest.Config) -> None:
    """The marker that names a table."""
    config.addinivalue_line("markers", "table(file): the scenario file whose run, start and deck make the table")


class PlayedTable:
    """One table of one test."""

    def __init__(self, file: Path, folder: Path, through: str) -> None:
        self._text = file.read_text(encoding="utf-8").partition("[[step]]")[0]
        self._own = folder / file.name
        self._steps: list[Mapping[str, Any]] = []
        script = self._load()
        plan = of_scenario(script)
        self.journal = Journal(folder / "ledger", plan.seed) if through == "virtual" else None
        self.stage: Stage
        if self.journal is not None:
            self.stage = VirtualStage(plan, self.journal)
        else:
            self.stage = WiresStage(plan, folder, script.run.speed)
        self._run = ScenarioRun(script, plan, self.stage)

    def play(self, *steps: Mapping[str, Any]) -> None:
        """Perform steps as a scenario spells them. Raises ``ScriptError`` for what none can be."""
        done = len(self._steps)
        self._steps += steps
        self._run.scenario = self._load()
        for group in groups(self._run.scenario.steps[done:]):
            self._run.steps(group)

    def seen(self, event: str, **match: Any) -> Seen:
        """Wait for an event that fits, and return it; the test fails where none comes."""
        found: list[Seen] = []

        def came() -> bool:
            found[:] = [one for one in self.stage.seen if one.type == event and matches(match, one.data)]
            return bool(found)

        if not self.stage.until(came, SEEN_MS):
            others = [dict(one.data) for one in self.stage.seen if one.type == event]
            pytest.fail(f"never seen: {event} {match}; of that type were seen: {others or 'none'}")
        return found[0]

    def never(self, event: str, **match: Any) -> None:
        """The test fails where such an event has been seen so far."""
        for one in self.stage.seen:
            if one.type == event and matches(match, one.data):
                pytest.fail(f"must never be seen, and was: {event} {dict(one.data)}")

    def end(self) -> list[str]:
        """Close the table; what does not hold that must always hold, a line each."""
        playing.close_table(self._run.plan, self.stage)
        return self.stage.end() + playing.always(self.stage)

    def close(self) -> None:
        """Close what was opened."""
        self.stage.close()
        if self.journal is not None:
            self.journal.close()

    def _load(self) -> scenario.Scenario:
        text = self._text
        for step in self._steps:
            text += "[[step]]\n" + "".join(f"{key} = {_toml(value)}\n" for key, value in step.items())
        self._own.write_text(text, encoding="utf-8")
        return scenario.load(self._own)


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(str(key))} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return json.dumps(value)


@pytest.fixture(scope="session")
def rig(request: pytest.FixtureRequest) -> str:
    """Where tables are played: ``virtual`` or ``wires``."""
    return str(request.config.getoption("--felt-through"))


@pytest.fixture
def table(request: pytest.FixtureRequest, rig: str, tmp_path: Path) -> Iterator[PlayedTable]:
    """The table that the test's marker names; whatever the test asks, what must always hold is checked at the end."""
    marker = request.node.get_closest_marker("table")
    if marker is None:
        raise pytest.UsageError('say which table: @pytest.mark.table("file.toml")')
    made = PlayedTable(request.path.parent / marker.args[0], tmp_path, rig)
    try:
        yield made
        broken = made.end()
        assert not broken, "\n".join(broken)
    finally:
        made.close()


@pytest.fixture
def daemon(table: PlayedTable) -> DaemonProcess:
    """The daemon under test, on wires; the test is skipped where the table has none."""
    if not isinstance(table.stage, WiresStage):
        pytest.skip("there is no daemon in this process: --felt-through wires")
    return table.stage.daemon


@pytest.fixture
def play(table: PlayedTable) -> Play:
    """Perform steps: ``play({"do": "declare", "seat": 1, "kind": "fold"})``."""
    return table.play


@pytest.fixture
def seen(table: PlayedTable) -> Callable[..., Seen]:
    """Wait for an event: ``seen("action.taken", seat=1)``."""
    return table.seen


@pytest.fixture
def never(table: PlayedTable) -> Callable[..., None]:
    """No such event so far: ``never("incident.opened")``."""
    return table.never
