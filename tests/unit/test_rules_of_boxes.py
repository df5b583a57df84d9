"""The rules of the Lithuanian text that its own tests do not show alone: each broken once and kept once."""

from typing import Any

from controller.core.facts import BoxDecided, CardsMoved
from tests.boxes import Boxes, setup
from tests.marks import broken, kept, shows

CARDS = "As 4c Ad 4d Kh 9c 7s 2d 3h"
"""Box 1 has aces, the dealer fours; the board pairs nobody."""


def round_of(words: str = "1k F 1k R", trips: int = 500, **more: Any) -> Boxes:
    """Box 1 from the stakes as far as the words go: decisions, ``F`` and ``R`` for three and two board cards."""
    felt = Boxes(setup(**more)).open([1]).bet(1, trips=trips)
    felt.deal(CARDS)
    for word in words.split():
        if word in ("F", "R"):
            felt.board(3 if word == "F" else 2)
        else:
            felt.act(word)
    return felt


def whole_round() -> Boxes:
    """Played, opened, paid and collected as the text says."""
    felt = round_of()
    felt.lay(1, "play", 1000)
    felt.show().show(1)
    for spot, amount in (("ante", 2000), ("play", 2000), ("trips", 0)):
        felt.lay(1, spot, amount)
    return felt.done("sensor")


@kept(
    "LT-1.1", "LT-1.2", "LT-1.3", "LT-1.4", "LT-1.5", "LT-2.1", "LT-2.2", "LT-2.3", "LT-2.4", "LT-2.5",
    "LT-3.1", "LT-3.2", "LT-3.4", "LT-4.1", "LT-4.2", "LT-5.1", "LT-6.1", "LT-6.2", "LT-6.4", "LT-6.5", "LT-6.8",
    "LT-7.1", "LT-7.3", "LT-8.1", "LT-8.2", "LT-8.3", "LT-8.4", "LT-9.1", "LT-9.2", "LT-9.3", "LT-10.1",
    "LT-10.3", "LT-10.4", "LT-10.5",
)  # fmt: skip
@shows("LT-3.3", "LT-6.3", "LT-7.2", "LT-9.4", "LT-10.2")
def test_a_round_as_the_text_says() -> None:
    felt = whole_round()
    assert [c["place"] for c in felt.all("card.dealt")[:4]] == ["box", "dealer", "box", "dealer"]
    assert {c["face"] for c in felt.all("card.dealt")[:4]} == {"closed"}
    assert [len(s["cards"]) for s in felt.all("street.opened")] == [3, 2]
    assert felt.all("dealer.revealed")[0]["qualified"]
    (box,) = felt.all("box.settled")
    assert {line["spot"]: line["net"] for line in box["lines"]} == {
        "ante": 1000,
        "blind": 0,
        "play": 1000,
        "trips": -500,
    }
    assert felt.all("hand.closed")
    assert not felt.all("breach.noted")
    assert not felt.all("incident.opened")


@kept("LT-2.6", "LT-2.7", "LT-2.8")
@shows("LT-A7", "LT-A8", "LT-A14")
def test_one_seen_box_and_four_dark_ones_with_play_up_front() -> None:
    felt = Boxes().open([1, 2, 3, 4, 5], dict.fromkeys(range(1, 6), "p1")).bet(1)
    for box, multiple in ((2, 1), (3, 2), (4, 3), (5, 4)):
        felt.bet(box, play=1000 * multiple)
    felt.deal()
    dark = [box["box"] for box in felt.all("hand.started")[0]["boxes"] if box["dark"]]
    assert dark == [2, 3, 4, 5]
    assert not felt.all("breach.noted")


@broken("LT-3.4")
def test_trips_above_the_most() -> None:
    felt = Boxes(setup(house={"trips_posted": None})).open([1]).bet(1)
    felt.lay(1, "trips", 250_001, "keyed")
    assert felt.broken() == ["LT-3.4"]


@broken("LT-6.4", "LT-A5")
@broken("LT-6.1", "LT-6.2")
def test_a_wrong_number_of_cards_and_a_card_that_is_turned() -> None:
    felt = Boxes().open([1]).bet(1)
    felt.deal(CARDS)
    felt.card("box", 1)
    assert felt.all("hand.redealt")
    felt = Boxes().open([1]).bet(1)
    felt.deal(CARDS)
    felt.show(1)
    assert felt.all("hand.redealt")


@broken("LT-8.1", "LT-8.4", "LT-9.2")
def test_wrong_multiples_at_each_decision() -> None:
    for words, amount, rule in (("", 2000, "LT-8.1"), ("1k F", 3000, "LT-8.4"), ("1k F 1k R", 2000, "LT-9.2")):
        felt = round_of(words)
        felt.do(BoxDecided("play", 1, amount))
        assert felt.broken() == [rule]


@broken("LT-8.3", "LT-9.1", "LT-A5")
def test_common_cards_before_all_have_decided() -> None:
    for words, rule in (("", "LT-8.3"), ("1k F", "LT-9.1")):
        felt = round_of(words)
        felt.card("board")
        assert felt.broken() == [rule]


@broken("LT-4.1", "LT-5.1", "LT-10.4", "LT-10.5")
def test_wrong_payments() -> None:
    right = {"ante": 2000, "play": 2000, "trips": 0, "blind": 1000}
    for spot, wrong, rule in (("ante", 1500, "LT-10.4"), ("blind", 2000, "LT-10.5"), ("trips", 500, "LT-4.1")):
        felt = round_of()
        felt.lay(1, "play", 1000)
        felt.show().show(1)
        for name, amount in (right | {spot: wrong}).items():
            if amount != felt.coup.boxes[1].stake(name) or name == spot:
                felt.lay(1, name, amount)
        if not felt.all("incident.opened"):
            felt.done("sensor")
        assert felt.all("incident.opened")[0]["rules"][0] == rule


@broken("LT-2.4", "LT-2.5")
def test_a_second_box_is_looked_at() -> None:
    felt = Boxes(setup(kind="rfid")).open([1, 2], {1: "p1", 2: "p1"}).bet(1).bet(2, play=1000)
    felt.deal()
    felt.do(CardsMoved(2, "lifted"))
    assert felt.broken() == ["LT-2.4"]


@broken("LT-10.1", "LT-7.1")
def test_cards_under_play_are_touched_and_leave_the_table() -> None:
    for how, rule in (("touched", "LT-10.1"), ("away", "LT-7.1")):
        felt = Boxes(setup(kind="rfid")).open([1]).bet(1)
        felt.deal(CARDS)
        felt.lay(1, "play", 3000)
        felt.do(CardsMoved(1, how))  # type: ignore[arg-type]
        assert felt.broken() == [rule]
