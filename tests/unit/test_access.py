"""Individual log-ins: who a person is, which function may give which command, and what happens after failures."""

import json
import stat
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from controller import access
from controller.access import FLOOR, LOCKED_S, MAY, TRIES, WATCH, Access
from controller.commands import Desk
from controller.configuration import stafffile
from controller.configuration.settings import Person, SocketSettings
from controller.configuration.stafffile import Member
from controller.core.commands import COMMANDS
from controller.core.floor.words import ROLES
from controller.core.inputs import Notice
from controller.core.out import Out
from controller.core.session import Session
from controller.core.system import notice
from controller.errors import LocalError
from tests.felt import setup
from tests.unit.test_commands import Core

PIN, OTHER = "471102", "990417"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("staff") / "staff"
    people = {
        "s-01": Member.new("s-01", ("dealer",), PIN),
        "s-02": Member.new("s-02", ("inspector", "dealer"), OTHER),
        "s-03": Member.new("s-03", ("technician",), PIN),
    }
    stafffile.save(path, people)
    return path


class House:
    """A desk with proofs, a clock of its own, and what was recorded of failures."""

    def __init__(self, file: Path, core: Core, **settings: Any) -> None:
        self.now = 0.0
        self.rested: list[float] = []
        self.recorded: list[Mapping[str, Any]] = []
        self.core = core
        self.access = Access(file, self.recorded.append, clock=lambda: self.now, rest=self.rested.append)
        self.desk = Desk(SocketSettings(Path("unused"), **settings), core.inbox, {}, access=self.access)

    def ask(self, command: str, uid: int = 1000, by: str = "", pins: Any = None, **args: Any) -> dict[str, Any]:
        args = {name.rstrip("_"): value for name, value in args.items()}
        if pins is not None:
            args["pins"] = pins
        return self.desk.answer(json.dumps({"command": command, "by": by, "args": args}).encode(), uid)

    def login(self, staff: str, role: str, pin: str, uid: int = 1000) -> dict[str, Any]:
        return self.ask("login", uid, pins={staff: pin}, staff=staff, role=role)


@pytest.fixture
def house(file: Path) -> Any:
    core = Core()
    yield House(file, core)
    core.close()


def test_who_proves_who_they_are_speaks_at_that_account(house: House) -> None:
    assert house.ask("seat", seat=1)["error"]["field"] == "by"
    assert house.ask("login", staff="s-01", role="dealer")["error"] == {
        "field": "pins",
        "value": "s-01",
        "remedy": "prove who you are: give the PIN of this person",
    }
    assert house.login("s-01", "dealer", PIN)["ok"]
    assert house.ask("seat", seat=1)["ok"]
    assert house.ask("seat", uid=1001, seat=1)["error"]["field"] == "by"
    assert [(c.name, c.by, c.role) for c in house.core.obeyed] == [
        ("login", "s-01", "dealer"),
        ("seat", "s-01", "dealer"),
    ]
    assert all("pins" not in command.args for command in house.core.obeyed)
    assert house.recorded == []


@pytest.mark.parametrize(
    ("staff", "role", "pin", "named"),
    [
        ("s-01", "dealer", "wrong1", "s-01"),
        ("s-01", "manager", PIN, "s-01"),
        ("s-99", "dealer", PIN, None),
        (PIN, "dealer", "s-01", None),
    ],
)
def test_every_failure_is_recorded_and_tells_nothing(
    house: House, staff: str, role: str, pin: str, named: str | None
) -> None:
    answer = house.login(staff, role, pin)
    assert answer["error"] == {"field": "pin", "value": "", "remedy": "no such person, function and PIN"}
    assert house.recorded == [{"staff": named, "role": role, "result": "denied", "place": "uid:1000"}]
    assert PIN not in json.dumps(house.recorded)
    assert house.rested == [access.PENALTY_S]
    assert house.core.obeyed == []


def test_five_failures_lock_a_person_out_until_time_has_passed(house: House) -> None:
    for _ in range(TRIES):
        house.login("s-01", "dealer", "wrong1")
    assert "locked out" in house.login("s-01", "dealer", PIN)["error"]["remedy"]
    assert [r["result"] for r in house.recorded] == ["denied"] * TRIES + ["locked"]
    assert house.login("s-02", "dealer", OTHER)["ok"]  # nobody else is locked
    house.now = LOCKED_S - 1
    assert not house.login("s-01", "dealer", PIN)["ok"]
    house.now = LOCKED_S
    assert house.login("s-01", "dealer", PIN)["ok"]


def attempt(result: str, at_s: float, staff: str | None = "s-01") -> bytes:
    data = {"staff": staff, "role": "dealer", "result": result, "place": "uid:1000"}
    time = datetime.fromtimestamp(at_s, UTC).isoformat(timespec="microseconds")
    return json.dumps({"time": time, "data": data}).encode()


def test_a_lock_out_survives_a_restart_for_as_long_as_it_would_have_lasted(house: House) -> None:
    denied = [attempt("denied", 1000 + n) for n in range(TRIES)]
    house.now = 50.0  # the machine has just started
    house.access.recall([*denied, attempt("locked", 1100)], int(1200e9))
    assert "locked out" in house.login("s-01", "dealer", PIN)["error"]["remedy"]
    assert house.login("s-02", "dealer", OTHER)["ok"]
    house.now += LOCKED_S - (1200 - (1000 + TRIES - 1)) - 0.5
    assert not house.login("s-01", "dealer", PIN)["ok"]
    house.now += 1
    assert house.login("s-01", "dealer", PIN)["ok"]


def test_a_count_goes_on_over_a_restart_and_a_success_ends_it(house: House) -> None:
    before = [b"damaged", b"{}", *[attempt("denied", 1000)] * TRIES, attempt("ok", 3000)]
    before += [attempt("denied", 3001)] * (TRIES - 1)
    house.access.recall(before, int(3100e9))
    house.login("s-01", "dealer", "wrong1")
    assert "locked out" in house.login("s-01", "dealer", PIN)["error"]["remedy"]


def test_whoever_has_no_name_is_counted_by_place_and_a_clock_set_back_ends_no_lock(house: House) -> None:
    house.access.recall([attempt("denied", 9000, None)] * TRIES, int(3000e9))
    assert "locked out" in house.login("s-99", "dealer", PIN)["error"]["remedy"]
    assert house.login("s-01", "dealer", PIN)["ok"]
    house.now = LOCKED_S
    assert "no such person" in house.login("s-99", "dealer", PIN)["error"]["remedy"]


def test_a_success_in_between_begins_the_count_anew(house: House) -> None:
    for _ in range(2):
        for _ in range(TRIES - 1):
            house.login("s-01", "dealer", "wrong1")
        assert house.login("s-01", "dealer", PIN)["ok"]


def test_to_speak_as_another_at_a_shared_account_takes_that_persons_pin(house: House) -> None:
    house.login("s-02", "inspector", OTHER)
    house.login("s-01", "dealer", PIN)
    assert house.ask("rule", by="s-02", incident="I-2")["error"]["field"] == "pins"
    assert house.ask("rule", by="s-02", pins={"s-02": PIN}, incident="I-2")["error"]["field"] == "pin"
    assert house.ask("rule", by="s-02", pins={"s-02": OTHER}, incident="I-2")["ok"]
    assert house.core.obeyed[-1].by == "s-02"


def test_the_second_signature_takes_the_second_persons_pin(house: House) -> None:
    house.login("s-02", "inspector", OTHER)
    house.login("s-01", "dealer", PIN)
    assert house.ask("count", 1000, reason="open", with_="s-02")["error"]["value"] == "s-02"
    assert house.ask("count", pins={"s-02": OTHER}, reason="open", with_="s-02")["ok"]


def test_a_function_gives_its_own_commands_only(house: House) -> None:
    house.login("s-01", "dealer", PIN)
    for name in ("open", "close", "rule", "override", "settings", "shift"):
        assert house.ask(name)["error"]["field"] == "role", name
    house.login("s-03", "technician", PIN, uid=1003)
    for name in COMMANDS.keys() - {"login", "logout"}:
        assert house.ask(name, uid=1003)["error"]["field"] == "role", name
    assert house.ask("logout", staff="s-02")["error"]["field"] == "staff"
    assert house.ask("logout", staff="s-01")["ok"]


def test_an_account_that_is_one_person_is_held_to_its_function_too(file: Path) -> None:
    core = Core()
    house = House(file, core, staff=MappingProxyType({1000: Person("s-07", "dealer")}))
    assert house.ask("seat")["ok"]
    assert house.ask("override")["error"]["field"] == "role"
    core.close()


def test_who_is_removed_is_out_at_once(tmp_path: Path) -> None:
    path = tmp_path / "staff"
    stafffile.save(path, {"s-01": Member.new("s-01", ("dealer",), PIN)})
    core = Core()
    house = House(path, core)
    stafffile.save(path, {})
    assert not house.login("s-01", "dealer", PIN)["ok"]
    core.close()


def test_every_command_has_people_who_may_give_it() -> None:
    assert set(MAY) <= {*COMMANDS, "confirm"}
    assert WATCH < FLOOR <= set(ROLES)


def test_a_failed_log_in_is_a_record() -> None:
    session = Session(setup())
    out: Out = session.out
    out.begin(1, 1)
    notice(out, Notice("staff.login", {"staff": None, "role": "dealer", "result": "locked", "place": "uid:1000"}))
    (record,) = out.records
    assert (record.stream, record.type, record.data["result"], record.data["staff"]) == (
        "ops",
        "staff.login",
        "locked",
        None,
    )
    assert session.state.staff == {}


# ---------------------------------------------------------------- the file


@pytest.mark.parametrize(
    "name", ["dealer", "admin", "Dealer", "pit_boss", "dealer-1", "test", "x", "a b", "floor-table", ""]
)
def test_no_generic_names(name: str) -> None:
    with pytest.raises(LocalError, match="staff"):
        stafffile.checked_name(name)


@pytest.mark.parametrize("pin", ["", "12345", "111111", "123456", "654321", "abcdef", "x" * 129])
def test_no_pin_that_is_guessed_first_and_none_is_quoted(pin: str) -> None:
    with pytest.raises(LocalError) as error:
        stafffile.checked_pin("s-0193", pin)
    assert error.value.value == ""
    with pytest.raises(LocalError):
        stafffile.checked_pin("s-0193", "s-0193")


def test_the_file_is_private_holds_no_pin_and_says_what_is_wrong(file: Path, tmp_path: Path) -> None:
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert PIN not in file.read_text()
    assert "scrypt" in file.read_text()
    assert PIN not in repr(stafffile.load(file))
    copy = tmp_path / "staff"
    copy.write_bytes(file.read_bytes())
    copy.chmod(0o640)
    with pytest.raises(LocalError, match="others can read it"):
        stafffile.load(copy)
    copy.write_text('{"staff": {"s-01": {"roles": ["dealer"], "salt": "00", "scrypt": "5ec2e7"}}}')
    copy.chmod(0o600)
    with pytest.raises(LocalError, match="no staff file") as error:
        stafffile.load(copy)
    assert "5ec2e7" not in str(error.value)
    with pytest.raises(LocalError, match="cannot be read"):
        stafffile.load(tmp_path / "none")


def feltd(*arguments: str, pin: str = "") -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "controller.cli", "staff", *arguments]
    return subprocess.run(command, cwd=ROOT, input=pin, capture_output=True, text=True, timeout=60, check=False)


def test_persons_are_added_changed_and_removed_from_the_command_line(tmp_path: Path) -> None:
    path = str(tmp_path / "staff")
    added = feltd("add", "s-0193", "--role", "dealer", "--file", path, "--pin-stdin", pin=f"{PIN}\n")
    assert (added.returncode, added.stderr) == (0, "")
    assert feltd("add", "s-0193", "--role", "dealer", "--file", path, "--pin-stdin", pin=f"{PIN}\n").returncode == 2
    assert feltd("add", "dealer", "--role", "dealer", "--file", path, "--pin-stdin", pin=f"{PIN}\n").returncode == 2
    assert feltd("list", "--file", path).stdout == "s-0193: dealer\n"
    assert feltd("roles", "s-0193", "--role", "inspector", "--file", path).returncode == 0
    assert feltd("passwd", "s-0193", "--file", path, "--pin-stdin", pin=f"{OTHER}\n").returncode == 0
    member = stafffile.load(Path(path))["s-0193"]
    assert member.roles == ("inspector",)
    assert member.proves(OTHER)
    assert not member.proves(PIN)
    refused = feltd("passwd", "s-0193", "--file", path)
    assert refused.returncode == 2
    assert "--pin-stdin" in refused.stderr
    assert feltd("remove", "s-0193", "--file", path).returncode == 0
    assert feltd("remove", "s-0193", "--file", path).returncode == 2


def test_who_is_removed_or_loses_a_function_is_out_at_once(tmp_path: Path) -> None:
    staff = {name: Member.new(name, ("inspector",), PIN) for name in ("s-01", "s-02")}
    stafffile.save(tmp_path / "staff", staff)
    core = Core()
    try:
        at = House(tmp_path / "staff", core)
        for uid, name in ((1000, "s-01"), (1001, "s-02")):
            assert at.login(name, "inspector", PIN, uid)["ok"]
        for left in ({}, {"s-01": Member.new("s-01", ("dealer",), PIN)}):
            stafffile.save(tmp_path / "staff", left | {"s-02": staff["s-02"]})
            for command in sorted(COMMANDS.keys() - {"login"}):
                refused = at.ask(command)["error"]
                assert (refused["field"], refused["value"]) == ("by", "s-01")
                assert "not on the staff as inspector any more" in refused["remedy"]
        said = len(core.obeyed)
        assert at.ask("logout", uid=1001, staff="s-01")["ok"], "a supervisor ends it"
        assert len(core.obeyed) == said + 1 == 3
        stafffile.save(tmp_path / "staff", staff)
        assert at.ask("open")["ok"]
    finally:
        core.close()
