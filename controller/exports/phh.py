"""Hands of a ledger in the Poker Hand History format (PHH): ``NT``, ``FT`` and ``PO``.

Amounts are in units of the currency, whole wherever they can be. ``p1`` is the first seat left of the button.
A card that was never opened is ``??`` unless the records carry their secrets, which takes the auditor's key.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from controller.core.cards import UNKNOWN
from controller.core.records import Record
from controller.errors import LocalError

CLOSED = ("hand.closed", "hand.corrected")
VARIANTS = {("holdem", "no_limit"): "NT", ("holdem", "fixed_limit"): "FT", ("omaha", "pot_limit"): "PO"}
"""What the format has a code for."""


class NotExportable(LocalError):
    """A hand that PHH cannot tell: not finished, voided, without seats, or of a game that it has no code for."""


def hands(records: Iterable[Record]) -> Iterator[list[Record]]:
    """The records of each hand, in the order in which the hands began."""
    found: dict[str, list[Record]] = {}
    for record in records:
        if record.hand is not None:
            found.setdefault(record.hand, []).append(record)
    yield from found.values()


def unfinished(records: Iterable[Record]) -> str | None:
    """Why a hand has no history to tell, or ``None``."""
    types = {record.type for record in records}
    if "hand.started" not in types:
        return "its start is not in the ledger"
    if "hand.voided" in types:
        return "it was voided"
    return None if "hand.closed" in types else "it is not finished"


@dataclass(slots=True)
class _Hand:
    """One hand while it is being read."""

    order: tuple[int, ...] = ()
    stacks: dict[int, int | None] = field(default_factory=dict)
    players: dict[int, str] = field(default_factory=dict)
    antes: dict[int, int] = field(default_factory=dict)
    blinds: dict[int, int] = field(default_factory=dict)
    trimmed: bool = True
    own_cards: int = 2
    exponent: int = 0
    slots: dict[int, int] = field(default_factory=dict)
    cards: dict[int, str] = field(default_factory=dict)
    acts: list[tuple[int, str]] = field(default_factory=list)
    result: dict[int, int | None] = field(default_factory=dict)

    def say(self, record: Record, act: str) -> None:
        self.acts.append((record.data["n"], act))

    def amount(self, minor: int) -> str:
        """Minor units in units of the currency."""
        whole, rest = divmod(minor, 10**self.exponent)
        return f"{whole}.{rest:0{self.exponent}d}".rstrip("0") if rest else str(whole)

    def player(self, seat: int) -> str:
        return f"p{self.order.index(seat) + 1}"


def phh(records: Sequence[Record], *, currency: str = "", exponent: int = 0) -> str:
    """One finished hand as PHH text. Raises ``NotExportable``."""
    why = unfinished(records)
    if why is not None:
        raise NotExportable("hand", (records[0].hand if records else None) or "", f"cannot be exported: {why}")
    start = next(record for record in records if record.type == "hand.started")
    played = start.data["game"], start.data.get("structure", "")  # a round of boxes has no structure
    if played not in VARIANTS:
        raise NotExportable("hand", start.hand or "", f"PHH has no code for {' '.join(played).strip()}")
    hand = _Hand(exponent=exponent)
    for record in records:
        _read(hand, record)
    return "".join(f"{key} = {value}\n" for key, value in _fields(hand, start, currency))


def _read(hand: _Hand, record: Record) -> None:
    data = record.data
    match record.type:
        case "hand.started":
            _start(hand, data)
        case "blind.posted":
            _posted(hand, data)
        case "card.dealt":
            if data["place"] == "seat":
                hand.slots[data["slot"]] = data["seat"]
            if record.secret and record.secret.get("card", UNKNOWN) != UNKNOWN:
                hand.cards[data["slot"]] = record.secret["card"]
        case "card.opened":
            hand.cards[data["slot"]] = data["card"]
        case "action.taken":
            player, kind = hand.player(data["seat"]), data["kind"]
            raised = f"cbr {hand.amount(data['to'])}"
            hand.say(record, f"{player} {'f' if kind == 'fold' else 'cc' if kind in ('check', 'call') else raised}")
        case "action.undone":
            # Whatever was concluded since the entry that is taken back counts as not said.
            hand.acts = [(n, act) for n, act in hand.acts if n < data["refers"]]
        case "street.opened":
            hand.say(record, f"d db {''.join(data['cards'])}")
        case "hand.tabled":
            hand.say(record, f"{hand.player(data['seat'])} sm {''.join(data['cards'])}")
        case "hand.mucked":
            if data["cause"] == "muck":
                hand.say(record, f"{hand.player(data['seat'])} sm")
            elif data["cause"] != "fold":
                hand.say(record, f"{hand.player(data['seat'])} f")
        case "hand.closed" | "hand.corrected":
            hand.result = {line["seat"]: line["stack_after"] for line in data["result"]["seats"]}


def _start(hand: _Hand, data: dict[str, Any]) -> None:
    dealt = [line for line in data["seats"] if line["dealt_in"]]
    seats = sorted(line["seat"] for line in dealt)
    button = data["button"]
    hand.order = tuple([s for s in seats if s > button] + [s for s in seats if s <= button])
    hand.stacks = {line["seat"]: line["stack"] for line in dealt}
    hand.players = {line["seat"]: line.get("player", f"Seat {line['seat']}") for line in dealt}
    hand.own_cards = data.get("own_cards", 2)


def _posted(hand: _Hand, data: dict[str, Any]) -> None:
    kind = data["kind"]
    if kind in ("ante", "big_blind_ante"):
        hand.antes[data["seat"]] = data["due"]
        # One that pays for all is not trimmed to what the others paid.
        hand.trimmed = kind == "ante"
    else:
        hand.blinds[data["seat"]] = hand.blinds.get(data["seat"], 0) + data["due"]


def _dealt(hand: _Hand) -> Iterator[str]:
    """Each player's own cards, from p1 on: PHH tells a player's cards together."""
    for seat in hand.order:
        slots = [slot for slot, at in sorted(hand.slots.items()) if at == seat][-hand.own_cards :]
        known = [hand.cards.get(slot, UNKNOWN) for slot in slots] + [UNKNOWN] * (hand.own_cards - len(slots))
        yield f"d dh {hand.player(seat)} {''.join(known)}"


def _fields(hand: _Hand, start: Record, currency: str) -> Iterator[tuple[str, str]]:
    year, month, day = start.day.split("-")
    blinds = [hand.blinds.get(seat, 0) for seat in hand.order]
    if len(blinds) == 2:
        # Heads-up, the format names the button's blind first although the button is p2.
        blinds.reverse()
    limits = start.data["limits"]
    variant = VARIANTS[start.data["game"], start.data["structure"]]
    yield "variant", _text(variant)
    yield "ante_trimming_status", "true" if hand.trimmed else "false"
    yield "antes", _amounts(hand, [hand.antes.get(seat, 0) for seat in hand.order])
    yield "blinds_or_straddles", _amounts(hand, blinds)
    if variant == "FT":
        small = limits.get("small_bet") or limits["big_blind"]
        yield "small_bet", hand.amount(small)
        yield "big_bet", hand.amount(limits.get("big_bet") or 2 * small)
    else:
        yield "min_bet", hand.amount(limits["big_blind"])
    yield "starting_stacks", _amounts(hand, [hand.stacks[seat] for seat in hand.order])
    yield "actions", json.dumps([*_dealt(hand), *(act for _, act in hand.acts)])
    yield "table", _text(start.subject.rpartition("-")[0])
    yield "day", str(int(day))
    yield "month", str(int(month))
    yield "year", year
    yield "hand", _text(start.hand or "")
    yield "seats", json.dumps(list(hand.order))
    yield "players", json.dumps([hand.players[seat] for seat in hand.order], ensure_ascii=False)
    finishing = [hand.result.get(seat) for seat in hand.order]
    if None not in finishing:
        yield "finishing_stacks", _amounts(hand, finishing)
    if currency:
        yield "currency", _text(currency)


def _amounts(hand: _Hand, amounts: Sequence[int | None]) -> str:
    """A stack that nobody counted is as large as it needs to be."""
    return "[" + ", ".join("inf" if amount is None else hand.amount(amount) for amount in amounts) + "]"


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
