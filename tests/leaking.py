"""Two hands with the same acts and other closed cards, and what of them leaves the process.

A hand is played once by a policy that does not know the cards. Its inputs are kept and fed again to a second table,
with the cards exchanged by a permutation of the deck: what both give out must be equal until a closed card is opened.
"""

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from controller.client import picture
from controller.contract import envelope
from controller.contract.topics import Source
from controller.core.cards import CARDS, DECK, UNKNOWN, commitment
from controller.core.errors import BadCommand
from controller.core.inputs import HandSeed, Input, What
from controller.core.picture import picture as retained
from controller.core.records import Record
from controller.core.setup import Setup
from controller.core.table import Table
from drivers.readings import CardSeen, DeviceConflict, TagsSeen
from tests.felt import WALL, through_json

CARD = re.compile(r"(?<![0-9A-Za-z])[2-9TJQKA][cdhs](?![0-9A-Za-z])")
SALT = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{32}(?![0-9A-Za-z])")
HASH = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{64}(?![0-9A-Za-z])")
TAG = re.compile(r"(?<![0-9A-Za-z])(?=[0-9A-F]*[A-F])[0-9A-F]{8,}(?![0-9A-Za-z])")
HASHES = frozenset({"commit", "sha256", "prev", "config_sha256", "profile_sha256"})
"""Fields that may hold 32 bytes in hex."""
STRENGTH = frozenset({"best", "category", "royal", "qualified", "own_used"})
TABLED = frozenset({"hand.tabled", "dealer.revealed", "box.revealed"})
"""The only events that may say how strong a hand is."""
RESTART = "restart"

Fed = Input | str


@dataclass(slots=True)
class Heard:
    """What came of one input: its records, the refusal, and what the table shows of itself after it."""

    records: list[Record]
    refused: str
    shown: str


@dataclass(slots=True)
class Played:
    """One hand as a table gave it out."""

    setup: Setup
    fed: list[Fed] = field(default_factory=list)
    heard: list[Heard] = field(default_factory=list)

    @property
    def records(self) -> list[Record]:
        return [record for heard in self.heard for record in heard.records]


class Player:
    """Feeds a table and keeps what went in and what came out. ``restart`` rebuilds it from its records."""

    def __init__(self, setup: Setup) -> None:
        self.table = Table(setup)
        self.played = Played(setup)
        self.no = 0
        self.shown = ""

    def feed(self, what: What, at: int) -> Heard:
        self.no += 1
        return self.take(Input(self.no, at, WALL + at, what))

    def restart(self) -> Heard:
        return self.take(RESTART)

    def take(self, fed: Fed) -> Heard:
        records: list[Record] = []
        refused = ""
        if isinstance(fed, str):
            self.table = Table.restore(self.played.setup, through_json(self.played.records))
        else:
            try:
                records = list(self.table.feed(fed))
            except BadCommand as mistake:
                refused = str(mistake)
        if records or refused or not self.played.heard:
            # The picture follows the rules' state, and that changes with records alone.
            status, snapshot = self.table.status(), retained(self.played.setup, self.table.session.state)
            self.shown = f"{json.dumps(status)}\n{picture(status)}\n{json.dumps(snapshot)}"
        heard = Heard(records, refused, self.shown)
        self.played.fed.append(fed)
        self.played.heard.append(heard)
        return heard


def replayed(played: Played, other: Mapping[str, str]) -> Played:
    """The same inputs to a new table, with the cards exchanged: ``other`` maps each card to what lies there instead."""
    player = Player(played.setup)
    for fed in played.fed:
        player.take(fed if isinstance(fed, str) else replace(fed, what=_exchanged(fed.what, other, played.setup)))
    return player.played


def _exchanged(what: What, other: Mapping[str, str], setup: Setup) -> What:
    lies = setup.deck.tags
    tag_of = {card: tag for tag, card in lies.items()}

    def tag(name: str) -> str:
        return tag_of[other[lies[name]]] if name in lies else name

    match what:
        case CardSeen():
            card = what.card and other.get(what.card, what.card)
            return replace(what, card=card, tag=what.tag and tag(what.tag))
        case TagsSeen():
            return replace(what, tags=frozenset(tag(name) for name in what.tags))
        case DeviceConflict():
            return replace(what, tag=tag(what.tag))
        case _:
            return what


# ---------------------------------------------------------------- which cards may be exchanged


def opened(records: Sequence[Record], *, closed_first: bool) -> set[str]:
    """The cards that were opened; ``closed_first``: also those that had been dealt face down."""
    cards = set()
    for record in records:
        if record.type == "card.opened" and (closed_first or "salt" not in record.data):
            cards.add(record.data["card"])
    return cards


def exchange(keep: set[str], seed: int) -> dict[str, str]:
    """A permutation of the deck that keeps some cards and moves every other one."""
    moved = sorted(CARDS - keep)
    random.Random(seed).shuffle(moved)
    return {card: card for card in keep} | {card: moved[(i + 1) % len(moved)] for i, card in enumerate(moved)}


def told(played: Played, *, to_the_end: bool) -> list[Any]:
    """What left the process, input by input, up to the first opening of a closed card or to the end.

    Masked are the commitments, and nothing else: ids and times are the same on a fake clock.
    """
    lines: list[Any] = []
    for heard in played.heard:
        for record in heard.records:
            if not to_the_end and turns_over(record):
                return lines
            lines.append(
                (record.stream, record.type, record.subject, masked(record.data), len(body(record)), hidden(record))
            )
        if heard.records or heard.refused:
            lines.append((heard.refused, heard.shown))
    return lines


def turns_over(record: Record) -> bool:
    """Whether a closed card is being opened: it is told, or it is one that lies open already (I-11)."""
    if record.type == "incident.opened" and record.data["kind"] == "deck_fouled":
        return any(source["device"].startswith("keys") for source in record.data["evidence"])
    return record.type == "card.opened" and "salt" in record.data


def masked(data: Any) -> Any:
    """The data without what a commitment must hide."""
    if isinstance(data, dict):
        return {key: "#" if key in ("commit", "salt") else masked(value) for key, value in data.items()}
    return [masked(value) for value in data] if isinstance(data, list) else data


def body(record: Record) -> bytes:
    """The bytes that are published."""
    return envelope.encode(
        envelope.Position("8b0e6a54-6f0e-4d0e-9d53-1c6d1b1d7c11", record.stream, 1, 1, "0" * 64),
        source=Source("zg1", "t07").stream(record.stream),
        kind=record.type,
        wall_ns=WALL,
        subject=record.subject,
        day=record.day,
        session=record.session,
        test=True,
        data=record.data,
    )


def hidden(record: Record) -> int | None:
    """The size of what the ledger encrypts beside the event: the box is so much longer, whatever it says."""
    return None if record.secret is None else len(json.dumps(record.secret))


# ---------------------------------------------------------------- leaks by structure


def leaks(played: Played) -> list[str]:
    """Everything card-shaped, salt-shaped, hash-shaped or tag-shaped that stands where it may not."""
    found: list[str] = []
    public: set[str] = set()
    salts: set[str] = set()
    sealed = {r.secret["salt"] for r in played.records if r.secret and "salt" in r.secret}
    seeds = {fed.what.seed.hex() for fed in played.fed if isinstance(fed, Input) and isinstance(fed.what, HandSeed)}
    tags = set(played.setup.deck.tags)
    for heard in played.heard:
        for record in heard.records:
            if record.type == "hand.started":
                public, salts = set(), set()
            if record.type == "card.opened":
                public.add(record.data["card"])
                salts |= {record.data["salt"]} if "salt" in record.data else set()
                found += _commitment_kept(record, played.records)
            found += _shapes(f"{record.type} ", record.data, public, salts, guard=record.stream == "guard")
            found += [f"{record.type}: {key}" for key in _keys(record.data) & STRENGTH if record.type not in TABLED]
            text = body(record).decode()
            found += [f"{record.type}: a salt of a closed card" for salt in sealed - salts if salt in text]
            found += [f"{record.type}: a seed" for seed in seeds if seed in text]
            found += [f"{record.type}: a card's tag" for tag in tags if tag in text]
            found += [f"repr of {record.type}" for salt in sealed - salts if salt in repr(record)]
        if heard.records or heard.refused:
            for where, text in (("status", heard.shown), ("refusal", heard.refused)):
                found += _shapes(f"{where} ", text, public, salts, guard=False)
    return found


def _shapes(where: str, data: Any, public: set[str], salts: set[str], *, guard: bool) -> Iterator[str]:
    for path, value in _texts(data):
        at = f"{where}{path}"
        yield from (f"{at}: card {card}" for card in CARD.findall(value) if card not in public)
        yield from (f"{at}: salt {salt}" for salt in SALT.findall(value) if salt not in salts)
        if path.rpartition(".")[2] not in HASHES:
            yield from (f"{at}: hash" for _ in HASH.findall(value))
        if not guard:
            yield from (f"{at}: tag {tag}" for tag in TAG.findall(value))


def _texts(data: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield path, str(key)
            yield from _texts(value, f"{path}.{key}")
    elif isinstance(data, list):
        for value in data:
            yield from _texts(value, path)
    elif isinstance(data, str):
        yield path, data


def _keys(data: Any) -> set[str]:
    if isinstance(data, dict):
        # Pay tables are posted for all hands; the dealer's cards in a result lie open, or the shapes below would tell.
        told = {key: value for key, value in data.items() if key not in ("paytables", "dealer")}
        return set(told).union(*(_keys(value) for value in told.values()))
    return set().union(*(_keys(value) for value in data)) if isinstance(data, list) else set()


def _commitment_kept(record: Record, records: Sequence[Record]) -> Iterator[str]:
    """An opened card is the one that was dealt; a card that was dealt open has no salt."""
    data = record.data
    first = next(
        r for r in records if r.type == "card.dealt" and (r.hand, r.data["slot"]) == (record.hand, data["slot"])
    )
    dealt = first.data
    if first.secret is not None and first.secret["card"] == UNKNOWN:
        return  # a person named what no sensor could: there is no value to keep to
    if ("commit" in dealt) != ("salt" in data):
        yield f"{record.hand} slot {data['slot']}: commitment and salt do not go together"
    elif "salt" in data and dealt["commit"] != commitment(record.hand or "", data["slot"], data["card"], data["salt"]):
        yield f"{record.hand} slot {data['slot']}: another card was committed to"


def shuffled(seed: int) -> list[str]:
    """A deck in an order of its own."""
    deck = list(DECK)
    random.Random(seed).shuffle(deck)
    return deck
