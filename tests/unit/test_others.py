"""Somebody else under our name is a trouble while he is there, and a while longer."""

import pytest

from controller.delivery.others import GONE_S, MOST, SILENT_S, Others


def test_nobody_else_is_no_trouble() -> None:
    others = Others()
    assert not others.there(0.0)
    others.went("a", 1, 5.0, strange=False)
    assert not others.there(5.0)


def test_who_has_gone_is_a_trouble_for_a_stated_time() -> None:
    others = Others()
    others.came("a", 1, 10.0)
    others.went("a", 1, 100.0, strange=True)
    assert others.there(100.0 + GONE_S - 1)
    assert not others.there(100.0 + GONE_S)


def test_one_of_whom_only_the_last_word_was_heard_is_a_trouble_for_that_time() -> None:
    others = Others()
    others.went("a", 1, 100.0, strange=True)
    assert others.there(100.0 + GONE_S - 1)
    assert not others.there(100.0 + GONE_S)


@pytest.mark.parametrize("number", [1, None])
def test_the_last_word_of_an_earlier_connection_ends_nothing(number: int | None) -> None:
    others = Others()
    others.came("a", number, 10.0)
    others.came("a", 2, 11.0)
    others.went("a", number, 12.0, strange=True)
    assert others.there(11.0 + SILENT_S - 1)
    others.went("a", 2, 13.0, strange=True)
    assert not others.there(13.0 + GONE_S)


def test_one_of_two_who_goes_leaves_the_other() -> None:
    others = Others()
    others.came("a", 1, 1.0)
    others.came("b", 1, 2.0)
    others.went("a", 1, 3.0, strange=True)
    assert others.there(3.0 + GONE_S)


def test_who_was_never_seen_to_go_is_believed_gone_in_the_end() -> None:
    others = Others()
    others.came("a", 1, 1.0)
    assert others.there(SILENT_S)
    assert not others.there(1.0 + SILENT_S)


def test_a_flood_of_names_is_bounded() -> None:
    others = Others()
    for number in range(10 * MOST):
        others.came(str(number), number, 1.0)
    assert len(others._there) == MOST
