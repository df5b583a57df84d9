"""A table's configuration: one TOML file and the files it names, checked as a whole.

``check`` names every fault at once; ``load`` gives what the daemon needs, or raises with the same faults.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeVar

from pydantic import ValidationError

from controller.configuration import profiles, registries, settingschecks
from controller.configuration.tablefile import BrokerFile, DeviceFile, LedgerFile, SocketFile, TableFile
from controller.core.rules.profile import Profile
from controller.core.setup import Chipset, Currency, Deck, DeviceInfo, Limits, Setup, Timing
from controller.faults import BadConfiguration, Fault, read_toml, read_within, translate
from controller.software import software

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DeviceSettings:
    """One device as the supervisor needs it."""

    name: str
    driver: str
    uri: str
    options: Mapping[str, Any]
    expect: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """Where events go. ``password`` is read from its file once, at start.

    ``readers``: which client may have which streams replayed.
    """

    uri: str
    version: Literal["5", "3.1.1"] = "5"
    client_id: str | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    server_name: str | None = None
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    readers: Mapping[str, frozenset[str]] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class LedgerSettings:
    """The ledger's file and the files of its keys. In test mode a missing device key is made."""

    file: Path
    device_key: Path
    auditor_public_key: Path | None = None
    signing_key: Path | None = None
    signing_key_before: Path | None = None
    limit_mb: int = 4096
    archive_mb: int = 512
    archive_days: int = 31


@dataclass(frozen=True, slots=True)
class Person:
    """Who an account is."""

    staff: str
    role: str


@dataclass(frozen=True, slots=True)
class SocketSettings:
    """The command socket: where it is and which accounts may use it besides root and the daemon's own."""

    path: Path
    uids: frozenset[int] = frozenset()
    gids: frozenset[int] = frozenset()
    staff: Mapping[int, Person] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Settings:
    """All that one table's daemon is told. ``seed`` makes hand seeds and ledger id repeatable: test mode only."""

    file: Path
    sha256: str
    setup: Setup
    ledger: LedgerSettings
    socket: SocketSettings
    broker: BrokerSettings | None = None
    devices: tuple[DeviceSettings, ...] = ()
    seed: int | None = None
    metrics_port: int | None = None
    verified: bool = False
    """What is installed is what the configuration expects."""
    staff_file: Path | None = None
    """Who may log in, and by which proof; without it, in test mode, whoever may use the socket is believed."""


def check(path: Path) -> list[Fault]:
    """Every fault of a table's configuration; an empty list where there is none."""
    try:
        load(path)
    except BadConfiguration as error:
        return list(error.faults)
    return []


def load(path: Path) -> Settings:
    """The settings of a table. Raises ``BadConfiguration`` with every fault of every file it names."""
    tree, beyond = read_within(path)
    return _Reader(path, tree, beyond).settings()


def socket_path(path: Path) -> Path:
    """Where a table listens for commands, without checking the rest of its file: what a client needs.

    Raises ``BadConfiguration``.
    """
    tree = read_toml(path)
    part = SocketFile.known(tree.get("socket")) or SocketFile()
    table, state = tree.get("table"), tree.get("state_dir")
    if part.path is None and not (isinstance(table, str) and isinstance(state, str)):
        raise BadConfiguration([Fault(str(path), "socket.path", "", "missing: set it, or state_dir and table")])
    return path.parent / (part.path or f"{state}/{table}.sock")


class _Reader:
    """Reads one table's files. Faults are gathered; what does not depend on a faulty part is checked all the same."""

    def __init__(self, path: Path, tree: dict[str, Any], beyond: Iterable[Fault]) -> None:
        self.path = path
        self.tree = tree
        self.beyond = {fault.key: fault for fault in beyond}
        """What has been left out of ``tree``, by key."""
        self.faults: list[Fault] = []
        self.profile: Profile | None = None
        self.chipset: Chipset | None = None
        self.deck: Deck | None = None

    def settings(self) -> Settings:
        read: TableFile | None = None
        try:
            read = TableFile.model_validate(self.tree)
        except ValidationError as error:
            self.faults += translate(error, TableFile, self.tree, str(self.path))
        self._named_files()
        self.faults += settingschecks.check(self.path, self.tree, self.profile, self.chipset, self.deck)
        # What was left out of the tree is not missing.
        mine = str(self.path)
        self.faults = [*self.beyond.values(), *(f for f in self.faults if f.file != mine or f.key not in self.beyond)]
        if self.faults or not (read and self.profile and self.chipset and self.deck):
            raise BadConfiguration(_once(self.faults))
        return self._build(read, self.profile, self.chipset, self.deck)

    def _named_files(self) -> None:
        folder = self.path.parent
        name, override = self.tree.get("profile"), self.tree.get("override", {})
        if isinstance(name, str) and isinstance(override, dict):
            flat = settingschecks.flat(override)
            self.profile = self._try(lambda: profiles.load(name, folder, flat, str(self.path)))
        chips, deck = self.tree.get("chips"), self.tree.get("deck", {})
        if isinstance(chips, dict) and isinstance(file := chips.get("file"), str):
            chipset = self.chipset = self._try(lambda: registries.chips(folder / file))
            if chipset and isinstance(tags := chips.get("tags"), str):
                self.chipset = self._try(lambda: registries.tagged(chipset, folder / tags)) or chipset
            if (whole := self.chipset) and isinstance(listed := chips.get("listed"), str):
                self.chipset = self._try(lambda: registries.listed(whole, folder / listed)) or whole
        if isinstance(deck, dict):
            cards, called = deck.get("file"), deck.get("id")
            called = called if isinstance(called, str) else None
            if isinstance(cards, str):
                self.deck = self._try(lambda: registries.deck(folder / cards, called))
            elif cards is None:
                self.deck = Deck(called or "deck")

    def _try(self, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except BadConfiguration as error:
            self.faults += error.faults
            return None

    def _build(self, read: TableFile, profile: Profile, chipset: Chipset, deck: Deck) -> Settings:
        state = self.path.parent / read.state_dir
        setup = Setup(
            site=read.site,
            table=read.table,
            kind=read.kind,
            seats=read.seats,
            profile=profile,
            limits=Limits(**read.limits.model_dump()),
            chipset=chipset,
            deck=deck,
            devices=tuple(_info(name, device) for name, device in read.devices.items()),
            currency=Currency(**read.currency.model_dump()),
            timing=Timing(**read.timing.model_dump()),
            utc_offset_min=_minutes(read.utc_offset[1:]) * (-1 if read.utc_offset[0] == "-" else 1),
            day_starts_min=_minutes(read.gaming_day_starts),
            software=MappingProxyType(software()),
            shift=read.shift,
            test=read.test,
            closed_cards=read.closed_cards,
        )
        return Settings(
            file=self.path,
            sha256=self._sha256(read),
            setup=setup,
            ledger=_ledger(read.ledger, self.path.parent, state, read.table),
            socket=_socket(read.socket, self.path.parent, state, read.table),
            broker=_broker(read.broker, self.path.parent) if read.broker else None,
            devices=tuple(
                DeviceSettings(name, device.driver, device.uri, _options(device, read), MappingProxyType(device.expect))
                for name, device in read.devices.items()
            ),
            seed=read.seed,
            metrics_port=read.metrics.port if read.metrics else None,
            verified=read.software.sha256 is not None,  # another one is a fault
            staff_file=self.path.parent / read.access.staff if read.access.staff else None,
        )

    def _sha256(self, read: TableFile) -> str:
        """One hash over the table's file and the chip and deck files it names; the profile has a hash of its own."""
        named = [read.chips.file, read.chips.tags, read.chips.listed, read.deck.file]
        digest = hashlib.sha256(self.path.read_bytes())
        for name in filter(None, named):
            digest.update(hashlib.sha256((self.path.parent / name).read_bytes()).digest())
        return digest.hexdigest()


def _info(name: str, device: DeviceFile) -> DeviceInfo:
    kind = settingschecks.kind_of(device.driver)
    return DeviceInfo(name, device.driver, MappingProxyType(dict(device.channels)), kind)


FACES = ("board", "seat:")
"""Places where a card that lies face up is open; elsewhere a face is nobody's business."""


def _options(device: DeviceFile, read: TableFile) -> Mapping[str, Any]:
    """A device's options. Our shoe and camera are told themselves not to read closed cards: these never leave them."""
    told: dict[str, Any] = {"closed_cards": read.closed_cards} if device.driver == "shoe" else {}
    if device.driver == "camera" and read.closed_cards == "unread":
        hidden = {int(region) for region, place in device.channels.items() if not place.startswith(FACES)}
        told = {"unread": sorted(hidden.union(device.options.get("unread", ())))}
    return MappingProxyType({**device.options, **told})


def _ledger(read: LedgerFile, folder: Path, state: Path, table: str) -> LedgerSettings:
    return LedgerSettings(
        file=folder / read.file if read.file else state / f"{table}.ledger",
        device_key=folder / read.device_key if read.device_key else state / f"{table}.device-key",
        auditor_public_key=folder / read.auditor_public_key if read.auditor_public_key else None,
        signing_key=folder / read.signing_key if read.signing_key else None,
        signing_key_before=folder / read.signing_key_before if read.signing_key_before else None,
        limit_mb=read.limit_mb,
        archive_mb=read.archive_mb,
        archive_days=read.archive_days,
    )


def _socket(read: SocketFile, folder: Path, state: Path, table: str) -> SocketSettings:
    return SocketSettings(
        path=folder / read.path if read.path else state / f"{table}.sock",
        uids=frozenset(read.uids),
        gids=frozenset(read.gids),
        staff=MappingProxyType({int(uid): Person(who.staff, who.role) for uid, who in read.staff.items()}),
    )


def _broker(read: BrokerFile, folder: Path) -> BrokerSettings:
    def at(name: str | None) -> Path | None:
        return folder / name if name else None

    password = at(read.password_file)
    return BrokerSettings(
        uri=read.uri,
        version=read.version,
        client_id=read.client_id,
        username=read.username,
        password=password.read_text(encoding="utf-8").rstrip("\n") if password else None,
        server_name=read.server_name,
        ca=at(read.ca),
        certificate=at(read.certificate),
        key=at(read.key),
        readers=MappingProxyType({client: frozenset(streams) for client, streams in read.readers.items()}),
    )


def _minutes(text: str) -> int:
    hours, minutes = text.split(":")
    return int(hours) * 60 + int(minutes)


def _once(faults: Iterable[Fault]) -> list[Fault]:
    """Faults without repetition, in the order they were found."""
    return list(dict.fromkeys(faults))
