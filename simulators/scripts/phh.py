"""Recorded hands (Poker Hand History) as scripts.

p1 sits first left of the button, so the button is the last seat; heads-up the notation calls the player off
the button p1. Where the house posts the small blind left of the button even heads-up (HR-A5, literal), the
button goes to p1 instead, so that the same two players still post what the record says they posted.
"""

import math
import random
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from simulators.errors import NotOurGame, ScriptError
from simulators.scripts.acts import (
    DECK,
    Act,
    Attest,
    Declare,
    Finish,
    Kind,
    Muck,
    Outcome,
    Script,
    SeatStart,
    Show,
    Slide,
    Stakes,
)

GAMES = {
    "NT": "no-limit hold'em",
    "FT": "fixed-limit hold'em",
    "NS": "short-deck hold'em",
    "PO": "pot-limit Omaha",
    "FO/8": "fixed-limit Omaha hi-lo",
    "F7S": "fixed-limit stud",
    "F7S/8": "fixed-limit stud hi-lo",
    "FR": "fixed-limit razz",
    "N2L1D": "no-limit 2-7 single draw",
    "F2L3D": "fixed-limit 2-7 triple draw",
    "FB": "fixed-limit badugi",
}


@dataclass(frozen=True, slots=True)
class _Game:
    """A variant that the table plays."""

    name: Literal["holdem", "omaha"]
    structure: Literal["no_limit", "pot_limit", "fixed_limit"]
    own_cards: int


OURS = {
    "NT": _Game("holdem", "no_limit", 2),
    "FT": _Game("holdem", "fixed_limit", 2),
    "PO": _Game("omaha", "pot_limit", 4),
}
CHIP_STEPS = (1, 2, 5, 10, 20, 50, 100, 500, 1000, 5000, 10_000)


def convert(
    path: Path, small_blind: Literal["button", "left_of_button"] = "button", seed: int = 0, name: str = ""
) -> Script:
    """Read one file. ``small_blind`` is who posts it heads-up; ``seed`` draws the cards the record does not know.

    ``name`` is what reports call the hand, by default the file's name with its folder. Raises ``NotOurGame``
    for another variant and ``ScriptError`` for a file that is no hand.
    """
    return _Reader(path, _load(path), name).script(small_blind, seed)


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except OSError as error:
        raise ScriptError(path, "file", error.strerror or str(error), "give a readable file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScriptError(path, "file", str(error), "a recorded hand is a TOML file in UTF-8") from error


@dataclass(slots=True)
class _Cards:
    """The deck of one hand: what the record names, and seeded cards for what it does not."""

    rest: list[str]
    masked: set[str]

    def known(self, card: str) -> str:
        if card != "??":
            return card
        drawn = self.rest.pop()
        self.masked.add(drawn)
        return drawn


class _Reader:
    def __init__(self, path: Path, data: Mapping[str, Any], name: str) -> None:
        self.path = path
        self.data = data
        self.name = name or "/".join(path.with_suffix("").parts[-2:])
        self.game = OURS["NT"]

    def wrong(self, field: str, value: object, remedy: str) -> ScriptError:
        return ScriptError(self.path, field, value, remedy)

    def script(self, small_blind: str, seed: int) -> Script:
        variant = self.data.get("variant")
        if variant not in OURS:
            game = GAMES.get(str(variant), "an unknown variant")
            known = ", ".join(OURS)
            raise NotOurGame(self.path, "variant", variant, f"{game} is no game of ours; the table plays {known}")
        self.game = OURS[str(variant)]
        starting = self.amounts("starting_stacks")
        count = len(starting)
        if not 2 <= count <= 11:
            raise self.wrong("starting_stacks", count, "a table has 2 to 11 players")
        blinds = self.amounts("blinds_or_straddles", count)
        antes = self.amounts("antes", count)
        actions = self.actions()
        sizes = self.sizes(blinds)
        amounts = [*starting, *blinds, *antes, *sizes, *(Decimal(a[2]) for a in actions if a[1] == "cbr")]
        to_minor = _Scale(self.scale(amounts))
        stakes = self.stakes(blinds, antes, sizes, amounts, to_minor)
        button = 1 if count == 2 and small_blind == "left_of_button" else count
        acts, board, masked = self.acts(actions, count, button, to_minor, seed)
        seats = tuple(SeatStart(i, f"p{i}", to_minor(stack)) for i, stack in enumerate(starting, start=1))
        outcome = self.outcome(count, board, masked, to_minor)
        return Script(self.name, self.path, stakes, seats, button, acts, outcome)

    # ------------------------------------------------------------------ money

    def amounts(self, field: str, count: int | None = None) -> list[Decimal]:
        values = self.data.get(field)
        if not isinstance(values, list) or not all(isinstance(v, int | Decimal) for v in values):
            raise self.wrong(field, values, "give a list of amounts, one per player")
        if count is not None and len(values) != count:
            raise self.wrong(field, values, f"give {count} amounts, one per player")
        return [Decimal(v) for v in values]

    def scale(self, amounts: Sequence[Decimal]) -> int:
        """Decimals of the minor unit: none for whole chips, two for cents."""
        decimals = max(-int(a.normalize().as_tuple().exponent) for a in amounts)
        if decimals > 2:
            raise self.wrong("amounts", max(amounts), "an amount has at most two decimals")
        return 2 if decimals > 0 else 0

    def stakes(
        self,
        blinds: Sequence[Decimal],
        antes: Sequence[Decimal],
        sizes: Sequence[Decimal],
        amounts: Sequence[Decimal],
        to_minor: "_Scale",
    ) -> Stakes:
        ante, kind = self.ante(antes)
        minor = [to_minor(a) for a in amounts]
        # An odd chip is paid in the smallest chip: the result's own amounts must be payable in it too.
        for stack in self.finishing(len(blinds)):
            whole, half = divmod(stack * 10**to_minor.decimals, 1)
            minor += [int(whole), int(whole) + 1] if half else [int(whole)]
        unit = math.gcd(*minor)
        return Stakes(
            small_blind=to_minor(blinds[0]),
            big_blind=to_minor(blinds[1]),
            ante=to_minor(ante),
            ante_kind=kind,
            chips=tuple(unit * step for step in CHIP_STEPS),
            currency=str(self.data.get("currency", "USD")),
            exponent=to_minor.decimals,
            game=self.game.name,
            structure=self.game.structure,
            small_bet=to_minor(sizes[0]) if sizes else 0,
            big_bet=to_minor(sizes[1]) if sizes else 0,
        )

    def sizes(self, blinds: Sequence[Decimal]) -> list[Decimal]:
        """The small and the big bet of fixed limit; nothing elsewhere, where the smallest bet is the big blind."""
        if any(blinds[2:]) or not blinds[1]:
            raise self.wrong("blinds_or_straddles", [str(b) for b in blinds], "only a small and a big blind are played")
        if self.game.structure != "fixed_limit":
            if self.data.get("min_bet", blinds[1]) != blinds[1]:
                raise self.wrong("min_bet", str(self.data["min_bet"]), "the smallest bet must be the big blind (CM-1)")
            return []
        sizes = [self.data.get(name) for name in ("small_bet", "big_bet")]
        if not all(isinstance(size, int | Decimal) for size in sizes):
            raise self.wrong("small_bet", sizes, "fixed limit needs a small and a big bet")
        return [Decimal(size) for size in sizes if size is not None]

    def ante(self, antes: Sequence[Decimal]) -> tuple[Decimal, Literal["each", "big_blind"]]:
        if len(set(antes)) == 1:
            return antes[0], "each"
        if antes[1] and sum(1 for a in antes if a) == 1:
            return antes[1], "big_blind"
        raise self.wrong("antes", [str(a) for a in antes], "the same ante from everybody, or one from the big blind")

    def finishing(self, count: int) -> list[Decimal]:
        return self.amounts("finishing_stacks", count) if "finishing_stacks" in self.data else []

    def outcome(self, count: int, board: tuple[str, ...], masked: frozenset[str], to_minor: "_Scale") -> Outcome:
        stacks: dict[int, int] = {}
        halves: dict[int, int] = {}
        for seat, stack in enumerate(self.finishing(count), start=1):
            doubled = stack * 2 * 10**to_minor.decimals
            if doubled % 2 == 0:
                stacks[seat] = int(doubled) // 2
            else:
                halves[seat] = int(doubled)
        fault = ""
        if halves:
            fault = "the record splits a chip: " + ", ".join(
                f"seat {seat} ends with {Decimal(doubled) / 2 / 10**to_minor.decimals}"
                for seat, doubled in halves.items()
            )
        return Outcome(stacks, board, halves, masked, fault)

    # ------------------------------------------------------------------ acts

    def actions(self) -> list[list[str]]:
        values = self.data.get("actions")
        if not isinstance(values, list) or not all(isinstance(v, str) for v in values):
            raise self.wrong("actions", values, "give a list of actions")
        split = [value.split("#", 1)[0].split() for value in values]
        for words, value in zip(split, values, strict=True):
            if not _sound(words):
                raise self.wrong("actions", value, "known are d dh, d db, f, cc, cbr AMOUNT and sm")
        return split

    def acts(
        self, actions: Sequence[list[str]], count: int, button: int, to_minor: "_Scale", seed: int
    ) -> tuple[tuple[Act, ...], tuple[str, ...], frozenset[str]]:
        cards = self.deck(actions, seed)
        holes = {_seat(a[2]): _pairs(a[3]) for a in actions if a[:2] == ["d", "dh"]}
        own = self.game.own_cards
        if sorted(holes) != list(range(1, count + 1)) or any(len(h) != own for h in holes.values()):
            raise self.wrong("actions", "d dh", f"every player gets {own} cards, once")
        acts: list[Act] = [Attest()]
        # The record deals a hand at a time; the table one card at a time, left of the button first (CM-20).
        order = [(button + i) % count + 1 for i in range(count)]
        acts += [Slide(cards.known(holes[seat][turn]), "seat", seat) for turn in range(own) for seat in order]
        board: list[str] = []
        blinds = self.amounts("blinds_or_straddles")
        off_button = 2 if count > 2 else 1
        bets = _Round({3 - off_button: to_minor(blinds[0]), off_button: to_minor(blinds[1])})
        for words in _showing_before_run_out([a for a in actions if a[:2] != ["d", "dh"]]):
            if words[0] == "d":
                new = [cards.known(card) for card in _pairs(words[2])]
                acts.append(Slide(cards.known("??"), "burn"))
                acts += [Slide(card, "board") for card in new]
                board += new
                bets = _Round({})
            else:
                acts.append(_deed(words, bets, to_minor))
        if len(board) not in (0, 3, 4, 5):
            raise self.wrong("actions", "".join(board), "a board has three, four or five cards")
        return (*acts, Finish()), tuple(board), frozenset(cards.masked)

    def deck(self, actions: Sequence[list[str]], seed: int) -> _Cards:
        named = [card for a in actions if a[0] == "d" for card in _pairs(a[-1]) if card != "??"]
        for card in named:
            if card not in DECK or named.count(card) > 1:
                raise self.wrong("actions", card, "every card is named once, as rank 2-9TJQKA and suit cdhs")
        rest = [card for card in DECK if card not in named]
        random.Random(f"{seed}/{self.name}").shuffle(rest)
        return _Cards(rest, set())


@dataclass(frozen=True, slots=True)
class _Scale:
    """Amounts of the record into minor units."""

    decimals: int

    def __call__(self, amount: Decimal) -> int:
        return int(amount * 10**self.decimals)


def _sound(words: Sequence[str]) -> bool:
    match words:
        case ["d", "dh", player, cards]:
            return _is_player(player) and len(cards) % 2 == 0
        case ["d", "db", cards]:
            return len(cards) % 2 == 0
        case [player, "f" | "cc"]:
            return _is_player(player)
        case [player, "cbr", amount]:
            return _is_player(player) and amount.replace(".", "", 1).isdigit()
        case [player, "sm", *cards]:
            return _is_player(player) and len(cards) <= 1
    return False


def _is_player(word: str) -> bool:
    return word[:1] == "p" and word[1:].isdigit()


def _seat(word: str) -> int:
    return int(word[1:])


def _pairs(cards: str) -> list[str]:
    return [cards[i : i + 2] for i in range(0, len(cards), 2)]


def _showing_before_run_out(actions: Sequence[list[str]]) -> Iterator[list[str]]:
    """Once nobody can bet any more, hands are turned up before further cards, whatever the record's order (CM-8)."""
    last = max((i for i, words in enumerate(actions) if words[1] in ("f", "cc", "cbr")), default=-1)
    yield from actions[: last + 1]
    tail = actions[last + 1 :]
    yield from (words for words in tail if words[1] == "sm")
    yield from (words for words in tail if words[1] != "sm")


class _Round:
    """What each seat has in the round, so that ``cc`` can be told apart into check and call."""

    def __init__(self, stakes: dict[int, int]) -> None:
        self.stakes = stakes

    @property
    def to_match(self) -> int:
        return max(self.stakes.values(), default=0)


def _deed(words: Sequence[str], bets: _Round, to_minor: _Scale) -> Act:
    seat = _seat(words[0])
    match words[1:]:
        case ["f"]:
            return Declare("fold", seat)
        case ["cc"] if bets.stakes.get(seat, 0) == bets.to_match:
            return Declare("check", seat)
        case ["cc"]:
            bets.stakes[seat] = bets.to_match
            return Declare("call", seat)
        case ["cbr", amount]:
            kind: Kind = "raise" if bets.to_match else "bet"
            bets.stakes[seat] = to_minor(Decimal(amount))
            return Declare(kind, seat, bets.stakes[seat])
        case ["sm", _]:
            return Show(seat)
        case _:
            return Muck(seat)
