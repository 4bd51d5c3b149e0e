"""Words for people: whatever came from the web is one line of text and nothing more."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayfly.cli import words


@given(text=st.text(st.characters(exclude_categories=())))
def test_nothing_is_left_that_does_something(text: str) -> None:
    shown = words.plain(text)
    assert not any(unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") for letter in shown)
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")
    assert words.plain(shown) == shown
    shown.encode()


@given(text=st.text(st.characters(categories=("L", "M", "N", "P", "S"))))
def test_what_people_write_stays(text: str) -> None:
    assert words.plain(text) == text


@pytest.mark.parametrize("terminal", [False, True])
def test_a_table_shows_cells_as_they_are(capsys, monkeypatch, terminal: bool) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal, raising=False)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "80")
    words.print_table(("a", "b"), [("[red]x[/red] :smile:", "\x1b[31mz"), ("[/]", "y" * 100)])
    shown = capsys.readouterr().out
    assert "[red]x[/red] :smile:" in shown and "\x1b[31m" not in shown
    assert shown.count("y") == 100


@given(seconds=st.floats(0, 1e10))
def test_any_duration_can_be_read(seconds: float) -> None:
    number, unit = words.about(seconds).split()
    assert unit in ("s", "min", "h", "days")
    size = {"s": 1, "min": 60, "h": 3600, "days": 86400}[unit]
    assert float(number) * size == pytest.approx(seconds, rel=0.4, abs=0.06)


@pytest.mark.parametrize("at", [-1e20, -1.0, 0.0, 1e9, 1e20])
def test_any_moment_can_be_shown(at: float) -> None:
    assert words.date(at)
