"""A broker for tests that says what real ones seldom do: the least of MQTT 5, and whatever it is told to say."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

CONNECT, PUBLISH, SUBSCRIBE, PINGREQ = 1, 3, 8, 12
WELCOME = bytes.fromhex("2003000000")


class ScriptedBroker:
    """Takes every message, one connection after the other, and answers where nothing more comes for a moment.

    ``welcome`` is its CONNACK. With more than ``most`` messages unanswered whoever sent them is sent away.
    """

    def __init__(self, welcome: bytes = WELCOME, *, most: int = 65_535) -> None:
        self.welcome, self.most = welcome, most
        self.bodies: list[bytes] = []
        self.breaches = 0
        self.unanswered: list[bytes] = []
        self.link: socket.socket | None = None
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]

    def say(self, words: bytes) -> None:
        """Bytes to whoever is connected."""
        assert self.link is not None
        self.link.sendall(words)

    def serve(self) -> None:
        while True:
            try:
                link, _ = self._server.accept()
            except OSError:
                return  # the test is over
            self.link, self.unanswered = link, []
            with link, suppress(OSError):
                self._talk(link)

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        if self.link is not None:
            with suppress(OSError):
                self.link.shutdown(socket.SHUT_RDWR)

    def _talk(self, link: socket.socket) -> None:
        link.settimeout(0.02)
        kept = b""
        while True:
            try:
                if not (heard := link.recv(65_536)):
                    return
            except TimeoutError:
                self._answer(link)
                continue
            kept += heard
            while (packet := _first(kept)) is not None:
                kind, flags, content, size = packet
                kept = kept[size:]
                if kind == CONNECT:
                    link.sendall(self.welcome)
                elif kind == PINGREQ:
                    link.sendall(b"\xd0\x00")
                elif kind == SUBSCRIBE:
                    link.sendall(b"\x90\x04" + content[:2] + b"\x00\x01")
                elif kind == PUBLISH:
                    topic = int.from_bytes(content[:2], "big")
                    assert flags & 6, "at least once"
                    self.unanswered.append(content[2 + topic : 4 + topic])
                    self.bodies.append(content[4 + topic :])
                    if len(self.unanswered) > self.most:
                        self.breaches += 1
                        return

    def _answer(self, link: socket.socket) -> None:
        """Only when nothing more comes: then it has seen how many come without an answer."""
        while self.unanswered:
            link.sendall(b"\x40\x02" + self.unanswered.pop(0))


def _first(kept: bytes) -> tuple[int, int, bytes, int] | None:
    """The first whole packet: kind, flags, content and its size in all."""
    length, shift, at = 0, 0, 1
    while True:
        if at >= len(kept):
            return None
        length |= (kept[at] & 127) << shift
        shift += 7
        at += 1
        if not kept[at - 1] & 128:
            break
    if len(kept) < at + length:
        return None
    return kept[0] >> 4, kept[0] & 15, kept[at : at + length], at + length


@contextmanager
def scripted_broker(welcome: bytes = WELCOME, *, most: int = 65_535) -> Iterator[ScriptedBroker]:
    """Runs until it is left."""
    broker = ScriptedBroker(welcome, most=most)
    thread = threading.Thread(target=broker.serve, daemon=True)
    thread.start()
    try:
        yield broker
    finally:
        broker.close()
        thread.join(5)
