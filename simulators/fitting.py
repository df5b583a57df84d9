"""Whether the table of a rig is one on which a case can be played: known from its file, before anything moves.

What is told to a table when it is opened (blinds, seats, people) need not stand in its file; all else must be there.
"""

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from controller.core.rules.profile import Profile
from controller.core.setup import Limits, Setup
from simulators.errors import ScriptError
from simulators.plan import Plan
from simulators.rig import Dut, Rig
from simulators.scripts.strict import suggestion

KINDS = ("shoe", "keypad", "camera")
"""Drivers that are a kind of their own; every other is one of a reader."""
APART = ("name", "version", "sha256", "language", "status")
"""Fields of house rules that decide nothing at the table."""


def unfit(script: Path, plan: Plan, rig: Rig) -> Iterator[ScriptError]:
    """Everything in the table's file that does not fit this case: key, value, what the case has, remedy.

    Of a table on another machine its file is known, and not the files that it names.

    Raises ``BadConfiguration``, ``RigError`` where the table's file cannot be read.
    """
    dut, case = rig.dut, script.name

    def wrong(key: str, value: object, needs: str, remedy: str) -> ScriptError:
        return ScriptError(rig.config, key, value, f"{case} {needs}: {remedy}, or play it on another rig")

    if dut.kind != plan.kind:
        yield wrong("kind", dut.kind, f"is played at a table of the kind {plan.kind}", f'write "{plan.kind}"')
        return
    highest = max((seat.seat for seat in plan.seats), default=0)
    if dut.seats < highest:
        yield wrong("seats", dut.seats, f"has somebody at place {highest}", f"give it {highest} or more")
    if dut.profile != plan.profile:
        yield wrong("profile", dut.profile, f"has run.profile = {plan.profile!r}", f'write "{plan.profile}"')
    elif dut.setup is not None:
        for name, here, there in _rules(dut.setup.profile, plan.rules):
            told = f"has {there!r} by its profile and run.override"
            yield wrong(f"override ({name})", here, told, "set it in [override] of one of them")
    if dut.closed_cards != plan.closed_cards:
        told = f"has run.closed_cards = {plan.closed_cards!r}"
        yield wrong("closed_cards", dut.closed_cards, told, f'write "{plan.closed_cards}"')
    if dut.setup is not None:
        yield from (wrong(*one) for one in _chips(dut.setup, plan, tagged=rig.kind == "wire"))
    yield from (wrong(*one) for one in _devices(dut, plan))
    if rig.kind == "wire":
        for name in sorted({*plan.layout.names()} - {device["name"] for device in rig.devices}):
            told = f"{case} needs it: add it to [devices] of the rig's file, or play it on another rig"
            yield ScriptError(rig.file, f"devices.{name}", None, told)


def _rules(table: Profile, case: Profile) -> Iterator[tuple[str, object, object]]:
    if table.sha256 != case.sha256:
        for field in fields(Profile):
            here, there = getattr(table, field.name), getattr(case, field.name)
            if field.name not in APART and here != there:
                yield field.name, here, there


Said = tuple[str, object, str, str]
"""A key of the table's file, its value, what the case has, what to do."""


def _chips(setup: Setup, plan: Plan, *, tagged: bool) -> Iterator[Said]:
    values = sorted(chip.value for chip in setup.chipset.denominations)
    lacking = sorted(set(plan.stakes.chips) - set(values))
    if lacking:
        told = f"plays with chips of {', '.join(map(str, sorted(plan.stakes.chips)))}"
        yield "chips.file", values, told, f"add {', '.join(map(str, lacking))}"
    elif setup.chipset.unit != plan.stakes.unit:
        told = f"counts in its smallest chip, {plan.stakes.unit}: what is keyed is a number of them"
        yield "chips.file", values, told, f"leave {setup.chipset.unit} out"
    if (plan.cold or plan.boxes) and setup.limits != plan.limits:
        told = f"does not say at the opening what it plays, {_amounts(plan.limits)}"
        yield "limits", _amounts(setup.limits), told, "write the same"
    if tagged and plan.kind == "rfid" and not lacking:
        of_chip = {chip.id: chip.value for chip in setup.chipset.denominations}
        registered = {tag: of_chip[chip] for tag, chip in setup.chipset.tags.items()}
        strange = [tag for tag, value in plan.tokens.values.items() if registered.get(tag) != value]
        if strange:
            value, told = plan.tokens.values[strange[0]], f"{len(strange)} of the rig's chips are not so in it"
            here = registered.get(strange[0])
            yield "chips.tags", {strange[0]: here}, f"has it as a chip of {value}", f"{told}: write the rig's tags"
        cards = [tag for tag, card in plan.deck.items() if setup.deck.tags.get(tag) != card]
        if cards:
            card = setup.deck.tags.get(cards[0])
            yield "deck.file", {cards[0]: card}, f"has it as {plan.deck[cards[0]]}", "write the rig's tags"


def _amounts(limits: Limits) -> dict[str, object]:
    told = {field.name: getattr(limits, field.name) for field in fields(Limits)}
    return {name: value for name, value in told.items() if value}


def _devices(dut: Dut, plan: Plan) -> Iterator[Said]:
    for device in plan.layout.devices:
        key = f"devices.{device.name}"
        if device.name not in dut.devices:
            known = f"{', '.join(dut.devices) or 'none'}{suggestion(device.name, dut.devices)}"
            yield key, None, "needs it", f"the table has {known}; add a {device.kind} of this name"
            continue
        driver = dut.devices[device.name]
        if (kind := driver if driver in KINDS else "reader") != device.kind:
            yield f"{key}.driver", driver, f"has a {device.kind} there", f"a {driver} is a {kind}: give it another name"
            continue
        found = {_channel(channel): place for channel, place in dut.channels.get(device.name, {}).items()}
        for channel, place in device.places.items():
            if device.kind == "reader" and plan.kind == "shoe":
                there = place if place in found.values() else None
            else:
                there = found.get(_channel(channel))
            if there != place:
                yield f'{key}.channels."{channel}"', there, f"has {place} there", f'write "{channel}" = "{place}"'


def _channel(number: str) -> int:
    """One antenna alone is channel 0 to the driver and antenna 1 to the reader."""
    return max(1, int(number))
