"""Where a rig's broker is, how it is spoken to, and whether nothing lies there from before."""

import ssl
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from simulators.errors import RigError
from simulators.scripts.strict import Section

PLAIN, TLS = 1883, 8883
LOOPBACK = ("127.0.0.1", "localhost", "::1")
START_S = 10.0
RETAINED_S = 0.5
"""After the subscription is confirmed a broker sends what it has retained at once."""


@dataclass(frozen=True, slots=True)
class BrokerAt:
    """One broker. ``ca`` proves it, ``certificate`` and ``key`` or ``user`` and ``password`` (a file) prove the rig."""

    host: str
    port: int
    tls: bool = False
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    user: str = ""
    password: Path | None = None

    def __str__(self) -> str:
        return f"{'mqtts' if self.tls else 'mqtt'}://{self.host}:{self.port}"

    def client(self, name: str, *, clean: bool) -> Client:
        """A client that will speak to it, not connected. Raises ``RigError`` for files that cannot be used."""
        made = Client(CallbackAPIVersion.VERSION2, name, clean_session=clean, protocol=MQTTProtocolVersion.MQTTv311)
        try:
            if self.tls:
                context = ssl.create_default_context(cafile=self.ca)
                if self.certificate is not None:
                    context.load_cert_chain(self.certificate, self.key)
                made.tls_set_context(context)
            if self.user:
                secret = self.password.read_text(encoding="utf-8").strip() if self.password else None
                made.username_pw_set(self.user, secret)
        except (OSError, ssl.SSLError) as error:
            raise RigError(f"{self}: [broker] of the rig: {error}") from error
        return made


def on_port(port: int) -> BrokerAt:
    """The rig's own broker on this machine."""
    return BrokerAt("127.0.0.1", port)


def read(dut: Section, more: Section) -> BrokerAt:
    """``dut.broker``, and ``[broker]`` with what proves both sides. Raises ``ScriptError``."""
    uri = dut.text("broker")
    parts = urlsplit(uri)
    try:
        port = parts.port
    except ValueError:
        port = 0
    sound = parts.scheme in ("mqtt", "mqtts") and parts.hostname and port != 0 and not parts.password
    if not sound:
        raise dut.wrong(
            "broker", uri, "write mqtt://127.0.0.1:1883, or mqtts://HOST:8883; a password never stands in it"
        )
    tls, host = parts.scheme == "mqtts", str(parts.hostname)
    if not tls and host not in LOOPBACK:
        raise dut.wrong("broker", uri, f"mqtt in clear stays on loopback: write mqtts://{host}:8883")
    files = {name: _file(more, name) for name in ("ca", "certificate", "key", "password")}
    user = more.text("user", "")
    more.done()
    for name in ("ca", "certificate", "key"):
        if files[name] is not None and not tls:
            raise more.wrong(name, more.data[name], "belongs to a broker that speaks TLS: write mqtts://")
    if (files["certificate"] is None) != (files["key"] is None):
        raise more.wrong("key", more.data.get("key"), "give certificate and key together")
    if files["password"] is not None and not user:
        raise more.wrong("user", user, "say whose password it is")
    return BrokerAt(host, port or (TLS if tls else PLAIN), tls, user=user, **files)


def _file(section: Section, name: str) -> Path | None:
    given = section.text(name, None)
    if given is None:
        return None
    path: Path = section.path.parent / given
    if not path.is_file():
        raise section.wrong(name, given, f"no such file: {path}")
    return path


def emptied(at: BrokerAt, name: str, own: str, *, running: bool) -> None:
    """End what ``name`` had subscribed in another night, and look that nothing else lies there.

    ``own`` is the base of the topics of the table under test; what a running daemon says of itself may lie there.
    Raises ``RigError`` that names a topic.
    """
    lying = retained(at, name)
    if others := [topic for topic in lying if not topic.startswith(f"{own}/")]:
        raise RigError(f"{at}: is not empty: {others[0]} lies there; give the rig a broker of its own, and empty it")
    if lying and not running:
        raise RigError(f"{at}: is not empty: {lying[0]} lies there from an earlier run")


def retained(at: BrokerAt, name: str) -> list[str]:
    """The topics of all tables under which something lies; what ``name`` had subscribed is ended.

    Raises ``RigError``.
    """
    subscribed = threading.Event()
    found: set[str] = set()

    def message(_client: Client, _data: object, one: MQTTMessage) -> None:
        if one.retain and one.payload:
            found.add(one.topic)

    def connected(client: Client, *_: Any) -> None:
        client.subscribe([("felt-test/#", 1), ("felt/#", 1)])

    client = at.client(name, clean=True)
    client.on_connect = connected
    client.on_subscribe = lambda *_: subscribed.set()
    client.on_message = message
    connect(client, at)
    try:
        if not subscribed.wait(START_S):
            raise RigError(f"{at}: takes no subscription: look at user, password and its access rules")
        threading.Event().wait(RETAINED_S)
    finally:
        client.disconnect()
        client.loop_stop()
    return sorted(found)


def take_back(at: BrokerAt, topics: Iterable[str]) -> None:
    """Let nothing be retained under these topics any more. Raises ``RigError``."""
    client = at.client("", clean=True)
    connect(client, at)
    try:
        for topic in topics:
            said = client.publish(topic, b"", qos=1, retain=True)
            said.wait_for_publish(START_S)
            if not said.is_published():
                raise RigError(f"{at}: {topic} cannot be taken back: look at its access rules")
    finally:
        client.disconnect()
        client.loop_stop()


def unreachable(at: BrokerAt) -> str:
    """Why a broker lets nobody in just now; empty where it does. Raises ``RigError`` for files that cannot be used."""
    let_in = threading.Event()
    client = at.client("", clean=True)
    client.on_connect = lambda *_: let_in.set()
    try:
        connect(client, at)
    except RigError as error:
        return str(error)
    try:
        return "" if let_in.wait(START_S) else f"the rig's broker {at} does not answer"
    finally:
        client.disconnect()
        client.loop_stop()


def connect(client: Client, at: BrokerAt) -> None:
    """Connect, and listen in a thread. Raises ``RigError``."""
    try:
        client.connect(at.host, at.port, keepalive=10)
    except (OSError, ssl.SSLError) as error:
        raise RigError(f"the rig cannot reach its broker {at}: {error}") from error
    client.loop_start()
