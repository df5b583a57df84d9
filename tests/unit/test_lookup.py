"""A name is looked up beside the pump: whatever the name servers do, the pump moves on in time."""

import socket
import threading
import time
from typing import Any

import pytest

from controller.delivery.errors import BrokerError
from controller.delivery.lookup import Lookup

FOUND: list[Any] = [
    (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 1883)) for address in ("192.0.2.1", "192.0.2.2", "192.0.2.1")
]


def test_each_address_has_its_turn_and_then_it_is_asked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def answer(host: str, *_: Any, **__: Any) -> list[Any]:
        asked.append(host)
        return FOUND

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    lookup = Lookup("broker.example", 1883)
    assert [lookup.next(5) for _ in range(3)] == ["192.0.2.1", "192.0.2.2", "192.0.2.1"]
    assert asked == ["broker.example"] * 2


def test_silent_name_servers_hold_nobody_up_and_are_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    answered, asked = threading.Event(), list[str]()

    def silent(host: str, *_: Any, **__: Any) -> list[Any]:
        asked.append(host)
        assert answered.wait(30)
        return FOUND

    monkeypatch.setattr(socket, "getaddrinfo", silent)
    lookup = Lookup("broker.example", 1883)
    for _ in range(3):
        began = time.monotonic()
        with pytest.raises(BrokerError, match=r"broker\.example.*no name server answers"):
            lookup.next(0.05)
        assert time.monotonic() - began < 10
    answered.set()
    assert lookup.next(10) == "192.0.2.1"
    assert len(asked) == 1


@pytest.mark.parametrize("host", ["nobody.invalid", "a" * 300, "..", "\udcff"])
def test_a_name_that_leads_nowhere_is_the_brokers_fault(host: str) -> None:
    with pytest.raises(BrokerError) as caught:
        Lookup(host, 1883).next(30)
    assert caught.value.cause == "unreachable"


def test_an_address_is_its_own_answer() -> None:
    assert Lookup("127.0.0.1", 1883).next(5) == "127.0.0.1"
