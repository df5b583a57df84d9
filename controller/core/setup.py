"""What the core is told once, before the first input: this table, its rules, its chips, cards and devices.

Everything here is frozen and validated by the shell (``controller.configuration.settings``); the core trusts it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from controller.core.rules.profile import Profile, Structure


@dataclass(frozen=True, slots=True)
class Limits:
    """Stakes of the table in minor units. ``ante_kind``: every seat posts it, or the big blind for all.

    0 means: as customary. ``small_bet``/``big_bet`` are the sizes of fixed limit, ``table_min`` the smallest opening
    bet of rounds 3 and 4 (BG-A6), ``straddle`` the amount of one. ``structure`` ``None``: the profile's.
    """

    small_blind: int
    big_blind: int
    ante: int = 0
    ante_kind: Literal["each", "big_blind"] = "each"
    structure: Structure | None = None
    small_bet: int = 0
    big_bet: int = 0
    table_min: int = 0
    straddle: int = 0

    @property
    def low_bet(self) -> int:
        """The bet of the first two rounds in fixed limit: the big blind unless set."""
        return self.small_bet or self.big_blind

    @property
    def large_bet(self) -> int:
        """The bet of the last two rounds in fixed limit: twice the small one unless set."""
        return self.big_bet or 2 * self.low_bet

    @property
    def minimum(self) -> int:
        """The table minimum: the big blind unless posted otherwise (BG-A6)."""
        return self.table_min or self.big_blind

    @property
    def straddles(self) -> int:
        """What a straddle costs: two big blinds unless set."""
        return self.straddle or 2 * self.big_blind


@dataclass(frozen=True, slots=True)
class Denomination:
    """One kind of chip. ``value`` in minor units."""

    id: str
    value: int
    kind: Literal["value", "colour", "promo"] = "value"
    colour: str | None = None
    diameter: int | None = None
    """In mm: with the colour, what tells one value from another (HR-6.4)."""


@dataclass(frozen=True, slots=True)
class Chipset:
    """The house's chips and the registry of their tags (upper-case hex -> denomination id).

    One denomination, one value, one issuer (HR-6.3); that value is the unit of account of the game (HR-6.6).
    """

    id: str
    denominations: tuple[Denomination, ...]
    tags: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    listed: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    """Tags of chips that were ``stolen``, ``withdrawn`` or found ``counterfeit`` -> which of these (I-29)."""

    @property
    def unit(self) -> int:
        """The table unit: the value of the smallest chip, in minor units."""
        return min(d.value for d in self.denominations)


@dataclass(frozen=True, slots=True)
class Deck:
    """The deck in play and the registry of its tags (upper-case hex -> card). No tag ever leaves the process."""

    id: str
    tags: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """One configured device: its driver and which place each channel watches (``{"0": "tray"}``)."""

    name: str
    driver: str
    places: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    kind: str = ""
    """``shoe`` ``keypad`` ``reader`` ``camera``: what sensing may expect from it."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Sensing times in ms (``docs/configuration.md`` says what each does)."""

    debounce_ms: int = 400
    merge_ms: int = 500
    fuse_ms: int = 1500
    entry_timeout_ms: int = 10_000
    confirm_ms: int = 3_000
    undo_hold_ms: int = 2_000
    min_confidence: int = 90
    card_absent_ms: int = 1500
    chip_absent_ms: int = 10_000
    clear_ms: int = 1500
    in_flight_ms: int = 4_000
    change_ms: int = 8_000
    card_away_ms: int = 45_000
    board_away_ms: int = 10_000
    payout_ms: int = 8_000
    spoken_ms: int = 30_000
    turned_ms: int = 4_000


@dataclass(frozen=True, slots=True)
class Currency:
    """ISO code and the number of decimals of its minor unit."""

    code: str = "EUR"
    exponent: int = 2


@dataclass(frozen=True, slots=True)
class Setup:
    """One table of the casino ``site`` (HR-4.3) with one deck (HR-A18).

    ``kind`` is the kind of sensing; ``seats`` how many places the felt has.
    """

    site: str
    table: str
    kind: Literal["shoe", "rfid"]
    seats: int
    profile: Profile
    limits: Limits
    chipset: Chipset
    deck: Deck
    devices: tuple[DeviceInfo, ...] = ()
    currency: Currency = Currency()
    timing: Timing = Timing()
    utc_offset_min: int = 0
    """Local time of the casino, minutes east of UTC: the gaming day is a local day."""
    day_starts_min: int = 360
    """Minute of the local day at which the gaming day begins."""
    software: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({"version": "0", "sha256": ""}))
    shift: str = "1"
    test: bool = False
    closed_cards: Literal["read", "unread"] = "read"
    """Whether sensors may read a card before it lies face up; where not, they tell only that one lies there."""

    @property
    def unread(self) -> bool:
        """Whether closed cards are not read at all."""
        return self.closed_cards == "unread"

    def open_channels(self, places: Collection[str]) -> dict[str, frozenset[str]]:
        """By device, its channels where cards lie face up; every device whose readings could name a card is there.

        ``places`` are those that may be read now. A camera sees a face only where it lies up: on the board, at a seat.
        """

        def is_open(kind: str, place: str) -> bool:
            return place.startswith(("board", "seat:")) if kind == "camera" else place in places

        return {
            device.name: frozenset(channel for channel, place in device.places.items() if is_open(device.kind, place))
            for device in self.devices
            if device.kind in ("reader", "shoe", "camera")
        }

    def needs(self, device: DeviceInfo) -> bool:
        """Whether the table cannot be followed without this device (I-33): the tray alone may be counted later."""
        if device.kind == "camera":  # a second witness, unless nothing else sees cards come there
            return not {"board", "shoe"}.isdisjoint(self.seen_by_cameras_alone & set(device.places.values()))
        antennas = self.kind == "rfid" and any(place != "tray" for place in device.places.values())
        return device.kind in ("shoe", "keypad") or antennas

    @property
    def watched_by_readers(self) -> dict[tuple[str, str], str]:
        """The place of each channel, by device and channel, of all devices but cameras."""
        own = [device for device in self.devices if device.kind != "camera"]
        return {(device.name, channel): place for device in own for channel, place in device.places.items()}

    @property
    def seen_by_cameras_alone(self) -> frozenset[str]:
        """The places that cameras watch and nothing else reads; a shoe reads every card that comes out of it."""
        own = {place for device in self.devices if device.kind != "camera" for place in device.places.values()}
        if self.kind == "shoe" and any(device.kind == "shoe" for device in self.devices):
            own |= {"shoe", "board", "burn"}
        watched = {place for device in self.devices if device.kind == "camera" for place in device.places.values()}
        return frozenset(watched - own)
