"""The house's chips and its deck, from TOML and CSV files.

A tag is never shown in a message: card tags do not leave the process, so a fault names the line instead.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from controller.core.cards import CARDS
from controller.core.money import MOST
from controller.core.setup import Chipset, Deck, Denomination
from controller.faults import (
    BadConfiguration,
    Fault,
    Section,
    byte_order_mark,
    did_you_mean,
    read_toml,
    translate,
    unreadable,
)

CASES = frozenset({"stolen", "withdrawn", "counterfeit"})
"""Why a chip stands on the list."""


class DenominationFile(Section):
    """One of ``[[denominations]]``. Colour and diameter (mm) are what tells one value from another (HR-6.4)."""

    id: Annotated[str, Field(min_length=1)]
    value: Annotated[int, Field(ge=1, le=MOST)]
    kind: Literal["value", "colour", "promo"] = "value"
    colour: str | None = None
    diameter: Annotated[int, Field(ge=1)] | None = None


class ChipsFile(Section):
    """A chip file."""

    id: Annotated[str, Field(min_length=1)]
    denominations: Annotated[list[DenominationFile], Field(min_length=1)]


class DeckFile(Section):
    """A deck file in TOML."""

    id: Annotated[str, Field(min_length=1)]
    tags: dict[str, Any] = Field(default={})


def chips(path: Path) -> Chipset:
    """The denominations of a chip file. Raises ``BadConfiguration`` with every fault."""
    tree = read_toml(path)
    try:
        read = ChipsFile.model_validate(tree)
    except ValidationError as error:
        raise BadConfiguration(translate(error, ChipsFile, tree, str(path))) from error
    if faults := list(_denominations(read, str(path))):
        raise BadConfiguration(faults)
    return Chipset(read.id, tuple(Denomination(**chip.model_dump()) for chip in read.denominations))


def tagged(chipset: Chipset, path: Path) -> Chipset:
    """The same chips with the tags of a CSV file. Raises ``BadConfiguration`` with every fault."""
    rows = _csv(path, "chip")
    registry, faults = _registry(str(path), rows, "chip", {chip.id for chip in chipset.denominations})
    if faults:
        raise BadConfiguration(faults)
    return replace(chipset, tags=registry)


def listed(chipset: Chipset, path: Path) -> Chipset:
    """The same chips with the list of those that were stolen, withdrawn or counterfeited (I-29).

    Raises ``BadConfiguration`` with every fault.
    """
    rows = _csv(path, "case")
    registry, faults = _registry(str(path), rows, "case", CASES)
    if faults:
        raise BadConfiguration(faults)
    return replace(chipset, listed=registry)


def deck(path: Path, name: str | None) -> Deck:
    """The 52 cards of a deck and their tags. Raises ``BadConfiguration`` with every fault (HR-8.1)."""
    if path.suffix == ".toml":
        tree = read_toml(path)
        try:
            read = DeckFile.model_validate(tree)
        except ValidationError as error:
            raise BadConfiguration(translate(error, DeckFile, {}, str(path))) from error
        name = name or read.id
        rows = [(f"line {no} of [tags]", tag, str(card)) for no, (tag, card) in enumerate(read.tags.items(), 1)]
    else:
        rows = _csv(path, "card")
    registry, faults = _registry(str(path), rows, "card", CARDS)
    if rows:
        faults += _not_a_deck(str(path), [card for _, _, card in rows if card in CARDS])
    if faults:
        raise BadConfiguration(faults)
    return Deck(name or path.stem, registry)


def _denominations(read: ChipsFile, file: str) -> Iterator[Fault]:
    seen: dict[str, int] = {}
    smallest = min(chip.value for chip in read.denominations)
    for no, chip in enumerate(read.denominations):
        if chip.value % smallest:
            remedy = f"no multiple of the smallest chip, {smallest}: not every amount could be paid and changed"
            yield Fault(file, f"denominations.{no}.value", str(chip.value), remedy)
        if chip.id in seen:
            yield Fault(file, f"denominations.{no}.id", f'"{chip.id}"', f"already used by entry {seen[chip.id]}")
        seen[chip.id] = no
        for before in read.denominations[:no]:
            if chip.value == before.value and chip.kind == before.kind:
                remedy = f'the same value as "{before.id}": one value, one denomination'
                yield Fault(file, f"denominations.{no}.value", str(chip.value), remedy)
            if chip.colour and (chip.colour, chip.diameter) == (before.colour, before.diameter):
                remedy = f'HR-6.4: the same colour and diameter as "{before.id}": nobody can tell them apart'
                yield Fault(file, f"denominations.{no}.colour", f'"{chip.colour}"', remedy)


def _not_a_deck(file: str, cards: list[str]) -> list[Fault]:
    twice = sorted({card for card in cards if cards.count(card) > 1})
    missing = sorted(CARDS - set(cards))
    faults = [Fault(file, "card", card, "stands twice: a deck has each card once (HR-8.1)") for card in twice]
    if missing:
        some = " ".join(missing[:8]) + (" ..." if len(missing) > 8 else "")
        faults.append(
            Fault(file, "card", f"{len(set(cards))} different cards", f"a deck has 52 (HR-8.1); missing: {some}")
        )
    return faults


def _csv(path: Path, what: str) -> list[tuple[str, str, str]]:
    """The rows of a file with the columns ``tag`` and ``what``, each with its place; ``#`` begins a comment line."""
    try:
        content = path.read_bytes()
        text = content.decode("utf-8")
    except OSError as error:
        raise BadConfiguration([unreadable(path, error)]) from error
    except UnicodeDecodeError as error:
        raise BadConfiguration([Fault(str(path), "", "", "not UTF-8 text: save it as UTF-8")]) from error
    if mark := byte_order_mark(content):
        raise BadConfiguration([Fault(str(path), "", "", mark)])
    lines = [
        (f"line {no}", [cell.strip() for cell in line.split(",")])
        for no, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.startswith("#")
    ]
    if not lines or lines[0][1] != ["tag", what]:
        raise BadConfiguration([Fault(str(path), "", "", f"the first line must read: tag,{what}")])
    if wrong := [place for place, cells in lines if len(cells) != 2]:
        remedy = f"must have two columns: tag,{what}"
        raise BadConfiguration([Fault(str(path), place, "", remedy) for place in wrong])
    return [(place, cells[0], cells[1]) for place, cells in lines[1:]]


def _registry(
    file: str, rows: Iterable[tuple[str, str, str]], what: str, known: Iterable[str]
) -> tuple[Mapping[str, str], list[Fault]]:
    """Normalised tags -> what they stand for, and what is wrong. A tag twice is as bad as an unknown card."""
    known = frozenset(known)
    registry: dict[str, str] = {}
    where: dict[str, str] = {}
    faults: list[Fault] = []
    for place, written, meaning in rows:
        tag = re.sub(r"[\s:]", "", written).upper()
        if not re.fullmatch(r"(?:[0-9A-F]{2}){4,16}", tag):
            faults.append(Fault(file, place, "the tag", "must be 8 to 32 hexadecimal digits, an even number"))
        elif tag in registry:
            faults.append(Fault(file, place, "the tag", f"stands already in {where[tag]}: a tag names one {what}"))
        if meaning not in known:
            hint = "write rank and suit, for example As or Td" if what == "card" else did_you_mean(meaning, known)
            faults.append(Fault(file, place, f'"{meaning}"', f"no such {what}: {hint}"))
        registry[tag] = meaning
        where.setdefault(tag, place)
    return MappingProxyType(registry), faults
