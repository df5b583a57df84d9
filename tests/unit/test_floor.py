"""The table beside its hands: what must be on record, and what bars the way until it is."""

import pytest

from controller.client import picture
from controller.core.errors import BadCommand
from controller.core.facts import CardCame, CardDoubtful, Evidence, HandAttested
from controller.core.floor.button import drawn
from controller.core.session import Session
from controller.core.table import Table
from tests.felt import Felt, setup, through_json
from tests.floors import CHIPS, House
from tests.marks import broken, kept, shows

STACKS = [1000, 1000, 1000]


def hand(felt: Felt) -> list[str]:
    """HAND; the first rule of each breach that bars it."""
    felt.session.seed(bytes(32))
    felt.do(HandAttested())
    return [r.data["rules"][0] for r in felt.last if r.type == "breach.noted"]


def same_after_restart(felt: Felt) -> None:
    assert Session.restore(felt.setup, through_json(felt.records)).state == felt.session.state


# --- opening -------------------------------------------------------------------------------------------------


@broken("HR-3.1", "HR-3.2", "HR-4.1", "HR-10.2", "HR-10.3", "HR-10.4", "HR-11.1", "HR-20.2", "HR-23.1")
@shows("HR-11.1", "HR-20.2", "HR-23.1", "HR-A2")
def test_a_croatian_table_opens_step_by_step_and_says_what_is_missing() -> None:
    felt = House("hr_thp")
    felt.say("open")
    assert [(b["rules"][0], b["reaction"]) for b in felt.breaches] == [
        ("HR-4.1", "BLOCK"),
        ("HR-4.1", "BLOCK"),
        ("HR-23.1", "INFO"),
        ("HR-20.2", "FLAG"),
        ("HR-11.1", "INFO"),
    ]
    assert felt.session.state.session is None
    felt.prepare().say("open")
    assert not felt.breaches
    opened = felt.all("table.opened")[0]
    assert opened["opener"] == felt.all("tray.counted")[0]["count"]
    assert opened["limits"]["buy_in"] == {"min": 1000, "max": 1000, "exact": True}
    felt.say("seat", seat=1, stack=1000)
    assert felt.broken == ["HR-3.1", "HR-3.2"]
    felt.seat_all(STACKS)
    assert felt.all("seat.taken")[0]["age_and_identity_checked_by"] == {"staff": "s-01", "role": "manager"}
    assert hand(felt) == ["HR-10.2", "HR-10.4"]
    felt.say("deck", do="verify")
    assert hand(felt) == ["HR-10.4"]
    felt.draw(2)
    assert felt.session.state.button == 2
    assert not hand(felt)
    assert felt.all("hand.started")[0]["button"] == 2
    same_after_restart(felt)


@kept("HR-3.1", "HR-3.2", "HR-4.1", "HR-9.1")
@shows("HR-9.1")
def test_what_is_attested_for_the_shift_seats_everybody() -> None:
    felt = House("hr_thp").prepare()
    felt.say("attest", rules=["HR-3.1", "HR-3.2"])
    felt.say("open")
    felt.say("seat", seat=1, stack=1000)
    assert not felt.breaches


@shows("HR-4.1", "HR-10.1", "HR-10.2", "HR-10.4")
def test_status_names_what_is_missing() -> None:
    table = Table(House("hr_thp").setup)
    missing = table.status()["missing"]
    assert (missing[0]["rules"], missing[0]["reaction"]) == (["HR-4.1"], "BLOCK")
    assert "feltd attest HR-4.1" in missing[0]["asked"]
    felt = House("hr_thp").prepare()
    felt.say("open")
    table.session = felt.session
    assert [one["rules"][0] for one in table.status()["missing"] if one["rules"]] == ["HR-10.1", "HR-10.2", "HR-10.4"]


@broken("HR-10.2", "HR-4.2", "HR-8.1")
def test_51_cards_bar_the_deal_and_the_missing_card_is_sealed() -> None:
    felt = House("hr_thp").prepare()
    felt.say("open")
    felt.seat_all(STACKS)
    felt.say("deck", do="verify", count=51, missing=["Qh"])
    assert felt.broken == ["HR-10.2"]
    verified = felt.last[0]
    assert (verified.data["ok"], verified.data["count"]) == (False, 51)
    assert "Qh" not in str(verified.data)
    assert verified.secret == {"missing": ["Qh"], "extra": []}
    assert "HR-4.2" in hand(felt)
    felt.say("deck", do="change", new="deck-2", because="damaged")
    felt.say("deck", do="verify")
    felt.draw(1)
    assert not hand(felt)
    assert felt.all("hand.started")[0]["deck"] == "deck-2"
    same_after_restart(felt)


@broken("HR-10.2", "HR-A23")
@shows("HR-A23")
def test_a_deck_is_laid_face_up_before_two_players_and_again_after_a_change() -> None:
    felt = House("hr_thp").prepare()
    felt.say("open")
    felt.say("seat", seat=1, stack=1000, checked=True)
    felt.say("deck", do="verify")
    assert felt.broken == ["HR-10.2"]
    assert not felt.all("deck.verified")
    felt.seat_all([1000, 1000])
    felt.say("deck", do="verify")
    felt.draw(1)
    felt.say("deck", do="change", new="deck-2")
    assert hand(felt) == ["HR-10.2"]
    felt.say("deck", do="verify", before=[1, 2])
    assert not hand(felt)


@kept("HR-10.2", "HR-10.3", "HR-10.4", "HR-10.5", "HR-10.6")
@shows("HR-8.2", "HR-8.3", "HR-10.5", "HR-10.6")
@pytest.mark.parametrize(
    ("cards", "seat"),
    [
        (["7h", "3s", "3c", "Ad", "3h"], 3),
        (["2s", "2h", "2c", "2d"], 4),
        (["Ah", "Ad", "Ks"], 3),
    ],
)
def test_the_lowest_card_of_the_weakest_suit_gets_the_button(cards: list[str], seat: int) -> None:
    assert drawn(dict(enumerate(cards, 1)), "lowest_card") == seat
    felt = House("hr_thp").prepare()
    felt.say("open")
    felt.seat_all([1000] * len(cards))
    felt.say("deck", do="verify")
    felt.say("button", draw=[{"seat": n, "card": card} for n, card in enumerate(cards, 1)], collected=52)
    placed = felt.all("button.placed")[0]
    assert (placed["seat"], placed["how"], len(placed["draw"])) == (seat, "draw", len(cards))


@shows("CM-21", "BG-A13")
def test_the_highest_card_gets_it_where_no_rule_says_otherwise() -> None:
    assert drawn({1: "Kd", 2: "As", 3: "Ah"}, "highest_card") == 2
    felt = House("bg_holdem").staff()
    felt.say("open")
    felt.seat_all(STACKS)
    felt.say("button", draw=[{"seat": 1, "card": "Kd"}, {"seat": 2, "card": "9s"}, {"seat": 3, "card": "9h"}])
    assert felt.session.state.button == 1


@broken("HR-10.6", "HR-8.2", "HR-22.1")
def test_a_button_put_elsewhere_than_drawn_is_held_for_a_person() -> None:
    felt = House("hr_thp").prepare()
    felt.say("open")
    felt.seat_all(STACKS)
    felt.say("deck", do="verify")
    cards = [{"seat": 1, "card": "7h"}, {"seat": 2, "card": "3s"}, {"seat": 3, "card": "3c"}]
    felt.say("button", draw=cards, seat=2, collected=52)
    incident = felt.all("incident.opened")[0]
    assert (incident["code"], incident["rules"], incident["proposed"]["ruling"]) == (
        "I-25", ["HR-10.6", "HR-8.2"], "move_button",
    )  # fmt: skip
    assert hand(felt) == ["HR-22.1"]
    felt.say("rule", incident="I-25", ruling="stands")
    assert felt.all("incident.ruled")[0]["against_rules"] == ["HR-10.6", "HR-8.2"]
    assert felt.session.state.button == 2
    same_after_restart(felt)


@broken("HR-10.4", "HR-A20", "HR-10.3")
@shows("HR-A20")
def test_every_player_draws_one_card_and_the_cards_are_counted_back() -> None:
    felt = House("hr_thp").prepare()
    felt.say("open")
    felt.seat_all(STACKS)
    felt.say("deck", do="verify")
    cards = [{"seat": 1, "card": "7h"}, {"seat": 2, "card": "3s"}]
    felt.say("button", draw=cards)
    assert felt.broken == ["HR-10.4"]
    with pytest.raises(BadCommand, match="once"):
        felt.say("button", draw=[*cards, {"seat": 3, "card": "7h"}])
    felt.say("button", draw=[*cards, {"seat": 3, "card": "9c"}])
    assert hand(felt) == ["HR-A20"]
    felt.say("deck", do="verify", method="count")
    assert not hand(felt)


def test_the_button_is_drawn_through_the_shoe() -> None:
    felt = House("hr_thp").prepare()
    felt.say("open")
    felt.seat_all(STACKS)
    felt.say("deck", do="verify")
    for number, card in enumerate(("7h", "3s", "3c"), 1):
        assert not felt.all("button.placed")
        felt.do(CardCame("next", card, evidence=(Evidence("shoe0", number),)))
    placed = felt.all("button.placed")[0]
    assert (placed["seat"], placed["rules"]) == (3, ["HR-10.6", "HR-8.2"])
    assert [source["reading"] for source in placed["evidence"]] == ["1", "2", "3"]
    same_after_restart(felt)
    assert hand(felt) == ["HR-A20"]
    felt.say("deck", do="verify", method="count")
    felt.deal()
    assert felt.all("hand.started")[0]["button"] == 3


def test_a_draw_with_a_card_that_nobody_can_read_begins_anew() -> None:
    felt = House("hr_thp").prepare()
    felt.say("open")
    felt.do(CardCame("next", "As"))
    assert felt.all("button.placed") == []
    felt.seat_all(STACKS)
    felt.say("deck", do="verify")
    felt.do(CardCame("next", "2d"))
    felt.do(CardDoubtful("low_confidence", "3d"))
    assert felt.last[-1].data["why"] == "this card cannot be read: draw again"
    for card in ("7h", "3s", "9c"):
        felt.do(CardCame("next", card))
    assert felt.session.state.button == 2


def test_a_table_that_is_open_again_begins_from_the_start() -> None:
    felt = House("hr_thp").ready(STACKS)
    felt.by("s-1", "dealer", "close", lines=CHIPS, **{"with": "s-3"})
    assert felt.session.state.session is None
    felt.say("open")
    assert [b["rules"][0] for b in felt.breaches if b["reaction"] == "BLOCK"] == ["HR-4.1", "HR-4.1"]
    same_after_restart(felt)


# --- people --------------------------------------------------------------------------------------------------


@broken("BG-1.2", "BG-1.3", "BG-6.1")
@kept("BG-1.2", "BG-1.3", "BG-2.5")
@shows("BG-6.1", "BG-A10")
def test_a_bulgarian_hand_needs_dealer_inspector_and_mode() -> None:
    felt = House("bg_holdem")
    felt.say("open", button=1)
    felt.seat_all(STACKS)
    assert hand(felt) == ["BG-1.2", "BG-1.3", "BG-6.1"]
    felt.staff()
    felt.say("settings", limits={"small_blind": 50, "big_blind": 100, "structure": "pot_limit"})
    assert not hand(felt)
    started = felt.all("hand.started")[0]
    assert (started["dealer"], started["inspector"]) == (
        {"staff": "s-1", "role": "dealer"},
        {"staff": "s-2", "role": "inspector"},
    )
    assert started["structure"] == "pot_limit"


@broken("BG-1.3")
def test_an_inspector_who_leaves_bars_the_next_hand_and_not_this_one() -> None:
    felt = House("bg_holdem").ready(STACKS).deal()
    felt.say("logout", staff="s-2")
    felt.act("f", "f").done()
    assert hand(felt) == ["BG-1.3"]


@broken("BG-A1")
@shows("BG-A1")
def test_too_many_tables_for_one_inspector_are_noted() -> None:
    felt = House("bg_holdem")
    felt.say("login", staff="s-2", role="inspector", tables=4)
    assert not felt.breaches
    felt.say("login", staff="s-2", role="inspector", tables=5)
    assert [(b["rules"][0], b["reaction"]) for b in felt.breaches] == [("BG-A1", "INFO")]


@shows("HR-7.2", "HR-4.1")
def test_a_handover_names_who_is_relieved_and_the_count() -> None:
    felt = House("hr_thp").ready(STACKS)
    felt.by("s-1", "dealer", "count", reason="close", lines=CHIPS, **{"with": "s-3"})
    felt.say("login", staff="s-4", role="dealer", relieves="s-1")
    assigned = felt.all("staff.assigned")[-1]
    assert assigned["relieves"] == {"staff": "s-1", "role": "dealer"}
    assert assigned["count"] == felt.all("tray.counted")[-1]["count"]
    assert "s-1" not in felt.session.state.staff
    with pytest.raises(BadCommand, match="relieves"):
        felt.say("login", staff="s-5", role="dealer", relieves="s-1")


# --- seats and chips -----------------------------------------------------------------------------------------


@broken("BG-2.6")
def test_the_twelfth_bulgarian_player_gets_no_seat() -> None:
    felt = House("bg_holdem", seats=12).ready([1000] * 11)
    felt.say("seat", seat=12, stack=1000)
    assert felt.broken == ["BG-2.6"]
    assert 12 not in felt.session.state.seats


@broken("HR-9.2", "HR-A2", "HR-A4")
@shows("HR-A2", "HR-A4")
def test_buy_in_exact_at_least_and_topped_up_to_the_most() -> None:
    felt = House("hr_thp").prepare()
    felt.say("open")
    for stack in (900, 1100):
        felt.say("seat", seat=1, stack=stack, checked=True)
        assert felt.broken == ["HR-9.2"]
    felt.say("seat", seat=1, checked=True)
    felt.say("buyin", seat=1, amount=1000)
    assert not felt.breaches
    felt.say("buyin", seat=1, amount=1)
    assert felt.broken == ["HR-A4"]
    loose = House("hr_thp_customary").prepare()
    loose.say("open")
    loose.say("seat", seat=1, stack=900, checked=True)
    assert loose.broken == ["HR-9.2"]
    loose.say("seat", seat=1, stack=3000, checked=True)
    assert [(b["rules"][0], b["reaction"]) for b in loose.breaches] == [("HR-A2", "INFO")]
    loose.say("buyin", seat=1, amount=500)
    assert loose.session.state.seats[1].stack == 3500


@broken("HR-9.4", "HR-A4")
def test_chips_bought_in_a_hand_lie_behind_until_it_ends() -> None:
    felt = House("hr_thp").ready(STACKS).deal()
    felt.say("buyin", seat=1, amount=500)
    assert felt.broken == ["HR-9.4"]
    assert not felt.all("chips.bought")[3:]
    felt.say("buyin", seat=1, amount=500, done=True)
    assert [(b["rules"][0], b["reaction"]) for b in felt.breaches] == [("HR-9.4", "FLAG")]
    assert felt.all("chips.bought")[-1]["when"] == "deferred"
    assert felt.hand.stack[1] == 950
    same_after_restart(felt)
    felt.act("f", "f").done()
    assert felt.session.state.seats[1].stack == 1450
    same_after_restart(felt)


@broken("HR-6.5", "HR-A19", "HR-9.3", "CM-22")
@shows("HR-A19", "CM-22")
def test_chips_become_cash_at_the_desk_and_nowhere_else() -> None:
    felt = House("hr_thp").ready(STACKS)
    felt.say("leave", seat=1)
    felt.by("s-9", "cage", "redeem", amount=1000)
    assert not felt.breaches
    assert felt.all("chips.redeemed")[0]["place"] == "desk"
    felt.by("s-1", "dealer", "redeem", amount=100, place="table")
    assert [(b["rules"], b["reaction"]) for b in felt.breaches] == [(["HR-6.5", "HR-A19"], "FLAG")]
    felt.by("s-9", "cage", "redeem", amount=400, seat=2)
    assert felt.broken == ["CM-22"]
    assert felt.session.state.seats[2].stack == 600
    with pytest.raises(BadCommand, match="600"):
        felt.by("s-9", "cage", "redeem", amount=700, seat=2)
    felt.deal()
    felt.by("s-9", "cage", "redeem", amount=100, seat=2)
    assert felt.broken == ["HR-9.3"]
    same_after_restart(felt)


def test_chips_are_changed_at_equal_value_only() -> None:
    felt = House("hr_thp").ready(STACKS)
    felt.say("change", given=CHIPS, taken=CHIPS, seat=1)
    assert felt.last[0].type == "chips.changed"
    with pytest.raises(BadCommand, match="equal value"):
        felt.say("change", given=CHIPS, taken=[{"denomination": 1, "count": 1}])


def test_a_seat_that_is_given_up_in_a_hand_is_shown_as_leaving_until_it_ends() -> None:
    table = Table(setup())
    felt = Felt(table.setup)
    felt.session = table.session
    felt.open([1000, 1000, 1000]).deal().act("r200")
    felt.say("leave", seat=2)
    assert table.status()["seats"]["2"]["leaving"] is True
    assert next(line for line in picture(table.status()).splitlines() if "leaving" in line).startswith("  seat  2")
    assert "leaving" not in table.status()["seats"]["1"]
    felt.act("f").done()
    assert "2" not in table.status()["seats"]
