"""At a table of boxes, too, a person who names a card learns nothing, and what was bound still fits."""

from controller.core.cards import commitment
from controller.core.facts import CardCame, CardDoubtful, Evidence, HandAttested
from controller.core.session import Session
from tests.boxes import Boxes
from tests.felt import through_json


def _unsure_dealer() -> Boxes:
    """One box and the dealer; the dealer's second card could not be named."""
    table = Boxes().open([1]).bet(1)
    table.do(HandAttested())
    for card in ("As", "Kd", "Ah"):
        table.do(CardCame("next", card))
    table.do(CardDoubtful("low_confidence", "2c", evidence=(Evidence("shoe0", 4),)))
    table.act("1p4000")
    for card in ("3c", "7d", "9h", "Jc", "4s"):
        table.do(CardCame("next", card))
    table.show()
    return table


def test_naming_a_card_that_lies_face_down_elsewhere_is_no_answer_and_a_fouled_deck_when_it_is_turned() -> None:
    table = _unsure_dealer()
    table.say("rule", incident="I-17", ruling="name_card", card="As")  # the box has it, face down
    assert [r.data["card"] for r in table.records if r.type == "card.opened"][-2:] != ["As", "As"]
    table.show(1)
    assert [r.data["code"] for r in table.records if r.type == "incident.opened"] == ["I-17", "I-11"]


def test_a_named_card_opens_with_what_was_bound() -> None:
    table = _unsure_dealer()
    table.say("rule", incident="I-17", ruling="name_card", card="2c")
    opened = next(r.data for r in table.records if r.type == "card.opened" and r.data["card"] == "2c")
    dealt = next(r.data for r in table.records if r.type == "card.dealt" and r.data["slot"] == opened["slot"])
    assert opened["named"]
    assert dealt["commit"] == commitment(opened["hand"], opened["slot"], "??", opened["salt"])


def test_a_ruling_on_a_bet_is_on_the_chips_that_lie_there_then() -> None:
    table = Boxes().open([1]).bet(1).deal()
    table.lay(1, "play", 5000)
    table.lay(1, "play", 2000)  # some are taken back while the bet is held
    updated = [r.data for r in table.records if r.type == "incident.updated"]
    assert [u["adds"] for u in updated] == [{"lies": 2000}]
    table.say("rule", incident="I-42", ruling="return_excess")
    assert not [r for r in table.records if r.type == "box.decided"]  # no PLAY of the first decision is covered by 2000
    restored = Session.restore(table.setup, through_json(table.records))
    assert restored.state == table.session.state
