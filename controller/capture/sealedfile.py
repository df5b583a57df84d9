"""A sealed capture: pcapng blocks in boxes that only the auditor opens.

The file is a row of frames, each a letter, a big-endian length of four bytes, and so many bytes. ``K`` begins a run:
16 bytes that name it, and the run's key, sealed to the auditor. ``B`` holds one block, bound to run and number, so
that none can be taken away, moved or repeated without being noticed. What a crash tears off at the end is not missed.
"""

import struct
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from controller.capture.errors import CaptureDamaged, CaptureError
from controller.capture.pcapng import LARGEST_BLOCK, Damaged
from controller.contract.sealed import decrypt, encrypt, open_sealed, seal_to

_KEY, _BOX = b"K", b"B"
_HEAD = struct.Struct(">cI")
_SEALED_KEY = 16 + 32 + 12 + 32 + 16
"""What a run begins with: its name, then a one-time key, a nonce, the key of 32 bytes and its tag."""
_BEGIN = _HEAD.pack(_KEY, _SEALED_KEY)


class Sealer:
    """Puts the blocks of one run into boxes."""

    def __init__(self, auditor: X25519PublicKey) -> None:
        self._run = uuid.uuid4().bytes
        raw = AESGCM.generate_key(256)
        self._key = AESGCM(raw)
        self._number = 0
        self.head = _frame(_KEY, self._run + seal_to(auditor, raw, _place(self._run, 0)))
        """What stands before the first box."""

    def seal(self, block: bytes) -> bytes:
        """The frame for a block."""
        self._number += 1
        return _frame(_BOX, encrypt(self._key, block, _place(self._run, self._number)))


def is_sealed(path: Path) -> bool:
    """Whether a file is a sealed capture."""
    with path.open("rb") as file:
        return begins(file.read(len(_BEGIN)))


def begins(head: bytes) -> bool:
    """Whether a file with this begin is one, be it cut short or with a changed bit."""
    head = head[: len(_BEGIN)]
    differing = sum(one != other for one, other in zip(head, _BEGIN, strict=False))
    return bool(head) and differing <= (len(head) == len(_BEGIN))


def opened(path: Path, auditor: X25519PrivateKey) -> Iterator[bytes]:
    """The blocks of a sealed capture in order. Raises ``CaptureError``."""
    key: AESGCM | None = None
    run, number = b"", 0
    try:
        with path.open("rb") as file:
            for kind, content, _ in _frames(file):
                if kind == _KEY:
                    run, number = content[:16], 0
                    key = AESGCM(open_sealed(auditor, content[16:], _place(run, 0)))
                elif key is not None:
                    number += 1
                    yield decrypt(key, content, _place(run, number))
    except InvalidTag:
        if number:
            raise CaptureDamaged(path, f"box {number} was changed, moved or taken away") from None
        remedy = "use the auditor's key of that table and the file as it was written"
        raise CaptureError(path, f"it was sealed to another key; {remedy}") from None
    except Damaged as error:
        raise CaptureDamaged(path, str(error)) from error


def whole_length(stream: BinaryIO) -> int:
    """How many bytes of a sealed file are whole frames. Raises ``Damaged``."""
    return max((end for _, _, end in _frames(stream)), default=0)


def _frames(stream: BinaryIO) -> Iterator[tuple[bytes, bytes, int]]:
    end = 0
    while len(head := stream.read(_HEAD.size)) == _HEAD.size:
        kind, length = _HEAD.unpack(head)
        if kind not in (_KEY, _BOX) or length > LARGEST_BLOCK:
            raise Damaged(f"at byte {end}: no frame of a sealed capture")
        content = stream.read(length)
        if len(content) < length:
            if _goes_on(content):
                raise Damaged(f"at byte {end}: a frame of {length} bytes, within which others begin")
            return
        end += _HEAD.size + length
        yield kind, content, end


def _goes_on(left: bytes) -> bool:
    """Whether whole frames follow in what looks like a torn one: then its length was changed, nothing is missing."""
    at = -1
    while (at := left.find(_BOX + bytes(1), at + 1)) >= 0:
        if len(left) - at < _HEAD.size:
            return False
        end = at + _HEAD.size + _HEAD.unpack_from(left, at)[1]
        if end == len(left) or left[end : end + 2] in (_BOX + bytes(1), _KEY + bytes(1)):
            return True
    return False


def _frame(kind: bytes, content: bytes) -> bytes:
    return _HEAD.pack(kind, len(content)) + content


def _place(run: bytes, number: int) -> bytes:
    return b"capture|" + run + f"|{number}".encode()
