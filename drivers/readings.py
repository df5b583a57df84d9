"""The words that drivers emit. This module imports nothing of ours.

A reading is what one device said, decoded and unjudged. ``device`` is the name the configuration gave
the device, ``reading`` the device's own dense counter (it is what events cite as evidence), ``channel``
the antenna or port of the device that spoke (``"0"`` where it has one only).

What a reading may give away about a closed card is not in its ``repr``: a traceback or a log may show one.
"""

from dataclasses import dataclass, field

UNREAD = "?"
"""What a name begins with that stands for the tag of a card that must not be read: see ``drivers.veil``."""


@dataclass(frozen=True, slots=True)
class CardSeen:
    """One card passed the reader of a shoe.

    ``card`` is rank and suit (``"As"``) or ``None`` where the shoe could not name it; ``tag`` the card's
    tag in upper-case hex where the shoe reads tags; ``confidence`` 0..100, how sure the device is.
    ``sequence`` is the device's own number of the card: what ``acknowledge`` confirms, what events cite. It only
    grows, also over power cycles of one device, so that a card that is sent again is known by it. ``late``: the device
    had told it before, and it was not heard then; it passed before what was heard meanwhile.
    """

    device: str
    reading: int
    channel: str
    card: str | None = field(repr=False)
    tag: str | None = field(repr=False)
    confidence: int = field(repr=False)
    sequence: int
    late: bool = False


@dataclass(frozen=True, slots=True)
class CardSighted:
    """A camera saw a card lie, move, turn or leave in one of its regions (``channel``).

    ``object`` is the camera's own number of that piece of pasteboard while it stays in view: the same card,
    turned over or moved within the region, keeps it. ``card`` is ``"As"``, or ``None`` where its back is up or
    the face could not be read; ``face`` is ``"up"`` or ``"down"``; ``confidence`` 0..100 is about the face.
    ``present`` is false once the card has left the region. ``standing`` marks what lay there already when the
    camera was (re)opened: it is no arrival. ``sequence`` is the camera's own, grows over power cycles, and is
    what ``acknowledge`` confirms.
    """

    device: str
    reading: int
    channel: str
    object: int
    card: str | None = field(repr=False)
    face: str
    confidence: int = field(repr=False)
    present: bool
    standing: bool
    sequence: int


@dataclass(frozen=True, slots=True)
class TagsSeen:
    """The tags in one field at one moment: a whole inventory of one channel.

    ``complete`` is false where the device said that it could not finish (buffer full, RF error), or gave no answer
    at all in time: what is missing from such an inventory is not known to be absent, and what comes to the field until
    the next complete one may have come at any moment since.
    """

    device: str
    reading: int
    channel: str
    tags: frozenset[str] = field(repr=False)
    complete: bool


@dataclass(frozen=True, slots=True)
class KeyPressed:
    """A key went down. ``key`` is the name of its legend (``"7"``, ``"ENTER"``, ``"FOLD"``) after the keymap."""

    device: str
    reading: int
    key: str


@dataclass(frozen=True, slots=True)
class KeyReleased:
    """A key came up again."""

    device: str
    reading: int
    key: str


@dataclass(frozen=True, slots=True)
class DeviceUp:
    """The device answered, said who it is, and is configured. What it watches is unknown until it reads."""

    device: str
    reading: int
    kind: str
    model: str
    serial: str
    firmware: str
    path: str
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class DeviceLost:
    """The link to the device is gone. ``cause``: ``missing`` ``unplugged`` ``timeout`` ``refused`` ``wrong_device``."""

    device: str
    reading: int
    cause: str
    path: str
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class DeviceFault:
    """The device is there and in trouble.

    ``fault``: ``jam`` ``lid`` ``empty`` ``reset`` ``noise`` ``overflow`` ``rf`` ``doubtful`` ``protocol``,
    ``throttle`` (too hot to read at full duty), ``antenna`` (reflects what it should radiate), ``view`` (a
    camera that sees too little). ``counts`` are the link's counters so far: ``crc resync dropped timeouts``.
    """

    device: str
    reading: int
    fault: str
    detail: str = ""
    counts: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceCleared:
    """An earlier fault is over."""

    device: str
    reading: int
    fault: str


@dataclass(frozen=True, slots=True)
class DeviceConflict:
    """Two channels of one device claim the same tag: it can lie in one place only, so neither is to be believed.

    Told once for a tag and its ``channels``; ``DeviceCleared`` with fault ``conflict`` follows when no tag of the
    device is claimed twice any longer. ``tag`` is for matching inside the process and is never published.
    """

    device: str
    reading: int
    tag: str = field(repr=False)
    channels: tuple[str, ...]


Reading = (
    CardSeen
    | CardSighted
    | TagsSeen
    | KeyPressed
    | KeyReleased
    | DeviceUp
    | DeviceLost
    | DeviceFault
    | DeviceCleared
    | DeviceConflict
)
