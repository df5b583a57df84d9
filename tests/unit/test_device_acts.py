"""``feltsim device``: what it is asked wrongly it refuses, and it goes on; nothing that it accepts stops it later."""

import contextlib
import io
import json
from typing import Any

import pytest

from drivers.feig import Command, Request
from simulators import device, gestures
from simulators.errors import RigError
from simulators.verdict import Exit

VALUES: tuple[Any, ...] = (
    *(-1, 0, 3, 99, 10**20, 1.5, True, None),
    *("", "XYZ", "A", "As", "E004"),
    *([], [7], ["XYZ"], {}),
)
ACTS: dict[str, dict[str, tuple[str, ...]]] = {
    "feig": {
        "put": ("tags", "channel"),
        "take": ("tags", "channel"),
        "trouble": ("status", "times"),
        "state": ("channel",),
    },
    "eccel": {"put": ("tags", "channel"), "take": ("tags", "channel")},
    "mercury": {"put": ("tags", "channel"), "take": ("tags", "channel")},
    "shoe": {"load": ("cards",), "slide": ("card", "confidence", "seen")},
    "keypad": {"press": ("key",), "release": ("key",), "tap": ("keys",)},
    "camera": {"lay": ("channel", "card", "confidence"), "turn": ("object", "card"), "lift": ("object",)},
}
GOOD: dict[str, Any] = {
    "tags": ["E00401000000000A"],
    "channel": 1,
    "cards": ["As"],
    "card": "As",
    "key": "1",
    "keys": ["1"],
    "object": 1,
}


@pytest.mark.parametrize("driver", ACTS)
def test_an_act_with_any_argument_is_done_or_refused(driver: str) -> None:
    for what, names in ACTS[driver].items():
        for name in names:
            for value in VALUES:
                made = gestures.MODELS[driver]()
                made.power_cycle(0)
                args = {each: GOOD[each] for each in names if each in GOOD} | {name: value}
                with contextlib.suppress(RigError):
                    gestures.perform(made, what, args, 1)
                for now in range(1, 4):
                    made.poll(now * 1_000_000_000)
                made.feed(b"\x00\xff", 5_000_000_000)


def test_tags_that_are_none_and_channels_that_are_not_there_are_refused() -> None:
    reader = gestures.MODELS["feig"]()
    for args in ({"tags": ["XYZ"]}, {"tags": "E004"}, {"tags": ["E00401000000000A"], "channel": 99}):
        with pytest.raises(RigError, match=r"tags|channel"):
            gestures.perform(reader, "put", args, 1)
    gestures.perform(reader, "put", GOOD | {"channel": 8}, 1)
    assert reader.feed(Request(Command.ISO_HOST, b"\x01\x00").encode(), 10**9)


@pytest.mark.parametrize("arguments", [["feig", "--tcp", "nowhere.invalid:0"], ["feig", "--serial", "/nowhere/port"]])
def test_a_device_that_cannot_be_served_is_said_to_be_so(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    assert device.main(arguments) == Exit.RIG
    said = json.loads(capsys.readouterr().out)
    assert said["ready"] is False
    assert said["error"]
