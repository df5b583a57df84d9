"""The desk behind the command socket: who speaks, what is asked, what is answered."""

import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from controller import commands
from controller.client import told
from controller.commands import CommandSocket, Desk
from controller.configuration.settings import Person, SocketSettings
from controller.core.inputs import Command
from controller.core.records import Record
from controller.errors import LocalError
from controller.inbox import Inbox, Order, Outcome


class Core:
    """Stands in for the core thread: obeys every command with the records that the test wants."""

    def __init__(self) -> None:
        self.inbox = Inbox()
        self.obeyed: list[Command] = []
        self.records: tuple[Record, ...] = ()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.is_set():
            item = self.inbox.get(0.05)
            if isinstance(item, Order):
                self.obeyed.append(item.command)
                item.outcome.set_result(Outcome(self._told(item.command)))

    def _told(self, command: Command) -> tuple[Record, ...]:
        if command.name == "login":
            by = {"staff": command.args["staff"], "role": command.args["role"]}
            return (Record("play", "staff.assigned", command.args["staff"], {"by": by}),)
        return self.records

    def close(self) -> None:
        self._ended.set()
        self._thread.join(5)


@pytest.fixture
def core() -> Iterator[Core]:
    core = Core()
    yield core
    core.close()


def desk(core: Core, **more: Any) -> Desk:
    return Desk(SocketSettings(Path("unused"), **more), core.inbox, {})


def ask(at: Desk, uid: int = 1000, **request: Any) -> dict[str, Any]:
    return at.answer(json.dumps(request).encode(), uid)


def test_nobody_is_logged_in_then_the_account_is_named(core: Core) -> None:
    assert ask(desk(core), command="open")["ok"]
    assert (core.obeyed[0].by, core.obeyed[0].role) == ("uid:1000", "")


def test_who_logged_in_last_at_an_account_speaks_unless_another_is_named(core: Core) -> None:
    at = desk(core)
    for staff, role in (("s-01", "dealer"), ("s-02", "inspector")):
        assert ask(at, command="login", args={"staff": staff, "role": role})["ok"]
    ask(at, command="close")
    ask(at, command="close", by="s-01")
    ask(at, uid=1001, command="close")
    assert [(c.by, c.role) for c in core.obeyed[2:]] == [
        ("s-02", "inspector"),
        ("s-01", "dealer"),
        ("uid:1001", ""),
    ]


def test_a_role_that_is_not_ones_own_is_refused(core: Core) -> None:
    at = desk(core)
    ask(at, command="login", args={"staff": "s-01", "role": "dealer"})
    assert ask(at, command="close", by="s-01", role="manager")["error"]["remedy"] == "s-01 is logged in as dealer"
    assert ask(at, uid=5, command="close", role="manager")["error"]["field"] == "role"
    assert len(core.obeyed) == 1


def test_an_account_that_is_one_person_can_be_nobody_else(core: Core) -> None:
    at = desk(core, staff=MappingProxyType({1000: Person("s-07", "manager")}))
    assert ask(at, command="close")["ok"]
    assert (core.obeyed[0].by, core.obeyed[0].role) == ("s-07", "manager")
    assert ask(at, command="close", by="s-08")["error"]["field"] == "by"


def test_an_account_that_is_one_person_logs_in_nobody_else(core: Core) -> None:
    at = desk(core, staff=MappingProxyType({1000: Person("s-07", "dealer")}))
    for staff, role in (("s-07", "manager"), ("s-08", "dealer"), (["s-07"], "dealer")):
        assert ask(at, command="login", args={"staff": staff, "role": role})["error"]["field"] == "staff"
    assert not core.obeyed
    assert ask(at, command="login", args={"staff": "s-07", "role": "dealer"})["ok"]


def test_after_a_restart_an_account_says_again_who_it_is(core: Core) -> None:
    at = Desk(SocketSettings(Path("unused")), core.inbox, {"s-09": "manager"})
    assert "has restarted since the log-in" in ask(at, command="close")["error"]["remedy"]
    assert ask(at, command="close", by="s-09")["ok"]
    assert ask(at, command="login", args={"staff": "s-09", "role": "manager"})["ok"]
    assert ask(at, command="close")["ok"]
    assert [(c.name, c.by) for c in core.obeyed] == [("close", "s-09"), ("login", "uid:1000"), ("close", "s-09")]


def test_a_refusal_by_the_rules_names_what_is_allowed(core: Core) -> None:
    allowed = [{"kind": "call", "min": 100, "max": 100}]
    data = {"what": "x", "rules": ["HR-9.4"], "reaction": "BLOCK", "asked": "no", "allowed_now": allowed, "repeat": 1}
    core.records = (Record("play", "breach.noted", "t07", data),)
    answer = ask(desk(core), command="buyin")
    assert answer["ok"] is False
    assert answer["refused"] == [{"what": "x", "rules": ["HR-9.4"], "asked": "no", "allowed_now": allowed}]


@pytest.mark.parametrize(
    ("line", "field"),
    [
        (b"{", "request"),
        (b"\xff", "request"),
        (b"3", "request"),
        (b"{}", "command"),
        (b'{"command": ""}', "command"),
        (b'{"command": "open", "args": 3}', "args"),
        (b'{"command": "open", "by": 3}', "by"),
        (b'{"command": "open", "bye": "x"}', "bye"),
    ],
)
def test_what_is_no_request_is_answered_with_what_one_is(core: Core, line: bytes, field: str) -> None:
    assert desk(core).answer(line, 0)["error"]["field"] == field
    assert not core.obeyed


def test_a_table_that_does_not_answer_is_said_to_be_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "ANSWER_S", 0.05)
    inbox = Inbox()
    at = Desk(SocketSettings(Path("unused")), inbox, {})
    assert ask(at, command="open")["error"]["remedy"] == "the table is busy: it was withdrawn"
    order = inbox.get(0)
    assert isinstance(order, Order)
    assert order.outcome.cancelled()


# ---------------------------------------------------------------- the socket


def test_the_socket_is_for_owner_and_group_and_names_the_peer(tmp_path: Path) -> None:
    path = tmp_path / "sock"
    heard: list[tuple[bytes, int]] = []

    def hear(line: bytes, uid: int) -> dict[str, Any]:
        heard.append((line, uid))
        return {"ok": True, "records": []}

    listening = CommandSocket(SocketSettings(path), hear)
    listening.start()
    try:
        assert path.stat().st_mode & 0o777 == 0o660
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
            peer.settimeout(5)
            peer.connect(str(path))
            peer.sendall(b"one\ntw")
            peer.sendall(b"o\n\n")
            with peer.makefile("rb") as answers:
                assert [json.loads(answers.readline())["ok"] for _ in range(2)] == [True, True]
    finally:
        listening.stop()
    assert heard == [(b"one", os.getuid()), (b"two", os.getuid())]
    assert not path.exists()


def test_a_socket_left_by_a_killed_daemon_is_replaced_and_a_living_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(path))
    first = CommandSocket(SocketSettings(path), lambda _line, _uid: {})
    first.start()
    try:
        with pytest.raises(LocalError, match="another daemon listens there"):
            CommandSocket(SocketSettings(path), lambda _line, _uid: {})
    finally:
        first.stop()


def test_a_path_that_cannot_be_had_is_named(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match=r"socket\.path"):
        CommandSocket(SocketSettings(tmp_path / "no" / "sock"), lambda _line, _uid: {})


@pytest.mark.parametrize(
    ("kind", "tried"),
    [
        ("action.refused", {"seat": 2, "tried": {"kind": "push", "to": None}}),
        ("bet.refused", {"box": 2, "spot": "ante"}),
    ],
)
def test_a_refusal_without_a_rule_behind_it_is_one_and_says_why(core: Core, kind: str, tried: dict[str, Any]) -> None:
    data = {**tried, "rules": [], "allowed": [], "why": "incident i-1 has to be ruled first"}
    core.records = (Record("play", kind, "t07", data),)
    answer = desk(core).answer(b'{"command":"push","args":{"seat":2,"amount":200}}', 0)
    assert answer["ok"] is False
    assert [one["asked"] for one in answer["refused"]] == ["incident i-1 has to be ruled first"]
    assert told(answer) == "refused: incident i-1 has to be ruled first"


def test_a_refusal_with_a_rule_behind_it_is_told_once(core: Core) -> None:
    data = {"seat": 2, "tried": {"kind": "bet", "to": 5}, "rules": ["CM-1"], "allowed": [], "why": "too little"}
    breach = {"what": "below_minimum", "reaction": "BLOCK", "rules": ["CM-1"], "asked": "too little", "seat": 2}
    core.records = (Record("play", "action.refused", "t07", data), Record("play", "breach.noted", "t07", breach))
    answer = desk(core).answer(b'{"command":"push","args":{"seat":2,"amount":200}}', 0)
    assert [one["what"] for one in answer["refused"]] == ["below_minimum"]
