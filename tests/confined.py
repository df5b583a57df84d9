"""The part of a unit's confinement that needs no service manager, laid on a thread and on what it starts.

systemd compiles a unit's system call filter with libseccomp; so do we, from the same names. Capabilities are dropped
too. Mounts, device lists and addresses are systemd's own and are not covered.
"""

import ctypes
import errno
import os
import re
import socket
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
_EQUAL, _MASKED_EQUAL = 4, 7
_PR_CAPBSET_DROP = 24
_WRITE, _EXECUTE = 2, 4
_SHM_EXEC = 0o100000
_LAST_CAPABILITY = Path("/proc/sys/kernel/cap_last_cap")


class _Compare(ctypes.Structure):
    _fields_ = (
        ("argument", ctypes.c_uint),
        ("operator", ctypes.c_int),
        ("first", ctypes.c_uint64),
        ("second", ctypes.c_uint64),
    )


def directives(unit: Path) -> Iterator[tuple[str, str]]:
    """The settings of a unit file in their order, without comments and sections."""
    for line in unit.read_text(encoding="utf-8").splitlines():
        key, found, value = line.partition("=")
        if found and not line.startswith(("#", ";", "[")):
            yield key, value


def run_confined(unit: Path, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call in a thread that lives under the unit's filter: whatever it starts lives under it too."""
    told = list(directives(unit))
    allowed = _system_calls([value for key, value in told if key == "SystemCallFilter"])
    families = [name for key, value in told if key == "RestrictAddressFamilies" for name in value.split()]
    assert ("MemoryDenyWriteExecute", "yes") in told
    with ThreadPoolExecutor(1, "confined", lambda: _confine(allowed, families)) as thread:
        return thread.submit(call, *args, **kwargs).result()


def _system_calls(filters: list[str]) -> set[str]:
    """What the lines of SystemCallFilter= add up to: the first one allows, later ones add or, with ~, take away."""
    told = subprocess.run(["systemd-analyze", "syscall-filter"], check=True, capture_output=True, text=True).stdout
    groups: dict[str, list[str]] = {}
    for line in told.splitlines():
        if line.startswith("@"):
            members = groups[line] = []
        elif name := re.fullmatch(r"    ([@\w-]+)", line):
            members.append(name[1])

    def members_of(name: str) -> set[str]:
        if not name.startswith("@"):
            return {name}
        return {call for member in groups[name] for call in members_of(member)}

    allowed = members_of("@default")
    for line in filters:
        named = {call for name in line.removeprefix("~").split() for call in members_of(name)}
        allowed = allowed - named if line.startswith("~") else allowed | named
    return allowed


def _confine(allowed: set[str], families: list[str]) -> None:
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    filter_ = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(_REFUSE)))

    def allow(name: str, *when: _Compare) -> None:
        number = library.seccomp_syscall_resolve_name(name.encode())
        if number < 0:
            return  # not of this machine's architecture
        conditions = (_Compare * len(when))(*when)
        failed = library.seccomp_rule_add_array(filter_, ctypes.c_uint32(_ALLOW), number, len(when), conditions)
        assert failed == 0, (name, os.strerror(-failed))

    for name in allowed - {"socket", "mmap", "mprotect", "pkey_mprotect", "shmat"}:
        allow(name)
    for family in families:
        allow("socket", _Compare(0, _EQUAL, getattr(socket, family)))
    for protection in (0, _WRITE, _EXECUTE):
        allow("mmap", _Compare(2, _MASKED_EQUAL, _WRITE | _EXECUTE, protection))
    for name in ("mprotect", "pkey_mprotect"):
        allow(name, _Compare(2, _MASKED_EQUAL, _EXECUTE, 0))
    allow("shmat", _Compare(2, _MASKED_EQUAL, _SHM_EXEC, 0))
    _drop_capabilities()
    failed = library.seccomp_load(filter_)  # this thread only, and "no new privileges" with it
    assert failed == 0, os.strerror(-failed)


def _drop_capabilities() -> None:
    """What the bounding set lacks a program that is started next does not get, root or not."""
    if os.geteuid() == 0:
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        for number in range(int(_LAST_CAPABILITY.read_text()) + 1):
            assert prctl(_PR_CAPBSET_DROP, number, 0, 0, 0) == 0, os.strerror(ctypes.get_errno())
