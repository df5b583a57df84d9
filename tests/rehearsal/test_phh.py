"""Recorded hands as scripts: what is read, what is refused, and pokerkit's word for what came out."""

from decimal import Decimal
from pathlib import Path

import pokerkit
import pytest

from simulators.errors import NotOurGame, ScriptError
from simulators.plan import of_script
from simulators.rehearse import HOUSE, house
from simulators.scripts.acts import Attest, Declare, Finish, Muck, Script, Show, Slide
from simulators.scripts.phh import convert
from simulators.seen import hand_seen, hands
from simulators.through.following import Follower

HEADS_UP = """\
variant = "NT"
ante_trimming_status = true
antes = [0, 0]
blinds_or_straddles = [1, 2]
min_bet = 2
starting_stacks = [200, 200]
actions = ["d dh p1 AcAd", "d dh p2 ????", "p2 cc", "p1 cc", "d db 2c3c4c", "p1 cbr 4", "p2 f"]
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "hand.phh"
    path.write_text(text, encoding="utf-8")
    return path


def play(script: Script) -> Follower:
    override, rules = house("rs_holdem")
    follower = Follower(script, of_script(script, "rs_holdem", override, rules))
    follower.play()
    return follower


def test_a_hand_is_read_as_acts(tmp_path: Path) -> None:
    script = convert(write(tmp_path, HEADS_UP))
    assert script.button == 2  # p1 is off the button
    assert script.stakes.unit == 1
    kinds = [type(act) for act in script.acts]
    assert kinds[:5] == [Attest, Slide, Slide, Slide, Slide]
    assert kinds[-1] is Finish
    slides = [act for act in script.acts if isinstance(act, Slide)]
    assert [(s.place, s.seat) for s in slides[:4]] == [("seat", 1), ("seat", 2), ("seat", 1), ("seat", 2)]
    assert slides[0].card == "Ac"
    assert slides[2].card == "Ad"
    said = [act for act in script.acts if isinstance(act, Declare)]
    assert [(s.kind, s.seat, s.to) for s in said] == [
        ("call", 2, None), ("check", 1, None), ("bet", 1, 4), ("fold", 2, None),
    ]  # fmt: skip


def test_unknown_cards_are_drawn_by_the_seed_and_masked(tmp_path: Path) -> None:
    path = write(tmp_path, HEADS_UP)
    first, again, other = convert(path, seed=1), convert(path, seed=1), convert(path, seed=2)
    assert first.acts == again.acts
    assert first.acts != other.acts
    cards = [act.card for act in first.acts if isinstance(act, Slide)]
    assert len(set(cards)) == len(cards)
    assert len(first.outcome.masked) == 3  # two unknown hole cards and the burn
    assert not first.outcome.masked & {"Ac", "Ad", "2c", "3c", "4c"}


def test_heads_up_the_literal_house_puts_the_button_elsewhere(tmp_path: Path) -> None:
    script = convert(write(tmp_path, HEADS_UP), "left_of_button")
    assert script.button == 1  # so that p2, left of the button, still posts the small blind
    first = next(act for act in script.acts if isinstance(act, Slide))
    assert first.seat == 2


def test_cents_need_an_exponent(tmp_path: Path) -> None:
    script = convert(write(tmp_path, HEADS_UP.replace("[200, 200]", "[200.25, 200.5]")))
    assert script.stakes.exponent == 2
    assert script.stakes.unit == 25
    assert script.stakes.big_blind == 200
    assert [seat.stack for seat in script.seats] == [20025, 20050]


def test_a_half_chip_is_named_as_a_fault_of_the_record(tmp_path: Path) -> None:
    script = convert(write(tmp_path, HEADS_UP + "finishing_stacks = [202.5, 197.5]\n"))
    assert script.outcome.fault == "the record splits a chip: seat 1 ends with 202.5, seat 2 ends with 197.5"
    assert script.outcome.halves == {1: 405, 2: 395}
    assert script.outcome.stacks == {}


def test_all_in_hands_are_shown_before_further_cards(tmp_path: Path) -> None:
    run_out = HEADS_UP.replace(
        '"p1 cbr 4", "p2 f"', '"p1 cbr 198", "p2 cc", "d db 5c", "d db 6c", "p1 sm AcAd", "p2 sm"'
    )
    acts = convert(write(tmp_path, run_out)).acts
    shown = [i for i, act in enumerate(acts) if isinstance(act, Show | Muck)]
    turn = [i for i, act in enumerate(acts) if isinstance(act, Slide) and act.card == "5c"]
    assert max(shown) < turn[0]


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("[1, 2]", "[1, 2, 4]", "blinds_or_straddles"),
        ("min_bet = 2", "min_bet = 3", "min_bet"),
        ("antes = [0, 0]", "antes = [1, 2]", "antes"),
        ("p1 AcAd", "p1 AcAc", "actions"),
        ("p1 AcAd", "p1 1cAd", "actions"),
        ('"p2 f"', '"p2 jumps"', "actions"),
        ("[200, 200]", "[200.125, 200]", "amounts"),
        ("[200, 200]", '"much"', "starting_stacks"),
    ],
)
def test_what_is_no_hand_is_refused_by_file_field_and_remedy(tmp_path: Path, old: str, new: str, field: str) -> None:
    path = write(tmp_path, HEADS_UP.replace(old, new))
    with pytest.raises(ScriptError) as refused:
        convert(path)
    assert refused.value.field == field
    assert str(path) in str(refused.value)
    assert refused.value.remedy


@pytest.mark.parametrize(
    ("file", "game"),
    [
        ("phua-xuan-2019.phh", "short-deck hold'em"),
    ],
)
def test_other_games_are_refused_by_name(shared: Path, file: str, game: str) -> None:
    with pytest.raises(NotOurGame, match=f"{game} is no game of ours"):
        convert(shared / "data/phh" / file)


def test_limit_and_omaha_are_read_with_their_sizes_and_cards(shared: Path) -> None:
    limit = convert(shared / "data/phh/wsop-2023-43/39.phh")
    assert (limit.stakes.structure, limit.stakes.small_bet, limit.stakes.big_bet) == ("fixed_limit", 200000, 400000)
    omaha = convert(shared / "data/phh/antonius-blom-2009.phh")
    assert (omaha.stakes.game, omaha.stakes.structure, omaha.stakes.exponent) == ("omaha", "pot_limit", 2)
    assert omaha.seats[0].stack == 125945025
    assert sum(1 for act in omaha.acts if isinstance(act, Slide) and act.place == "seat") == 8


def oracle(path: Path) -> list[int]:
    """What pokerkit says each player ends with. It wants every card known, so a hand is given in full."""
    history = pokerkit.HandHistory.loads(path.read_text(encoding="utf-8"), automations=(
        pokerkit.Automation.ANTE_POSTING, pokerkit.Automation.BET_COLLECTION,
        pokerkit.Automation.BLIND_OR_STRADDLE_POSTING, pokerkit.Automation.CARD_BURNING,
        pokerkit.Automation.HAND_KILLING, pokerkit.Automation.CHIPS_PUSHING, pokerkit.Automation.CHIPS_PULLING,
    ))  # fmt: skip
    *_, last = history
    return [int(Decimal(str(stack))) for stack in last.stacks]


def test_a_hand_without_finishing_stacks_ends_as_pokerkit_says(shared: Path) -> None:
    path = shared / "data/phh/dwan-ivey-2009.phh"
    script = convert(path)
    assert not script.outcome.stacks
    seen = play(script).seen
    played = hand_seen(seen, hands(seen)[0])
    assert [played.stacks[seat] for seat in (1, 2, 3)] == oracle(path)


def test_the_oracle_agrees_with_the_record(shared: Path) -> None:
    """The oracle itself is held against hands whose outcome is on record."""
    for name in ("wsop-2023-43/1.phh", "pluribus/30/21.phh", "pluribus/31/24.phh"):
        path = shared / "data/phh" / name
        wanted = convert(path).outcome.stacks
        assert oracle(path) == [wanted[seat] for seat in sorted(wanted)]


def test_the_house_of_recorded_hands_keeps_its_other_rules() -> None:
    _, rules = house("hr_thp")
    assert rules.raise_cap == 3
    assert rules.show_all
    assert rules.buy_in_min_bb is None
    assert rules.rake is not None
    assert rules.rake.rate_num == 0
    assert set(HOUSE) == {"buy_in_min_bb", "buy_in_max_bb", "rake.rate"}
