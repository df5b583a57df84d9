"""After a restart antennas read everything anew: what lies as it lay is told once, each difference is a fact (I-32)."""

import pytest

from controller.core.records import Record
from drivers.readings import DeviceUp
from tests.felt import RS
from tests.leaking_rfid import STACK, VALUES, RfidHand


class Cut(RfidHand):
    """A hand with antennas that is dealt up to the first decision; then the power goes for a while."""

    def __init__(self) -> None:
        super().__init__(1, RS, wild=0.0, missed=0.0)
        for device in self.setup.devices:
            self.feed(DeviceUp(device.name, self.number(), "feig", "M", "S1", "1.0", "serial:///dev/x"))
        self.say("open", button=self.seats)
        spare = {str(v): [tag for tag, d in self.setup.chipset.tags.items() if d == str(v)] for v in VALUES}
        for seat in range(1, self.seats + 1):
            self.put([spare[str(value)].pop() for value in STACK], f"stack:{seat}", 0)
            self.say("seat", seat=seat, stack=sum(STACK))
        self.run(4000)
        for _ in range(30):
            hand = self.player.table.session.state.hand
            if hand is not None and hand.phase == "bet":
                break
            self.help()
        self.run(5000)
        legal = self.player.table.session.legal()
        assert legal is not None
        self.actor, self.call = legal.seat, legal.call

    def back(self) -> list[Record]:
        """The table is rebuilt from its records, the readers answer and read: what it concludes from that."""
        before = len(self.player.played.records)
        self.player.restart()
        for device in self.setup.devices:
            self.feed(DeviceUp(device.name, self.number(), "feig", "M", "S1", "1.0", "serial:///dev/x"))
        self.run(8000)
        return [record for record in self.player.played.records[before:] if record.type != "device.up"]

    def move(self, tags: list[str], place: str) -> None:
        """Nobody is there to see it."""
        for tag in tags:
            for held in self.lies.values():
                if tag in held:
                    held.remove(tag)
            self.lies.setdefault(place, []).append(tag)


@pytest.fixture
def cut() -> Cut:
    return Cut()


def test_what_lies_as_it_lay_is_not_told_again(cut: Cut) -> None:
    assert cut.back() == []
    assert cut.back() == [], "nor after another restart"


def test_chips_that_were_moved_meanwhile_are_an_action(cut: Cut) -> None:
    worth = cut.setup.chipset.tags
    chosen: list[str] = []
    rest = cut.call
    for tag in sorted(cut.lies[f"stack:{cut.actor}"], key=lambda tag: -int(worth[tag])):
        if int(worth[tag]) <= rest:
            chosen.append(tag)
            rest -= int(worth[tag])
    assert rest == 0
    cut.move(chosen, f"bet:{cut.actor}")
    (taken,) = [record for record in cut.back() if record.type == "action.taken"]
    assert (taken.data["kind"], taken.data["seat"], taken.data["added"]) == ("call", cut.actor, cut.call)
    assert taken.data["basis"] == "sensor"


def test_cards_that_were_given_up_meanwhile_are_a_fold(cut: Cut) -> None:
    cut.move(list(cut.lies[f"seat:{cut.actor}"]), "muck")
    (taken,) = [record for record in cut.back() if record.type == "action.taken"]
    assert (taken.data["kind"], taken.data["seat"]) == ("fold", cut.actor)


def test_what_the_rules_would_hold_is_held(cut: Cut) -> None:
    cut.move([cut.deck.pop()], "board")
    told = cut.back()
    (opened,) = [record for record in told if record.type == "incident.opened"]
    assert opened.data["code"] == "I-4", "a board card while betting is open, whenever it was laid"
