"""How a broker is named in the configuration."""

import pytest

from controller.delivery.mqtt import broker_address
from controller.errors import LocalError


@pytest.mark.parametrize(
    ("uri", "address"),
    [
        ("mqtt://broker", ("broker", 1883, False)),
        ("mqtts://broker", ("broker", 8883, True)),
        ("mqtt://127.0.0.1:2883/", ("127.0.0.1", 2883, False)),
        ("mqtts://[::1]:99", ("::1", 99, True)),
    ],
)
def test_a_broker_address(uri: str, address: tuple[str, int, bool]) -> None:
    assert broker_address(uri) == address


@pytest.mark.parametrize(
    "uri", ["broker", "http://broker", "mqtt://", "mqtt://b:x", "mqtt://b:99999", "mqtt://b/t", "mqtt://u@b"]
)
def test_a_wrong_broker_address(uri: str) -> None:
    with pytest.raises(LocalError, match=r"broker\.uri"):
        broker_address(uri)
