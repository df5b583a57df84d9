"""Boxes and stakes before the deal: who may stake where, and how much (LT-2, LT-3)."""

from controller.core.errors import BadCommand
from controller.core.facts import StakeLies
from controller.core.inputs import Command
from controller.core.out import Out
from controller.core.rules.ultimate.house import Spot
from controller.core.rules.ultimate.state import Box
from controller.core.rules.ultimate.talk import (
    DARK_MULTIPLES,
    Data,
    boxes_of,
    breach,
    chips_data,
    fraction,
    house,
    refuse,
    refuse_bet,
)

Problem = tuple[str, str]
"""A breach key and what the rule asks, in one sentence."""


def announce(out: Out, command: Command) -> None:
    """The pit boss says which boxes are played (LT-2.2): ``boxes``, a list of box numbers."""
    boxes = command.args.get("boxes")
    if not isinstance(boxes, list) or not all(isinstance(b, int) and not isinstance(b, bool) for b in boxes):
        raise BadCommand("boxes", boxes, "give the boxes that are played, for instance [1, 2, 3]")
    if len(set(boxes)) != len(boxes):
        raise BadCommand("boxes", boxes, "name each box once")
    if out.state.session is None:
        out.breach("no_session", "BLOCK", "the table is not open; open it first")
        return
    known = boxes_of(out.setup)
    if command.role not in out.setup.profile.may_rule:
        breach(out, "pit_boss_announces", "BLOCK", f"the pit boss says which boxes are played, not {command.role}")
    elif out.state.table.coup is not None:
        breach(out, "nothing_announced", "BLOCK", "boxes are announced at the start, before the cards are dealt")
    elif any(box not in known for box in boxes) or not boxes:
        breach(out, "box_unknown", "BLOCK", f"{len(known)} boxes can be played, 1 to {known[-1]}; {boxes} were named")
    else:
        valid = house(out.setup).boxes_valid
        by = {"staff": command.by, "role": command.role}
        data: Data = {"boxes": sorted(boxes), "valid": valid, "by": by, "rules": ["LT-2.2"], "basis": "attested"}
        out.emit("play", "boxes.announced", out.setup.table, data)


def lay(out: Out, fact: StakeLies) -> None:
    """A stake before the deal. Sensed chips are on record as they lie; an entry that may not be is refused."""
    state = out.state
    if state.session is None:
        if fact.basis != "sensor":
            refuse(out, fact.spot, fact.box, "the table is not open; open it first", fact.evidence)
        return
    before = state.table.boxes.get(fact.box) or Box()
    old = before.stake(fact.spot)
    if old == fact.amount:
        return
    if fact.basis != "sensor":
        problem = _entry(out, before, fact)
        if problem is not None:
            key, why = problem
            allowed_now = _may(out, before, fact.spot)
            refuse_bet(out, key, fact.box, fact.spot, fact.amount, why, allowed_now, fact.basis, fact.evidence)
            breach(out, key, "BLOCK", why, box=fact.box, allowed_now=allowed_now, evidence=fact.evidence)
            return
    after = Box(stakes=before.stakes | {fact.spot: fact.amount})
    data: Data = {"box": fact.box, "spot": fact.spot, "amount": fact.amount if fact.amount > old else old - fact.amount}
    data |= {"lies": fact.amount, "chips": chips_data(fact.chips), "stage": "before_deal"}
    if fact.spot == "play" and (multiple := fraction(after.multiple("play"))) is not None:
        data["multiple"] = multiple
    data["locked"] = fact.spot == "play" and fact.amount > 0
    kind = "bet.placed" if fact.amount > old else "bet.withdrawn"
    out.before_deal(kind, data, fact.basis, fact.evidence)


def _entry(out: Out, before: Box, fact: StakeLies) -> Problem | None:
    """What speaks at once against an entry; sensed chips are judged when the betting ends."""
    table = out.state.table
    if fact.box not in boxes_of(out.setup):
        return "box_unknown", f"there are boxes 1 to {boxes_of(out.setup)[-1]}; {fact.box} is none of them"
    if not fact.amount:
        return None
    if fact.box not in table.announced:
        return "box_not_announced", f"box {fact.box} is not announced; these are: {_list(table.announced)}"
    return _size(out, Box(stakes=before.stakes | {fact.spot: fact.amount}), fact.spot)


def _size(out: Out, box: Box, spot: Spot) -> Problem | None:
    """Whether one stake has a size that the text and the table's sign allow; TRIPS need not equal ANTE (LT-3.3)."""
    rules, amount = house(out.setup), box.stake(spot)
    if spot in ("ante", "blind"):
        low, high = rules.ante_min or 1, rules.ante_max
        if amount < low or (high is not None and amount > high):
            return "ante_limits", f"{spot.upper()} goes from {low} to {high}; {amount} lie there"
    elif spot == "trips":
        if not rules.trips_min <= amount <= rules.trips_max:
            return "trips_range", f"TRIPS goes from {rules.trips_min} to {rules.trips_max}; {amount} lie there"
        if rules.trips_posted is not None and amount not in rules.trips_posted:
            return "trips_posted", f"TRIPS is one of the amounts on the sign, {_list(rules.trips_posted)}, not {amount}"
    elif box.stake("ante") and amount not in [m * box.stake("ante") for m in DARK_MULTIPLES]:
        return "dark_multiple", f"PLAY before the deal is 1, 2, 3 or 4 times ANTE, {box.stake('ante')}, not {amount}"
    return None


def _may(out: Out, box: Box, spot: Spot) -> list[Data]:
    rules, ante = house(out.setup), box.stake("ante")
    if spot == "play":
        return [{"kind": "play", "min": m * ante, "max": m * ante} for m in DARK_MULTIPLES if ante]
    if spot == "trips" and rules.trips_posted is not None:
        return [{"kind": "trips", "min": amount, "max": amount} for amount in rules.trips_posted]
    if spot == "trips":
        return [{"kind": "trips", "min": rules.trips_min, "max": rules.trips_max}]
    return [{"kind": spot, "min": rules.ante_min or 1, "max": rules.ante_max}]


def problems(out: Out) -> list[tuple[str, str, int | None]]:
    """Everything in the stakes that stands against a deal: breach key, what is asked, box."""
    table = out.state.table
    found: list[tuple[str, str, int | None]] = []
    if not table.announced:
        found.append(("nothing_announced", "the pit boss has to say which boxes are played", None))
    if not table.staked:
        found.append(("no_stakes", "no box has a stake; ANTE and BLIND lie there before the deal", None))
    for number in table.staked:
        box = table.boxes[number]
        if number not in table.announced:
            if table.announced:
                asked = f"box {number} is not announced ({_list(table.announced)} are); its bets go back"
                found.append(("box_not_announced", asked, number))
            continue
        found += [(key, f"box {number}: {asked}", number) for key, asked in _box(out, box)]
    return found + _owners(out)


def _box(out: Out, box: Box) -> list[Problem]:
    ante, blind = box.stake("ante"), box.stake("blind")
    if not ante and not blind:
        spot = "TRIPS" if box.stake("trips") else "PLAY"
        return [("trips_alone", f"{spot} lies there without ANTE and BLIND; place both, or give it back")]
    if ante != blind:
        return [("ante_blind", f"ANTE and BLIND are equal; they are {ante} and {blind}")]
    spots: tuple[Spot, ...] = ("ante", "trips", "play")
    due = [spot for spot in spots if box.stake(spot) and not (box.looked and spot == "play")]
    return [problem for spot in due if (problem := _size(out, box, spot))]


def _owners(out: Out) -> list[tuple[str, str, int | None]]:
    """One box of a player may be looked at; at most four more are dark, with PLAY up front (LT-2.4 to LT-2.8)."""
    found: list[tuple[str, str, int | None]] = []
    owners: dict[str, list[int]] = {}
    for number in out.state.table.staked:
        player = player_of(out, number)
        if player is not None:
            owners.setdefault(player, []).append(number)
    for numbers in owners.values():
        boxes = out.state.table.boxes
        dark = [n for n in numbers if boxes[n].stake("play") and not boxes[n].looked]
        if len(numbers) > 5 or len(dark) > 4:
            asked = f"one player has boxes {_list(numbers)}: at most one that is looked at and four dark ones"
            found.append(("too_many_boxes", asked, numbers[-1]))
        seen = [n for n in numbers if n not in dark]
        for number in seen[1:]:
            asked = f"box {number}: its player looks at box {seen[0]}, so this one is dark and needs PLAY up front"
            found.append(("dark_without_play", asked, number))
    return found


def player_of(out: Out, box: int) -> str | None:
    """Who plays a box, where that is known."""
    seat = out.state.seats.get(box)
    return None if seat is None else seat.player


def _list(numbers: tuple[int, ...] | list[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"
