"""Hands with antennas that read no closed card, with accidents: nothing of one is told, kept or known."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from controller.core.cards import UNKNOWN
from controller.core.inputs import Input, What
from controller.core.rules.profile import Profile
from controller.core.session import Session
from drivers.readings import CardSeen, DeviceConflict, DeviceUp, TagsSeen
from drivers.veil import Veil
from tests.closed import SHOE
from tests.felt import HR, RS, through_json
from tests.leaking import Played, Player, leaks
from tests.leaking_rfid import CARDS0, RfidHand

EXAMPLES = ("refusal : card As", "refusal : card Td")
"""Whoever names no card is told how one is written: "for example As or Td"."""


class UnreadHand(RfidHand):
    """One hand behind a veil; with ``shoe`` cards come out of one, and some pass it unseen or never arrive."""

    def __init__(self, seed: int, profile: Profile, *, wild: float, missed: float, shoe: bool) -> None:
        super().__init__(seed, profile, wild=wild, missed=missed)
        devices = tuple(replace(device, kind=device.kind or "reader") for device in self.setup.devices)
        self.shoe, self.slid = shoe, 0
        self.setup = replace(self.setup, devices=(*devices, SHOE) if shoe else devices, closed_cards="unread")
        self.player = Player(self.setup)
        self.draw_names()

    def draw_names(self) -> None:
        channels = self.setup.open_channels({"board"})
        self.veils = {name: Veil(self.setup.deck.tags, open_) for name, open_ in channels.items()}
        self.lifted: Any = None

    def feed(self, what: What) -> None:
        if isinstance(what, TagsSeen | CardSeen | DeviceConflict) and what.device in self.veils:
            veiled = self.veils[what.device].over(what, self.at)
            assert isinstance(veiled, TagsSeen | CardSeen | DeviceConflict)
            what = veiled
        super().feed(what)
        lifted = self.player.table.open_channels()
        if lifted != self.lifted:
            self.lifted = lifted
            for name, veil in self.veils.items():
                for told in veil.lift(lifted[0][name], playing=lifted[1]):
                    super().feed(told)

    def poll(self) -> None:
        for device in self.setup.devices:
            for channel, place in device.places.items() if device.kind == "reader" else ():
                lying = self.lies.get(place, [])
                seen = frozenset(tag for tag in lying if self.chance.random() >= self.missed)
                self.feed(TagsSeen(device.name, self.number(), channel, seen, complete=True))

    def put(self, tags: Iterable[str], place: str, ms: int = 600) -> None:
        tags = list(tags)
        fresh = [tag for tag in tags if tag in self.setup.deck.tags and not self.lies_anywhere(tag)]
        for _ in fresh if self.shoe and self.chance.random() >= self.wild / 2 else ():
            self.slid += 1
            self.feed(CardSeen("shoe0", self.slid, "0", "As", None, 100, self.slid))
            self.run(250)
        super().put(tags, place, ms)

    def lies_anywhere(self, tag: str) -> bool:
        return any(tag in held for held in self.lies.values())

    def play(self) -> Played:
        if self.shoe:
            self.feed(DeviceUp("shoe0", self.number(), "shoe", "FS-1", "S1", "1.0", "usb://1"))
        return super().play()

    def restart(self) -> None:
        self.player.restart()
        self.draw_names()
        self.run(2000)


def hold(seed: int, *, shoe: bool) -> set[str]:
    wild, missed = ((0.0, 0.0), (0.1, 0.0), (0.25, 0.1))[seed % 3]
    hand = UnreadHand(seed, HR if seed % 4 == 0 else RS, wild=wild, missed=missed, shoe=shoe)
    played = hand.play()
    assert [line for line in leaks(played) if line not in EXAMPLES] == []
    state = hand.player.table.session.state
    assert Session.restore(hand.setup, through_json(played.records)).state == state
    for record in played.records:
        if record.type == "card.dealt" and record.secret is not None:
            assert record.secret["card"] == record.secret["guess"] == UNKNOWN
    turned = {f"seat:{record.data['seat']}" for record in played.records if record.type == "hand.turned"}
    for fed in played.fed:
        if isinstance(fed, Input) and isinstance(fed.what, TagsSeen) and fed.what.device == CARDS0:
            named = fed.what.tags & hand.setup.deck.tags.keys()
            place = next(d for d in hand.setup.devices if d.name == CARDS0).places[fed.what.channel]
            assert not named or place == "board" or place in turned, f"seed {seed}: {place} was read"
    return {record.type for record in played.records}


@pytest.mark.parametrize("shoe", [False, True])
@pytest.mark.ci
def test_hands_of_a_table_that_reads_no_closed_card(shoe: bool) -> None:
    types = [hold(seed, shoe=shoe) for seed in range(6)]
    assert sum("hand.closed" in one for one in types) >= 3


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("shoe", [False, True])
def test_many_hands_of_a_table_that_reads_no_closed_card(shoe: bool) -> None:
    for seed in range(1000, 1200):
        hold(seed, shoe=shoe)
