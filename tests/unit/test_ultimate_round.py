"""Rounds of Ultimate through facts: example B of the scenarios, and the order of a round."""

from tests.boxes import Boxes

EXAMPLE_B = "Kd 7h Qs 9d Jh 7d 5h 4c 7c Kc 2d 3h 9s"


def example_b() -> Boxes:
    felt = Boxes().open([1, 2, 3], {1: "p-1", 2: "p-1", 3: "p-2"})
    felt.bet(1, trips=500).bet(2, play=3000).bet(3)
    felt.deal(EXAMPLE_B).act("1k", "3k").board(3).act("1p2000", "3k").board(2).act("3f").show()
    return felt.show(1, 2)


def pay(felt: Boxes) -> None:
    """The dealer takes and pays as computed, and collects the cards."""
    for box, spots in {1: {"trips": 0, "ante": 2000, "play": 4000}, 2: {"ante": 2000, "play": 6000}}.items():
        for spot, amount in spots.items():
            felt.lay(box, spot, amount)
    felt.lay(3, "ante", 0)
    felt.lay(3, "blind", 0)
    felt.done("sensor")


def test_example_b_dark_box_give_up_and_settlement() -> None:
    felt = example_b()
    dark = next(bet for bet in felt.all("bet.placed") if bet["box"] == 2 and bet["spot"] == "play")
    assert dark["amount"] == 3000
    assert dark["stage"] == "before_deal"
    assert dark["multiple"] == {"num": 3, "den": 1}
    assert dark["locked"]
    (dealer,) = felt.all("dealer.revealed")
    assert dealer["cards"] == ["9d", "4c"]
    assert dealer["category"] == "pair"
    assert dealer["qualified"]
    pay(felt)
    settled = {s["box"]: s for s in felt.all("box.settled")}
    assert {box: (s["against"], s["house_net"], s["agrees"]) for box, s in settled.items()} == {
        1: ("win", -2500, True),
        2: ("win", -4000, True),
        3: ("fold", 2000, True),
    }
    (closed,) = felt.all("hand.closed")
    assert closed["result"]["house_net"] == -4500
    assert not felt.all("incident.opened")
    assert not felt.all("breach.noted")
    assert not [d for d in felt.all("box.decided") if d["box"] == 2 and d["kind"] != "dark"]
    text = str([r.data for r in felt.records])
    assert not any(f"'{card}'" in text for card in ("Qs", "5h"))
    felt.say("close")
    assert felt.all("hand.final")


def test_order_of_events() -> None:
    felt = example_b()
    pay(felt)
    kinds = [r.type for r in felt.records if r.type in ORDER]
    assert [k for i, k in enumerate(kinds) if i == 0 or kinds[i - 1] != k] == [
        "boxes.announced", "bet.placed", "hand.started", "box.decided", "card.dealt", "box.decided", "card.dealt",
        "street.opened", "bet.placed", "box.decided", "card.dealt", "street.opened", "box.decided", "dealer.revealed",
        "box.revealed", "box.settled", "hand.closed",
    ]  # fmt: skip
    numbers = [r.data["n"] for r in felt.records if r.data.get("hand") and "n" in r.data]
    assert numbers == list(range(len(numbers)))


ORDER = {
    "boxes.announced", "bet.placed", "hand.started", "card.dealt", "box.decided", "street.opened", "dealer.revealed",
    "box.revealed", "box.settled", "hand.closed", "hand.final",
}  # fmt: skip
