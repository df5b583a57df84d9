"""The page on regulation says what the code does today, and names tests that exist."""

from tests.regulation import PAGE, ROWS, render


def test_the_page_on_regulation_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), "run: python -m tests.regulation"


def test_every_row_is_there_once_and_says_what_is_missing() -> None:
    assert [row.number for row in ROWS] == list(range(1, 28))
    assert all(row.shown or row.gap or row.does.startswith("Nothing") for row in ROWS)
