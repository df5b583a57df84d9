"""Deck, deal and board, by the ids of the three poker texts: each rule broken once and kept once."""

from controller.core.facts import (
    CardCame,
    CardDoubtful,
    Evidence,
    HandAttested,
)
from tests.floors import ANY_STACK, TEXTS, House
from tests.marks import broken, kept, shows
from tests.plays import CUSTOMARY, STACKS, begun, calls, dealt, incident, lay, sensed, to_award

# --- the deal ------------------------------------------------------------------------------------------------


@broken("HR-11.4", "BG-5.3", "RS-2.3")
def test_a_card_before_the_blinds() -> None:
    for name in TEXTS:
        felt = House(name, **ANY_STACK).ready(STACKS)
        felt.session.seed(bytes(32))
        felt.do(CardCame("next", "As"))
        assert felt.all("hand.started")
        assert "FLAG" in [b["reaction"] for b in felt.breaches]


@broken("HR-11.5", "BG-3.3", "BG-4.1", "RS-2.4", "CM-11", "CM-20")
@shows("CM-11", "CM-20", "HR-A22")
def test_a_card_to_the_wrong_seat_and_one_too_many() -> None:
    for name in TEXTS:
        felt = begun(name, "rfid")
        felt.do(CardCame("seat", "As", 7))
        assert incident(felt)[0] == "I-9"
        felt = sensed(name)
        felt.do(CardCame("seat", "As", 1))
        assert incident(felt)[0] == "I-10"
        felt.say("rule", felt.setup.profile.may_rule[-1], "counted", incident="I-10", ruling="proposed")
        assert felt.all("hand.redealt")
        assert felt.session.state.button == felt.all("hand.started")[0]["button"]


@kept("HR-11.5", "BG-3.3", "BG-4.1", "RS-2.4", "BG-2.1", "HR-7.1")
def test_two_closed_cards_each_from_the_left_of_the_button() -> None:
    for name in TEXTS:
        felt = dealt(name)
        assert [c["seat"] for c in felt.all("card.dealt")] == [1, 2, 3, 1, 2, 3]
        assert {c["face"] for c in felt.all("card.dealt")} == {"closed"}
        assert not felt.all("incident.opened")


@broken("RS-10.1")
def test_a_fifth_card_in_omaha() -> None:
    felt = sensed("rs_omaha")
    felt.do(CardCame("seat", "As", 1))
    assert incident(felt) == ("I-10", ["RS-10.1", "CM-11"])


@kept("RS-10.1", "RS-10.2")
@shows("RS-10.1")
def test_omaha_deals_four_and_the_same_board() -> None:
    felt = sensed("rs_omaha")
    assert len(felt.hand.own(1)) == 4
    for burn, cards in (("As", ("Ad", "Kh", "Qh")), ("Ks", ("Jh",)), ("Qs", ("Th",))):
        lay(calls(felt), *cards, burn=burn)
    calls(felt)
    assert [s["street"] for s in felt.all("street.opened")] == ["flop", "turn", "river"]
    assert not felt.all("incident.opened")


@broken("HR-8.1", "BG-1.1", "CM-12")
def test_the_same_card_twice_and_a_card_of_another_deck() -> None:
    for name in TEXTS:
        felt = begun(name)
        felt.do(CardCame("next", "As"))
        felt.do(CardCame("next", "As"))
        assert incident(felt)[0] == "I-11"
        felt.say("rule", "manager", "looked at both", incident="I-11", ruling="proposed")
        voided = felt.all("hand.voided")[0]
        assert sum(line["amount"] for line in voided["returned"]) == 150
        felt.session.seed(bytes(32))
        felt.do(HandAttested())
        assert felt.session.state.hand is None
        assert felt.breaches[0]["what"] == "deck_out"
        other = begun(name)
        other.do(CardDoubtful("unknown", None, evidence=(Evidence("shoe0", 1),)))
        assert incident(other)[0] == "I-13"


@broken("HR-4.2")
@shows("HR-A18")
def test_one_deck_plays_the_whole_hand() -> None:
    felt = dealt("hr_thp")
    felt.say("deck", do="change", new="another")
    assert felt.broken == ["HR-4.2"]
    assert not felt.all("deck.changed")


@kept("HR-4.2", "HR-8.1", "BG-1.1")
def test_a_whole_hand_with_one_deck() -> None:
    for name in CUSTOMARY:
        felt = to_award(name)
        assert len({c["slot"] for c in felt.all("card.dealt")}) == 6 + 8
        assert not felt.all("incident.opened")


# --- streets -------------------------------------------------------------------------------------------------


@broken("HR-12.1", "HR-13.1", "HR-14.1", "BG-5.14", "BG-5.24", "BG-5.26", "RS-A1", "CM-9", "CM-14b")
@shows("CM-9", "CM-14b", "CM-14")
def test_a_street_without_its_burn() -> None:
    for name in CUSTOMARY:
        for streets in range(3):
            felt = calls(sensed(name))
            for number, cards in enumerate((("Ad", "Kh", "Qh"), ("Jh",))[:streets]):
                calls(lay(felt, *cards, burn=("As", "Ks")[number]))
            lay(felt, "Th")
            assert incident(felt)[0] == "I-6"
            felt.say("rule", felt.setup.profile.may_rule[-1], "stands", incident="I-6", ruling="stands")
            assert felt.session.state.held is None


@broken("HR-12.1", "BG-5.14", "CM-14b")
def test_a_second_burn() -> None:
    for name in CUSTOMARY:
        felt = calls(sensed(name))
        felt.do(CardCame("burn", "As"))
        felt.do(CardCame("burn", "Ks"))
        assert incident(felt)[0] == "I-7"


@broken("HR-12.6", "BG-5.13", "RS-3.6", "RS-7.5", "CM-13")
@broken("HR-13.1", "HR-14.1", "RS-5.1", "RS-5.2")
@shows("CM-13")
def test_board_cards_while_betting_is_open() -> None:
    for name in CUSTOMARY:
        felt = dealt(name).act("r300").street()
        assert incident(felt)[0] == "I-4"
        felt.say("rule", felt.setup.profile.may_rule[-1], "early", incident="I-4", ruling="proposed")
        assert felt.all("incident.closed")
        for streets in (1, 2):
            felt = dealt(name)
            for _ in range(streets):
                calls(felt).street()
            felt.street()
            assert incident(felt)[0] == "I-5"


@broken("HR-12.6", "BG-5.9", "RS-3.5", "CM-13")
def test_the_big_blinds_option_is_skipped() -> None:
    for name in TEXTS:
        felt = dealt(name).act("c", "c").street()
        assert felt.all("incident.opened")[0]["seats"] == [2]


@broken("HR-12.2", "BG-5.15", "RS-4.1", "CM-14")
@shows("CM-14")
def test_four_cards_on_the_flop_are_laid_again() -> None:
    for name in CUSTOMARY:
        felt = lay(calls(sensed(name)), "Ad", "Kh", "Qh", "Jh", burn="As")
        assert incident(felt)[0] == "I-8"
        felt.say("rule", felt.setup.profile.may_rule[-1], "scrambled", incident="I-8", ruling="proposed")
        lay(felt, "Kh", "Qh", "Jh")
        assert felt.all("street.opened")[-1]["board"] == ["Kh", "Qh", "Jh"]
        calls(lay(calls(felt), "Th", burn="Ad"))
        assert felt.hand.street == "turn"


@broken("BG-3.1", "BG-3.4", "HR-14.1", "RS-5.2", "RS-10.2")
def test_a_sixth_card_on_the_board() -> None:
    for name in (*CUSTOMARY, "rs_omaha"):
        felt = calls(sensed(name))
        for burn, cards in (("As", ("Ad", "Kh", "Qh")), ("Ks", ("Jh",)), ("Qs", ("Th",))):
            calls(lay(felt, *cards, burn=burn))
        lay(felt, "9h")
        assert incident(felt)[0] == "I-8"
        assert len(felt.hand.board) == 5


@kept(
    "HR-12.1", "HR-12.2", "HR-13.1", "HR-14.1",
    "BG-3.1", "BG-3.2", "BG-3.4", "BG-5.14", "BG-5.15", "BG-5.24", "BG-5.26",
    "RS-4.1", "RS-5.1", "RS-5.2", "RS-5.3", "CM-9",
)  # fmt: skip
@shows("BG-3.2", "RS-1.1", "BG-2.4")
def test_flop_turn_and_river_each_after_one_burn() -> None:
    for name in CUSTOMARY:
        felt = to_award(name)
        assert [(s["street"], len(s["board"]), s["burned"]) for s in felt.all("street.opened")] == [
            ("flop", 3, True),
            ("turn", 4, True),
            ("river", 5, True),
        ]
        assert sum(1 for c in felt.all("card.dealt") if c["place"] == "burn") == 3
        felt.done()
        closed = felt.all("hand.closed")[0]["result"]
        assert closed["pots"][0]["amount"] == sum(seat["in"] for seat in closed["seats"]) == 300
        assert not felt.all("incident.opened")
