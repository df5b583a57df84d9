"""The command socket: people's decisions, one JSON object a line, over a local Unix socket.

The kernel says which account the peer is. A person logs in once and is then named by ``by``; every command is
recorded under that name, or under the account (``uid:1000``) where nobody has logged in.
"""

import json
import os
import pwd
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as Waited
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from controller import requestline
from controller.access import Access, Counter, may
from controller.answers import healthy, mistake, told
from controller.configuration.settings import Person, SocketSettings
from controller.core.inputs import Command
from controller.core.records import Record
from controller.core.said import shown
from controller.errors import FeltError, LocalError
from controller.inbox import Ask, Inbox, Order, Outcome

LONGEST_LINE = 64 * 1024
MOST_CLIENTS = 16
MOST_OF_ONE = 8
"""How many clients of one account are served at once."""
ANSWERED_S = 2.0
"""So long an end waits for answers that are on their way."""
IDLE_S = 60.0
"""A peer that says nothing for so long is let go; the longest silent one at once where its place is needed."""
ANSWER_S = 10.0
"""How long a command may wait for the table. After that it is withdrawn."""

log = structlog.get_logger()


class Desk:
    """Turns requests into commands and outcomes into answers. Knows who is logged in; no socket in here."""

    def __init__(
        self,
        settings: SocketSettings,
        inbox: Inbox,
        staff: Mapping[str, str],
        health: Callable[[], Mapping[str, Any]] = dict,
        access: Access | None = None,
        final: Callable[[str], bool] = bool,
    ) -> None:
        """``final``: whether the ledger has a hand that is final; the table itself keeps only the last ones in mind."""
        self._settings = settings
        self._inbox = inbox
        self._guard = threading.Lock()
        self._staff = dict(staff)
        self._health = health
        self._final = final
        self._counter = Counter(access) if access is not None else None
        self._at: dict[int, str] = {}
        self._before = set(staff)
        """Who was logged in before this process began and has not said a word since: at which account, nobody knows."""

    def answer(self, line: bytes, uid: int) -> dict[str, Any]:
        """The answer to one request of the account ``uid``."""
        try:
            request = requestline.read(line)
            if request["command"] == "status":
                return {"ok": True, "status": self._status()}
            if request["command"] == "health":
                return {"ok": True, "health": healthy(self._health())}
            return self._command(request, uid)
        except LocalError as error:
            return mistake(error)

    def _command(self, request: Mapping[str, Any], uid: int) -> dict[str, Any]:
        by, role = self._who(request, uid)
        if request["command"] == "adjust":
            self._may_be_adjusted(request["args"].get("hand"))
        order = Order(Command(request["command"], request["args"], by, role, request["reason"]))
        outcome = self._wait(order)
        if outcome.mistake is not None:
            return mistake(outcome.mistake)
        self._note(outcome.records, uid)
        log.info("command", name=request["command"], by=by, role=role, uid=uid, records=len(outcome.records))
        return told(outcome.records)

    def _may_be_adjusted(self, hand: object) -> None:
        """What is put right refers to the end of a hand: one that is not on record could not be recorded."""
        if isinstance(hand, str) and hand and not self._final(hand):
            remedy = "no such hand of this table is final: find it with feltd ledger search --type hand.final"
            raise LocalError("hand", shown(hand), remedy)

    def _who(self, request: Mapping[str, Any], uid: int) -> tuple[str, str]:
        """The person and role that a command is recorded under."""
        by, role = request["by"], request["role"]
        fixed = self._settings.staff.get(uid)
        if fixed is not None:
            if by not in ("", fixed.staff) or role not in ("", fixed.role):
                raise LocalError("by", by or role, f"this account is {fixed.staff} ({fixed.role}) and nobody else")
            if self._counter is not None:
                may(request["command"], fixed.role)
            if request["command"] == "login":
                _only_oneself(request["args"], fixed)
            return fixed.staff, fixed.role
        if self._counter is not None:
            with self._guard:
                last, staff = self._at.get(uid, ""), dict(self._staff)
            return self._counter.speaker(request, request["args"], last, staff, f"uid:{uid}")
        request["args"].pop("pins", None)
        with self._guard:
            by = by or self._at.get(uid, "")
            if not by:
                if self._before and request["command"] != "login":
                    remedy = "the daemon has restarted since the log-in: log in again, or name yourself with --by"
                    raise LocalError("by", f"uid:{uid}", remedy)
                if role:
                    raise LocalError("role", role, "say by whom: a role belongs to a person who is logged in")
                return f"uid:{uid}", ""
            if request["command"] == "login":
                return by, role
            if by not in self._staff:
                raise LocalError("by", by, "log in first: feltd login STAFF ROLE")
            known = self._staff[by]
        if role not in ("", known):
            raise LocalError("role", role, f"{by} is logged in as {known}")
        return by, known

    def _note(self, records: tuple[Record, ...], uid: int) -> None:
        """Follow who has come and gone."""
        with self._guard:
            for record in records:
                follow_staff(self._staff, record)
                if record.type in ("staff.assigned", "staff.relieved"):
                    self._before.discard(record.subject)
                if record.type == "staff.assigned":
                    self._at[uid] = record.subject
                elif record.type == "staff.relieved":
                    self._at = {at: who for at, who in self._at.items() if who != record.subject}

    def _wait(self, order: Order) -> Outcome:
        if not self._inbox.post(order, ANSWER_S):
            raise LocalError("command", order.command.name, "the table is busy: nothing was done, try again")
        try:
            return order.outcome.result(ANSWER_S)
        except Waited:
            if order.outcome.cancel():
                raise LocalError("command", order.command.name, "the table is busy: it was withdrawn") from None
            # It is being carried out at this moment: the answer is near.
            return order.outcome.result(ANSWER_S)
        except CancelledError:
            raise LocalError("command", order.command.name, "the daemon is ending: nothing was done") from None

    def _status(self) -> dict[str, Any]:
        ask = Ask(lambda table: table.status())
        if not self._inbox.post(ask, ANSWER_S):
            raise LocalError("command", "status", "the table is busy, try again")
        try:
            status: dict[str, Any] = ask.answer.result(ANSWER_S)
        except (Waited, CancelledError):
            raise LocalError("command", "status", "the table is busy or ending, try again") from None
        return status


def _only_oneself(args: Mapping[str, Any], fixed: Person) -> None:
    if (args.get("staff"), args.get("role")) != (fixed.staff, fixed.role):
        raise LocalError("staff", shown(args.get("staff")), f"this account is {fixed.staff} ({fixed.role})")


def follow_staff(staff: dict[str, str], record: Record) -> None:
    """Keep ``staff`` (person -> role) in step with the records."""
    if record.type == "table.opened":
        # Who was there when the table was opened: their log-ins may lie before what a restart reads.
        staff.update((person["staff"], person["role"]) for person in record.data["staff"])
    elif record.type == "staff.assigned":
        staff[record.subject] = record.data["by"]["role"]
    elif record.type == "staff.relieved":
        staff.pop(record.subject, None)


@dataclass(slots=True)
class _Client:
    """Who is served: the account, since when it has been silent, and whether a request of it is being carried out."""

    peer: socket.socket
    uid: int
    since: float
    busy: bool = False
    thread: threading.Thread | None = None


class CommandSocket:
    """Listens, lets in whom it may, and has the desk answer. A thread a client, at most ``MOST_CLIENTS``."""

    def __init__(self, settings: SocketSettings, desk: Callable[[bytes, int], dict[str, Any]]) -> None:
        self._settings = settings
        self._desk = desk
        self._socket = _listen(settings)
        self._stopping = threading.Event()
        self._clients: dict[socket.socket, _Client] = {}
        self._guard = threading.Lock()
        self._thread = threading.Thread(target=self._accept, name="commands", daemon=True)

    def start(self) -> None:
        """Begin to listen."""
        self._socket.listen(MOST_CLIENTS)
        self._thread.start()

    def stop(self) -> None:
        """Let everybody go and remove the socket."""
        self._stopping.set()
        _shut(self._socket)
        if self._thread.ident is not None:
            self._thread.join(5)
        self._socket.close()
        self._settings.path.unlink(missing_ok=True)
        with self._guard:
            served = list(self._clients.values())
        for client in served:
            _shut(client.peer, socket.SHUT_RD)  # no new request; who is being answered still hears it
        deadline = time.monotonic() + ANSWERED_S
        for client in served:
            if client.thread is not None:
                client.thread.join(max(0.0, deadline - time.monotonic()))
            _shut(client.peer)

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                client, _ = self._socket.accept()
            except OSError:
                # Shut down by stop(); or no descriptor left, and then waiting a moment is all that helps.
                self._stopping.wait(0.1)
                continue
            client.settimeout(IDLE_S)
            thread = threading.Thread(target=self._serve, args=(client,), name="command", daemon=True)
            if self._room_for(client, thread):
                thread.start()
            else:
                client.settimeout(0)
                _say(client, mistake(LocalError("socket", MOST_CLIENTS, "too many clients at once, try again")))
                client.close()

    def _room_for(self, client: socket.socket, thread: threading.Thread) -> bool:
        """Whether it may be served; who has been silent longest goes first, so that idle peers lock nobody out."""
        uid, _ = _peer(client)
        with self._guard:
            of_one = [one for one in self._clients.values() if one.uid == uid]
            crowd = of_one if len(of_one) >= MOST_OF_ONE else list(self._clients.values())
            if len(of_one) >= MOST_OF_ONE or len(crowd) >= MOST_CLIENTS:
                silent = min((one for one in crowd if not one.busy), key=lambda one: one.since, default=None)
                if silent is None:
                    return False
                del self._clients[silent.peer]
                _shut(silent.peer)
            self._clients[client] = _Client(client, uid, time.monotonic(), thread=thread)
            return True

    def _serve(self, client: socket.socket) -> None:
        try:
            with client:
                self._talk(client)
        finally:
            with self._guard:
                self._clients.pop(client, None)

    def _talk(self, client: socket.socket) -> None:
        uid, gid = _peer(client)
        if not self._may(uid, gid):
            log.warning("command socket refused", uid=uid)
            _say(client, mistake(LocalError("socket", f"uid:{uid}", "not allowed: add the account to socket.uids")))
            return
        buffer = b""
        while not self._stopping.is_set():
            line, found, rest = buffer.partition(b"\n")
            if found:
                buffer = rest
                if line.strip() and not self._attend(client, line, uid):
                    return
            elif len(buffer) > LONGEST_LINE:
                _say(client, mistake(LocalError("request", len(buffer), f"a line has at most {LONGEST_LINE} bytes")))
                return
            else:
                try:
                    chunk = client.recv(4096)
                except OSError:
                    return
                if not chunk:
                    return
                buffer += chunk

    def _attend(self, client: socket.socket, line: bytes, uid: int) -> bool:
        """Answer one request; while it is carried out, nobody takes the client's place."""
        with self._guard:
            at = self._clients.get(client)
            if at is None:
                return False
            at.busy = True
        try:
            return self._reply(client, line, uid)
        finally:
            at.busy, at.since = False, time.monotonic()

    def _reply(self, client: socket.socket, line: bytes, uid: int) -> bool:
        try:
            return _say(client, self._desk(line, uid))
        except FeltError as error:
            # The core has ended with this error and says so in the log; the peer must not wait for it.
            return _say(client, mistake(LocalError("daemon", type(error).__name__, "the table could not record it")))

    def _may(self, uid: int, gid: int) -> bool:
        if uid in (0, os.getuid()) or uid in self._settings.uids or uid in self._settings.staff:
            return True
        return bool(self._settings.gids & _groups(uid, gid))


def _listen(settings: SocketSettings) -> socket.socket:
    """Take the address. Raises ``LocalError`` where somebody listens there already or it cannot be had."""
    path = settings.path
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        if path.is_socket():
            _refuse_if_alive(path)
            path.unlink()
        listener.bind(str(path))
        # Nobody can connect before listen(), so nobody slips in before the mode is right.
        path.chmod(0o660)
        if len(settings.gids) == 1:
            os.chown(path, -1, min(settings.gids))
    except OSError as error:
        listener.close()
        remedy = f"cannot be used ({error.strerror}): check the folder and its owner"
        raise LocalError("socket.path", str(path), remedy) from error
    except LocalError:
        listener.close()
        raise
    return listener


def _refuse_if_alive(path: Path) -> None:
    """A socket that a killed daemon left behind may be replaced; one that answers may not."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        if probe.connect_ex(str(path)) == 0:
            raise LocalError("socket.path", str(path), "another daemon listens there: name another path")


def _peer(client: socket.socket) -> tuple[int, int]:
    """Account and group of the process at the other end, by the kernel's word."""
    _, uid, gid = struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    return uid, gid


def _groups(uid: int, gid: int) -> set[int]:
    try:
        return {gid, *os.getgrouplist(pwd.getpwuid(uid).pw_name, gid)}
    except KeyError:
        return {gid}


def _say(client: socket.socket, answer: Mapping[str, Any]) -> bool:
    try:
        client.sendall(json.dumps(answer, ensure_ascii=False).encode() + b"\n")
    except OSError:
        return False
    return True


def _shut(peer: socket.socket, how: int = socket.SHUT_RDWR) -> None:
    """Wake whoever is blocked in this socket."""
    try:
        peer.shutdown(how)
    except OSError as error:
        log.debug("socket was closed already", error=str(error))
