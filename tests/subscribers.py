"""A subscriber that keeps everything it hears, and what a careful reader makes of it."""

import json
import threading
from dataclasses import dataclass, field
from typing import Any, Self

from paho.mqtt.client import Client, ConnectFlags, MQTTMessage, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from tests.waiting import wait_until


@dataclass(frozen=True, slots=True)
class Heard:
    topic: str
    body: bytes
    retained: bool
    labels: dict[str, str] = field(default_factory=dict)

    @property
    def event(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.body)
        return content


class Subscriber:
    """Hears all topics. ``resume`` subscribes again after the broker was restarted.

    At QoS 0: it must hear all that a broker has taken before it goes down. At QoS 1 our own answers, unread by a
    broker that ends, would make TCP throw away what is still on its way to us.
    """

    def __init__(self, port: int) -> None:
        self.heard: list[Heard] = []
        self._port = port
        self._client: Client | None = None

    def resume(self) -> None:
        if (before := self._client) is not None:
            # What the broker sent before it went down is still to be read.
            wait_until(lambda: not before.is_connected(), what="the end of the connection that is to be replaced")
        self.close()
        ready = threading.Event()
        client = self._client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTv5, reconnect_on_failure=False)

        def subscribe(c: Client, _u: object, _f: ConnectFlags, _r: ReasonCode, _p: Properties | None) -> None:
            c.subscribe("#", 0)

        client.on_connect = subscribe
        client.on_subscribe = lambda *_: ready.set()
        client.on_message = self._take
        client.connect("127.0.0.1", self._port, clean_start=True)
        client.loop_start()
        assert ready.wait(10)

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.disconnect()
            client.loop_stop()

    def __enter__(self) -> Self:
        self.resume()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take(self, _client: Client, _userdata: object, message: MQTTMessage) -> None:
        labels = dict(getattr(message.properties, "UserProperty", [])) if message.properties else {}
        self.heard.append(Heard(message.topic, bytes(message.payload), message.retain, labels))

    @property
    def events(self) -> list[Heard]:
        beside = ("/state", "/description", "/snapshot")
        return [heard for heard in list(self.heard) if not heard.topic.endswith(beside)]

    def states(self) -> list[tuple[str, int]]:
        """State and session number, as they came, without repetition."""
        said = [(e["state"], e["session"]) for e in (h.event for h in list(self.heard) if h.topic.endswith("/state"))]
        return [each for index, each in enumerate(said) if index == 0 or each != said[index - 1]]

    def first_sights(self) -> list[bytes]:
        """The events in the order they were first seen. A repeat with other bytes is an error at once."""
        seen: dict[str, bytes] = {}
        for heard in self.events:
            body = seen.setdefault(heard.event["id"], heard.body)
            assert body == heard.body, "a repeat has the same id and the same bytes"
        return list(seen.values())

    def wait_for(self, count: int, seconds: float = 20.0) -> list[bytes]:
        wait_until(lambda: len(self.events) >= count and len(self.first_sights()) >= count, seconds, f"{count} events")
        return self.first_sights()
