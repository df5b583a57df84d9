"""A capture with one changed bit is never called whole, and never a traceback; one without digests is told as such."""

import random
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from controller import cli
from controller.capture import pcapng
from controller.capture.errors import CaptureDamaged
from controller.capture.verifying import verify_capture
from controller.errors import FeltError
from controller.ledger.keys import load_auditor_key
from tests.unit.test_capture import Taped, rewritten

FLIPS = 50


def taken(folder: Path, *, sealed: bool = False) -> Taped:
    taped = Taped(folder, auditor=sealed)
    taped.play()
    taped.end()
    return taped


def called_whole(taped: Taped, auditor: X25519PrivateKey | None) -> bool:
    """Whether it is; what is said instead names the file."""
    try:
        return verify_capture(taped.folder / "ledger", taped.capture, auditor).whole
    except FeltError as error:
        return str(taped.capture) not in str(error)


def flipped(data: bytes, at: int, bit: int) -> bytes:
    changed = bytearray(data)
    changed[at] ^= 1 << bit
    return bytes(changed)


@pytest.mark.parametrize("sealed", [False, True])
def test_a_flipped_bit_is_found_wherever_it_is(tmp_path: Path, sealed: bool) -> None:
    taped = taken(tmp_path, sealed=sealed)
    auditor = load_auditor_key(tmp_path / "auditor")
    whole = taped.capture.read_bytes()
    assert verify_capture(tmp_path / "ledger", taped.capture, auditor).whole
    dice = random.Random(7)
    places = [
        *range(0, 120, 3),
        *range(len(whole) - 40, len(whole)),
        *(dice.randrange(len(whole)) for _ in range(FLIPS)),
    ]
    for at in places:
        taped.capture.write_bytes(flipped(whole, at, dice.randrange(8)))
        assert not called_whole(taped, auditor), at


def test_a_flipped_bit_of_a_capture_without_digests_is_no_traceback_and_not_whole(tmp_path: Path) -> None:
    taped = taken(tmp_path)
    rewritten(taped.capture, lambda one: one.data)
    whole = taped.capture.read_bytes()
    replayed = verify_capture(tmp_path / "ledger", taped.capture)
    assert (replayed.ok, replayed.whole) == (True, False)
    assert "no digests" in replayed.unheld[0]
    dice = random.Random(8)
    for _ in range(2 * FLIPS):
        taped.capture.write_bytes(flipped(whole, dice.randrange(len(whole)), dice.randrange(8)))
        assert not called_whole(taped, None)


def test_blocks_that_were_taken_away_moved_or_repeated_are_found(tmp_path: Path) -> None:
    taped = taken(tmp_path)
    whole = taped.capture.read_bytes()
    with taped.capture.open("rb") as file:
        ends = [one.end for one in pcapng.read(file)]
    first, second = whole[ends[5] : ends[6]], whole[ends[6] : ends[7]]
    for middle in (b"", second, first + first + second, second + first):
        taped.capture.write_bytes(whole[: ends[5]] + middle + whole[ends[7] :])
        with pytest.raises(CaptureDamaged, match="digest"):
            verify_capture(tmp_path / "ledger", taped.capture)


@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        (lambda data: data, cli.OK, "whole"),
        (lambda data: data[:-7], cli.IN_PART, "is cut"),
        (lambda data: flipped(data, len(data) // 2, 1), cli.UNSOUND, "use the file as it was written"),
    ],
)
def test_the_exit_code_says_how_much_was_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: object, code: int, says: str
) -> None:
    assert callable(change)
    taped = taken(tmp_path)
    taped.capture.write_bytes(change(taped.capture.read_bytes()))
    assert cli.main(["verify", str(tmp_path / "ledger"), "--capture", str(taped.capture)]) == code
    told = capsys.readouterr()
    assert says in told.out + told.err
    assert (told.out.splitlines() or [""])[-1] != "whole" or code == cli.OK


def test_a_line_that_this_version_does_not_know_is_a_fault_with_its_place(tmp_path: Path) -> None:
    taped = taken(tmp_path)
    rewritten(taped.capture, lambda one: one.data.replace(b'"kind":"KeyPressed"', b'"kind":"KeyPressef"'))
    (fault,) = verify_capture(tmp_path / "ledger", taped.capture).faults
    assert "table.pcapng, before byte" in fault
    assert "this version does not know" in fault
