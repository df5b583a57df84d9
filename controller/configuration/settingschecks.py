"""What a schema cannot say: how the parts of a table's configuration fit together.

Every check works on the parts it needs and is left out where one of them is faulty itself: that fault has
been named already.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from controller import software
from controller.configuration import closedchecks, placechecks, stafffile
from controller.configuration.tablefile import (
    AccessFile,
    BrokerFile,
    DeviceFile,
    LedgerFile,
    LimitsFile,
    SocketFile,
    SoftwareFile,
    TimingFile,
)
from controller.core.rules.profile import Profile
from controller.core.setup import Chipset, Deck
from controller.errors import LocalError
from controller.faults import Fault, did_you_mean, unreadable
from controller.ledger.errors import KeyFileError
from controller.ledger.keys import load_auditor_public_key, load_device_key, load_signing_key
from controller.private import open_to_others, writable_by_others
from drivers import catalog
from drivers.address import SerialAddress, TcpAddress, UsbAddress, UsbIpAddress, parse_address
from drivers.errors import ConfigError

LEAST_MB = 64
"""Below it the ledger's write-ahead log alone could bar new hands."""
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def check(
    path: Path, tree: Mapping[str, Any], profile: Profile | None, chipset: Chipset | None, deck: Deck | None
) -> Iterator[Fault]:
    """Every fault that lies between the parts."""
    file = str(path)
    test = tree.get("test") is True
    yield from _money(file, LimitsFile.known(tree.get("limits")), profile, chipset)
    yield from _house(file, tree, profile, test)
    yield from _broker(file, path.parent, tree, test)
    yield from _keys(file, path.parent, tree, test)
    yield from _socket(file, path.parent, tree)
    yield from _access(file, path.parent, tree, test)
    yield from _software(file, tree)
    yield from _devices(file, tree, test)
    yield from _tags(file, chipset, deck)
    yield from _timing(file, TimingFile.known(tree.get("timing", {})))
    yield from closedchecks.check(file, tree, profile)


def flat(override: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """``[override]`` as dotted keys, whether they were written as one quoted key or as tables."""
    values: dict[str, Any] = {}
    for key, value in override.items():
        values |= flat(value, f"{before}{key}.") if isinstance(value, dict) else {f"{before}{key}": value}
    return values


def kind_of(driver: str) -> str:
    """What sensing may expect from a driver's device: ``shoe``, ``keypad``, ``reader``, ``camera``."""
    return catalog.role(driver)


def _money(file: str, limits: LimitsFile | None, profile: Profile | None, chipset: Chipset | None) -> Iterator[Fault]:
    if limits is None:
        return
    if limits.small_blind > limits.big_blind:
        yield Fault(file, "limits.small_blind", str(limits.small_blind), f"above big_blind = {limits.big_blind}")
    if profile and limits.structure is not None and limits.structure not in profile.structures:
        rule = "BG-6.1: " if profile.family == "BG" else ""
        remedy = f"{rule}{profile.name} allows {', '.join(profile.structures)}: choose one of them"
        yield Fault(file, "limits.structure", f'"{limits.structure}"', remedy)
    if limits.big_bet and limits.big_bet < (limits.small_bet or limits.big_blind):
        yield Fault(file, "limits.big_bet", str(limits.big_bet), "is below the small bet: raise it, or leave it out")
    if chipset is None:
        return
    unit = chipset.unit
    for key in ("small_blind", "big_blind", "ante", "small_bet", "big_bet", "table_min", "straddle"):
        amount = getattr(limits, key)
        if amount % unit:
            remedy = f"cannot be paid in chips: make it a multiple of the smallest chip, {unit}"
            yield Fault(file, f"limits.{key}", str(amount), remedy)
    rake = profile.rake if profile else None
    if rake and rake.rate_num and rake.rounding % unit:
        remedy = f"the rake cannot be taken in chips: make it a multiple of the smallest chip, {unit}"
        yield Fault(file, 'override."rake.rounding"', str(rake.rounding), remedy)


def _house(file: str, tree: Mapping[str, Any], profile: Profile | None, test: bool) -> Iterator[Fault]:
    if profile and profile.rake is None and profile.game != "ultimate":
        rule = {"HR": "HR-15.6", "BG": "BG-2.3"}.get(profile.family, "RS-7.8")
        yield Fault(file, 'override."rake.rate"', "", f"{rule}: missing: the house decides the rake; set it")
    seats = tree.get("seats")
    if profile and isinstance(seats, int) and seats < profile.players_min:
        yield Fault(file, "seats", str(seats), f"{profile.name} is played by at least {profile.players_min}")
    if tree.get("seed") is not None and not test:
        yield Fault(file, "seed", str(tree["seed"]), "is for test mode only: remove it, or set test = true")
    state = tree.get("state_dir")
    if isinstance(state, str):
        folder = Path(file).parent / state
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            yield Fault(file, "state_dir", f'"{state}"', "no folder that can be written: create it or name another")
        elif remedy := writable_by_others(folder):
            yield Fault(file, "state_dir", f'"{state}"', remedy)


def _broker(file: str, folder: Path, tree: Mapping[str, Any], test: bool) -> Iterator[Fault]:
    if tree.get("broker") is None:
        if not test:
            yield Fault(file, "broker", "", "missing: set broker.uri; only a test table may play without one")
        return
    broker = BrokerFile.known(tree["broker"])
    if broker is None:
        return
    for key in ("password_file", "ca", "certificate", "key"):
        yield from _readable(file, f"broker.{key}", folder, getattr(broker, key))
    for key in ("password_file", "key"):
        yield from _private(file, f"broker.{key}", folder, getattr(broker, key))
    if (broker.certificate is None) != (broker.key is None):
        yield Fault(file, "broker.certificate", "", "certificate and key go together: set both or none")
    if broker.password_file and not broker.username:
        yield Fault(file, "broker.username", "", "missing: a password needs a user name")
    shown = f'"{broker.uri}"'
    try:
        uri = urlsplit(broker.uri)
        host, port = uri.hostname, uri.port
    except ValueError as error:
        yield Fault(file, "broker.uri", shown, f"cannot be read ({error}): write mqtts://host:8883")
        return
    if uri.scheme not in ("mqtt", "mqtts") or not host or not port:
        yield Fault(file, "broker.uri", shown, "write mqtts://host:8883, or mqtt://host:1883 without encryption")
    elif uri.username or uri.password:
        yield Fault(file, "broker.uri", "", "holds a user or password: set username and password_file instead")
    elif uri.path or uri.query or uri.fragment:
        yield Fault(file, "broker.uri", shown, "ends after the port: write mqtts://host:8883")
    elif uri.scheme == "mqtt":
        if broker.ca or broker.certificate:
            yield Fault(file, "broker.uri", shown, "ca and certificate need encryption: write mqtts://")
        if host not in LOOPBACK:
            yield Fault(
                file, "broker.uri", shown, "events and commands would cross the network in clear: write mqtts://"
            )


def _keys(file: str, folder: Path, tree: Mapping[str, Any], test: bool) -> Iterator[Fault]:
    ledger = LedgerFile.known(tree.get("ledger", {}))
    if ledger is None:
        return
    for key in ("device_key", "signing_key", "auditor_public_key"):
        value = getattr(ledger, key)
        if value is None and not test:
            yield Fault(file, f"ledger.{key}", "", "missing: make it with `feltd keys` and set it")
        elif key != "device_key" or not test:
            yield from _readable(file, f"ledger.{key}", folder, value)
    yield from _readable(file, "ledger.signing_key_before", folder, ledger.signing_key_before)
    for key, load in (
        ("device_key", load_device_key),
        ("signing_key", partial(load_signing_key, test=test)),
        ("signing_key_before", partial(load_signing_key, test=test)),
        ("auditor_public_key", load_auditor_public_key),
    ):
        yield from _loaded(file, f"ledger.{key}", folder, getattr(ledger, key), load)
    if ledger.limit_mb < LEAST_MB:
        remedy = f"at least {LEAST_MB}: the log beside the file counts, and takes up to 17 MB of an empty ledger"
        yield Fault(file, "ledger.limit_mb", str(ledger.limit_mb), remedy)
    elif ledger.archive_mb > ledger.limit_mb:
        remedy = f"above limit_mb = {ledger.limit_mb}: no hand would begin before the file is archived"
        yield Fault(file, "ledger.archive_mb", str(ledger.archive_mb), remedy)
    if ledger.file:
        yield from _folder(file, "ledger.file", folder, ledger.file)


def _socket(file: str, folder: Path, tree: Mapping[str, Any]) -> Iterator[Fault]:
    part = SocketFile.known(tree.get("socket", {}))
    if part is None:
        return
    for uid in part.staff:
        if not (uid.isascii() and uid.isdecimal()):
            yield Fault(file, f"socket.staff.{uid}", "", "the key is the number of an account: staff.1001")
    if part.path:
        yield from _folder(file, "socket.path", folder, part.path)
        # The kernel's limit for the address of a Unix socket.
        if len(os.fsencode(folder / part.path)) > 107:
            yield Fault(file, "socket.path", f'"{part.path}"', "too long for a socket: at most 107 bytes")


def _access(file: str, folder: Path, tree: Mapping[str, Any], test: bool) -> Iterator[Fault]:
    part = AccessFile.known(tree.get("access", {}))
    if part is None:
        return
    if part.staff is None:
        if not test:
            yield Fault(file, "access.staff", "", "missing: make it with `feltd staff add` and set it")
        return
    try:
        stafffile.load(folder / part.staff)
    except LocalError as error:
        yield Fault(file, "access.staff", f'"{part.staff}"', error.remedy)


def _software(file: str, tree: Mapping[str, Any]) -> Iterator[Fault]:
    part = SoftwareFile.known(tree.get("software", {}))
    if part is None or part.sha256 is None:
        return
    if (installed := software.software()["sha256"]) != part.sha256:
        remedy = f"another program is installed, {installed}: install the approved one, or have this one approved"
        yield Fault(file, "software.sha256", f'"{part.sha256}"', remedy)
    for name in software.changed():
        yield Fault(file, "software.sha256", f'"{name}"', "was changed after it was installed: install it again")


def _devices(file: str, tree: Mapping[str, Any], test: bool) -> Iterator[Fault]:
    given = tree.get("devices", {})
    if not isinstance(given, dict):
        return
    seats = tree.get("seats")
    where: dict[object, str] = {}
    watched: dict[str, str] = {}
    sighted: dict[str, str] = {}
    kinds: list[str] = []
    for name, values in given.items():
        key = f"devices.{name}"
        if not re.fullmatch(r"[a-z0-9-]{1,32}", name):
            yield Fault(file, key, "", "a device is named with a-z, 0-9 and -")
        device = DeviceFile.known(values)
        if device is None:
            continue
        yield from _driver(file, key, name, device)
        if device.driver in catalog.names():
            kinds.append(kind_of(device.driver))
        yield from _address(file, key, device, test, where)
        for channel, place in device.channels.items():
            at = f"{key}.channels.{channel}"
            kind = kind_of(device.driver) if device.driver in catalog.names() else ""
            yield from placechecks.check(file, at, channel, place, kind, seats if isinstance(seats, int) else None)
            # A camera is a second witness: it may look at what another device reads.
            same = sighted if kind == "camera" else watched
            if place in same:
                yield Fault(file, at, f'"{place}"', f"already watched by {same[place]}: one place, one channel")
            same.setdefault(place, at)
    if tree.get("kind") == "rfid":
        yield from _antennas(file, tree, seats, watched, sighted, kinds, test)
    if tree.get("kind") == "shoe":
        for kind in ("shoe", "keypad"):
            if kinds.count(kind) > 1:
                yield Fault(file, "devices", f"{kinds.count(kind)} of kind {kind}", f"a shoe table has one {kind}")
            elif kind not in kinds and not test:
                yield Fault(file, "devices", "", f"missing: a shoe table needs a device of kind {kind}")


def _antennas(
    file: str,
    tree: Mapping[str, Any],
    seats: object,
    watched: Mapping[str, str],
    sighted: Mapping[str, str],
    kinds: list[str],
    test: bool,
) -> Iterator[Fault]:
    """What an RFID table cannot be played without: antennas everywhere, and tags that somebody registered.

    Stacks may be booked only, and a camera alone may see the board. A place of a box makes it a table of boxes.
    """
    if kinds.count("keypad") > 1:
        yield Fault(file, "devices", f"{kinds.count('keypad')} of kind keypad", "an RFID table has one keypad")
    elif "keypad" not in kinds and not test:
        yield Fault(file, "devices", "", "missing: an RFID table needs a device of kind keypad")
    count = seats if isinstance(seats, int) else 0
    if any(place.startswith("box:") for place in watched):
        needed = [f"box:{box}:{what}" for box in range(1, count + 1) for what in ("ante", "blind", "play", "cards")]
        needed += ["dealer", "muck"]
    else:
        stacks = ["stack"] if any(place.startswith("stack:") for place in watched) else []
        each = ("seat", *stacks, "bet")
        needed = [*(f"{what}:{seat}" for what in each for seat in range(1, count + 1)), "burn", "muck", "pot"]
    missing = [place for place in needed if place not in watched]
    missing += [] if "board" in watched or "board" in sighted else ["board"]
    if missing:
        some = ", ".join(missing[:6]) + (" ..." if len(missing) > 6 else "")
        yield Fault(file, "devices", "", f"no channel watches {some}: an RFID table senses all of them")
    for part, key, what in (("deck", "file", "cards"), ("chips", "tags", "chips")):
        section = tree.get(part, {})
        if isinstance(section, dict) and not section.get(key):
            yield Fault(file, f"{part}.{key}", "", f"missing: an RFID table knows its {what} by their tags")


def _tags(file: str, chipset: Chipset | None, deck: Deck | None) -> Iterator[Fault]:
    """A tag is a card's or a chip's. Which ones are both is not said: card tags do not leave the process."""
    both = len(chipset.tags.keys() & deck.tags.keys()) if chipset and deck else 0
    if both:
        remedy = f"{both} of its tags stand in chips.tags as well: a tag is a card's or a chip's; register them anew"
        yield Fault(file, "deck.file", "", remedy)


def _timing(file: str, timing: TimingFile | None) -> Iterator[Fault]:
    """What has to be seen for so long must not count as gone before."""
    for key in ("card_absent_ms", "chip_absent_ms"):
        if timing is not None and (absent := getattr(timing, key)) <= timing.debounce_ms:
            remedy = f"not above debounce_ms = {timing.debounce_ms}: what moves would be gone before it has arrived"
            yield Fault(file, f"timing.{key}", str(absent), remedy)


def _driver(file: str, key: str, name: str, device: DeviceFile) -> Iterator[Fault]:
    if device.driver not in catalog.names():
        remedy = f"no such driver: {did_you_mean(device.driver, catalog.names())}"
        yield Fault(file, f"{key}.driver", f'"{device.driver}"', remedy)
        return
    try:
        made = catalog.make(device.driver, name, expect=device.expect, options=device.options)
        known = getattr(made, "channels", ())  # a package's driver need not say
        for channel, place in device.channels.items() if known else ():
            if channel not in known:
                remedy = f"{device.driver} reads no channel {channel} with these options, only {', '.join(known)}"
                yield Fault(file, f"{key}.channels.{channel}", f'"{place}"', f"{remedy}: name it in options.antennas")
    except ConfigError as error:
        for fault in (error, *error.also):
            option = fault.name.removeprefix(f"{name}.")
            part = "" if option == "driver" or option.startswith("expect.") else "options."
            yield Fault(file, f"{key}.{part}{option}", str(fault.value), fault.remedy)


def _address(file: str, key: str, device: DeviceFile, test: bool, where: dict[object, str]) -> Iterator[Fault]:
    try:
        address = parse_address(device.uri, test_mode=test)
    except ConfigError as error:
        yield Fault(file, f"{key}.uri", f'"{device.uri}"', error.remedy)
        return
    match address:
        case SerialAddress(path=path):
            same: object = os.path.realpath(path)
        case TcpAddress(host=host, port=port):
            same = (host, port)
        case UsbAddress(vendor=vendor, product=product, serial=serial, interface=interface):
            same = (vendor, product, serial, interface)
        case UsbIpAddress(host=host, port=port, busid=busid, interface=interface):
            same = (host, port, busid, interface)
    if same in where:
        yield Fault(file, f"{key}.uri", f'"{device.uri}"', f"the same device as {where[same]}: one device, one entry")
    where.setdefault(same, key)


def _readable(file: str, key: str, folder: Path, name: str | None) -> Iterator[Fault]:
    if name is None:
        return
    try:
        with (folder / name).open("rb"):
            pass
    except OSError as error:
        yield unreadable(folder / name, error, file, key)


def _private(file: str, key: str, folder: Path, name: str | None) -> Iterator[Fault]:
    """Whether a file with a secret that can be read is closed to others."""
    if name is None or not os.access(folder / name, os.R_OK):
        return
    if remedy := open_to_others(folder / name):
        yield Fault(file, key, f'"{name}"', remedy)


def _loaded(file: str, key: str, folder: Path, name: str | None, load: Callable[[Path], object]) -> Iterator[Fault]:
    """Whether a key file that can be read is the key that a start takes."""
    if name is None or not os.access(folder / name, os.R_OK) or not (folder / name).is_file():
        return
    try:
        load(folder / name)
    except KeyFileError as error:
        yield Fault(file, key, f'"{name}"', error.remedy)


def _folder(file: str, key: str, folder: Path, name: str) -> Iterator[Fault]:
    above = (folder / name).parent
    if not above.is_dir():
        yield Fault(file, key, f'"{name}"', f"no such folder: {above}: create it or name another")
    elif remedy := writable_by_others(above):
        yield Fault(file, key, f'"{name}"', f"{above}: {remedy}")
