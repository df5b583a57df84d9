"""Whatever people say beside the hands: a refusal changes nothing but the record, and recovery is replay."""

import json
import random
from contextlib import suppress
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from controller.contract.catalogue import DATA
from controller.core.cards import DECK
from controller.core.errors import BadCommand
from controller.core.facts import HandAttested
from controller.core.inputs import Command
from controller.core.records import Record
from tests.felt import restores
from tests.floors import CHIPS, House

SEATS = st.integers(1, 4)
LINES = st.sampled_from([CHIPS, [{"denomination": 1, "count": 4000}], None])
PEOPLE = st.sampled_from(["s-1", "s-2", "s-3", "s-7"])
IDS = ["HR-4.1", "HR-3.1", "HR-3.2", "HR-20.2", "HR-10.2", "HR-10.4"]
RULES = st.lists(st.sampled_from(IDS), min_size=1, max_size=3)
COMMANDS = st.one_of(
    st.fixed_dictionaries({"name": st.just("attest"), "rules": RULES, "scope": st.sampled_from(["shift", "hand"])}),
    st.fixed_dictionaries({"name": st.just("override"), "rules": RULES, "until": st.sampled_from(["hand", "session"])}),
    st.fixed_dictionaries({"name": st.just("report"), "rule": st.sampled_from(["HR-3.1", "HR-6.3", "HR-7.1"])}),
    st.fixed_dictionaries({"name": st.just("deck"), "do": st.just("verify"), "count": st.sampled_from([52, 51])}),
    st.fixed_dictionaries({"name": st.just("deck"), "do": st.just("change"), "new": st.sampled_from(["d2", "d3"])}),
    st.fixed_dictionaries({"name": st.just("seat"), "seat": SEATS, "stack": st.just(1000), "checked": st.booleans()}),
    st.fixed_dictionaries({"name": st.sampled_from(["leave", "away", "back"]), "seat": SEATS}),
    st.fixed_dictionaries({"name": st.just("buyin"), "seat": SEATS, "amount": st.just(1000), "done": st.booleans()}),
    st.fixed_dictionaries({"name": st.just("redeem"), "seat": SEATS, "amount": st.sampled_from([10, 1000])}),
    st.fixed_dictionaries({"name": st.just("count"), "reason": st.sampled_from(["open", "close"]), "lines": LINES}),
    st.fixed_dictionaries({"name": st.just("close"), "lines": LINES}),
    st.fixed_dictionaries({"name": st.just("shift"), "shift": st.sampled_from(["1", "2"]), "lines": LINES}),
    st.fixed_dictionaries({"name": st.just("button"), "seat": SEATS, "how": st.sampled_from(["lies", "corrected"])}),
    st.fixed_dictionaries({"name": st.just("login"), "staff": PEOPLE, "role": st.sampled_from(["dealer", "cage"])}),
    st.fixed_dictionaries({"name": st.just("logout"), "staff": PEOPLE}),
    st.fixed_dictionaries({"name": st.just("rule"), "incident": st.sampled_from(["I-25", "I-31", "I-28", "I-9"])}),
    st.fixed_dictionaries({"name": st.sampled_from(["fill", "credit"]), "lines": LINES}),
    st.fixed_dictionaries({"name": st.just("slip"), "do": st.sampled_from(["complete", "cancel"]), "with": PEOPLE}),
    st.fixed_dictionaries(
        {
            "name": st.just("collect"),
            "what": st.sampled_from(["drop", "rake", "tips"]),
            "counted": st.sampled_from([None, 0, 1000]),
        }
    ),
    st.fixed_dictionaries({"name": st.just("orphan"), "amount": st.just(5), "place": st.just("bet:3")}),
    st.fixed_dictionaries({"name": st.just("tip"), "seat": SEATS, "amount": st.just(10)}),
    st.just({"name": "meters"}),
    st.just({"name": "open"}),
    st.just({"name": "draw"}),
    st.just({"name": "hand"}),
    st.just({"name": "fold"}),
)


def validated(record: Record) -> None:
    """The data of a record fit the contract, and JSON carries them."""
    plain = json.loads(json.dumps(record.data))
    assert plain == record.data
    if record.type in DATA:
        Draft202012Validator(DATA[record.type]).validate(plain)


def perform(felt: House, command: dict[str, Any], chance: random.Random) -> None:
    args = {key: value for key, value in command.items() if key != "name" and value is not None}
    match command["name"]:
        case "hand":
            felt.session.seed(bytes(32))
            felt.do(HandAttested())
        case "fold" if felt.session.state.hand is not None and felt.hand.phase == "deal":
            felt.say("leave", seat=felt.hand.order[0])
        case "fold":
            return
        case "draw":
            cards = chance.sample(DECK, 4)
            seats = sorted(felt.session.state.seats)
            felt.say("button", draw=[{"seat": s, "card": c} for s, c in zip(seats, cards, strict=False)], collected=52)
        case name:
            if args.get("lines") and name not in ("fill", "credit"):
                args["with"] = "s-3"
            felt.do(Command(name, args, "s-1", chance.choice(["manager", "dealer"]), "test"))


@settings(max_examples=80)
@given(commands=st.lists(COMMANDS, max_size=30), seed=st.integers(0, 2**16), ready=st.booleans())
def test_every_step_is_on_record_and_recovery_is_replay(commands: list[dict[str, Any]], seed: int, ready: bool) -> None:
    felt = House.of(replace(House("hr_thp").setup, software={"version": "0", "sha256": "0" * 64}))
    if ready:
        felt.ready([1000, 1000, 1000])
    else:
        felt.prepare()
    chance = random.Random(seed)
    for command in commands:
        before = len(felt.records)
        with suppress(BadCommand):  # it cannot be read, and then nothing has changed
            perform(felt, command, chance)
        for record in felt.records[before:]:
            validated(record)
        restores(felt.session, felt.records)
