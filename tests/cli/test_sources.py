"""`mayfly sources`: what is watched, and a person's word on it."""

import json

import pytest

FRONT, FEED, SECTION = "https://paper.example/", "https://paper.example/feed.xml", "https://paper.example/news/"


def listed(command, *flags: object) -> list[dict]:
    done = command("sources", *flags, "--json")
    assert done.status == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def test_lists_what_is_watched_and_believed(command, lived) -> None:
    done = command("sources")
    assert done.status == 0
    rows = done.out.splitlines()[1:]
    assert [row.split()[-1] for row in rows] == ["(site-limited)", FEED, SECTION]  # by worth, the unknown last
    assert "front" in rows[0] and "12 " in rows[0] and "15 min" in rows[0] and "10 h ago" in rows[0]
    assert "1 robots" in rows[2]
    front = listed(command)[0]
    assert front["url"] == FRONT and front["link_rate"] == pytest.approx(12 / 86400) and front["new_links"] == 3


def test_sorts_by_any_column(command, lived) -> None:
    from mayfly.cli.sources import SORTS

    for name in SORTS:
        forward, back = (listed(command, "--sort", name, *flags) for flags in ((), ("--reverse",)))
        assert sorted(one["url"] for one in forward) == sorted([FRONT, FEED, SECTION]) == sorted(b["url"] for b in back)
    assert [one["url"] for one in listed(command, "--sort", "url")] == [FRONT, FEED, SECTION]
    assert [one["url"] for one in listed(command, "--sort", "failures", "--limit", 1)] == [SECTION]
    done = command("sources", "--sort", "rat")
    assert done.status == 2 and "there is no 'rat'; the nearest is 'rate'" in done.err


def test_filters_and_says_when_there_is_nothing(command, lived) -> None:
    assert len(listed(command, "--host", "www.PAPER.example")) == 3
    assert listed(command, "--state", "blocked") == []
    assert "No sources that are blocked; there are 3 in all" in command("sources", "--state", "blocked").out
    assert "No sources of other.example" in command("sources", "--host", "other.example").out
    assert "… and 1 more" in command("sources", "--limit", 2).out


def test_no_home_and_an_empty_one(command, home) -> None:
    done = command("sources")
    assert done.status == 2 and "is not there; `mayfly find HOST…` makes one" in done.err
    home.mkdir()
    done = command("sources")
    assert done.status == 2 and "nothing is kept in" in done.err
    assert command("sources", "add", "https://a.example/").status == 0
    command("sources", "retire", "https://a.example/")
    assert (home / "mayfly.toml").exists()


def test_adding_says_what_became_of_each(command, home) -> None:
    done = command("sources", "add", "a.example/x/", "https://a.example/feed.xml?utm_source=x", "https://a.example")
    assert done.status == 0, done.err
    kinds = {one["url"]: one["kind"] for one in listed(command)}
    assert kinds == {
        "https://a.example/x/": "category",
        "https://a.example/feed.xml": "feed",
        "https://a.example/": "front",
    }
    assert "was there already, as front" in command("sources", "add", "https://a.example/").out
    command("sources", "block", "https://a.example/", "--why", "not ours")
    assert "was there already, blocked (not ours)" in command("sources", "add", "https://a.example/").out
    command("sources", "add", "https://a.example/y", "--kind", "other")
    assert listed(command, "--sort", "url")[-1]["kind"] == "other"


def test_a_word_on_a_source_is_kept(command, lived) -> None:
    assert command("sources", "pin", FRONT, FEED, "--every", "5m").status == 0
    assert {one["pinned"] for one in listed(command)} == {300.0, None}
    command("sources", "unpin", FRONT)
    command("sources", "retire", FEED, "--why", "dull")
    command("sources", "block", SECTION)
    assert [(one["url"], one["pinned"]) for one in listed(command)] == [(FRONT, None)]
    assert [(one["state"], one["reason"]) for one in listed(command, "--state", "all", "--sort", "url")] == [
        ("active", ""), ("retired", "dull"), ("blocked", ""),
    ]  # fmt: skip
    assert "(retired)" in command("sources", "--state", "retired").out
    command("sources", "restore", FEED, SECTION)
    assert [one["reason"] for one in listed(command)] == ["", "", ""]


@pytest.mark.parametrize("word", ["pin", "unpin", "block", "retire", "restore"])
def test_what_is_not_known_is_refused_with_the_nearest(command, lived, word: str) -> None:
    before = listed(command, "--state", "all")
    done = command("sources", word, FRONT, "https://paper.example/new/")
    assert done.status == 2
    assert done.err == f"mayfly: there is no source https://paper.example/new/; the nearest is {SECTION}\n"
    assert listed(command, "--state", "all") == before
    assert "is no web address" in command("sources", word, "ftp://x/").err


def test_the_home_may_be_named_before_or_behind(command, tmp_path, monkeypatch) -> None:
    for at, words in enumerate((["--home", "H", "add", "a.example"], ["add", "--home", "H", "a.example"])):
        folder = tmp_path / str(at)
        assert command("sources", *(folder if word == "H" else word for word in words)).status == 0
        assert (folder / "mayfly.db").exists()
    assert "--every must be a duration" in command("sources", "pin", "a.example", "--every", "often").err
