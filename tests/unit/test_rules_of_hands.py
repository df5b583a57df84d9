"""What the order of hands decides, by the ids of the texts (rules.md 8.1, section 10)."""

from itertools import pairwise

from controller.core.cards import RANKS
from controller.core.rules import ranking
from tests.felt import Felt, setup
from tests.houses import house
from tests.marks import kept, shows

CATEGORIES = {
    "royal_flush": "As Ks Qs Js Ts",
    "straight_flush": "9s 8s 7s 6s 5s",
    "four": "9c 9d 9h 9s 2c",
    "full_house": "9c 9d 9h 2s 2c",
    "flush": "As 9s 7s 4s 2s",
    "straight": "9s 8d 7s 6s 5s",
    "three": "9c 9d 9h 3s 2c",
    "two_pair": "9c 9d 3h 3s 2c",
    "pair": "9c 9d 4h 3s 2c",
    "high_card": "Ac 9d 4h 3s 2c",
}


def rank(text: str) -> int:
    return ranking.rank(text.split())


def beats(first: str, second: str) -> bool:
    return rank(first) < rank(second)


def best(board: str, own: str) -> int:
    return ranking.strength("holdem", own.split(), board.split())


@shows("HR-18.1", "HR-18.2", "RS-8.1", "BG-5.33", "HR-A24")
def test_ten_categories_from_the_royal_flush_down() -> None:
    assert [ranking.category(rank(cards)) for cards in CATEGORIES.values()] == list(CATEGORIES)
    assert all(beats(one, other) for one, other in pairwise(CATEGORIES.values()))
    jack = CATEGORIES["royal_flush"].split()[3]
    assert jack == "Js"  # the letter D of the text


@shows("BG-5.33", "BG-A9")
def test_the_bulgarian_text_names_nine_and_marks_the_royal() -> None:
    felt = Felt(setup(profile=house("bg_holdem_customary"))).open([5000, 5000])
    felt.deal({1: "AsKs", 2: "2c3d"}, board="QsJsTs4h5d").act("c", "k").street().act("k", "k").street()
    felt.act("k", "k").street().act("k", "k").show(1)
    tabled = felt.all("hand.tabled")[0]
    assert (tabled["category"], tabled["royal"]) == ("straight_flush", True)


@shows("HR-8.3", "BG-5.35")
def test_ranks_rise_from_two_to_ace_and_the_highest_card_counts() -> None:
    high = [f"{rank} 7d 5h 4s 2c" for rank in ("8c", "9c", "Tc", "Jc", "Qc", "Kc", "Ac")]
    assert all(beats(better, worse) for worse, better in pairwise(high))
    assert RANKS == "23456789TJQKA"


@shows("RS-8.3", "RS-8.4", "RS-8.5", "HR-A11", "BG-A9")
def test_the_ace_ends_the_highest_straight_and_begins_the_lowest() -> None:
    wheel, six, broadway = "Ac 2d 3h 4s 5c", "2c 3d 4h 5s 6c", "Tc Jd Qh Ks Ac"
    assert {ranking.category(rank(cards)) for cards in (wheel, six, broadway)} == {"straight"}
    assert beats(broadway, six)
    assert beats(six, wheel)
    assert ranking.category(rank("Qc Kd Ah 2s 3c")) == "high_card"
    assert ranking.category(best("Ac 2d 3s 9h 7c", "Qh Kd")) == "high_card"


@shows("RS-8.2", "HR-A9", "BG-5.32")
def test_suits_part_no_hands() -> None:
    for suits in ("cdhs", "dhsc", "hscd", "scdh"):
        hand = " ".join(card[0] + suits["cdhs".index(card[1])] for card in CATEGORIES["two_pair"].split())
        assert rank(hand) == rank(CATEGORIES["two_pair"])
    assert rank("As 9s 7s 4s 2s") == rank("Ad 9d 7d 4d 2d")


@shows("RS-8.6", "RS-A7", "BG-5.34")
def test_flush_straight_straight_flush_and_full_house() -> None:
    assert ranking.category(rank("As 9s 7s 4s 2s")) == "flush"
    assert ranking.category(rank("9s 8d 7s 6s 5s")) == "straight"
    assert ranking.category(rank("9s 8s 7s 6s 5s")) == "straight_flush"
    assert ranking.category(rank("9s 9d 9h 2s 2d")) == "full_house"


@shows("RS-9.1", "RS-9.2", "CM-7b")
def test_pairs_compare_and_then_the_side_cards_and_no_sixth_card() -> None:
    assert beats("Ac Ad 9h 4s 2c", "Kc Kd Qh Js Tc")
    assert beats("Ac Ad 9h 4s 3c", "Ah As 9c 4d 2d")
    board = "Ac 9d 7s 4h 2c"
    assert best(board, "Ad Ks") < best(board, "Ah Qs")
    assert best("Ac Kd Qs Jh 9c", "4d 3d") == best("Ac Kd Qs Jh 9c", "5d 2d")
    assert best("7d 7h 2s 9c 4d", "7s Ad") < best("7d 7h 2s 9c 4d", "7c Kd")


@shows("RS-9.3", "RS-9.4", "RS-9.5")
def test_two_pairs_full_houses_and_flushes() -> None:
    assert best("As Qc 6d Jc 6h", "Jh Th") == best("As Qc 6d Jc 6h", "Kd Jd")
    assert best("Kc Qs 7d 7h 2s", "Kh Qh") < best("Kc Qs 7d 7h 2s", "Kd Ah")
    assert best("Js Jh 8d 9d 2s", "9c 9h") < best("Js Jh 8d 9d 2s", "8c 8h")
    assert beats("As 9s 7s 5s 2s", "Ad 9d 7d 4d 3d")


@shows("HR-19.1", "HR-12.3", "RS-5.4", "RS-5.5", "RS-6.2", "BG-3.5", "BG-5.28")
def test_the_best_five_of_seven_use_two_one_or_no_own_card() -> None:
    board = "As Ks Qs 2d 3d"
    assert ranking.category(best(board, "Js Ts")) == "royal_flush"
    assert ranking.category(best("As Ks Qs Js 3d", "Ts 2c")) == "royal_flush"
    straight = "As Ks Qs Js Ts"
    assert best(straight, "2c 3d") == best(straight, "4h 5s")
    assert set(ranking.best("holdem", ("2c", "3d"), tuple(straight.split()))) == set(straight.split())


@kept("RS-10.2")
@shows("RS-10.3", "RS-10.4")
def test_omaha_uses_exactly_two_and_three() -> None:
    board, own = ["Ts", "9s", "8s", "2s", "3d"], ["As", "Kd", "Qc", "Jh"]
    assert ranking.category(ranking.strength("omaha", own, board)) == "straight"
    assert ranking.category(ranking.strength("holdem", own[:2], board)) == "flush"
    nines = ["9c", "9d", "9h", "9s", "5d"]
    first = ranking.strength("omaha", ["Ah", "Kh", "3c", "2d"], nines)
    second = ranking.strength("omaha", ["Qs", "Jd", "4c", "4h"], nines)
    assert second < first
    assert ranking.category(second) == "full_house"


@shows("HR-18.1", "HR-15.3")
def test_a_royal_beats_a_straight_flush() -> None:
    assert best("Kh Qh Jh Th 3s", "Ah 2c") < best("Kh Qh Jh Th 3s", "9h 8h")
