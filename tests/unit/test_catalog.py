"""Drivers by name."""

import pytest

from drivers.catalog import DRIVERS, make
from drivers.errors import ConfigError, UnknownDriver


@pytest.mark.parametrize("name", sorted(DRIVERS))
def test_every_driver_is_made_by_its_name(name: str) -> None:
    conversation = make(name, "dev0", "usb://x", {"model": "1"}, {})
    assert conversation.stop(0).failed is None


def test_an_unknown_driver_is_named_with_the_known_ones() -> None:
    with pytest.raises(UnknownDriver, match=r"driver = 'fieg': use one of .*feig, .*keypad, .*shoe"):
        make("fieg", "dev0")


@pytest.mark.parametrize("name", sorted(DRIVERS))
def test_an_unknown_option_is_named_with_the_known_ones(name: str) -> None:
    with pytest.raises(ConfigError, match=r"dev0\.colour = 'red': remove it or use a known option"):
        make(name, "dev0", options={"colour": "red"})
