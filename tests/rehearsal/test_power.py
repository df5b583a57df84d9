"""Power: what a cut comes to on simulated devices, and the relays that cut it on a rig."""

import os
import pty
import select
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simulators import rig as rigs
from simulators.errors import RigError, ScriptError
from simulators.rehearse import Ask, Found, play
from simulators.relays import Relays, channels, frame
from simulators.scripts import scenario
from simulators.scripts.acts import DeviceAct, Power, SystemAct
from simulators.through.rigged import Bench, RigStage
from simulators.through.stage import NotRunnable, without_switches
from simulators.through.wires import WiresStage
from tests.rehearsal.test_rig import RIG, written

HERE = Path(__file__).parent / "scenarios"
PULLED = (HERE / "shoe-unplugged.toml").read_text(encoding="utf-8")


@pytest.fixture
def board() -> Iterator[tuple[int, str]]:
    """A relay board's end of the wire, and the port."""
    ours, port = pty.openpty()
    yield ours, os.ttyname(port)
    os.close(ours)
    os.close(port)


def heard(board: int) -> bytes:
    """What came to the board: all that is there after a moment without more."""
    said = b""
    while select.select([board], [], [], 0.1)[0]:
        said += os.read(board, 64)
    return said


def test_a_relay_is_told_by_four_bytes() -> None:
    assert frame(1, closed=True) == bytes.fromhex("a00101a2")
    assert frame(2, closed=False) == bytes.fromhex("a00200a2")
    assert channels("rig.toml", {"dut": "relay:1", "cards0": "relay:2"}) == {"dut": 1, "cards0": 2}
    with pytest.raises(ScriptError, match=r"power\.dut.*relay:N"):
        channels("rig.toml", {"dut": "relay:17"})


def test_power_is_on_before_and_after_and_off_when_it_is_cut(board: tuple[int, str]) -> None:
    ours, port = board
    relays = Relays(port, {"dut": 1, "cards0": 2})
    assert heard(ours) == frame(1, closed=True) + frame(2, closed=True)
    relays.switch("cards0", on=False)
    assert heard(ours) == frame(2, closed=False)
    with pytest.raises(RigError, match="this rig switches cards0, dut"):
        relays.switch("shoe0", on=False)
    relays.close()
    assert heard(ours) == frame(1, closed=True) + frame(2, closed=True)
    with pytest.raises(RigError, match="power of dut"):
        relays.switch("dut", on=False)


def test_a_board_that_is_not_there_is_the_rigs_fault(tmp_path: Path) -> None:
    with pytest.raises(RigError, match=r"power\.board"):
        Relays(str(tmp_path / "none"), {})


def test_without_relays_a_cut_is_a_pulled_plug_or_a_process_that_is_gone() -> None:
    assert without_switches(Power("cards0", on=False)) == DeviceAct("unplug", "cards0")
    assert without_switches(Power("cards0", on=True)) == DeviceAct("plug", "cards0")
    assert without_switches(Power("dut", on=False)) == SystemAct("daemon.kill")
    assert without_switches(Power("dut", on=True)) == SystemAct("daemon.start")


def test_a_scenario_cuts_the_power_of_a_device(tmp_path: Path) -> None:
    path = tmp_path / "case.toml"
    text = PULLED.replace('do = "device.unplug"\ndevice', 'do = "power.cut"\nwhat')
    path.write_text(text.replace('do = "device.plug"\ndevice', 'do = "power.on"\nwhat'), encoding="utf-8")
    assert any(isinstance(act, Power) for step in scenario.load(path).steps for act in step.acts)
    case = play(Found(path, "case"), Ask("virtual"))
    assert case.outcome == "passed", case.lines
    assert case.faulted
    path.write_text(text.replace('what = "shoe0"', 'what = "cards9"'), encoding="utf-8")
    with pytest.raises(ScriptError, match="dut"):
        scenario.load(path)


@pytest.mark.parametrize(
    ("power", "says"),
    [
        ('dut = "relay:1"', "relay board"),
        ('board = "pty:relays"\ndut = "plug:1"', "relay:N"),
        ('board = "pty:relays"\ncards7 = "relay:1"', "no device of this rig"),
    ],
)
def test_what_is_wrong_with_the_switches_of_a_rig_is_refused(tmp_path: Path, power: str, says: str) -> None:
    text = f"{RIG.format(usbip=1, broker=1)}[power]\n{power}\n"
    with pytest.raises(ScriptError, match=says):
        rigs.read(written(tmp_path, text))


def test_a_rig_switches_by_its_relays_and_only_what_hangs_on_them(
    tmp_path: Path, board: tuple[int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, port = board
    text = f'{RIG.format(usbip=1, broker=1)}[power]\nboard = "{port}"\nshoe0 = "relay:3"\n'
    rig = rigs.read(written(tmp_path, text))
    stage = RigStage.__new__(RigStage)
    monkeypatch.setattr(stage, "_rig", rig, raising=False)
    nothing: Any = None
    relays = Relays(rig.board, rig.power)
    monkeypatch.setattr(stage, "_bench", Bench(nothing, nothing, relays), raising=False)
    heard(ours)
    stage.moment(Power("shoe0", on=False))
    assert heard(ours) == frame(3, closed=False)
    with pytest.raises(NotRunnable, match="no relay for it"):
        stage.moment(Power("dut", on=False))
    passed: list[Any] = []
    monkeypatch.setattr(WiresStage, "moment", lambda _stage, what: passed.append(what))
    stage.moment(SystemAct("daemon.kill"))
    assert passed == [SystemAct("daemon.kill")]
    relays.close()
