"""The drivers by the name that a configuration gives them: ours, and those of installed packages."""

import functools
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Protocol

from drivers.camera_host import CameraHost
from drivers.conversation import Conversation
from drivers.eccel_host import EccelHost
from drivers.errors import ConfigError, UnknownDriver
from drivers.feig_buffered import FeigBuffered
from drivers.feig_host import FeigHost
from drivers.keypad import KeypadHost
from drivers.mercury_host import MercuryHost
from drivers.shoe_host import ShoeHost

GROUP = "feltd.drivers"
"""The entry point group in which a package offers drivers: see docs/drivers.md."""


class Maker(Protocol):
    """How every conversation is made. A class may carry ``role``: ``shoe``, ``keypad``, ``reader`` or ``camera``."""

    def __call__(
        self,
        device: str,
        *,
        path: str = "",
        expect: Mapping[str, str] | None = None,
        options: Mapping[str, object] | None = None,
    ) -> Conversation:
        """``device`` is its configured name; raises ``ConfigError`` for a wrong option or expectation."""


DRIVERS: dict[str, Maker] = {
    "feig": FeigHost,
    "feig-buffered": FeigBuffered,
    "eccel": EccelHost,
    "mercury": MercuryHost,
    "shoe": ShoeHost,
    "camera": CameraHost,
    "keypad": KeypadHost,
}
"""The drivers of this project. A package can add to them and never replace one."""

ROLES = ("shoe", "keypad", "reader", "camera")


@functools.cache
def _offered() -> Mapping[str, tuple[EntryPoint, ...]]:
    """What installed packages offer, by name; nothing of theirs is imported before it is asked for."""
    offered: dict[str, tuple[EntryPoint, ...]] = {}
    for point in entry_points(group=GROUP):
        offered[point.name] = (*offered.get(point.name, ()), point)
    return offered


def refresh() -> None:
    """Look for installed packages again. A daemon does not need it: packages do not change while it runs."""
    _offered.cache_clear()
    _loaded.cache_clear()


def names() -> tuple[str, ...]:
    """Every driver that a configuration may name."""
    return tuple(sorted({*DRIVERS, *_offered()}))


def role(driver: str) -> str:
    """What sensing may expect from its devices, one of ``ROLES``; a driver that does not say is a reader."""
    try:
        said = getattr(_maker(driver), "role", "reader")
    except ConfigError:
        return "reader"  # Named as a fault when the device is made.
    return said if said in ROLES else "reader"


def make(
    driver: str,
    device: str,
    path: str = "",
    expect: Mapping[str, str] | None = None,
    options: Mapping[str, object] | None = None,
) -> Conversation:
    """The conversation of one device. Raises ``UnknownDriver`` or another ``ConfigError``."""
    return _maker(driver)(device, path=path, expect=expect, options=options)


def _maker(driver: str) -> Maker:
    return DRIVERS[driver] if driver in DRIVERS else _loaded(driver)


@functools.cache
def _loaded(driver: str) -> Maker:
    """The driver of a package. Raises ``ConfigError`` that names the package where it cannot be used."""
    offers = _offered().get(driver, ())
    if not offers:
        raise UnknownDriver(driver, names())
    packages = ", ".join(sorted(offer.dist.name if offer.dist else "?" for offer in offers))
    if len(offers) > 1:
        raise ConfigError("driver", driver, f"offered by several packages ({packages}): uninstall all but one")
    try:
        maker = offers[0].load()
    except (ImportError, AttributeError) as fault:
        remedy = f"package {packages} cannot be loaded ({fault}): repair or uninstall it"
        raise ConfigError("driver", driver, remedy) from fault
    if not callable(maker):
        raise ConfigError("driver", driver, f"package {packages} offers no driver class there: ask its author")
    made: Maker = maker
    return made
