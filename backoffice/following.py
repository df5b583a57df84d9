"""Listens to tables over MQTT: stores before it acknowledges, and asks for what is missing.

paho calls back from its network thread with its locks held; a callback here only puts what came into a bounded queue,
and a full queue holds the broker back.
"""

import queue
import ssl
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from paho.mqtt.client import Client, ConnectFlags, DisconnectFlags, MQTTMessage, MQTTv5, MQTTv311
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from backoffice.asking import Asking
from backoffice.errors import BrokerError
from backoffice.reader import Reader
from backoffice.store import Store
from backoffice.verifying import source_of
from controller.contract.topics import Topics

MOST_WAITING = 1000
AT_ONCE = 200
SESSION_S = 7 * 86_400
"""How long the broker keeps our session while we are away (MQTT 5)."""
TICK_S = 0.2
SOON_S, LATEST_S = 0.5, 30.0
"""How long we leave a broker alone that has gone: at first, and at most."""

_properties: Callable[[int], Properties] = Properties


@dataclass(frozen=True, slots=True)
class Connection:
    """Where the broker is and who we are. ``client`` is also the name under which replays are answered."""

    host: str
    port: int
    client: str
    version: str = "5"
    tls: bool = False
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    connect_timeout_s: float = 5.0
    stable_s: float = 5.0
    """A connection that lasted so long was a good one: the next attempt comes soon."""


class Listener:
    """Keeps a store in step with tables. Used by one thread: ``run`` until told to stop."""

    def __init__(
        self,
        store: Store,
        connection: Connection,
        streams: Sequence[str],
        *,
        screen: bool = False,
        away_s: float | None = None,
    ) -> None:
        """``screen``: only look at what tables retain; nothing is stored, and the broker keeps nothing for us.

        ``away_s``: the longest time without a good connection; ``None`` for who waits for ever.
        """
        self._away_s = away_s
        self.up = False
        """Whether there is a connection now."""
        self._store = store
        self._settings = connection
        self._streams = tuple(streams)
        self._screen = screen
        self._messages: queue.Queue[MQTTMessage] = queue.Queue(MOST_WAITING)
        self._news: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._client: Client | None = None
        self._connected = False
        """Whether the broker let us in at least once."""
        self._welcome_at = 0.0
        """When it did last."""
        self.reader = Reader(store)
        topics = {pin.table: Topics(source_of(pin.table), pin.test) for pin in store.pins()}
        self.asking = Asking(store, self.reader, topics, connection.client, self._streams)
        self._topics = topics

    def run(self, until: Callable[[], bool]) -> None:
        """Listen until ``until`` says so, connecting again as often as need be.

        Raises ``BrokerError`` where no connection came about, after a few attempts or at the end of the time;
        ``BrokerError`` too where a broker that once let us in was away for ``away_s``; ``StoreError`` at once.
        """
        trouble: BrokerError | None = None
        away: float | None = None
        pause = SOON_S
        while not until():
            attempt = time.monotonic()
            try:
                self._connection(until)
            except BrokerError as error:
                if not self._connected and pause >= 4:
                    raise
                trouble, now = error, time.monotonic()
                if now - self._settings.stable_s > self._welcome_at >= attempt:
                    pause, away = SOON_S, None
                if away is None:
                    away = now
                    sys.stderr.write(f"feltoffice: the broker is away, trying again: {error}\n")
                left = pause if self._away_s is None else away + self._away_s - now
                if left <= 0 and self._connected:
                    raise BrokerError(f"no good connection to the broker for {self._away_s:g} s: {error}") from error
                rest(max(0.0, min(pause, left)), until)
                pause = min(LATEST_S, pause * 2)
            self._close()
        if trouble is not None and not self._connected:
            raise trouble

    def _connection(self, until: Callable[[], bool]) -> None:
        client = self._open()
        self._connected = True
        self._welcome_at = time.monotonic()
        self.up = True
        try:
            self.asking.connected(time.monotonic())
            while not until():
                self._drain(client)
                for topic, body, properties in () if self._screen else self.asking.due(time.monotonic()):
                    client.publish(topic, body, qos=1, properties=self._reply(properties))
                if not self._news.empty():
                    raise BrokerError(f"the broker has gone: {self._news.get()}")
            self._drain(client)
        finally:
            self.up = False
            self._close()

    def _drain(self, client: Client) -> None:
        """Store what has come, then acknowledge it: never the other way round."""
        try:
            batch = [self._messages.get(timeout=TICK_S)]
        except queue.Empty:
            return
        while len(batch) < AT_ONCE:
            try:
                batch.append(self._messages.get_nowait())
            except queue.Empty:
                break
        asking, now = self.asking, time.monotonic()
        heard = [(_topic(m), bytes(m.payload)) for m in batch]
        snapshots = [one for one in heard if one[0].endswith("/snapshot")]
        events = [
            body for topic, body in heard if not topic.endswith("/snapshot") and not asking.heard(topic, body, now)
        ]
        if events:
            self.reader.take(events)
        for topic, body in snapshots:  # after the events that it was made of
            if not asking.shown(topic, body):
                self.reader.counts.refuse("no event")
        for message in batch:
            if message.qos:
                client.ack(message.mid, message.qos)

    def _open(self) -> Client:
        settings = self._settings
        modern = settings.version == "5"
        client = Client(
            CallbackAPIVersion.VERSION2,
            client_id=settings.client,
            protocol=MQTTv5 if modern else MQTTv311,
            clean_session=None if modern else self._screen,
            reconnect_on_failure=False,
            manual_ack=True,
        )
        client.connect_timeout = settings.connect_timeout_s
        if settings.username is not None:
            client.username_pw_set(settings.username, settings.password)
        if settings.tls:
            client.tls_set_context(_tls(settings))
        greeting: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._news = queue.SimpleQueue()
        self._messages = queue.Queue(MOST_WAITING)
        messages, news = self._messages, self._news

        def on_connect(c: Client, _u: object, _f: ConnectFlags, reason: ReasonCode, _p: Properties | None) -> None:
            if not reason.is_failure:
                c.subscribe([(topic, 1) for topic in self._filters()])
            greeting.put(str(reason) if reason.is_failure else "")

        def on_message(_c: Client, _u: object, message: MQTTMessage) -> None:
            messages.put(message)

        def on_disconnect(
            _c: Client, _u: object, _f: DisconnectFlags, reason: ReasonCode, _p: Properties | None
        ) -> None:
            greeting.put(str(reason))
            news.put(str(reason))

        client.on_connect, client.on_message, client.on_disconnect = on_connect, on_message, on_disconnect
        try:
            if modern:
                keep = _properties(PacketTypes.CONNECT)
                keep.SessionExpiryInterval = 0 if self._screen else SESSION_S
                keep.ReceiveMaximum = AT_ONCE
                client.connect(settings.host, settings.port, 15, clean_start=self._screen, properties=keep)
            else:
                client.connect(settings.host, settings.port, 15)
        except (OSError, ValueError) as error:
            raise BrokerError(
                f"{settings.host}:{settings.port} cannot be reached ({error}): check --broker, and that it runs"
            ) from error
        client.loop_start()
        self._client = client
        try:
            trouble = greeting.get(timeout=settings.connect_timeout_s)
        except queue.Empty:
            trouble = "it does not answer"
        if trouble:
            self._close()
            raise BrokerError(
                f"{settings.host}:{settings.port} does not let us in ({trouble}): check --broker and who we are there"
            )
        return client

    def _filters(self) -> list[str]:
        if self._screen:
            return [topics.snapshot for topics in self._topics.values()]
        # What names the ledger first: it says what to ask for.
        found = [topic for topics in self._topics.values() for topic in (topics.state, topics.description)]
        found += [topics.reply(self._settings.client) + "#" for topics in self._topics.values()]
        if "play" in self._streams:
            found += [topics.snapshot for topics in self._topics.values()]
        return found + [f"{topics.base}/{stream}/#" for topics in self._topics.values() for stream in self._streams]

    def _reply(self, topic: str) -> Properties | None:
        if self._settings.version != "5":
            return None
        made = _properties(PacketTypes.PUBLISH)
        made.ResponseTopic = topic
        return made

    def _close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            # A callback may wait for room in the queue; nobody will make it any more.
            client.on_message = None
            while not self._messages.empty():
                self._messages.get_nowait()
            client.disconnect()
            client.loop_stop()


def rest(seconds: float, until: Callable[[], bool]) -> None:
    """Leave the broker alone for so long, or until we are told to stop."""
    deadline = time.monotonic() + seconds
    while not until() and (left := deadline - time.monotonic()) > 0:
        time.sleep(min(TICK_S, left))


def _topic(message: MQTTMessage) -> str:
    """Where it was published; empty where that is no text."""
    try:
        return message.topic
    except UnicodeDecodeError:
        return ""


def _tls(settings: Connection) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=settings.ca)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if settings.certificate is not None:
            context.load_cert_chain(settings.certificate, settings.key)
    except (OSError, ssl.SSLError) as error:
        raise BrokerError(f"certificates cannot be read: {error}") from error
    return context
