"""Faults of a link: each does what it says, with a seed the same again, and several work one behind the other."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.options import MS
from simulators.errors import RigError, ScriptError
from simulators.faulted import Faults
from simulators.faults import CHANGES, KINDS, Channel, LinkFaults

FRAMES = [bytes((number,)) * 8 for number in range(1, 21)]


def carried(kind: str, *, rate: float = 1, seed: int = 7, frames: list[bytes] = FRAMES, more: str = "") -> list[bytes]:
    """What arrives of frames that are sent 5 ms apart."""
    faults = LinkFaults()
    for name in filter(None, (kind, more)):
        faults.begin({"kind": name, "rate": rate, "ms": 10_000, "seed": seed}, 0)
    return through(faults.to_host, frames)


def through(channel: Channel, frames: list[bytes]) -> list[bytes]:
    arrived: list[bytes] = []
    for number in range(len(frames) + 400):
        now = number * 5 * MS
        if number < len(frames):
            channel.send(frames[number], now)
        arrived += channel.due(now)
    assert channel.deadline() is None
    return arrived


def test_without_a_fault_bytes_pass_at_once_and_whole() -> None:
    channel = Channel()
    channel.send(b"one", 5)
    assert channel.due(5) == [b"one"]


def test_each_kind_does_what_it_says() -> None:
    assert carried("drop") == carried("deaf") == []
    assert 0 < len(carried("drop", rate=0.5)) < len(FRAMES)
    flipped = carried("flip")
    assert [
        sum((a ^ b).bit_count() for a, b in zip(x, y, strict=True)) for x, y in zip(flipped, FRAMES, strict=True)
    ] == [1] * 20
    assert carried("duplicate") == [frame for frame in FRAMES for _ in range(2)]
    assert carried("delay") == FRAMES
    reordered = carried("reorder")
    assert reordered != FRAMES
    assert sorted(reordered) == sorted(FRAMES)
    for kind in ("split", "slow"):
        assert len(carried(kind)) > len(FRAMES)
        assert b"".join(carried(kind)) == b"".join(FRAMES)
    glued = carried("glue", frames=FRAMES[:1] * 2)
    assert b"".join(glued) == FRAMES[0] * 2
    assert len(b"".join(carried("noise"))) > 8 * len(FRAMES)


def test_glue_joins_what_comes_close_together() -> None:
    faults = LinkFaults()
    faults.begin({"kind": "glue", "ms": 10_000}, 0)
    for frame in (b"one", b"two"):
        faults.to_host.send(frame, 0)
    assert faults.to_host.due(0) == []
    assert faults.to_host.due(faults.deadline() or 0) == [b"onetwo"]


@pytest.mark.parametrize("kind", list(CHANGES))
def test_the_same_seed_does_the_same_and_another_does_not(kind: str) -> None:
    assert carried(kind, rate=0.5) == carried(kind, rate=0.5)
    if kind not in ("delay", "glue"):
        assert carried(kind, rate=0.5) != carried(kind, rate=0.5, seed=8)


@given(st.lists(st.sampled_from(sorted(CHANGES)), min_size=1, max_size=4), st.integers(0, 99))
def test_faults_work_one_behind_the_other_and_all_comes_to_rest(kinds: list[str], seed: int) -> None:
    faults = LinkFaults()
    for kind in kinds:
        faults.begin({"kind": kind, "rate": 0.5, "ms": 60, "seed": seed}, 0)
    arrived = through(faults.to_host, FRAMES)
    assert len(b"".join(arrived)) <= 8 * len(FRAMES) * 2 ** len(kinds) + 24 * len(FRAMES) * 16
    assert arrived[-1:] == FRAMES[-1:]  # long after the faults have ended


def test_a_fault_ends_and_a_lost_link_takes_what_was_on_it() -> None:
    faults = LinkFaults()
    faults.begin({"kind": "drop", "ms": 10}, 0)
    faults.to_host.send(b"lost", 5 * MS)
    faults.to_host.send(b"there", 10 * MS)
    assert faults.to_host.due(10 * MS) == [b"there"]
    faults.begin({"kind": "delay", "ms": 10}, 20 * MS)
    faults.to_device.send(b"on its way", 20 * MS)
    assert faults.deadline() is not None
    faults.clear()
    assert faults.deadline() is None


def test_only_one_direction_where_that_is_asked_for() -> None:
    faults = LinkFaults()
    faults.begin({"kind": "drop", "direction": "out"}, 0)
    assert faults.to_host.faults == []
    assert len(faults.to_device.faults) == 1


@pytest.mark.parametrize("args", [{"kind": "fire"}, {"kind": "drop", "rate": 2}, {"kind": "drop", "direction": "up"}])
def test_what_is_no_fault_is_refused(args: dict[str, object]) -> None:
    with pytest.raises(RigError):
        LinkFaults().begin(args, 0)


def test_the_command_line() -> None:
    assert Faults.read("seed=3") == Faults(3, 1.0, KINDS)
    assert Faults.read("seed=3,rate=0.25,kinds=drop+unplug") == Faults(3, 0.25, ("drop", "unplug"))
    for text in ("", "rate=1", "seed=x", "seed=1,rate=3", "seed=1,kinds=fire", "seed=1,what=2"):
        with pytest.raises(ScriptError, match="--faults"):
            Faults.read(text)


def test_what_is_on_its_way_is_bounded() -> None:
    channel = Channel()
    faults = LinkFaults(channel)
    faults.begin({"kind": "slow", "ms": 1000}, 0)
    with pytest.raises(RigError, match="on their way"):
        channel.send(random.Random(1).randbytes(200_000), 0)
