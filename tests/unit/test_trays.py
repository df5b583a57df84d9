"""A tray of 1,000 chips: the whole of it in bounded time, and what is missing from it soon after."""

from collections.abc import Callable

import pytest

from drivers import catalog
from drivers.readings import TagsSeen
from simulators.hardware.feig import FeigReader
from simulators.hardware.feig_buffered import FeigBufferedReader
from simulators.hardware.mercury import MercuryModule
from tests.virtual_wire import VirtualWire

ISO15693 = [f"E01680FF0800{number:04X}" for number in range(700)]
ISO18000_3M3 = [f"3005FB63AC1F{number:012X}" for number in range(300)]
CHIPS = ISO15693 + ISO18000_3M3

TRAYS: dict[str, tuple[Callable[[], FeigReader | MercuryModule], dict[str, object], int]] = {
    # Host mode hands out 16 data sets an answer: the inventory is as long as its answers.
    "feig": (FeigReader, {}, 1000),
    "feig-advanced": (lambda: FeigReader(sets_per_answer=255), {"advanced": True}, 500),
    "feig-buffered": (FeigBufferedReader, {"window_ms": 2500}, 3500),
    "feig-notify": (lambda: FeigBufferedReader(notify=True), {"mode": "notify", "window_ms": 2500}, 6000),
    "mercury": (lambda: MercuryModule(round_ms=1000), {"window_ms": 3000}, 5000),
}


@pytest.mark.parametrize("name", TRAYS)
def test_a_thousand_chips_and_then_ten_less(name: str) -> None:
    make, options, bound_ms = TRAYS[name]
    device = make()
    driver = {"feig-advanced": "feig", "feig-notify": "feig-buffered"}.get(name, name)
    wire = VirtualWire(catalog.make(driver, "tray0", options=options), device)
    wire.commit = True
    device.put(CHIPS)
    wire.open()
    wire.run(bound_ms)
    assert wire.of(TagsSeen)[-1].complete
    assert wire.of(TagsSeen)[-1].tags == frozenset(CHIPS)
    device.take(CHIPS[:10])
    wire.run(bound_ms + 1500)
    seen = [(reading.tags, reading.complete) for reading in wire.of(TagsSeen)]
    assert seen[-1] == (frozenset(CHIPS[10:]), True)
    assert all(len(tags) >= 990 for tags, complete in seen if complete), "never fewer than there are"
