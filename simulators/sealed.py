"""Whether closed cards stay closed (scenarios.md section 4): in what left the process, and by a second run.

The second run plays the same acts with other closed cards. What both give out must be equal, line by line, once names,
hashes and times are masked: else something told of a card that nobody was to see.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from simulators import golden
from simulators.scripts.acts import DECK, Act, Slide
from simulators.scripts.scenario import Scenario
from simulators.seen import Seen

CARD = re.compile(r"(?<![0-9A-Za-z])[2-9TJQKA][cdhs](?![0-9A-Za-z])")
SHOWN = 10
LEFT = ("feltd.log", "ledger", "ledger-wal", "disk/ledger", "disk/ledger-wal")
"""What a run leaves in its folder that others may get to see. A capture of test mode is no such thing: it is plain."""


def told(events: Iterable[Seen], sealed: Iterable[str], tags: Mapping[str, str]) -> list[str]:
    """Events that name a sealed card, or the tag of any card: those never leave the process."""
    cards = set(sealed)
    found = []
    for event in events:
        found += _shown(event.type, event.data, cards, tags)
    return found


def answered(pages: Mapping[str, Any], sealed: Iterable[str], tags: Mapping[str, str]) -> list[str]:
    """The same of what a daemon answers to whoever asks, by what was asked for."""
    cards = set(sealed)
    return [line for name, page in pages.items() for line in _shown(name, page, cards, tags)]


def _shown(name: str, said: Any, cards: set[str], tags: Mapping[str, str]) -> list[str]:
    text = "\n".join(_strings(said))
    found = [f"{name} shows {card}" for card in sorted(cards & set(CARD.findall(text)))]
    return [*found, f"{name} has the tag of a card"] if any(tag in text.upper() for tag in tags) else found


def left(folder: Path, sealed: Sequence[str], tags: Mapping[str, str]) -> list[str]:
    """What a daemon has left in its folder: no tag of a card anywhere, and no sealed card in a field of its log.

    Its log is also where it cries when it crashes. A core file is a leak whatever is in it: the memory of a table holds
    closed cards.
    """
    found = [f"{file.name} was left: the memory of a table holds closed cards" for file in folder.glob("core*")]
    for name in LEFT:
        file = folder / name
        if not file.is_file():
            continue
        data = file.read_bytes()
        if any(tag.encode() in data or bytes.fromhex(tag) in data for tag in tags):
            found.append(f"{name} has the tag of a card")
        if name.endswith(".log"):
            found += _shown(name, [_line(line) for line in data.splitlines()], set(sealed), {})
    return found


def _line(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return line.decode(errors="replace")


def twin(script: Scenario, seen: Sequence[Seen]) -> Scenario:
    """The same scenario with other cards where nobody was to see them: each for one that was not opened either."""
    opened = {card for event in seen for card in CARD.findall("\n".join(_strings(event.data)))}
    free = [card for card in DECK if card not in opened]
    # Every card that was not opened for the next one of them: no card twice, and none where it was.
    other = dict(zip(free, [*free[1:], *free[:1]], strict=True))
    steps = tuple(replace(step, acts=tuple(_exchanged(act, other) for act in step.acts)) for step in script.steps)
    return replace(script, steps=steps)


def _exchanged(act: Act, other: Mapping[str, str]) -> Act:
    if not isinstance(act, Slide):
        return act
    card = other.get(act.card, act.card) if act.card is not None else None
    return replace(act, card=card, shoe=other.get(act.shoe, act.shoe))


def differences(one: Sequence[Seen], other: Sequence[Seen], streams: Sequence[str] = ()) -> list[str]:
    """Where the second run gave out something else; with ``streams`` in those alone."""
    ours, theirs = golden.lines(one, streams), golden.lines(other, streams)
    found = [f"with other closed cards: {b}, not {a}" for a, b in zip(ours, theirs, strict=False) if a != b]
    if len(ours) != len(theirs):
        found.append(f"with other closed cards: {len(theirs)} events, not {len(ours)}")
    return found[:SHOWN]


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)
