"""The drivers by the name that a configuration gives them."""

from collections.abc import Mapping
from typing import Protocol

from drivers.conversation import Conversation
from drivers.errors import UnknownDriver
from drivers.feig_host import FeigHost
from drivers.keypad import KeypadHost
from drivers.shoe_host import ShoeHost


class Maker(Protocol):
    """How every conversation is made."""

    def __call__(
        self,
        device: str,
        *,
        path: str = "",
        expect: Mapping[str, str] | None = None,
        options: Mapping[str, object] | None = None,
    ) -> Conversation:
        """``device`` is its configured name; raises ``ConfigError`` for a wrong option or expectation."""


DRIVERS: dict[str, Maker] = {"feig": FeigHost, "shoe": ShoeHost, "keypad": KeypadHost}


def make(
    driver: str,
    device: str,
    path: str = "",
    expect: Mapping[str, str] | None = None,
    options: Mapping[str, object] | None = None,
) -> Conversation:
    """The conversation of one device. Raises ``UnknownDriver`` or another ``ConfigError``."""
    maker = DRIVERS.get(driver)
    if maker is None:
        raise UnknownDriver(driver, DRIVERS)
    return maker(device, path=path, expect=expect, options=options)
