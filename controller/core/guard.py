"""What only surveillance is told (stream ``guard``): chips that are strange, doubled or listed, stacks that shrink.

Chip tags stand in clear here and nowhere else. A place is named, never a culprit, and of one chip it is told once in a
session. Tags of the deck in play are told to nobody, wherever a card may lie. A doubled or listed chip is an incident
too, in the same stream: surveillance sends somebody who may rule, and the seat that has the chip does not act before.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from controller.core import incidents, overdue
from controller.core.facts import Sources
from controller.core.out import Out, cite
from drivers.readings import UNREAD

MOST_AT_ONCE = 200
"""Tags in one record: an event has at most 64 KiB."""
MOST_STRANGERS = 5000
"""So many strange chips are told in a session: a box of foreign tags must not fill the ledger."""


def unknown(out: Out, place: str, tags: Iterable[str], evidence: Sources = ()) -> None:
    """``chip.unknown``: tags that no registry has lie at a place of chips (I-28). They are worth nothing.

    Where they lie as a stake in a hand, the hand is held until a person has looked: of one seat once in a hand, unless
    others come. Of too many in a session no more are told; a stake is held all the same.
    """
    known, cards = out.setup.chipset, out.setup.deck.tags
    strange = [tag for tag in tags if tag not in known.tags and tag not in known.listed and tag not in cards]
    new = _new(out, "chip.unknown", strange)
    if len(out.state.cash.reported) + len(new) > MOST_STRANGERS:
        new = []
    _tell(out, "chip.unknown", place, "unregistered", new, evidence)
    hand = out.state.hand
    if hand is not None and strange and place.startswith("bet:"):
        if any(i.kind == "strange_chip" for i in out.state.incidents.values()):
            return
        if f"strange_chip {place[4:]}" in hand.looked_at and not new:
            return
        incidents.open_one(
            out,
            "I-28",
            "strange_chip",
            "strange_chip",
            holds="hand",
            proposed="play_on",
            alternatives=("void",),
            seats=(int(place[4:]),),
            facts={"place": place, "count": len(strange)},
            evidence=evidence,
        )


def listed(out: Out, place: str, tags: Iterable[str], evidence: Sources = ()) -> None:
    """``chip.listed``: chips on the list of those that were stolen or withdrawn (I-29). The table is told nothing."""
    by_case: dict[str, list[str]] = {}
    for tag in _new(out, "chip.listed", tags):
        by_case.setdefault(out.setup.chipset.listed[tag], []).append(tag)
    for case, some in sorted(by_case.items()):
        _tell(out, "chip.listed", place, case, some, evidence)
        _hold(out, "chip_listed", place, case, evidence)


def doubled(out: Out, tag: str, place: str, case: str) -> None:
    """``chip.duplicate``: one chip tag at two places at once; a record names one of them (I-29). Of cards: nothing."""
    of_chip = tag in out.setup.chipset.tags and tag not in out.setup.deck.tags
    if of_chip and f"chip.duplicate {tag} {place}" not in out.state.cash.reported:
        _tell(out, "chip.duplicate", place, case, [tag])
        _hold(out, "chip_duplicate", place, case, ())


def reduced(out: Out, stacks: Iterable[tuple[int, int]], evidence: Sources) -> None:
    """``stack.reduced``: between hands chips have left a stack without sale, tip or loss (I-26, CM-22)."""
    for number, counted in stacks:
        seat = out.state.seats.get(number)
        booked = None if seat is None else seat.stack
        if booked is None or counted >= booked:
            continue
        place, value = f"stack:{number}", booked - counted
        if f"stack.reduced {place} {value}" in out.state.cash.reported:
            continue
        data = {"place": place, "denomination": None, "value": value, "case": "going_south"}
        _emit(out, "stack.reduced", data | {"booked": booked, "counted": counted}, evidence)


def _hold(out: Out, kind: str, place: str, case: str, evidence: Sources) -> None:
    """I-29: the owner's next action waits for a ruling; never in test mode, where nobody is there to rule."""
    if out.state.session is None:
        return
    where, _, number = place.partition(":")
    seats = (int(number),) if where in ("stack", "bet", "seat") and number.isdecimal() else ()
    if any(one.kind == kind and one.facts["place"] == place for one in out.state.silent.values()):
        return
    _open_silently(
        out,
        "I-29",
        kind,
        holds="seat" if seats and not out.setup.test else "none",
        seats=seats,
        facts={"place": place, "case": case, "seats": list(seats)},
        evidence=evidence,
    )


def _open_silently(
    out: Out, code: str, kind: str, *, holds: str, seats: tuple[int, ...], facts: dict[str, Any], evidence: Sources
) -> None:
    """Emit ``incident.opened`` in ``guard``: only surveillance learns of it. Its name leaves no hole among others."""
    state = out.state
    playing = state.play
    name = f"{state.session}-g{state.silences + 1}"
    data: dict[str, Any] = {
        "incident": name,
        "code": code,
        "rules": out.rules(kind),
        "severity": "high",
        "phase": playing.phase if playing is not None else "between_hands",
        "sa": playing.substantial if playing is not None else False,
        "holds": holds,
        "seats": list(seats),
        "kind": kind,
        "facts": facts | ({} if playing is None else {"hand": playing.id}),
        "proposed": {"ruling": "play_on", "effects": []},
        "alternatives": [],
        "signatures_needed": 1,
        "who_may_rule": list(out.setup.profile.may_rule),
        "basis": "sensor",
        "evidence": cite(evidence),
    } | overdue.asked(out)
    out.emit("guard", "incident.opened", name, data)
    out.hold(name)


def _new(out: Out, kind: str, tags: Iterable[str]) -> list[str]:
    told: Collection[str] = out.state.cash.reported
    return [tag for tag in sorted(tags) if not tag.startswith(UNREAD) and f"{kind} {tag}" not in told]


def _tell(out: Out, kind: str, place: str, case: str, tags: Iterable[str], evidence: Sources = ()) -> None:
    """One record for the chips of one denomination at one place."""
    worth: Mapping[str, int] = {d.id: d.value for d in out.setup.chipset.denominations}
    groups: dict[int | None, list[str]] = {}
    for tag in tags:
        groups.setdefault(worth.get(out.setup.chipset.tags.get(tag, "")), []).append(tag)
    for denomination, some in groups.items():
        for start in range(0, len(some), MOST_AT_ONCE):
            part = some[start : start + MOST_AT_ONCE]
            value = None if denomination is None else denomination * len(part)
            data: dict[str, Any] = {"place": place, "denomination": denomination, "value": value, "case": case}
            _emit(out, kind, data | {"tags": part}, evidence)


def _emit(out: Out, kind: str, data: dict[str, Any], evidence: Sources) -> None:
    data["basis"] = "sensor"
    if evidence:
        data["evidence"] = cite(evidence)
    out.emit("guard", kind, out.setup.table, data)
