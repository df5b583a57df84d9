"""The table's TOML file, section by section: which keys there are and what each may hold."""

from typing import Annotated, Any, Literal

from pydantic import Field

from controller.configuration.profiles import Role
from controller.core.money import MOST
from controller.core.rules.profile import Structure
from controller.faults import Section

Name = Annotated[str, Field(pattern=r"^[a-z0-9-]{1,32}$")]
"""Site and table: what a topic level may hold."""
Text = Annotated[str, Field(min_length=1)]
Milliseconds = Annotated[int, Field(ge=1, le=3_600_000)]
Id = Annotated[int, Field(ge=0)]


class CurrencyFile(Section):
    """``[currency]``."""

    code: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = "EUR"
    exponent: Annotated[int, Field(ge=0, le=4)] = 2


class LimitsFile(Section):
    """``[limits]``, in minor units."""

    small_blind: Annotated[int, Field(ge=1, le=MOST)]
    big_blind: Annotated[int, Field(ge=1, le=MOST)]
    ante: Annotated[int, Field(ge=0, le=MOST)] = 0
    ante_kind: Literal["each", "big_blind"] = "each"
    structure: Structure | None = None
    small_bet: Annotated[int, Field(ge=0, le=MOST)] = 0
    big_bet: Annotated[int, Field(ge=0, le=MOST)] = 0
    table_min: Annotated[int, Field(ge=0, le=MOST)] = 0
    straddle: Annotated[int, Field(ge=0, le=MOST)] = 0


class ChipsPart(Section):
    """``[chips]``: the file of the denominations, the file of their tags, and the list of those that are wanted."""

    file: Text
    tags: Text | None = None
    listed: Text | None = None


class DeckPart(Section):
    """``[deck]``: the file of the cards' tags. Without a file the shoe reads rank and suit."""

    file: Text | None = None
    id: Text | None = None


class BrokerFile(Section):
    """``[broker]``."""

    uri: Text
    version: Literal["5", "3.1.1"] = "5"
    client_id: Text | None = None
    username: Text | None = None
    password_file: Text | None = None
    server_name: Text | None = None
    ca: Text | None = None
    certificate: Text | None = None
    key: Text | None = None
    readers: dict[Name, list[Literal["play", "cash", "ops", "guard"]]] = Field(default={})


class LedgerFile(Section):
    """``[ledger]``."""

    file: Text | None = None
    device_key: Text | None = None
    auditor_public_key: Text | None = None
    signing_key: Text | None = None
    signing_key_before: Text | None = None
    limit_mb: Annotated[int, Field(ge=1)] = 4096
    archive_mb: Annotated[int, Field(ge=1)] = 512
    archive_days: Annotated[int, Field(ge=1)] = 31


class MetricsFile(Section):
    """``[metrics]``: numbers for Prometheus, on loopback."""

    port: Annotated[int, Field(ge=0, le=65535)]


class PersonFile(Section):
    """``[socket.staff.UID]``: an account that is one person."""

    staff: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$")]
    role: Role


class SocketFile(Section):
    """``[socket]``."""

    path: Text | None = None
    uids: list[Id] = Field(default=[])
    gids: list[Id] = Field(default=[])
    staff: dict[str, PersonFile] = Field(default={})


class AccessFile(Section):
    """``[access]``: who may work at the table."""

    staff: Text | None = None


class SoftwareFile(Section):
    """``[software]``: the one program that may run this table, by the hash that `feltd software` tells."""

    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None


class TimingFile(Section):
    """``[timing]``; the fields of ``controller.core.setup.Timing``."""

    debounce_ms: Milliseconds = 400
    merge_ms: Milliseconds = 500
    fuse_ms: Milliseconds = 1500
    entry_timeout_ms: Milliseconds = 10_000
    confirm_ms: Milliseconds = 3_000
    undo_hold_ms: Milliseconds = 2_000
    min_confidence: Annotated[int, Field(ge=0, le=100)] = 90
    card_absent_ms: Milliseconds = 1500
    chip_absent_ms: Milliseconds = 10_000
    clear_ms: Milliseconds = 1500
    in_flight_ms: Milliseconds = 4_000
    change_ms: Milliseconds = 8_000
    card_away_ms: Milliseconds = 45_000
    board_away_ms: Milliseconds = 10_000
    payout_ms: Milliseconds = 8_000
    spoken_ms: Milliseconds = 30_000
    turned_ms: Milliseconds = 4_000


class DeviceFile(Section):
    """``[devices.NAME]``. ``options`` are the driver's own; ``expect`` may name the model and the serial number."""

    driver: Text
    uri: Text
    channels: dict[str, str] = Field(default={})
    expect: dict[str, str] = Field(default={})
    options: dict[str, Any] = Field(default={})


class TableFile(Section):
    """The whole file."""

    schema_: Annotated[Literal[1], Field(alias="schema")]
    site: Name
    table: Name
    kind: Literal["shoe", "rfid"]
    seats: Annotated[int, Field(ge=2, le=11)]
    profile: Text
    state_dir: Text
    test: bool = False
    seed: Annotated[int, Field(ge=0)] | None = None
    closed_cards: Literal["read", "unread"] = "read"
    shift: Text = "1"
    gaming_day_starts: Annotated[str, Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$")] = "06:00"
    utc_offset: Annotated[str, Field(pattern=r"^[+-](0\d|1[0-4]):[0-5]\d$")] = "+00:00"
    override: dict[str, Any] = Field(default={})
    currency: CurrencyFile = CurrencyFile()
    limits: LimitsFile
    chips: ChipsPart
    deck: DeckPart = DeckPart()
    broker: BrokerFile | None = None
    ledger: LedgerFile = LedgerFile()
    socket: SocketFile = SocketFile()
    access: AccessFile = AccessFile()
    software: SoftwareFile = SoftwareFile()
    metrics: MetricsFile | None = None
    timing: TimingFile = TimingFile()
    devices: dict[str, DeviceFile] = Field(default={})
