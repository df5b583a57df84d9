"""The publisher on paho-mqtt: MQTT 5, or 3.1.1 by setting.

Each connection is a paho client of its own: the ledger is the session, so nothing of a lost client is worth keeping,
and paho's own retry, which has no jitter, is off. paho runs without a thread: the pump's own thread sends and hears
in ``wait``. So nothing of it can die or hang unseen, and a record has one way less to wait for. paho calls back with
its locks held: a callback here only notes what it got.
"""

import os
import select
import socket
import ssl
import struct
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from weakref import finalize

from paho.mqtt.client import Client, ConnectFlags, DisconnectFlags, MQTTMessage, MQTTv5, MQTTv311, error_string
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode
from paho.mqtt.exception import MQTTException
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from controller.delivery.errors import BrokerError
from controller.delivery.lookup import Lookup
from controller.delivery.properties import Packed
from controller.delivery.publisher import Answered, Asked, Dropped, Message, Outcome, Unheard
from controller.errors import LocalError

# paho ships no type for this call.
_properties: Callable[[int], Properties] = Properties
# Larger ones are no request that we would serve; the broker keeps them from us.
_LARGEST_IN = 8192
# What paho lets through where a packet is not what it should be.
_NOT_UNDERSTOOD = (ValueError, LookupError, TypeError, AttributeError, AssertionError, struct.error, MQTTException)
_MOST = 20
_CARE_S = 1.0
_PING = b"\xc0\x00"
_PORTS = {"mqtt": 1883, "mqtts": 8883}


@dataclass(frozen=True, slots=True)
class MqttSettings:
    """Where the broker is and who we are. ``version`` is ``5`` or ``3.1.1``.

    ``server_name`` is the name in the broker's certificate where that is not ``host``.
    A broker that refuses a single event can say so only over MQTT 5.
    """

    host: str
    port: int
    client_id: str
    version: str = "5"
    tls: bool = False
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    server_name: str | None = None
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    keepalive_s: int = 15
    connect_timeout_s: float = 5.0


def broker_address(uri: str) -> tuple[str, int, bool]:
    """Host, port and whether TLS is spoken, from ``mqtt://host[:port]`` or ``mqtts://host[:port]``.

    Raises ``LocalError``.
    """
    remedy = "write mqtt://host[:port] or mqtts://host[:port]"
    try:
        parts = urlsplit(uri)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        raise LocalError("broker.uri", uri, remedy) from None
    if parts.hostname is None or port is None or parts.path.strip("/") or parts.query or parts.username:
        raise LocalError("broker.uri", uri, remedy)
    return parts.hostname, port, parts.scheme == "mqtts"


class MqttPublisher:
    """The port ``Publisher`` over MQTT."""

    def __init__(self, settings: MqttSettings) -> None:
        self._settings = settings
        self._modern = settings.version == "5"
        self._tls = _tls_context(settings) if settings.tls else None
        self._client: Client | None = None
        self._lookup = Lookup(settings.host, settings.port)
        self._greeting: tuple[str, str] | None = None
        """What the broker said when we came: a cause and its words, both empty where we are welcome."""
        self._cared_at = 0.0
        """When paho last looked whether the broker is still there."""
        self._staged = False
        """Something that paho has may not go yet."""
        self._pinged_at = 0.0
        self._most = _MOST
        """How many messages the broker has without its answer at once, at most; fewer where it said so."""
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        finalize(self, os.close, self._bell)

    def connect(self, session: int, will: Message, sink: Callable[[Outcome], None]) -> None:
        """See ``Publisher``. Takes at most three times ``connect_timeout_s``; each call tries one address.

        Where a broker takes fewer messages than most without answering, once more: paho must know when it connects.
        """
        known = self._most
        self._connect(session, will, sink)
        if self._most < known:
            self._connect(session, will, sink)

    def _connect(self, session: int, will: Message, sink: Callable[[Outcome], None]) -> None:
        self.close()
        settings = self._settings
        where = f"broker {settings.host}:{settings.port}"
        self._greeting = None
        address = self._lookup.next(settings.connect_timeout_s)
        client = self._client = self._new_client(session, sink)
        client.will_set(will.topic, will.body, qos=1, retain=will.retain)
        try:
            if self._modern:
                bound = _properties(PacketTypes.CONNECT)
                bound.MaximumPacketSize = _LARGEST_IN
                client.connect(address, settings.port, settings.keepalive_s, clean_start=True, properties=bound)
            else:
                client.connect(address, settings.port, settings.keepalive_s)
        except (OSError, ValueError) as error:
            self.close()
            cause = "refused" if isinstance(error, ConnectionRefusedError) else "unreachable"
            raise BrokerError(cause, f"{where} cannot be reached: {error}") from error
        cause, text = self._greeted()
        if cause:
            self.close()
            raise BrokerError(cause, f"{where} does not let us in: {text}")

    def listen(self, topics: Sequence[str]) -> None:
        """See ``Publisher``."""
        if self._client is None:
            raise BrokerError("closed", "not connected to a broker")
        code, _ = self._client.subscribe([(topic, 1) for topic in topics])
        if code != MQTTErrorCode.MQTT_ERR_SUCCESS:
            raise BrokerError("lost", f"the connection is gone: {error_string(code)}")

    def publish(self, message: Message) -> int:
        """See ``Publisher``."""
        if self._client is None:
            raise BrokerError("closed", "not connected to a broker")
        properties: Any = Packed(message.labels, message.correlation) if self._modern else None
        sent = self._client.publish(message.topic, message.body, qos=1, retain=message.retain, properties=properties)
        if sent.rc != MQTTErrorCode.MQTT_ERR_SUCCESS:
            raise BrokerError("lost", f"the connection is gone: {error_string(sent.rc)}")
        return sent.mid

    def stage(self, messages: Sequence[Message]) -> list[int]:
        """See ``Publisher``. paho has them in its queue then, of which only ``_write`` sends."""
        if self._client is None or self._client.want_write():
            return []
        self._staged, self._pinged_at = True, time.monotonic()
        return [self.publish(message) for message in messages]

    def release(self) -> None:
        """See ``Publisher``."""
        self._staged = False
        self._write()

    def wait(self, timeout_s: float) -> None:
        """See ``Publisher``."""
        self._work(timeout_s, bell=True)

    def wake(self) -> None:
        """See ``Publisher``."""
        os.eventfd_write(self._bell, 1)

    def close(self) -> None:
        """See ``Publisher``."""
        client, staged = self._client, self._staged
        self._client, self._staged = None, False
        link = client.socket() if client else None
        if client is not None and link is not None:
            client.on_disconnect = None  # whoever closes knows it
            if not staged:
                # What does not go out at once never will: nobody waits for a broker that may be frozen.
                client.disconnect()
                client.loop_write()
            link.close()

    def _greeted(self) -> tuple[str, str]:
        """Wait for what the broker says to our coming: see ``_greeting``."""
        until = time.monotonic() + self._settings.connect_timeout_s
        while self._greeting is None and (left := until - time.monotonic()) > 0:
            self._work(left, bell=False)
        return self._greeting or ("silent", "it does not answer")

    def _work(self, timeout_s: float, *, bell: bool) -> None:
        """Wait until the broker speaks, has room for what waits, or the bell is rung; then hear, and then send.

        In this order: at a broken connection the broker's last words would be lost else.
        """
        client = self._client
        link = client.socket() if client else None
        poll = select.poll()
        if bell:
            poll.register(self._bell, select.POLLIN)
        # What is decrypted already the socket itself does not tell.
        pending = isinstance(link, ssl.SSLSocket) and link.pending() > 0
        if client is not None and link is not None:
            writes = client.want_write() and not self._staged
            poll.register(link, select.POLLIN | (select.POLLOUT if writes else 0))
        heard = dict(poll.poll(0 if pending else max(0.0, timeout_s) * 1000))
        if self._bell in heard:
            os.eventfd_read(self._bell)
        if client is None or link is None:
            return
        try:
            if pending or heard.get(link.fileno(), 0) & ~select.POLLOUT:
                client.loop_read()
            self._write()
            if (now := time.monotonic()) - self._cared_at >= _CARE_S:
                self._cared_at = now
                if self._staged:
                    self._stay(client, now)
                else:
                    client.loop_misc()
        except _NOT_UNDERSTOOD as error:
            raise BrokerError("malformed", f"the broker speaks no MQTT that we know: {error!r}") from error

    def _stay(self, client: Client, now: float) -> None:
        """Keep the connection alive while a commit stalls: paho's own ping would wait behind what is staged.

        Only at the end of a packet is anything staged, so that one more may begin here.
        """
        link = client.socket()
        if link is not None and now - self._pinged_at >= self._settings.keepalive_s / 2:
            self._pinged_at = now
            with suppress(OSError):  # a link that is broken, or full, is seen where it is read
                link.send(_PING)

    def _write(self) -> None:
        """Send what waits, unless something of it may not go yet."""
        if self._client is not None and self._client.want_write() and not self._staged:
            self._client.loop_write()

    def _new_client(self, session: int, sink: Callable[[Outcome], None]) -> Client:
        settings = self._settings
        client = Client(
            CallbackAPIVersion.VERSION2,
            client_id=settings.client_id,
            protocol=MQTTv5 if self._modern else MQTTv311,
            clean_session=None if self._modern else True,
            reconnect_on_failure=False,
        )
        client.connect_timeout = settings.connect_timeout_s
        # What is more waits in paho.
        client.max_inflight_messages_set(self._most)
        if settings.username is not None:
            client.username_pw_set(settings.username, settings.password)
        if self._tls is not None:
            client.tls_set_context(self._tls)

        def on_connect(_c: Client, _u: object, _f: ConnectFlags, reason: ReasonCode, said: Properties | None) -> None:
            self._most = min(self._most, getattr(said, "ReceiveMaximum", self._most))
            self._greeting = (_key(reason), str(reason)) if reason.is_failure else ("", "")

        def on_publish(_c: Client, _u: object, mid: int, reason: ReasonCode, _p: Properties | None) -> None:
            sink(Answered(session, mid, _key(reason) if reason.is_failure else None))

        def on_disconnect(
            _c: Client, _u: object, flags: DisconnectFlags, reason: ReasonCode, _p: Properties | None
        ) -> None:
            # Without a word from the broker paho makes one up.
            cause = _key(reason) if flags.is_disconnect_packet_from_server else "lost"
            self._greeting = self._greeting or (cause, str(reason))
            sink(Dropped(session, cause))

        def on_message(_c: Client, _u: object, message: MQTTMessage) -> None:
            said = message.properties
            reply = getattr(said, "ResponseTopic", None)
            correlation = getattr(said, "CorrelationData", None)
            kept = bool(message.retain)
            sink(Asked(session, message.topic, bytes(message.payload), reply, correlation, kept))

        def on_subscribe(_c: Client, _u: object, _m: int, reasons: list[ReasonCode], _p: Properties | None) -> None:
            if refused := {_key(reason) for reason in reasons if reason.is_failure}:
                sink(Unheard(session, ", ".join(sorted(refused))))

        # With this paho leaves sending to us, in ``_work``, behind hearing.
        client.on_socket_register_write = lambda *_: None
        client.on_message = on_message
        client.on_subscribe = on_subscribe
        client.on_connect = on_connect
        client.on_publish = on_publish
        client.on_disconnect = on_disconnect
        return client


class _NamedContext(ssl.SSLContext):
    """Checks the broker's certificate against its name: paho knows only the address that it connects to."""

    server_name = ""

    def wrap_socket(  # type: ignore[override]
        self, sock: socket.socket, *, server_hostname: str, do_handshake_on_connect: bool
    ) -> ssl.SSLSocket:
        """See ``ssl``; the arguments are those that paho gives."""
        del server_hostname
        return super().wrap_socket(
            sock, server_hostname=self.server_name, do_handshake_on_connect=do_handshake_on_connect
        )


def _key(reason: ReasonCode) -> str:
    """A reason as a key: ``not_authorized``."""
    return reason.getName().lower().replace(" ", "_")


def _tls_context(settings: MqttSettings) -> ssl.SSLContext:
    """TLS 1.2 or newer; the broker's name is checked, and ours is shown if there is a certificate."""
    try:
        context = _NamedContext(ssl.PROTOCOL_TLS_CLIENT)
        context.server_name = settings.server_name or settings.host
        if settings.ca is None:
            context.load_default_certs()
        else:
            context.load_verify_locations(settings.ca)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if settings.certificate is not None:
            context.load_cert_chain(settings.certificate, settings.key)
    except (OSError, ssl.SSLError) as error:
        where = settings.certificate or settings.ca
        raise LocalError("broker.ca, broker.certificate, broker.key", str(where), f"cannot be read: {error}") from error
    return context
