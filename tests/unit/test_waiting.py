"""The helper that every threaded test leans on must itself say what it waited for."""

import pytest

from tests.waiting import wait_until


def test_returns_the_first_true_answer() -> None:
    answers = iter([0, 0, 7])
    assert wait_until(lambda: next(answers)) == 7


def test_says_what_never_came() -> None:
    with pytest.raises(AssertionError, match=r"in vain for: the shoe"):
        wait_until(lambda: False, seconds=0, what="the shoe")
