"""A subscriber with a session that outlives the broker: keeps every message with the time it came."""

import threading
import time
from collections.abc import Callable, Sequence

from paho.mqtt.client import Client, ConnectFlags, MQTTMessage
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from controller.contract.topics import STREAMS
from simulators import brokerat
from simulators.brokerat import BrokerAt
from simulators.errors import RigError
from simulators.seen import Seen, of_body

START_S = 10.0


class Subscriber:
    """Hears one table. A repeat with the same bytes is counted, one with other bytes is kept as a fault.

    ``client`` is its name at the broker; two with the same name would take each other's events.
    """

    def __init__(self, broker: "BrokerAt | int", base: str, client: str = "rig") -> None:
        """``broker``: where it is, or the port of one on this machine. Raises ``RigError``."""
        at = brokerat.on_port(broker) if isinstance(broker, int) else broker
        self._base = base
        self._changed = threading.Condition()
        self._seen: list[Seen] = []
        self._bodies: dict[str, bytes] = {}
        self._subscribed = threading.Event()
        self._closing = False
        self.repeats = 0
        self.lost = 0
        """So often the broker hung up, or was gone."""
        self.faults: list[str] = []
        self._client = at.client(client, clean=False)
        self._client.on_connect = self._connected
        self._client.on_subscribe = self._heard
        self._client.on_message = self._message
        self._client.on_disconnect = self._hung_up
        self._client.reconnect_delay_set(1, 1)
        brokerat.connect(self._client, at)
        if not self._subscribed.wait(START_S):
            self.close()
            raise RigError(f"the rig's own broker {at} takes no subscription")

    @property
    def seen(self) -> Sequence[Seen]:
        """Every event so far, in order of arrival, without repeats."""
        with self._changed:
            return list(self._seen)

    def until(self, ask: Callable[[], bool], seconds: float) -> bool:
        """Wait for messages until the answer is yes."""
        deadline = time.monotonic() + seconds
        while not ask():
            with self._changed:
                count = len(self._seen)
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                # Also asked again without a message: the answer may depend on the daemon's state.
                self._changed.wait_for(lambda: len(self._seen) > count, min(left, 0.2))  # noqa: B023 - waits here
        return True

    def close(self) -> None:
        """Hang up."""
        self._closing = True
        self._client.disconnect()
        self._client.loop_stop()

    def _connected(
        self, client: Client, _data: object, _flags: ConnectFlags, _code: ReasonCode, _properties: Properties | None
    ) -> None:
        client.subscribe(f"{self._base}/#", qos=1)

    def _heard(
        self, _client: Client, _data: object, _mid: int, _codes: list[ReasonCode], _properties: Properties | None
    ) -> None:
        self._subscribed.set()

    def _hung_up(self, *_: object) -> None:
        self.lost += not self._closing

    def _message(self, _client: Client, _data: object, message: MQTTMessage) -> None:
        at = time.monotonic_ns()
        if message.topic.removeprefix(f"{self._base}/").partition("/")[0] not in STREAMS:
            return  # retained messages beside the events, and what others ask the table and are answered
        body = bytes(message.payload)
        event = of_body(body, at)
        with self._changed:
            known = self._bodies.setdefault(event.id, body)
            if known is not body:
                self.repeats += 1
                if known != body:
                    self.faults.append(f"{event.id} came again with other bytes")
                return
            self._seen.append(event)
            self._changed.notify_all()
