"""Every codec, every driver and the sensing under any bytes: quickly here by hypothesis, at length by ``make fuzz``."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzzing.targets import TARGETS, seeds

FEW = {"driver": 6, "sensing": 30}


@pytest.mark.parametrize("target", TARGETS)
def test_any_bytes(target: str) -> None:
    begin = seeds(None)

    @settings(
        max_examples=FEW.get(target.partition("-")[0], 60), deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(st.lists(st.one_of(st.binary(max_size=60), st.sampled_from(begin)), max_size=6).map(b"".join))
    def run(data: bytes) -> None:
        TARGETS[target](data)

    run()


@pytest.mark.parametrize("target", [target for target in TARGETS if not target.startswith("driver-")])
def test_the_recorded_frames(target: str, shared: Path) -> None:
    for frame in seeds(shared / "data" / "device_vectors.json"):
        TARGETS[target](frame)
