"""What has to be on record before the table opens, a player sits down, a hand begins, the table closes.

A profile's ``requires`` names the duties; each is met by records alone. ``missing`` is what ``feltd status`` shows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from controller.core.out import Out
from controller.core.rules import positions
from controller.core.rules.breaches import Reaction
from controller.core.rules.ultimate.breaches import SET_ASIDE

Moment = Literal["open", "seat", "hand", "close"]


@dataclass(frozen=True, slots=True)
class Duty:
    """One requirement: when it is due, what happens without it, the breach key, and what is asked."""

    at: Moment
    reaction: Reaction
    key: str
    asked: str


DUTIES: dict[str, Duty] = {
    # HR-4.1: table, one deck, cut card, value chips, tray, cash box, button
    "inventory": Duty("open", "BLOCK", "no_inventory", "the table's inventory is not attested: {attest}"),
    "float": Duty("open", "BLOCK", "no_float_count", "the float is not counted by tray: feltd count open"),
    "rules_displayed": Duty("open", "INFO", "rules_not_displayed", "nobody said the rules are displayed: {attest}"),
    "blinds_displayed": Duty("open", "FLAG", "blinds_not_displayed", "nobody said what the sign shows: {attest}"),
    "call_to_play": Duty("open", "INFO", "no_call_to_play", "nobody said that players are called to play: {attest}"),
    "identity": Duty("seat", "BLOCK", "identity_unchecked", "age and identity are not checked: say so, or {attest}"),
    "dress": Duty("seat", "BLOCK", "dress_unchecked", "nobody said that no uniform is worn: say so, or {attest}"),
    "dealer": Duty("hand", "BLOCK", "no_dealer", "no dealer is logged in"),
    "inspector": Duty("hand", "BLOCK", "no_inspector", "no inspector is logged in for this table"),
    "pit_boss": Duty("hand", "BLOCK", "no_pit_boss", "no pit boss is logged in for this table"),
    "mode": Duty("hand", "BLOCK", "no_mode", "the betting mode is not announced: feltd settings --structure"),
    "deck_face_up": Duty(
        "hand", "BLOCK", "deck_unverified", "the deck was not laid face up before two players: feltd deck verify"
    ),
    "button_draw": Duty("hand", "BLOCK", "button_not_drawn", "the button was not drawn: feltd button --draw"),
    "closing_count": Duty("close", "BLOCK", "no_closing_count", "the tray is not counted since: feltd count close"),
}
"""Every word that may stand in a profile's ``requires``."""


@dataclass(frozen=True, slots=True)
class Missing:
    """Something that is not as it has to be. ``rules``: where they do not follow from the key."""

    key: str
    reaction: Reaction
    asked: str
    rules: tuple[str, ...] = ()
    can_be_overridden: bool = False


def told(out: Out, found: list[Missing], seat: int | None = None) -> bool:
    """Record all that is missing. True where nothing of it bars the way."""
    for one in found:
        out.breach(one.key, one.reaction, one.asked, seat=seat, rules=list(one.rules) or None)
    return not any(one.reaction == "BLOCK" for one in found)


def before_open(out: Out) -> list[Missing]:
    """What speaks against opening the table (HR-4.1, HR-6.4, HR-15.6, HR-20.2, HR-23.1)."""
    profile = out.setup.profile
    found = [*_unconfirmed(out), *_due(out, "open")]
    if profile.rake is None and profile.game != "ultimate":
        asked = "set the commission in the table's configuration ([override] rake.*)"
        found.append(Missing("no_rake_decision", "BLOCK", asked))
    return [*found, *_alike(out)]


def _unconfirmed(out: Out) -> Iterator[Missing]:
    """A configuration that two persons have not confirmed."""
    floor = out.state.floor
    if floor.running != floor.confirmed and floor.running:
        yield Missing("unconfirmed", "BLOCK", "the configuration is new: two supervisors say feltd confirm")


def before_seat(out: Out, *, checked: bool) -> list[Missing]:
    """What speaks against a new player (HR-3.1, HR-3.2). ``checked``: who seats him has looked at him."""
    return [] if checked else list(_due(out, "seat"))


def before_close(out: Out) -> list[Missing]:
    """What speaks against closing the table."""
    return list(_due(out, "close"))


def of_table(out: Out) -> list[Missing]:
    """What bars the next hand of any game: people, deck, mode, and what was reported (BG-1.2, BG-1.3, HR-10.2)."""
    floor = out.state.floor
    found = [*_unconfirmed(out), *_due(out, "hand")]
    if out.state.storage_full:
        asked = "the ledger is full: let the broker have what is unsent, close the table, restart the daemon"
        found.append(Missing("storage_full", "BLOCK", asked))
    if floor.deck_out:
        found.append(Missing("deck_out", "BLOCK", "this deck is not whole: feltd deck change"))
    elif floor.recount:
        found.append(Missing("deck_recount", "BLOCK", "the cards of the draw are not counted back: feltd deck verify"))
    found += [
        Missing("reported", "BLOCK", f"{rule} was reported broken: attest that it is kept", (rule,), True)
        for rule in sorted(floor.reported)
    ]
    return [one for one in found if not _overridden(out, one)]


def before_hand(out: Out) -> list[Missing]:
    """What bars the next poker hand, the reasons of its own rules first."""
    state, profile = out.state, out.setup.profile
    found: list[Missing] = []
    if state.session is None:
        return [Missing("no_session", "BLOCK", "the table is not open; open it first")]
    if state.incidents:
        codes = ", ".join(sorted(i.code for i in state.incidents.values()))
        asked = f"no new hand while {codes} is open; it has to be ruled or cleared first"
        found.append(Missing("held", "BLOCK", asked))
    lost = [d.name for d in out.setup.devices if d.kind in ("shoe", "keypad") and d.name in state.lost]
    if lost and not state.incidents:
        found.append(Missing("device_lost", "BLOCK", f"{', '.join(lost)} is not back yet; no new hand without it"))
    players = len(positions.playing(out))
    if players < profile.players_min:
        asked = f"{players} players with chips; {profile.players_min} are needed"
        found.append(Missing("too_few_players", "BLOCK", asked))
    if players > profile.players_max:
        asked = f"{players} players; at most {profile.players_max} may play"
        found.append(Missing("too_many_players", "BLOCK", asked, can_be_overridden=True))
    table = of_table(out)
    if state.button is None and not any(one.key == "button_not_drawn" for one in table):
        found.append(Missing("no_button", "BLOCK", "the button has no seat; place it first"))
    return [*(one for one in found if not _overridden(out, one)), *table]


def missing(out: Out) -> list[Missing]:
    """What is missing before the next step: the opening, or the next hand. Empty while a hand is played."""
    if out.state.play is not None:
        return []
    if out.state.session is None:
        return before_open(out)
    return of_table(out) if out.setup.profile.game == "ultimate" else before_hand(out)


def overridable(out: Out) -> set[str]:
    """The rules of this house that a person may set aside: duties, and what was reported."""
    keys = [duty.key for name, duty in DUTIES.items() if name in out.setup.profile.requires and duty.at != "close"]
    boxes = SET_ASIDE if out.setup.profile.game == "ultimate" else frozenset()
    return {rule for key in (*keys, "too_many_players") for rule in out.rules(key)} | out.state.floor.reported | boxes


def _due(out: Out, at: Moment) -> Iterator[Missing]:
    for name, duty in DUTIES.items():
        if duty.at != at or name not in out.setup.profile.requires or _met(out, name, duty):
            continue
        rules = out.rules(duty.key)
        asked = duty.asked.format(attest=f"feltd attest {rules[0] if rules else duty.key}")
        one = Missing(duty.key, duty.reaction, asked, can_be_overridden=at != "close")
        if not _overridden(out, one):
            yield one


def _met(out: Out, name: str, duty: Duty) -> bool:
    state, floor = out.state, out.state.floor
    match name:
        case "float":
            return floor.opener is not None
        case "closing_count":
            return floor.closer is not None
        case "dealer" | "inspector" | "pit_boss":
            return name in state.staff.values()
        case "mode":
            return state.limits.structure is not None
        case "deck_face_up":
            return floor.verified
        case "button_draw":
            return floor.drawn and state.button is not None
        case _:
            return bool({*out.rules(duty.key), duty.key} & (state.attested | floor.this_hand))


def _overridden(out: Out, one: Missing) -> bool:
    rules = one.rules or tuple(out.rules(one.key))
    return one.can_be_overridden and bool(set(rules) & set(out.state.floor.overrides))


def _alike(out: Out) -> Iterator[Missing]:
    """Two values that share a colour or a dimension: told, so that somebody looks at them (HR-6.4)."""
    if not out.rules("chips_alike"):
        return
    chips = out.setup.chipset.denominations
    for no, chip in enumerate(chips):
        for other in chips[:no]:
            same = [name for name in ("colour", "diameter") if getattr(chip, name) and _same(chip, other, name)]
            if same:
                asked = f"{other.id} and {chip.id} share their {' and '.join(same)}"
                yield Missing("chips_alike", "BLOCK" if len(same) == 2 else "INFO", asked)


def _same(one: object, other: object, name: str) -> bool:
    return bool(getattr(one, name) == getattr(other, name))
