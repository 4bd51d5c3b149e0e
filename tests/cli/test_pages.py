"""`mayfly pages`: what was found and fetched; text from the web does nothing to a terminal."""

import json

import pytest


def listed(command, *flags: object) -> list[dict]:
    done = command("pages", *flags, "--json")
    assert done.status == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def test_for_people_the_newest_goes_first(command, lived) -> None:
    done = command("pages")
    assert done.status == 0
    rows = done.out.splitlines()[1:]
    assert [row.split()[0] for row in rows] == ["3", "2", "1"]
    assert "old" in rows[0] and "Title 2" in rows[1] and "18 h ago" in rows[1] and "73 min" in rows[1]
    assert "https://paper.example/story-4" in rows[1]


def test_for_programs_they_come_in_order_by_cursor(command, lived) -> None:
    everything = listed(command)
    assert [page["landed"] for page in everything] == [1, 2, 3]
    assert everything[1]["title"] == "Title 2" and everything[1]["text"] == "words of story 2"
    assert everything[1]["source_url"] == "https://paper.example/feed.xml"
    assert [page["landed"] for page in listed(command, "--after", 1)] == [2, 3]
    assert [page["landed"] for page in listed(command, "--after", 1, "--limit", 1)] == [2]
    assert command("pages", "--after", 1, "--limit", 1).out.splitlines()[1].startswith("2 ")


def test_filters(command, lived) -> None:
    assert [page["landed"] for page in listed(command, "--outcome", "old")] == [3]
    assert [page["landed"] for page in listed(command, "--source", "https://paper.example/feed.xml")] == [2]
    assert listed(command, "--host", "other.example") == []
    assert [page["landed"] for page in listed(command, "--search", "words story 2")] == [2]
    assert listed(command, "--search", "words", "--source", "https://paper.example/feed.xml")[0]["landed"] == 2
    assert "No such pages" in command("pages", "--host", "other.example").out
    assert "have these words" in command("pages", "--search", "nowhere").out


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--source", "https://paper.example/fed.xml"], "the nearest is https://paper.example/feed.xml"),
        (["--outcome", "bad"], "'bad' is not one of"),
        (["--search", "x", "--after", "1"], "use one of them"),
        (["--after", "-1"], "--after"),
    ],
)
def test_what_is_asked_wrong_is_said(command, lived, flags, said: str) -> None:
    done = command("pages", *flags)
    assert done.status == 2 and said in done.err


def test_nothing_from_the_web_reaches_the_terminal_as_more_than_text(command, lived) -> None:
    for words in (["pages"], ["why", "https://paper.example/story-3"], ["sources"], ["health"]):
        shown = command(*words).out
        assert "\x1b" not in shown and "\x07" not in shown and "\u202e" not in shown
    assert "]0;owned[31m[bold]Bad[/bold] title" in command("pages").out
    assert '"]0;owned[31m[bold]Bad[/bold] title"' in command("why", "https://paper.example/story-3").out
    assert "\x1b" not in command("pages", "--json").out


def test_an_empty_home_says_what_will_come(command, home) -> None:
    command("sources", "add", "https://a.example/")
    assert "The first crawl of a source is its baseline" in command("pages").out
    assert listed(command) == []
