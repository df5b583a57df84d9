"""Measures the codecs: frames a second out of a stream, in reads of the size that links give, and a tray's records."""

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

from drivers import camera, eccel, mercury, shoe
from drivers.feig import Command, Response, Status, Transponder, decode_inventory, encode_inventory, response_framer
from drivers.feig_records import Record, decode_records, encode_records
from drivers.framing import Framer
from drivers.keypad import decode_report, encode_report

READ = 4096
TAG = bytes.fromhex("E01680FF08004FBC")

STREAMS: dict[str, tuple[Callable[[], Framer[Any]], bytes]] = {
    "feig inventory": (
        response_framer,
        Response(Command.ISO_HOST, Status.OK, encode_inventory([Transponder(3, TAG)] * 16)).encode(),
    ),
    "feig empty": (response_framer, Response(Command.ISO_HOST, Status.NO_TAG).encode()),
    "eccel event": (eccel.framer, eccel.event(eccel.Tag(TAG))),
    "mercury record": (
        mercury.response_framer,
        mercury.Response(mercury.Opcode.READ_MULTIPLE, 0, mercury.TagRead(TAG + TAG[:4]).encode()).encode(),
    ),
    "shoe card": (shoe.framer, shoe.Frame(shoe.Kind.CARD, shoe.Card("As", 99).encode(), 1).encode()),
    "camera sight": (
        camera.framer,
        camera.Frame(camera.Kind.SIGHT, camera.Sight(1, 1, "As", 99, up=True).encode(), 1).encode(),
    ),
}
"""Parser and one frame of each kind."""

CALLS: dict[str, tuple[Callable[[bytes], object], bytes, int]] = {
    "feig buffer records": (decode_records, encode_records([Record(3, TAG)] * 255), 255),
    "feig data sets": (decode_inventory, encode_inventory([Transponder(3, TAG)] * 16), 16),
    "keypad report": (decode_report, encode_report((0x59,)), 1),
}
"""Decoders without a stream, what they are given, and how many things that holds."""


def stream(make: Callable[[], Framer[Any]], frame: bytes, seconds: float) -> tuple[float, float]:
    """Frames and megabytes a second."""
    wire = frame * max(1, (64 * READ) // len(frame))
    framer = make()
    frames = size = 0
    began = time.perf_counter()
    while (passed := time.perf_counter() - began) < seconds:
        for at in range(0, len(wire), READ):
            frames += len(framer.feed(wire[at : at + READ]))
        size += len(wire)
    return frames / passed, size / passed / 1e6


def calls(decode: Callable[[bytes], object], data: bytes, each: int, seconds: float) -> float:
    """Things decoded a second."""
    done = 0
    began = time.perf_counter()
    while (passed := time.perf_counter() - began) < seconds:
        decode(data)
        done += each
    return done / passed


def main() -> int:
    """Print one line a codec."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.codecs", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="how long each is measured")
    options = parser.parse_args()
    print(f"{'codec':<24}{'frames/s':>12}{'MB/s':>8}")
    for name, (make, frame) in STREAMS.items():
        rate, speed = stream(make, frame, options.seconds)
        print(f"{name:<24}{rate:>12,.0f}{speed:>8.1f}")
    for name, (decode, data, each) in CALLS.items():
        print(f"{name:<24}{calls(decode, data, each, options.seconds):>12,.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
