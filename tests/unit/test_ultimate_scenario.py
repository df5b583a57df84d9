"""The scenario of a round of boxes, played by its file: through facts, by shoe and keypad, and by antennas."""

import tomllib
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from controller.configuration import profiles
from controller.core.facts import BoxDecided, CardCame, Finished, HandAttested, StakeLies, Turned
from controller.core.records import Record
from simulators.scripts.matching import matches
from tests.boxes import Boxes, setup
from tests.boxrigs import RfidRig, ShoeRig

FILE = Path(__file__).parents[1] / "rehearsal" / "scenarios" / "ultimate-dark-box.toml"
SCENARIO = tomllib.loads(FILE.read_text(encoding="utf-8"))
Act = dict[str, Any]


def worth(chips: dict[str, int]) -> int:
    return sum(int(value) * count for value, count in chips.items())


def box_and_spot(place: str) -> tuple[int, str]:
    _, box, spot = place.split(":")
    return int(box), spot


class Hands:
    """Somebody who performs the acts of a scenario: on the rules alone, by keys, or on the felt."""

    records: list[Record]

    def perform(self, step: Act) -> None:
        getattr(self, step["do"].replace(".", "_"))(step)


class Facts(Hands):
    """Acts go to the rules as facts."""

    def __init__(self) -> None:
        self.felt = Boxes(setup(house=own_rules()))
        for role, staff in SCENARIO["start"]["people"].items():
            self.felt.say("login", staff=staff, role=role)
        self.felt.say("open")
        for box, player in SCENARIO["start"]["boxes"].items():
            self.felt.say("seat", seat=int(box), player=player, stack=None)
        self.deck = list(SCENARIO["deck"]["top"])
        self.lie: dict[str, int] = {}
        self.records = self.felt.records

    def attest(self, step: Act) -> None:
        self.felt.say("attest", rule=step["rule"], boxes=step["boxes"])

    def chips_put(self, step: Act) -> None:
        for place, chips in step["spots"].items():
            self.change(place, worth(chips))

    def change(self, place: str, by: int) -> None:
        if place != "tray":
            self.lie[place] = self.lie.get(place, 0) + by
            box, spot = box_and_spot(place)
            self.felt.do(StakeLies(box, spot, self.lie[place]))  # type: ignore[arg-type]

    def chips_move(self, step: Act) -> None:
        for move in step["moves"]:
            self.change(move["from"], -worth(move["chips"]))
            self.change(move["to"], worth(move["chips"]))

    def declare(self, step: Act) -> None:
        if step["kind"] == "no_more_bets":
            self.felt.do(HandAttested())
        else:
            self.felt.do(BoxDecided(step["kind"], step["box"]))

    def cards_deal(self, step: Act) -> None:
        for place in step["to"] * step["each"]:
            name, _, box = place.partition(":")
            self.felt.do(CardCame(name, self.deck.pop(0), int(box) if box else None))

    def card_slide(self, step: Act) -> None:
        for _ in range(step["count"]):
            self.felt.do(CardCame(step["to"], self.deck.pop(0)))

    def card_move(self, step: Act) -> None:
        if step["to"] == "muck":
            self.felt.do(BoxDecided("fold", box_and_spot(step["from"])[0], basis="sensor"))

    def card_turn(self, step: Act) -> None:
        for place in [step["at"]] if isinstance(step["at"], str) else step["at"]:
            self.felt.do(Turned("dealer") if place == "dealer" else Turned("box", box_and_spot(place)[0]))

    def cards_collect(self, step: Act) -> None:
        self.felt.do(Finished(basis="sensor"))

    def close(self) -> None:
        self.felt.say("close")


def own_rules() -> dict[str, Any]:
    rules = profiles.load(SCENARIO["run"]["profile"], override=SCENARIO["run"]["override"]).ultimate
    assert rules is not None
    return {field.name: getattr(rules, field.name) for field in fields(rules)}


class Keyed(Hands):
    """Cards slide out of the shoe; what no sensor sees is keyed. Chips that were declared press nothing more."""

    def __init__(self) -> None:
        self.rig = ShoeRig(" ".join(SCENARIO["deck"]["top"]), **own_rules())
        self.rig.players({int(box): player for box, player in SCENARIO["start"]["boxes"].items()})
        self.records = self.rig.records
        self.unit = 500

    def attest(self, step: Act) -> None:
        self.rig.announce(*step["boxes"])

    def chips_put(self, step: Act) -> None:
        verbs = {"ante": "BET", "trips": "ALLIN", "play": "RAISE"}
        for place, chips in step["spots"].items():
            box, spot = box_and_spot(place)
            if spot in verbs:  # BLIND comes with ANTE
                self.rig.key(str(box), verbs[spot], *str(worth(chips) // self.unit), "ENTER")

    def declare(self, step: Act) -> None:
        self.rig.key(*(["HAND"] if step["kind"] == "no_more_bets" else [str(step["box"]), step["kind"].upper()]))

    def cards_deal(self, step: Act) -> None:
        self.rig.slide(len(step["to"]) * step["each"])

    def card_slide(self, step: Act) -> None:
        self.rig.slide(step["count"])

    def card_move(self, step: Act) -> None:
        if step["to"] == "muck":
            self.rig.key(str(box_and_spot(step["from"])[0]), "FOLD")

    def card_turn(self, step: Act) -> None:
        for place in [step["at"]] if isinstance(step["at"], str) else step["at"]:
            self.rig.key(*(["SHOW"] if place == "dealer" else [str(box_and_spot(place)[0]), "SHOW"]))

    def chips_move(self, step: Act) -> None:
        self.rig.pause(1000)  # nobody senses it

    def cards_collect(self, step: Act) -> None:
        self.rig.key("DONE")

    def close(self) -> None:
        self.rig.say("close")


class Felt(Hands):
    """Tags of cards and chips lie on antennas; keys say the rest."""

    def __init__(self) -> None:
        self.rig = RfidRig(" ".join(SCENARIO["deck"]["top"]), **own_rules())
        self.rig.players({int(box): player for box, player in SCENARIO["start"]["boxes"].items()})
        self.records = self.rig.records
        self.tray = len(self.rig.lie["tray"])

    def attest(self, step: Act) -> None:
        self.rig.announce(*step["boxes"])

    def chips_put(self, step: Act) -> None:
        for place, chips in step["spots"].items():
            box, spot = box_and_spot(place)
            self.rig.put(box, 300, **{spot: {int(value): count for value, count in chips.items()}})
        self.rig.pause(1500)

    def declare(self, step: Act) -> None:
        self.rig.key(*(["HAND"] if step["kind"] == "no_more_bets" else [str(step["box"]), step["kind"].upper()]))

    def cards_deal(self, step: Act) -> None:
        self.rig.deal([f"{place}:cards" if place.startswith("box") else place for place in step["to"]] * step["each"])

    def card_slide(self, step: Act) -> None:
        self.rig.deal([step["to"]] * step["count"])

    def card_move(self, step: Act) -> None:
        self.rig.move(step["from"], step["to"])

    def card_turn(self, step: Act) -> None:
        for place in [step["at"]] if isinstance(step["at"], str) else step["at"]:
            self.rig.key(*(["SHOW"] if place == "dealer" else [str(box_and_spot(place)[0]), "SHOW"]))

    def chips_move(self, step: Act) -> None:
        for move in step["moves"]:
            if move["to"] == "tray":
                self.rig.take(move["from"])
            else:
                self.rig.pay(move["to"], worth(move["chips"]))

    def cards_collect(self, step: Act) -> None:
        self.rig.collect()

    def close(self) -> None:
        self.rig.say("close")


@pytest.mark.parametrize("hands", [Facts, Keyed, Felt])
def test_the_round_is_seen_as_the_scenario_says(hands: Callable[[], Any]) -> None:
    player = hands()
    began: dict[str, int] = {}
    for number, step in enumerate(SCENARIO["step"]):
        began[step.get("id", str(number))] = len(player.records)
        player.perform(step)
    player.close()
    records = player.records
    for expect in SCENARIO["expect"]:
        since = began[expect["after"]] if "after" in expect else 0
        met = [r for r in records[since:] if r.type == expect["event"] and matches(expect.get("match", {}), r.data)]
        assert len(met) == expect["count"] if "count" in expect else met, expect
    for never in SCENARIO["never"]:
        seen = [r.data for r in records if r.type == never["event"] and matches(never.get("match", {}), r.data)]
        assert not seen, never
    (closed,) = [r.data["result"] for r in records if r.type == "hand.closed"]
    assert closed["house_net"] == SCENARIO["final"]["house_net"]
    text = str([r.data for r in records])
    assert not any(f"'{card}'" in text for card in SCENARIO["final"]["sealed"])


def test_chips_are_conserved_on_the_felt() -> None:
    player = Felt()
    before = sorted(tag for tags in player.rig.lie.values() for tag in tags)
    for step in SCENARIO["step"]:
        player.perform(step)
    after = sorted(tag for tags in player.rig.lie.values() for tag in tags)
    spent = [tag for tag in after if tag not in before]
    assert len(spent) == 12  # what the players brought: nothing came or went besides
    counted = [r.data["total"] for r in player.records if r.type == "tray.counted"]
    assert counted[-1] - counted[0] == SCENARIO["final"]["tray"]["delta"]
