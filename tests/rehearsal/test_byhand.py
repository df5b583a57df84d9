"""Rigs of antennas, and rigs where a person acts: real devices there, and one line on the terminal for each act."""

import io
import os
import pty
import re
import select
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from simulators import config, runnable
from simulators import rig as rigs
from simulators.broker import MosquittoBroker, free_port
from simulators.errors import RigError, ScriptError
from simulators.plan import Plan, of_scenario
from simulators.process import DaemonProcess
from simulators.reach import Here
from simulators.rehearse import main
from simulators.relays import Relays, frame
from simulators.rigs import Host
from simulators.scripts import scenario
from simulators.scripts.acts import Declare, Flicker, LiftCards, MoveChips, OtherDeck, Slide
from simulators.scripts.variants import Pick
from simulators.through import byhand
from simulators.through.byhand import FeltStage, Person
from simulators.through.lost import Performed
from simulators.through.rigged import Bench
from simulators.through.wires import PERSISTENT, devices
from simulators.verdict import Exit

HERE = Path(__file__).resolve().parent / "scenarios"
WHOLE, BOTH = HERE / "whole-hand.toml", HERE / "both-tables.toml"
FELT = """
schema = 1
name = "felt-1"
kind = "felt"
[dut]
config = "table.toml"
broker = "mqtt://127.0.0.1:{broker}"
[devices.shoe0]
as = "shoe"
expect = {{ model = "FS-1" }}
[devices.keys0]
as = "keypad"
"""


def test_a_person_does_it_or_says_why_not() -> None:
    said, heard = io.StringIO(), io.StringIO("\nthe chip fell down\n")
    person = Person(said, heard)
    person.ask("take 1 x 500 from stack:1")
    assert said.getvalue() == "take 1 x 500 from stack:1  [ENTER] "
    with pytest.raises(RigError, match="could not be done: the chip fell down"):
        person.do("unplug", "cards0")
    with pytest.raises(RigError, match="nobody is there"):
        person.ask("anything")
    with pytest.raises(RigError, match="no person can do this"):
        person.do("fault", "cards0")


def test_an_act_is_one_line_in_plain_words() -> None:
    plan = of_scenario(scenario.load(BOTH, Pick("", "rfid")))
    said = io.StringIO()
    stage = FeltStage.__new__(FeltStage)
    stage.plan, stage._dealer, stage._person = plan, plan.dealer(), Person(said, io.StringIO("\n" * 9))
    stage._layout = plan.layout
    stage._furnish(plan)
    assert said.getvalue().startswith("stack:1: 3 x 1000, 4 x 500, and nothing else  [ENTER] ")
    deeds = [timed.deed for timed in plan.dealer().deeds(MoveChips("stack:1", "bet:1", {500: 2}))]
    assert stage._told(deeds) == "take 2 x 500 from stack:1, lay 2 x 500 at bet:1"
    deeds = [timed.deed for timed in plan.dealer().deeds(Slide("As", "seat", 1))]
    assert stage._told(deeds) == "lay As at seat:1"
    deeds = [timed.deed for timed in plan.dealer().deeds(Declare("check", 2, None, name_seat=True))]
    assert stage._told(deeds) == "press 2 CHECK"
    stage.perform(OtherDeck("board", 1500))
    assert said.getvalue().endswith("shuffle the other deck over the antenna at board for 1.5 s  [ENTER] ")


@pytest.mark.parametrize(
    ("step", "says"),
    [
        ('do = "tag.flicker"\nat = "bet:1"\noff_ms = 100', "no relay couples the antenna of bet:1"),
        ('do = "tag.clone"\nat = "bet:1"\nto = "bet:2"\nms = 100', "no person and no relay can make a tag"),
        ('do = "pause"\nms = 100\nwith = "small"', "one thing after the other"),
        ('do = "link.noise"\ndevice = "bets0"', "no person can do noise"),
        ('do = "device.deaf"\ndevice = "bets0"\nms = 100', "no person can do deaf"),
        ('do = "device.slow"\ndevice = "bets0"\nms = 100', "no person can do slow"),
        ('do = "device.unplug"\ndevice = "bets0"', "no device bets0"),
    ],
)
def test_what_no_person_can_do_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], step: str, says: str
) -> None:
    rig, case = tmp_path / "rig.toml", tmp_path / "case.toml"
    rig.write_text(FELT.format(broker=1883), encoding="utf-8")
    text = BOTH.read_text(encoding="utf-8")
    text = text[: text.index("[[variant]]")].replace('tables = ["rfid", "shoe"]', 'tables = ["rfid"]')
    case.write_text(
        text.replace('[[step]]\nid = "big"', f'[[step]]\n{step}\n[[step]]\nid = "big"', 1), encoding="utf-8"
    )
    assert rigs.read(rig).kind == "felt"
    assert runnable.main([str(case), "--rig", str(rig)]) == Exit.SCRIPT
    assert says in capsys.readouterr().err


def heard(board: int) -> bytes:
    """What came to a relay board: all that is there after a moment without more."""
    said = b""
    while select.select([board], [], [], 0.1)[0]:
        said += os.read(board, 64)
    return said


def test_what_a_relay_couples_comes_and_goes_without_anybody(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    try:
        rig = tmp_path / "rig.toml"
        matrix = f'[matrix]\nboard = "{os.ttyname(theirs)}"\n"bet:1" = "relay:2"\n"seat:2" = "relay:5"\n'
        rig.write_text(FELT.format(broker=1883) + matrix, encoding="utf-8")
        read = rigs.read(rig)
        assert read.matrix == {"bet:1": 2, "seat:2": 5}
        plan = of_scenario(scenario.load(BOTH, Pick("", "rfid")))
        said, nothing = io.StringIO(), cast("Any", None)
        stage = FeltStage.__new__(FeltStage)
        stage.plan, stage._dealer, stage._person = plan, plan.dealer(), Person(said, io.StringIO("\n" * 9))
        stage._rig, stage._speed, stage._hand = read, 1, Performed()
        relays = Relays(read.matrix_board, read.matrix, "matrix")
        stage._bench = Bench(nothing, nothing, None, relays)
        both = frame(2, closed=True) + frame(5, closed=True)
        assert heard(ours) == both, "all antennas are coupled at the start"
        stage.perform(Flicker("bet:1", 5, 2))
        assert heard(ours) == 2 * (frame(2, closed=False) + frame(2, closed=True))
        stage.perform(LiftCards("seat:2", 5))
        assert heard(ours) == frame(5, closed=False) + frame(5, closed=True)
        assert said.getvalue() == ""
        stage.perform(Slide("As", "seat", 1))
        stage.perform(LiftCards("seat:1", 5))
        assert "take As from seat:1" in said.getvalue(), "where no relay is, a person lifts them"
        relays.close()
        assert heard(ours) == both
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.parametrize(
    ("matrix", "says"),
    [
        ('"bet:1" = "relay:2"', "relay board's port"),
        ('board = "pty:b"\n"bet:1" = "plug:2"', "write relay:N"),
        ('board = "pty:b"\n"bet:1" = "relay:2"\n[power]\nboard = "pty:b"\nshoe0 = "relay:2"', "one of"),
    ],
)
def test_a_matrix_is_read_strictly(tmp_path: Path, matrix: str, says: str) -> None:
    rig = tmp_path / "rig.toml"
    rig.write_text(f"{FELT.format(broker=1883)}[matrix]\n{matrix}\n", encoding="utf-8")
    with pytest.raises(ScriptError, match=says):
        rigs.read(rig)


def test_a_matrix_is_for_real_readers_and_for_antennas_that_the_table_has(tmp_path: Path) -> None:
    plan = of_scenario(scenario.load(BOTH, Pick("", "rfid")))
    uris = {device.name: f"serial://{tmp_path}/{device.name}" for device in plan.layout.devices}
    config.write(plan, tmp_path, uris, "mqtt://127.0.0.1:1883", "5", tmp_path / "ledger")
    rig = tmp_path / "rig.toml"
    text = FELT.format(broker=1883)
    text = text[: text.index("[devices.shoe0]")] + '[devices.keys0]\nas = "keypad"\n'
    matrix = '[matrix]\nboard = "pty:b"\n"bet:1" = "relay:2"\n"bet:77" = "relay:3"\n'
    rig.write_text(text + matrix, encoding="utf-8")
    read = rigs.read(rig)
    (wrong,) = rigs.unsound(read)
    assert (wrong.field, "no antenna there" in wrong.remedy) == ("matrix.bet:77", True)
    with pytest.raises(RigError, match="no antenna at bet:77"):
        rigs.preflight(read, tmp_path, Here(), running=False)
    rig.write_text(text.replace('"felt"', '"wire"').replace('"keypad"', '"keypad"\nport = "usb:1-1"') + matrix, "utf-8")
    with pytest.raises(ScriptError, match="is for kind felt"):
        rigs.read(rig)


class Robot:
    """A person made of wires, and no faster: it does to the devices of a process what it is asked for in words."""

    host: Host
    asked: list[str]

    def ask(self, what: str) -> None:
        type(self).asked.append(what)
        if keys := re.fullmatch(r"press (.*)", what):
            for key in keys[1].split():
                self.host.do("press", "keys0", key=key)
                time.sleep(0.05)
                self.host.do("release", "keys0", key=key)
                time.sleep(0.1)
        for card in re.findall(r"let (\w\w) out of the shoe", what):
            time.sleep(0.2)
            self.host.do("slide", "shoe0", card=card)
        time.sleep(0.2)

    def tell(self, what: str) -> None:
        """Nothing to do."""


@contextmanager
def table(folder: Path, plan: Plan, host: Host, broker: MosquittoBroker) -> Iterator[DaemonProcess]:
    path = config.write(plan, folder, host.uris, broker.uri, broker.versions[0], folder / "ledger")
    daemon = DaemonProcess(path, 1)
    daemon.start()
    try:
        yield daemon
    finally:
        daemon.stop()


@pytest.mark.slow
@pytest.mark.wires
@pytest.mark.timeout(240)
def test_a_hand_is_played_by_whoever_follows_the_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = of_scenario(scenario.load(WHOLE))
    broker = MosquittoBroker(tmp_path, basic=PERSISTENT.format(folder=tmp_path))
    with (
        broker,
        Host(devices(plan.layout, tmp_path), tmp_path / "real.sock") as host,
        table(tmp_path, plan, host, broker),
    ):
        monkeypatch.setattr(byhand, "Person", Robot)
        Robot.host, Robot.asked = host, []
        host.do("load", "shoe0", cards=["As"] * 52)
        rig = tmp_path / "rig.toml"
        rig.write_text(FELT.format(broker=broker.port), encoding="utf-8")
        out = tmp_path / "out.xml"
        assert main([str(WHOLE), "--rig", str(rig), "--junit", str(out)]) == Exit.PASSED
    assert "press HAND" in Robot.asked
    assert 'name="whole-hand[shoe][felt-1]"' in out.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.wires
@pytest.mark.timeout(300)
def test_a_rig_of_antennas_begins_each_case_with_what_lies_there_then(tmp_path: Path) -> None:
    plan = of_scenario(scenario.load(BOTH, Pick("", "rfid")))
    port = free_port()
    broker = MosquittoBroker(tmp_path, basic=PERSISTENT.format(folder=tmp_path))
    readers = [device for device in plan.layout.devices if device.driver == "feig"]
    text = FELT.replace('kind = "felt"', f'kind = "wire"\nusbip = "127.0.0.1:{port}"')
    text = text[: text.index("[devices.shoe0]")] + '[devices.keys0]\nas = "keypad"\nport = "usb:1-1"\n'
    uris = {"keys0": f"usbip://127.0.0.1:{port}/1-1"}
    for device in readers:
        model = ", ".join(f"{key} = {value!r}" for key, value in device.model.items())
        text += f'[devices.{device.name}]\nas = "feig"\nport = "pty:{device.name}"\nmodel = {{{{ {model} }}}}\n'
        uris[device.name] = f"serial://{tmp_path}/{device.name}?baud=38400"
    with broker:
        path = config.write(plan, tmp_path, uris, broker.uri, broker.versions[0], tmp_path / "ledger")
        daemon = DaemonProcess(path, 1)
        daemon.start()
        try:
            rig, case = tmp_path / "rig.toml", tmp_path / "case.toml"
            rig.write_text(text.format(broker=broker.port), encoding="utf-8")
            whole = BOTH.read_text(encoding="utf-8")
            case.write_text(whole[: whole.index("[[variant]]")], encoding="utf-8")
            for _ in range(2):
                assert main([str(case), "--table", "rfid", "--rig", str(rig)]) == Exit.PASSED
        finally:
            daemon.stop()
