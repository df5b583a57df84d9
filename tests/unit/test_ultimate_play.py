"""Rounds of boxes: cards in players' hands, decisions, common cards, settlement; each rule broken and kept (8.8)."""

from dataclasses import replace
from typing import Any

import pytest

from controller.core.facts import BoxDecided, CardsMoved, Finished, Shown, StakeLies, Undone
from controller.core.setup import Chipset, Denomination
from tests.boxes import Boxes, setup
from tests.marks import broken, kept, shows

# --- cards in the hands of players -----------------------------------------------------------------------------


@broken("LT-2.4")
def test_lt_2_4_a_dark_box_is_lifted() -> None:
    felt = Boxes().open([1, 2], {1: "p-1", 2: "p-1"}).bet(1).bet(2, play=1000).deal()
    felt.do(CardsMoved(1, "lifted"))  # LT-7.2: until PLAY is placed
    assert not felt.last
    felt.do(CardsMoved(2, "lifted"))
    incident = felt.all("incident.opened")[0]
    assert (incident["code"], incident["rules"][:2], incident["boxes"]) == ("I-40", ["LT-2.4", "LT-2.5"], [2])
    felt.do(BoxDecided("check", 1))
    assert felt.all("action.refused")
    felt.say("rule", incident="I-40", ruling="bets_stand")
    felt.act("1k")


@broken("LT-7.1")
def test_lt_7_1_cards_leave_the_table() -> None:
    felt = Boxes().open([1]).bet(1).deal()
    felt.do(CardsMoved(1, "away"))
    assert felt.broken() == ["LT-7.1"]


@broken("LT-10.1")
def test_lt_10_1_cards_are_touched_after_play() -> None:
    felt = Boxes().open([1, 2]).bet(1).bet(2).deal().act("1p3000")
    felt.do(CardsMoved(1, "touched"))
    assert felt.broken() == ["LT-10.1"]


@broken("LT-7.3")
def test_lt_7_3_cards_are_not_put_under_play() -> None:
    felt = Boxes().open([1, 2]).bet(1).bet(2).deal().act("1p3000")
    felt.do(CardsMoved(1, "not_under_play"))
    assert felt.broken() == ["LT-7.3"]
    assert felt.all("breach.noted")[-1]["reaction"] == "FLAG"


# --- decisions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "word", "rule", "allowed"),
    [
        ("", "1p2000", "LT-8.1", ["check", "play", "play", "fold"]),
        ("1k 2k F", "1p3000", "LT-8.4", ["check", "play", "fold"]),
        ("1k 2k F 1k 2k R", "1p2000", "LT-9.2", ["play", "fold"]),
        ("1k 2k F 1k 2k R", "1k", "LT-9.2", ["play", "fold"]),
    ],
)
def test_wrong_multiples_and_a_check_too_many(before: str, word: str, rule: str, allowed: list[str]) -> None:
    felt = play(Boxes().open([1, 2]).bet(1).bet(2).deal(), before)
    state = replace(felt.coup, n=0, t_ms=0, breaches=())
    kind: Any = "check" if word[1] == "k" else "play"
    felt.do(BoxDecided(kind, 1, int(word[2:]) if word[2:] else None))
    assert felt.broken() == [rule]
    assert [kind["kind"] for kind in felt.last[0].data["allowed"]] == allowed
    assert replace(felt.coup, n=0, t_ms=0, breaches=()) == state


def play(felt: Boxes, words: str) -> Boxes:
    for word in words.split():
        if word in ("F", "R"):
            felt.board(3 if word == "F" else 2)
        else:
            felt.act(word)
    return felt


@kept("LT-8.1")
@pytest.mark.parametrize("word", ["1p3000", "1p4000", "1k", "1f"])
def test_lt_8_1_what_the_first_decision_allows(word: str) -> None:
    felt = Boxes().open([1, 2]).bet(1).bet(2).deal().act(word)
    decided = felt.all("box.decided")[0]
    assert decided["decision"] == 1
    assert decided["locked"] == (word[1] == "p")


def test_the_least_play_and_the_next_box_need_not_be_named() -> None:
    felt = Boxes().open([1, 2]).bet(1).bet(2).deal()
    felt.do(BoxDecided("play"))
    felt.do(BoxDecided("check"))
    felt.board(3)
    felt.do(BoxDecided("play"))
    assert [(d["box"], d["kind"], d["amount"]) for d in felt.all("box.decided")] == [
        (1, "play", 3000),
        (2, "check", 0),
        (2, "play", 2000),
    ]


@broken("LT-A11")
@shows("LT-A11")
def test_lt_a11_a_house_that_allows_no_early_fold() -> None:
    felt = Boxes(setup(house={"early_fold": False})).open([1, 2]).bet(1).bet(2).deal()
    felt.do(BoxDecided("fold", 1))
    assert felt.broken() == ["LT-A11"]


@broken("LT-2.5", "LT-A7")
@shows("LT-A7")
def test_lt_a7_a_dark_box_decides_nothing() -> None:
    felt = Boxes().open([1, 2]).bet(1).bet(2, play=1000).deal()
    for kind in ("check", "play", "fold"):
        felt.do(BoxDecided(kind, 2))
        assert felt.broken() == ["LT-2.5"]
    assert felt.coup.waiting(1) == (1,)


@broken("LT-8.2")
def test_lt_8_2_a_placed_play_is_topped_up() -> None:
    felt = Boxes().open([1, 2]).bet(1).bet(2).deal()
    felt.lay(1, "play", 3000)
    assert felt.all("box.decided")[0]["amount"] == 3000
    felt.lay(1, "play", 4000)
    assert felt.broken() == ["LT-8.2"]
    assert felt.all("bet.refused")[0]["excess"] == 1000
    felt.do(BoxDecided("check", 2))
    assert felt.all("action.refused")
    felt.lay(1, "play", 3000)
    assert felt.session.state.held is None
    felt.act("2k")
    felt.do(BoxDecided("play", 1, 4000))
    assert felt.broken() == ["LT-8.2"]


@broken("LT-10.1")
def test_lt_10_1_a_later_play_is_touched() -> None:
    felt = Boxes().open([1, 2]).bet(1).bet(2).deal().act("1k", "2k").board(3)
    felt.lay(1, "play", 2000)
    felt.lay(1, "play", 0)
    assert felt.broken() == ["LT-10.1"]


@pytest.mark.parametrize(("chips", "stands"), [(5000, 4000), (3500, 3000), (2000, None)])
def test_i_42_sensed_chips_of_a_wrong_multiple(chips: int, stands: int | None) -> None:
    felt = Boxes().open([1, 2]).bet(1).bet(2).deal()
    felt.lay(1, "play", chips)
    assert felt.broken() == ["LT-8.1"]
    felt.act("2k")  # only that box is held
    felt.say("rule", incident="I-42", ruling="proposed")
    assert felt.coup.boxes[1].stake("play") == (stands or 0)
    assert felt.coup.waiting(1) == (() if stands else (1,))


def test_i_42_a_player_completes_the_multiple() -> None:
    felt = Boxes().open([1, 2]).bet(1).bet(2).deal()
    felt.lay(1, "play", 2000)
    felt.lay(1, "play", 3000)
    assert felt.all("incident.closed")[0]["outcome"] == "corrected"
    assert felt.all("box.decided")[0]["amount"] == 3000


def test_undo_takes_back_the_last_keyed_decision_only() -> None:
    felt = Boxes().open([1, 2]).bet(1).bet(2).deal().act("1p3000")
    felt.do(Undone())
    assert felt.all("box.undone") == [felt.last[0].data]
    assert felt.coup.waiting(1) == (1, 2)
    assert felt.coup.boxes[1].stake("play") == 0
    felt.act("1f", "2k")
    felt.board(3)
    felt.do(Undone())
    assert felt.all("action.refused")


# --- common cards and the dealer -------------------------------------------------------------------------------


@pytest.mark.parametrize(("before", "rule", "code"), [("", "LT-8.3", "I-4"), ("1k 2k F 1k", "LT-9.1", "I-5")])
def test_common_cards_before_all_have_decided(before: str, rule: str, code: str) -> None:
    felt = play(Boxes().open([1, 2]).bet(1).bet(2).deal(), before)
    felt.card()
    assert felt.broken() == [rule]
    assert felt.all("card.opened")[-1]["cause"] == "premature"
    felt.card()
    assert len(felt.all("incident.opened")) == 1
    assert felt.all("incident.opened")[0]["code"] == code
    felt.say("rule", incident=code, ruling="redeal")
    assert felt.all("hand.redealt")[0]["kept"] == ["boxes", "bets"]


def test_premature_cards_that_a_person_lets_stand() -> None:
    felt = Boxes().open([1, 2]).bet(1).bet(2).deal().act("1k").board(3)
    felt.say("rule", incident="I-4", ruling="play_on")
    assert felt.all("street.opened")[0]["street"] == "flop"
    assert felt.coup.waiting(felt.coup.decision) == (1, 2)


@broken("LT-9.3")
def test_lt_9_3_the_dealer_before_all_have_decided() -> None:
    felt = play(Boxes().open([1, 2]).bet(1).bet(2).deal(), "1k 2k F 1k 2k R 1p")
    felt.show()
    assert felt.broken() == ["LT-9.3"]
    assert not felt.all("dealer.revealed")
    felt.say("rule", incident="I-41", ruling="play_on")
    felt.act("2p").show()
    assert felt.all("dealer.revealed")


@shows("LT-A9")
def test_lt_a9_common_cards_that_lie_face_down() -> None:
    felt = Boxes(setup(house={"board": "predealt"})).open([1]).bet(1).deal().board(5)
    assert not felt.all("card.opened")
    felt.show()
    assert felt.broken() == ["LT-8.3"]
    felt.say("rule", incident="I-4", ruling="play_on")
    felt.act("1k").show()
    assert len(felt.all("street.opened")[0]["cards"]) == 3
    felt.act("1k").show()
    assert [s["street"] for s in felt.all("street.opened")] == ["flop", "river"]
    felt.act("1p").show().show().done()
    assert felt.all("hand.closed")


def test_a_fourth_card_on_the_flop_is_premature() -> None:
    felt = Boxes().open([1]).bet(1).deal().act("1k").board(4)
    assert felt.broken() == ["LT-9.1"]


@broken("LT-4.2")
def test_lt_4_2_a_box_with_trips_before_the_dealer() -> None:
    felt = play(Boxes().open([1]).bet(1, trips=500).deal(), "1k F 1k R 1p")
    felt.show(1)
    assert felt.broken() == ["LT-4.2"]
    assert felt.all("box.revealed")
    felt.show()
    assert felt.all("dealer.revealed")[0]["cards"]


# --- settlement ------------------------------------------------------------------------------------------------


def settled(felt: Boxes) -> Boxes:
    """Box 1 plays to the end and wins with aces against a dealer with fours."""
    felt.open([1]).bet(1, trips=500)
    felt.deal("As 4c Ad 4d Kh 9c 7s 2d 3h")
    play(felt, "1k F 1k R").lay(1, "play", 1000)
    return felt.show().show(1)


@shows("LT-10.2", "LT-10.4", "LT-10.5", "LT-4.1")
@kept("LT-4.1", "LT-10.3", "LT-10.4", "LT-10.5")
def test_lt_10_2_to_10_5_a_round_on_the_dealers_word() -> None:
    felt = Boxes().open([1])
    for spot, amount in (("ante", 1000), ("blind", 1000), ("trips", 500)):
        felt.lay(1, spot, amount, "keyed")
    felt.deal("As 4c Ad 4d Kh 9c 7s 2d 3h")
    play(felt, "1k F 1k R 1p").show().show().done()
    (box,) = felt.all("box.settled")
    assert [(line["spot"], line["outcome"], line["net"]) for line in box["lines"]] == [
        ("ante", "win", 1000),
        ("blind", "push", 0),
        ("play", "win", 1000),
        ("trips", "lose", -500),
    ]
    assert (box["paid"], box["agrees"], box["house_net"]) == (2000, True, -1500)
    assert felt.all("payout.made")[0]["amount"] == 2000


@pytest.mark.parametrize(
    ("seen", "rule"),
    [
        ({"ante": 1500, "play": 2000, "trips": 0}, "LT-10.4"),
        ({"blind": 2000, "ante": 2000, "play": 2000, "trips": 0}, "LT-10.5"),
        ({"ante": 2000, "play": 2000}, "LT-4.1"),
    ],
)
def test_i_19_a_wrong_payment_is_held(seen: dict[str, int], rule: str) -> None:
    felt = settled(Boxes())
    for spot, amount in seen.items():
        felt.lay(1, spot, amount)
    felt.done("sensor")
    assert felt.broken() == [rule]
    assert not felt.all("hand.closed")
    for spot, amount in {"ante": 2000, "play": 2000, "trips": 0, "blind": 1000}.items():
        felt.lay(1, spot, amount)
    assert felt.all("incident.closed")[0]["outcome"] == "corrected"
    assert felt.all("box.settled")[0]["agrees"]
    felt.done("sensor")
    assert felt.all("hand.closed")


def test_i_19_too_much_is_paid_when_all_was_right() -> None:
    felt = settled(Boxes())
    for spot, amount in {"ante": 2000, "play": 2000, "trips": 0}.items():
        felt.lay(1, spot, amount)
    assert felt.all("box.settled")
    felt.lay(1, "ante", 0)  # the player picks up what is his
    assert not felt.last
    felt.lay(1, "blind", 1500)
    assert felt.broken() == ["LT-10.5"]
    felt.lay(1, "blind", 1000)
    felt.done("sensor")
    assert felt.all("hand.closed")


@broken("LT-10.3")
def test_lt_10_3_a_lost_stake_that_is_not_taken() -> None:
    felt = Boxes().open([1]).bet(1).deal("2s Ah 7d Ac Kh 9c Ts 4d 3h")
    play(felt, "1k F 1k R 1p").show().show(1)
    felt.lay(1, "ante", 0)
    felt.lay(1, "play", 0)
    felt.done("sensor")
    assert felt.broken() == ["LT-10.3"]
    felt.say("rule", incident="I-19", ruling="stands")
    assert felt.all("box.settled")[0]["house_net"] == 3000
    felt.done("sensor")
    assert felt.all("hand.closed")[0]["result"]["house_net"] == 3000


@broken("LT-A10")
@shows("LT-A10")
def test_a10_done_before_a_box_is_open() -> None:
    felt = play(Boxes().open([1]).bet(1).deal(), "1k F 1k R 1p").show()
    felt.done()
    assert felt.broken() == ["LT-A10"]
    felt.done("sensor")
    assert felt.all("incident.opened")[0]["kind"] == "collected_closed"
    felt.say("rule", incident="I-19", ruling="open_boxes")
    assert felt.all("box.revealed")


@shows("LT-A4")
def test_lt_a4_all_give_up() -> None:
    """Without a TRIPS the round is over at once; with one that is settled the cards come all the same."""
    felt = Boxes().open([1])
    felt.lay(1, "ante", 1000, "keyed")
    felt.lay(1, "blind", 1000, "keyed")
    felt.deal().act("1f").done()
    assert felt.all("hand.closed")[0]["result"]["dealer"] is None
    assert felt.all("hand.closed")[0]["result"]["house_net"] == 2000
    assert not felt.all("card.opened")
    felt = Boxes().open([1]).bet(1, trips=500).deal().act("1f")
    assert felt.coup.phase == "board"
    lost = Boxes(setup(house={"fold_trips": "lost"})).open([1]).bet(1, trips=500).deal().act("1f")
    assert lost.coup.phase == "settle"


def test_a_folded_box_shows_its_cards_only_for_trips() -> None:
    felt = play(Boxes().open([1, 2]).bet(1, trips=500).bet(2).deal("9h As 4c 2h Ad 4d Kh 8h 5h 3c 2s"), "1f 2f F R")
    felt.show()
    felt.show(2)
    assert felt.all("action.refused")
    felt.show(1)
    (shown,) = felt.all("box.revealed")
    assert (shown["box"], shown["category"]) == (1, "flush")
    for box in (1, 2):
        felt.lay(box, "ante", 0)
        felt.lay(box, "blind", 0)
    felt.lay(1, "trips", 4000)
    felt.done("sensor")
    assert felt.all("hand.closed")[0]["result"]["house_net"] == 4000 - 3500


@kept("LT-1.1")
@shows("LT-A12")
def test_colour_and_luck_chips_are_told_by_their_class() -> None:
    chips = [Denomination("c500", 500), Denomination("luck", 500, "promo")]
    felt = Boxes(setup(chips=chips, house={"luck_on_win": "taken"})).open([1])
    felt.do(StakeLies(1, "ante", 1000, chips=(("value", 500, 1), ("promo", 500, 1))))
    felt.do(StakeLies(1, "blind", 1000, chips=(("value", 500, 2),)))
    assert felt.all("bet.placed")[0]["chips"][1] == {"class": "promo", "denomination": 500, "count": 1}
    felt.deal("As 4c Ad 4d Kh 9c 7s 2d 3h")
    play(felt, "1k F 1k R").lay(1, "play", 1000)
    felt.show().show(1)
    felt.lay(1, "ante", 1500)
    felt.lay(1, "play", 2000)
    (box,) = felt.all("box.settled")
    assert box["promo_stake"] == 500
    assert box["house_net"] == -1500


@broken("LT-1.1")
def test_lt_1_1_a_chip_that_nobody_can_value() -> None:
    felt = Boxes(setup(chipset=Chipset("test", (Denomination("c500", 500),)))).open([1])
    felt.do(StakeLies(1, "ante", 0, strange=1))
    assert felt.broken() == ["LT-1.1"]
    assert felt.all("incident.opened")[0]["code"] == "I-28"
    felt.do(StakeLies(1, "ante", 0))
    assert felt.all("incident.closed")


def test_a_table_with_stakes_or_a_round_does_not_close() -> None:
    felt = Boxes().open([1]).bet(1)
    felt.say("close")
    assert felt.all("breach.noted")[-1]["what"] == "bets_lie"
    felt.deal().say("close")
    assert felt.all("breach.noted")[-1]["what"] == "hand_open"


def test_the_round_before_is_final_when_the_next_begins() -> None:
    felt = Boxes().open([1])
    for _ in range(2):
        felt.lay(1, "ante", 1000, "keyed")
        felt.lay(1, "blind", 1000, "keyed")
        felt.deal().act("1f").done()
    assert [f["hand"] for f in felt.all("hand.final")] == [felt.all("hand.started")[0]["hand"]]
    felt.say("close")
    assert len(felt.all("hand.final")) == 2
    assert [h["number"] for h in felt.all("hand.started")] == [1, 2]


def test_a_fact_of_poker_is_none_here() -> None:
    with pytest.raises(ValueError, match="no fact of an Ultimate table"):
        Boxes().open([1]).do(Shown(1))


def test_done_without_a_round_is_refused() -> None:
    felt = Boxes().open([1])
    felt.do(Finished())
    assert felt.all("action.refused")
