"""Ledgers for tests: keys of their own, and a hand as the core would record it."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from controller.contract.integrity import commitment
from controller.contract.topics import Source
from controller.core.records import Record, Stream
from controller.ledger.keys import Keys, create_auditor_key, create_signing_key
from controller.ledger.signature import SigningRhythm
from controller.ledger.store import Ledger

SOURCE = Source("zg1", "t07")
WALL = 1_796_069_647_123_456_789
DAY = "2026-11-30"
SESSION = "t07-20261130-a"
CARDS = ("As", "Td", "2c", "Kh")


@dataclass(frozen=True, slots=True)
class Desk:
    """A folder with all key files and a place for the ledger."""

    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / "t07.ledger"

    def keys(self, *, signing: bool = True) -> Keys:
        return Keys.load(
            device=self.folder / "device.key",
            auditor=self.folder / "auditor.pub",
            signing=self.folder / "signing.key" if signing else None,
            create=True,
        )

    def open(self, *, signing: bool = True, rhythm: SigningRhythm | None = None, new_id: str | None = None) -> Ledger:
        return Ledger.open(
            self.path,
            source=SOURCE,
            test=True,
            keys=self.keys(signing=signing),
            rhythm=rhythm,
            new_id=new_id,
            wall_ns=WALL,
        )


def new_desk(folder: Path) -> Desk:
    folder.mkdir(parents=True, exist_ok=True)
    create_auditor_key(folder / "auditor.key", folder / "auditor.pub")
    create_signing_key(folder / "signing.key", folder / "signing.pub", test=True)
    return Desk(folder)


def record(kind: str, stream: Stream = "play", /, hand: str | None = None, **data: object) -> Record:
    content = dict(data) if hand is None else {"hand": hand, **data}
    return Record(stream, kind, hand or "t07", content, None, DAY, SESSION)


def salt(hand: str, slot: int) -> str:
    return hashlib.sha256(f"{hand}{slot}".encode()).hexdigest()[:32]


def dealt(hand: str, slot: int, card: str) -> Record:
    bound = commitment(hand, slot, card, salt(hand, slot))
    closed = record("card.dealt", hand=hand, n=slot, slot=slot, place="seat", seat=1, face="closed", commit=bound)
    closed.secret = {"card": card, "salt": salt(hand, slot)}
    return closed


def opened(hand: str, slot: int, card: str) -> Record:
    return record("card.opened", hand=hand, slot=slot, place="seat", seat=1, card=card, salt=salt(hand, slot))


def opening() -> list[Record]:
    return [record("daemon.started", "ops", reason="start"), record("table.opened", game="holdem")]


def hand_records(hand: str) -> list[Record]:
    """A short hand: four closed cards, two of them opened."""
    return [
        record("hand.started", hand=hand, number=1),
        *(dealt(hand, slot, card) for slot, card in enumerate(CARDS)),
        record("action.taken", hand=hand, seat=1, kind="check"),
        opened(hand, 0, CARDS[0]),
        opened(hand, 1, CARDS[1]),
        record("hand.closed", hand=hand, result={}),
        record("hand.final", hand=hand, revision=1),
    ]


def play(ledger: Ledger, hands: int = 2) -> None:
    for rec in opening():
        ledger.append([rec], WALL)
    ledger.append([record("tray.counted", "cash", total=100)], WALL)
    for number in range(hands):
        for rec in hand_records(f"t07-20261130-{number + 1:04d}"):
            ledger.append([rec], WALL + number)
