"""A capture that begins where a damaged one lies, or something that is none: nothing is lost, the table starts."""

import io
import os
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from controller.capture import older, pcapng, sealedfile, starting
from controller.capture.errors import CaptureDamaged, CaptureError, CaptureUnwritable
from controller.capture.reading import torn
from controller.capture.starting import CaptureTo, Capturing
from controller.configuration.settings import Settings, load
from controller.ledger.keys import create_auditor_key
from controller.runtime.clock import Clock
from simulators import capture
from simulators.verdict import Exit
from tests.running import write_config
from tests.unit.test_capture import Taped

FLIPS = 60
NO_CAPTURES = [
    b"hallo\n",
    b"x",
    b"Kaffee und Kuchen",
    b"\n\nnotes\n",
    b"GIF89a" + bytes(40),
    b"{}",
    b"SQLite format 3\0",
]


@pytest.fixture(params=[False, True], ids=["plain", "sealed"])
def table(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Settings, Path, bytes]:
    """A table, and the capture of a run before: its file and what it holds."""
    folder = tmp_path / "before"
    folder.mkdir()
    taped = Taped(folder, auditor=request.param)
    taped.play()
    taped.end()
    settings = load(write_config(tmp_path))
    if request.param:
        create_auditor_key(tmp_path / "auditor", tmp_path / "auditor.pub")
        ledger = replace(settings.ledger, auditor_public_key=tmp_path / "auditor.pub")
        settings = replace(settings, setup=replace(settings.setup, test=False), ledger=ledger)
    return settings, taped.capture, taped.capture.read_bytes()


def begun(settings: Settings, path: Path) -> Capturing:
    made = starting.begin(CaptureTo(path), settings, ("ledger", 0), Clock())
    assert made.asked
    return made


def ends(path: Path, data: bytes) -> list[int]:
    """At which bytes the blocks, or the boxes, of a whole capture end."""
    if sealedfile.is_sealed(path):
        return [end for _, _, end in sealedfile._frames(io.BytesIO(data))]
    return [one.end for one in pcapng._followed(io.BytesIO(data))]


def flipped(data: bytes, at: int, bit: int) -> bytes:
    changed = bytearray(data)
    changed[at] ^= 1 << bit
    return bytes(changed)


DAMAGES: list[Callable[[bytes], bytes]] = [
    lambda data: data + bytes(4096),
    lambda data: data + bytes(3),
    lambda data: data + random.Random(1).randbytes(5000),
    lambda data: data + random.Random(2).randbytes(5),
    lambda data: data[:-5],
    lambda data: data[:3],
    lambda data: bytes(len(data)),
    lambda data: bytes(5),
    lambda data: data[: len(data) // 2] + bytes(512) + data[len(data) // 2 + 512 :],
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_capture_keeps_no_table_from_starting_and_nothing_of_it_is_lost(
    table: tuple[Settings, Path, bytes], damage: Callable[[bytes], bytes]
) -> None:
    settings, path, whole = table
    _begins_on(settings, path, damage(whole), ends(path, whole))


def test_a_flipped_bit_wherever_it_is_neither(table: tuple[Settings, Path, bytes]) -> None:
    settings, path, whole = table
    blocks = ends(path, whole)
    dice = random.Random(3)
    heads = [at + byte for at in blocks[:12] for byte in range(8)]
    for at in (*range(32), *heads, *(dice.randrange(len(whole)) for _ in range(FLIPS))):
        _begins_on(settings, path, flipped(whole, at, dice.randrange(8)), blocks)


def _begins_on(settings: Settings, path: Path, damaged: bytes, blocks: list[int]) -> None:
    """The new run begins; what lay there lies aside, or stands before it but for a block that was not whole."""
    path.write_bytes(damaged)
    made = begun(settings, path)
    assert made.running
    made.close()
    if made.aside is None:
        left = path.read_bytes()
        longest = max(end - begin for begin, end in zip([0, *blocks], blocks, strict=False))
        stands = max(0, len(damaged) - longest)
        assert left[:stands] == damaged[:stands]
    else:
        assert made.aside.read_bytes() == damaged
        assert made.aside.name == f"{path.name}.damaged"
        made.aside.unlink()
    assert torn(path) == 0


def test_an_earlier_damaged_one_is_never_overwritten_and_they_do_not_fill_the_disk(
    table: tuple[Settings, Path, bytes],
) -> None:
    settings, path, whole = table
    asides = []
    for number in range(older.MOST_DAMAGED):
        path.write_bytes(whole + bytes(100 + number))
        made = begun(settings, path)
        made.close()
        assert made.aside is not None
        asides.append(made.aside)
    assert [aside.read_bytes() for aside in asides] == [whole + bytes(100 + n) for n in range(older.MOST_DAMAGED)]
    path.write_bytes(whole + bytes(99))
    made = begun(settings, path)
    assert not made.running
    assert "look at the disk" in made.trouble()
    assert path.read_bytes() == whole + bytes(99)


def test_what_was_put_aside_is_told_until_somebody_has_taken_it_away(table: tuple[Settings, Path, bytes]) -> None:
    settings, path, whole = table
    path.write_bytes(whole + bytes(100))
    made = begun(settings, path)
    assert made.aside is not None
    assert made.aside.name in made.trouble()
    made.aside.unlink()
    assert made.trouble() == ""
    made.close()


@pytest.mark.parametrize("content", NO_CAPTURES)
def test_a_file_that_is_no_capture_is_left_as_it_is(
    table: tuple[Settings, Path, bytes], content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    settings, path, _ = table
    path.write_bytes(content)
    with pytest.raises(CaptureError, match="is no pcapng file and no sealed capture") as raised:
        begun(settings, path)
    assert not isinstance(raised.value, CaptureDamaged | CaptureUnwritable)
    assert capture.main([str(path)]) == Exit.SCRIPT
    assert "is no pcapng file and no sealed capture" in capsys.readouterr().err
    assert path.read_bytes() == content


def test_what_is_no_place_for_a_capture_is_a_mistake_of_who_named_it(table: tuple[Settings, Path, bytes]) -> None:
    settings, path, _ = table
    pipe = path.with_name("pipe")
    os.mkfifo(pipe)
    for named in (path.parent, path.parent / "no" / "such.pcapng", path / "below", pipe, Path("/dev/null")):
        with pytest.raises(CaptureError, match="--capture") as raised:
            begun(settings, named)
        assert not isinstance(raised.value, CaptureDamaged | CaptureUnwritable)
