"""What a person may say at all: every argument of every command, with everything that nobody may say."""

import json
import re
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller import commands, requestline
from controller.commands import CommandSocket, Desk
from controller.configuration.settings import SocketSettings
from controller.core import said
from controller.core.commands import COMMANDS
from controller.core.errors import BadCommand
from controller.core.inputs import Command
from controller.core.money import MOST
from controller.errors import LocalError
from controller.inbox import Inbox
from tests.felt import Felt

BAD_TEXTS = ["\ud800", "M\udcfcller", "a\nb", "a\x00b", "\x1b[2J", "x" * 65, "\u202eabc"]
BAD_NUMBERS = [MOST + 1, -MOST - 1, 2**53, 10**40, 1.5, float("nan"), float("inf"), True, "7"]
EVERY = [(command, name) for command, known in said.ARGUMENTS.items() for name in known]


def test_each_command_says_what_it_takes() -> None:
    assert set(said.ARGUMENTS) == set(COMMANDS) | {"no_more_bets"}


@pytest.mark.parametrize(("command", "name"), EVERY)
def test_no_argument_of_any_command_takes_what_cannot_be_recorded(command: str, name: str) -> None:
    for bad in [*BAD_TEXTS, *BAD_NUMBERS, {"a": {}}, [["x"]], [{"b": 1}], ["\ud800"] * 200]:
        if bad == "7" or bad is True:
            continue  # a text may be "7", a flag may be true; nothing else of all this is ever let in
        with pytest.raises(BadCommand) as refused:
            said.check(Command(command, {name: bad}))
        told = {"value": refused.value.value, "remedy": refused.value.remedy}
        assert len(json.dumps(told, ensure_ascii=False, allow_nan=False).encode()) < 600


@pytest.mark.parametrize("command", sorted(said.ARGUMENTS))
def test_an_argument_that_a_command_does_not_have_is_named(command: str) -> None:
    with pytest.raises(BadCommand, match=re.escape(f"{command} takes")) as error:
        said.check(Command(command, {"stak": 20_000}))
    assert error.value.field == "stak"


@pytest.mark.parametrize("reason", ["\ud800", "a\nb", "x" * 501, "\x07"])
def test_a_reason_and_a_name_are_one_line_of_text(reason: str) -> None:
    for bad in (Command("close", reason=reason), Command("close", by=reason), Command("close", by="s-1", role=reason)):
        with pytest.raises(BadCommand):
            said.check(bad)


@pytest.mark.parametrize("staff", ["a/b\nc", "a/b", "", " ", "a b", "x" * 65, "-x", "é"])
def test_a_staff_id_is_a_plain_word(staff: str) -> None:
    for name in ("login", "logout"):
        with pytest.raises(BadCommand, match="staff"):
            said.check(Command(name, {"staff": staff, **({"role": "dealer"} if name == "login" else {})}))


@pytest.mark.parametrize("blank", [" ", "   ", "\u00a0", "\u2003 "])
def test_blanks_alone_are_no_text(blank: str) -> None:
    with pytest.raises(BadCommand, match="player"):
        said.check(Command("seat", {"seat": 3, "player": blank}))


def test_a_refusal_at_the_door_changes_nothing() -> None:
    felt = Felt().open([1000, 1000])
    before = len(felt.records)
    for bad in (
        Command("seat", {"seat": 3, "stak": 20_000}, "s-01", "manager"),
        Command("announce", {"seats": [[1]]}, "s-01", "manager"),
        Command("seat", {"seat": 3, "player": "M\udcfcller"}, "s-01", "manager"),
    ):
        with pytest.raises(BadCommand):
            felt.do(bad)
    assert len(felt.records) == before


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@given(st.sampled_from(EVERY), json_values)
def test_whatever_passes_the_door_can_be_an_event(at: tuple[str, str], value: Any) -> None:
    command, name = at
    try:
        said.check(Command(command, {name: value}))
    except BadCommand:
        return
    text = json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    assert len(text) < 32 * 1024


# ---------------------------------------------------------------- one line of the socket


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 60_000,
        b'{"command":"seat","args":' + b'{"a":' * 9000 + b"1" + b"}" * 9001,
        b'{"command":"seat","args":{"a":[[[[[[[[1]]]]]]]]}}',
        b'{"command":"seat","args":{"seat":' + b"9" * 5000 + b"}}",
        b'{"command":"attest","args":{"statement":NaN}}',
        b'{"command":"attest","args":{"statement":-Infinity}}',
        b'{"command":"seat","args":{"seat":1.0}}',
        b'{"command":"seat","args":{"seat":1e3}}',
        b'{"command":"seat","command":"close"}',
        b'{"command":"seat","args":{"seat":1,"seat":2}}',
        b'{"command":"close","reason":"\\ud800"}',
        b'{"command":"login","args":{"staff":"\\udc00x"}}',
        b'{"command":"close","args":{"\\udc00":1}}',
        b'{"\\udc00":1}',
        b'{"command":"seat","args":{"player":"M\xfcller"}}',
        b"\xed\xa0\x80",
        b"",
    ],
)
def test_a_line_without_one_clear_meaning_is_refused(line: bytes) -> None:
    answer = Desk(SocketSettings(Path("unused")), Inbox(), {}).answer(line, 0)
    assert answer["ok"] is False
    assert len(json.dumps(answer, ensure_ascii=False, allow_nan=False).encode()) < 1000


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_no_line_does_more_than_be_refused(line: bytes) -> None:
    try:
        request = requestline.read(line)
    except LocalError:
        return
    assert set(request) == set(requestline.FIELDS)


def test_a_line_of_plain_meaning_is_read() -> None:
    read = requestline.read('{"command":"seat","args":{"seat":7,"player":"Müller 🂡"},"reason":"ž"}'.encode())
    assert read == {
        "command": "seat",
        "args": {"seat": 7, "player": "Müller 🂡"},
        "by": "",
        "role": "",
        "reason": "ž",
    }


# ---------------------------------------------------------------- idle peers


@pytest.mark.parametrize("most_of_one", [commands.MOST_OF_ONE, commands.MOST_CLIENTS])
def test_idle_peers_lock_nobody_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_of_one: int) -> None:
    monkeypatch.setattr(commands, "MOST_OF_ONE", most_of_one)
    listening = CommandSocket(SocketSettings(tmp_path / "sock"), lambda _line, _uid: {"ok": True})
    listening.start()
    idle: list[socket.socket] = []
    try:
        for _ in range(3 * commands.MOST_CLIENTS):
            peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            idle.append(peer)
            peer.connect(str(tmp_path / "sock"))  # waits where the queue of the socket is full
            peer.settimeout(10)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
            peer.connect(str(tmp_path / "sock"))
            peer.settimeout(10)
            peer.sendall(b"x\n")
            assert json.loads(peer.recv(100)) == {"ok": True}
        assert idle[0].recv(1) == b""  # the longest silent went first
        idle[-1].sendall(b"y\n")
        assert json.loads(idle[-1].recv(100)) == {"ok": True}
    finally:
        for peer in idle:
            peer.close()
        listening.stop()


def test_a_number_that_is_too_large_is_repeated_wherever_it_stands() -> None:
    for name, args in (
        ("fill", {"lines": [{"denomination": 100, "count": 99999999999999999}]}),
        ("orphan", {"amount": 99999999999999999, "place": "floor"}),
    ):
        with pytest.raises(BadCommand, match=r"99999999999999999.*at most"):
            said.check(Command(name, args))
