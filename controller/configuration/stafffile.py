"""The file of the persons who may work at a table: who they are, which functions they may take, how they prove it.

A PIN or password is kept as scrypt of it with a salt of its own. The file has the mode 0600 and is written whole or not
at all. Accounts are individual: a name that is a function, or that everybody could use, is refused.
"""

import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from controller.core.floor.words import ROLES
from controller.errors import LocalError
from controller.private import open_to_others

COST, BLOCK, LANES = 1 << 14, 8, 1
"""scrypt: 16 MiB and some 50 ms a guess on an edge device."""
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{1,31}")
GENERIC = frozenset({"admin", "administrator", "root", "user", "staff", "guest", "test", "operator", "floor", "table"})
"""Names that are nobody's, besides the functions themselves."""
SHORTEST = 6


class StaffFileError(LocalError):
    """The staff file is missing, can be read by others, or is none."""


@dataclass(frozen=True, slots=True)
class Member:
    """One person: the functions that may be taken, and the proof of the PIN."""

    roles: tuple[str, ...]
    salt: bytes = field(repr=False)
    proof: bytes = field(repr=False)

    @classmethod
    def new(cls, staff: str, roles: tuple[str, ...], pin: str) -> "Member":
        """A person with a PIN. Raises ``LocalError`` for a PIN that could be guessed."""
        salt = secrets.token_bytes(16)
        return cls(roles, salt, derive(checked_pin(staff, pin), salt))

    def proves(self, pin: str) -> bool:
        """Whether this is the PIN; takes the same time either way."""
        return hmac.compare_digest(derive(pin, self.salt), self.proof)


NOBODY = Member((), bytes(16), bytes(32))
"""Who is asked in place of a person that does not exist, so that the answer takes as long."""


def derive(pin: str, salt: bytes) -> bytes:
    """What is kept of a PIN."""
    return hashlib.scrypt(pin.encode(), salt=salt, n=COST, r=BLOCK, p=LANES, maxmem=64 << 20, dklen=32)


def checked_name(staff: str) -> str:
    """A name that can be one person's. Raises ``LocalError``."""
    words = set(re.split(r"[._-]|\d+", staff))
    if not NAME.fullmatch(staff):
        raise LocalError("staff", staff[:40], "use 2 to 32 of a-z, 0-9, dot, dash: a number of the person, s-0193")
    if staff in ROLES or words - {""} <= GENERIC | set(ROLES):
        raise LocalError("staff", staff, "is a function and not a person: every account belongs to one person")
    return staff


def checked_pin(staff: str, pin: str) -> str:
    """A PIN that is not guessed at once. Raises ``LocalError``, which does not quote it."""
    steps = {ord(b) - ord(a) for a, b in pairwise(pin)}
    if len(pin) < SHORTEST:
        raise LocalError("pin", "", f"too short: at least {SHORTEST} digits or letters")
    if len(pin) > 128 or pin == staff or steps in ({0}, {1}, {-1}):
        raise LocalError("pin", "", "would be guessed first: no name, no row of the same or of following digits")
    return pin


def checked_roles(roles: tuple[str, ...]) -> tuple[str, ...]:
    """Functions that exist. Raises ``LocalError``."""
    for role in roles:
        if role not in ROLES:
            raise LocalError("role", role, f"use {', '.join(ROLES)}")
    if not roles:
        raise LocalError("role", None, "say which functions the person may take")
    return tuple(dict.fromkeys(roles))


def load(path: Path) -> dict[str, Member]:
    """All persons. Raises ``StaffFileError``."""
    try:
        content = path.read_bytes()
        opened = open_to_others(path)
    except OSError as error:
        remedy = f"cannot be read ({error.strerror}); make it with `feltd staff add`"
        raise StaffFileError("access.staff", str(path), remedy) from error
    if opened:
        raise StaffFileError("access.staff", str(path), opened)
    try:
        tree = json.loads(content)
        return {name: _member(name, entry) for name, entry in tree["staff"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, LocalError):
        # What is wrong in it is not quoted: the file holds proofs.
        raise StaffFileError("access.staff", str(path), "is no staff file; make it with `feltd staff add`") from None


def save(path: Path, staff: Mapping[str, Member]) -> None:
    """Replace the file, whole or not at all. Raises ``StaffFileError``."""
    tree = {
        "schema": 1,
        "staff": {
            name: {"roles": list(one.roles), "salt": one.salt.hex(), "scrypt": one.proof.hex()}
            for name, one in sorted(staff.items())
        },
    }
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            json.dump(tree, file, indent=1)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            was = path.stat()
            os.chown(beside, was.st_uid, was.st_gid)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise StaffFileError("access.staff", str(path), f"cannot be written: {error.strerror}") from error


def _member(name: str, entry: Any) -> Member:
    checked_name(name)
    salt, proof = bytes.fromhex(entry["salt"]), bytes.fromhex(entry["scrypt"])
    if len(salt) < 16 or len(proof) != 32:
        raise ValueError
    return Member(checked_roles(tuple(entry["roles"])), salt, proof)
