"""A TCP connection as a link: a real socket on loopback."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from drivers.address import TcpAddress, parse_address
from drivers.errors import ConfigError, LinkLost, LinkMissing, LinkTimeout
from drivers.link import Link, open_link

pytestmark = pytest.mark.wires


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(10)
        yield listening


def joined(server: socket.socket) -> tuple[Link, socket.socket]:
    link = open_link(f"tcp://127.0.0.1:{server.getsockname()[1]}", test_mode=False)
    peer, _ = server.accept()
    peer.settimeout(10)
    return link, peer


def test_bytes_both_ways_and_silence(server: socket.socket) -> None:
    link, peer = joined(server)
    with peer:
        link.write(b"\xf5\x03\x00")
        assert peer.recv(10) == b"\xf5\x03\x00"
        assert link.read(0.01) == b""
        peer.sendall(b"abc")
        assert link.read(10) == b"abc"
        link.set_baud(9600)  # a network has no line
        assert link.path == f"127.0.0.1:{server.getsockname()[1]}"
    link.close()
    link.close()


def test_wake_ends_a_read(server: socket.socket) -> None:
    link, peer = joined(server)
    reader = threading.Thread(target=link.read, args=(60,))
    reader.start()
    link.wake()
    reader.join(10)
    assert not reader.is_alive()
    link.close()
    link.wake()
    peer.close()


def test_the_peer_hangs_up(server: socket.socket) -> None:
    link, peer = joined(server)
    peer.close()
    for _ in range(3):
        with pytest.raises(LinkLost) as lost:
            link.read(10)
    assert lost.value.cause == "unplugged"
    link.close()
    with pytest.raises(LinkLost):
        link.read(0)


def test_a_peer_that_takes_nothing_is_a_timeout(server: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drivers.tcplink.WRITE_TIMEOUT_S", 0.05)
    link, peer = joined(server)
    with pytest.raises(LinkTimeout, match="took no bytes"):
        link.write(bytes(1 << 26))
    link.close()
    peer.close()


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    began = time.monotonic()
    with pytest.raises(LinkMissing, match="nobody answers"):
        open_link(f"tcp://127.0.0.1:{port}", test_mode=False)
    assert time.monotonic() - began < 30


def test_addresses() -> None:
    assert parse_address("tcp://192.0.2.7:10001", test_mode=False) == TcpAddress("192.0.2.7", 10001)
    assert parse_address("tcp://[2001:db8::7]:4001", test_mode=False) == TcpAddress("2001:db8::7", 4001)


@pytest.mark.parametrize(
    "uri", ["tcp://reader.example:4001", "tcp://192.0.2.7", "tcp://192.0.2.7:0", "tcp://192.0.2.7:70000", "tcp://:1"]
)
def test_an_address_is_numbers_only(uri: str) -> None:
    with pytest.raises(ConfigError, match="write the IP address and the port"):
        parse_address(uri, test_mode=False)


def test_a_network_takes_no_options() -> None:
    with pytest.raises(ConfigError, match="is no option here; use none"):
        parse_address("tcp://192.0.2.7:1?baud=9600", test_mode=False)
