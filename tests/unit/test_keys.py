"""The keypad's grammar, entry by entry (docs/keypad.md)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.facts import Called, Declared, Evidence, Fact, Finished, HandAttested, Refused, Shown, Undone
from controller.core.sensing.keys import MS, Keys
from controller.core.setup import Timing

NAMES = [*"0123456789", "ENTER", "FOLD", "CHECK", "CALL", "BET", "RAISE", "ALLIN", "HAND", "SHOW", "DONE", "CLEAR"]
ALL = [*NAMES, "MISDEAL", "VOID", "?0x3a"]


def keys(unit: int = 500, seats: int = 9) -> Keys:
    return Keys(unit, seats, Timing())


def typed(keypad: Keys, text: str, at: int = 0) -> list[Fact]:
    """Words are keys; a number is typed digit by digit."""
    facts: list[Fact] = []
    for word in text.split():
        for key in word if word.isdigit() else [word]:
            facts += keypad.pressed(key, at, Evidence("keys0", 1))
            keypad.released(key)
            at += 50 * MS
    return facts


def said(facts: list[Fact]) -> list[tuple[object, ...]]:
    return [(f.kind, f.seat, f.to) for f in facts if isinstance(f, Declared)]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("FOLD", ("fold", None, None)),
        ("CHECK", ("check", None, None)),
        ("3 CALL", ("call", 3, None)),
        ("RAISE 60 ENTER", ("raise", None, 30_000)),
        ("7 BET 6 ENTER", ("bet", 7, 3_000)),
        ("ALLIN ENTER", ("all_in", None, None)),
        ("2 ALLIN 13 ENTER", ("all_in", 2, 6_500)),
    ],
)
def test_a_decision(text: str, meant: tuple[object, ...]) -> None:
    assert said(typed(keys(), text)) == [meant]


def test_seat_ten_is_two_digits_where_the_table_has_ten() -> None:
    assert said(typed(keys(seats=10), "10 FOLD")) == [("fold", 10, None)]


def test_table_keys() -> None:
    assert isinstance(typed(keys(), "HAND")[0], HandAttested)
    assert isinstance(typed(keys(), "DONE")[0], Finished)
    shown = typed(keys(), "4 SHOW")[0]
    assert isinstance(shown, Shown)
    assert shown.seat == 4


@pytest.mark.parametrize(
    "text",
    ["ENTER", "3 ENTER", "BET ENTER", "0 FOLD", "99 FOLD", "3 HAND", "BET 5 RAISE", "BET 5 FOLD", "?0x3a"],
)
def test_an_impossible_entry_is_refused_with_a_reason_and_forgotten(text: str) -> None:
    keypad = keys()
    facts = typed(keypad, text)
    refused = [f for f in facts if isinstance(f, Refused)]
    assert refused
    assert all(f.why for f in refused)
    assert not said(facts)
    keypad.clear()
    assert said(typed(keypad, "CALL")) == [("call", None, None)]


def test_misdeal_and_void_ask_twice_and_only_call_a_person() -> None:
    keypad = keys()
    assert typed(keypad, "MISDEAL") == []
    facts = typed(keypad, "MISDEAL")
    assert [type(f) for f in facts] == [Called]


@pytest.mark.parametrize("between", ["CALL", "VOID", "5"])
def test_another_key_between_takes_the_first_press_back(between: str) -> None:
    keypad = keys()
    facts = typed(keypad, f"MISDEAL {between} MISDEAL")
    assert not any(isinstance(f, Called) for f in facts)


def test_a_confirmation_that_comes_too_late_is_a_first_press() -> None:
    keypad = keys()
    typed(keypad, "VOID")
    keypad.tick(4_000 * MS)
    assert typed(keypad, "VOID", 4_000 * MS) == []


def test_holding_a_key_clears_what_is_half_typed() -> None:
    keypad = keys()
    typed(keypad, "3 RAISE 60")
    keypad.pressed("0", 1_000 * MS, Evidence("keys0", 9))
    assert keypad.deadline() == 3_000 * MS
    assert keypad.tick(3_000 * MS) == []
    assert not keypad.typing


def test_holding_a_key_takes_back_the_last_decision() -> None:
    keypad = keys()
    assert said(keypad.pressed("FOLD", 0, Evidence("keys0", 1))) == [("fold", None, None)]
    facts = keypad.tick(2_000 * MS)
    assert [type(f) for f in facts] == [Undone]
    assert keypad.tick(9_000 * MS) == []  # once, however long it is held


def test_a_half_typed_entry_lapses() -> None:
    keypad = keys()
    typed(keypad, "3 RAISE 60")
    keypad.tick(11_000 * MS)
    assert not keypad.typing


def test_a_lost_keypad_holds_no_key() -> None:
    keypad = keys()
    keypad.pressed("FOLD", 0, Evidence("keys0", 1))
    keypad.lost()
    assert keypad.deadline() is None


def test_an_amount_that_is_too_long_is_refused_whole_and_never_cut() -> None:
    assert [type(f) for f in typed(keys(), "BET 1234567890 ENTER")] == [Refused]


@pytest.mark.parametrize("spoil", ["strange key", "too long"])
def test_a_seat_that_was_lost_is_never_guessed(spoil: str) -> None:
    keypad = keys()
    typed(keypad, "3")
    if spoil == "strange key":
        typed(keypad, "?0x3a")
    else:
        keypad.tick(11_000 * MS)
    facts = typed(keypad, "FOLD", 12_000 * MS)
    assert [type(f) for f in facts] == [Refused]
    assert said(typed(keypad, "FOLD", 13_000 * MS)) == [("fold", None, None)]


@given(st.lists(st.tuples(st.sampled_from(ALL), st.integers(0, 3_000), st.booleans()), max_size=60))
def test_any_keys_leave_a_bounded_entry_and_no_surprise(presses: list[tuple[str, int, bool]]) -> None:
    keypad, at = keys(), 0
    for key, wait, release in presses:
        at += wait * MS
        facts = keypad.tick(at) + keypad.pressed(key, at, Evidence("keys0", 1))
        if release:
            keypad.released(key)
        assert len(keypad.seat) <= 3
        assert len(keypad.amount) <= 10
        for fact in facts:
            if isinstance(fact, Declared):
                assert fact.seat is None or 1 <= fact.seat <= 9
    keypad.tick(at + 60_000 * MS)
    assert not keypad.typing
    assert keypad.deadline() is None


def test_a_clear_that_clears_undoes_nothing_more() -> None:
    keypad = keys()
    typed(keypad, "RAISE 5")
    keypad.pressed("CLEAR", 1_000 * MS, Evidence("keys0", 9))
    assert keypad.tick(9_000 * MS) == []
    assert keypad.deadline() is None


def test_two_keys_held_are_one_undo() -> None:
    keypad = keys()
    keypad.pressed("CALL", 0, Evidence("keys0", 1))
    keypad.pressed("CLEAR", 10 * MS, Evidence("keys0", 2))
    facts = keypad.tick(2_500 * MS) + keypad.tick(9_000 * MS)
    assert [type(f) for f in facts] == [Undone]
