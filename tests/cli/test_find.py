"""`mayfly find`: what is wrong is said in a sentence; what is worth adding."""

import asyncio
import json
import time
from pathlib import Path

import pytest

from mayfly.store.records import Fetched
from mayfly.store.sqlite import SqliteStore

LOCAL = ("--allow-private-addresses", "127.0.0.0/8", "--connect-to", "::127.0.0.1:1", "--host-delay", "0")


@pytest.mark.parametrize("flag", ["--file", "--opml", "--visits"])
@pytest.mark.parametrize("path", [".", "none.txt"])
def test_what_cannot_be_read_is_said(command, flag, path) -> None:
    done = command("find", flag, path)
    assert done.status == 2 and done.err.startswith(f"mayfly: {path} cannot be read: ")


def test_a_word_that_is_no_host_is_named(command) -> None:
    done = command("find", "example.com", "not a host")
    assert done.status == 2 and done.err.startswith("mayfly: 'not a host' is no host; write it as example.com")


def test_a_list_may_begin_with_a_byte_order_mark(command, tmp_path) -> None:
    (tmp_path / "hosts.txt").write_text("\ufeffa.test\n", encoding="utf-8")
    done = command("find", "--file", tmp_path / "hosts.txt", *LOCAL)
    assert done.status == 1 and "a.test" in done.out and "\ufeff" not in done.out


def test_a_host_without_an_answer_is_named_with_its_reason(command) -> None:
    done = command("find", "a.test", *LOCAL)
    assert done.status == 1
    assert "none: connect (no connection: refused or unreachable)" in done.out
    assert "mayfly crawl begins" not in done.out


def test_a_crawl_without_sources_says_so(command) -> None:
    done = command("crawl", "--for", "0.2s", *LOCAL)
    assert done.status == 0 and "There are no sources: mayfly find HOST… adds some." in done.err


@pytest.fixture
def linking(lived: Path) -> Path:
    """A home whose last page links two articles of one host, and nothing shaped as one of another."""

    async def land() -> None:
        linked = {"button.example": [], "daily.example": ["https://daily.example/1", "https://daily.example/2"]}
        async with SqliteStore(lived / "mayfly.db") as store:
            await store.commit(Fetched(4, time.time(), "fetched", 200, 0.1, 2000, "", linked=linked))

    asyncio.run(land())
    return lived


def test_hosts_worth_adding_are_ranked_by_what_is_new_there(command, linking) -> None:
    done = command("find", "--suggest")
    assert done.status == 0
    head, *rows = [line.split() for line in done.out.splitlines() if line.strip()]
    assert " ".join(head) == "host new articles a week pages that link it sources they came from"
    assert rows == [["daily.example", "2.0", "1", "1"], ["button.example", "0.0", "1", "1"]]
    rows = [json.loads(line) for line in command("find", "--suggest", "--json", "--first", 1).out.splitlines()]
    assert [(row["host"], row["fresh"], row["pages"], row["sources"]) for row in rows] == [("daily.example", 2.0, 1, 1)]


def test_a_suggestion_adds_nothing(command, linking) -> None:
    before = command("sources", "--json").out
    command("find", "--suggest")
    assert command("sources", "--json").out == before
    assert "daily.example" in command("find", "--suggest").out  # ours would not be suggested


def test_a_home_whose_pages_link_nowhere_else_says_so(command, lived) -> None:
    done = command("find", "--suggest")
    assert done.status == 0 and done.out.startswith("None yet: hosts are counted as fetched pages link to them")


# What to look at, from files


def found(command, *words) -> dict[str, dict[str, str]]:
    done = command("find", *words, "--json")
    assert done.status == 0, done.err
    rows = map(json.loads, done.out.splitlines())
    return {row["host"]: {source["url"]: source["kind"] for source in row["sources"]} for row in rows}


def test_the_feeds_of_a_feed_reader_are_sources_and_their_hosts_are_looked_at(command, site, tmp_path) -> None:
    site.show("/", "/news/")
    opml = tmp_path / "feeds.opml"
    opml.write_text(
        '<?xml version="1.0"?><opml version="2.0"><head><title>mine</title></head><body><outline text="Papers">'
        '<outline type="rss" text="Paper" xmlUrl="http://paper.test/odd/place.rss"/></outline>'
        '<outline type="rss" text="Other" xmlUrl="http://other.test/its.atom"/></body></opml>'
    )
    assert found(command, "--opml", opml) == {
        host: {f"http://{host}/": "front", f"http://{host}/news/": "category"} for host in ("paper.test", "other.test")
    }
    kinds = {row["url"]: row["kind"] for row in map(json.loads, command("sources", "--json").out.splitlines())}
    assert kinds["http://paper.test/odd/place.rss"] == kinds["http://other.test/its.atom"] == "feed"


@pytest.mark.parametrize(
    "log",
    [
        "user,page,at\n1,http://paper.test/a,5\n2,http://other.test/x,6\n3,http://paper.test/b,7\n",
        '{"url": "http://other.test/x"}\nnot a row\n{"url": "http://paper.test/a"}\n{"url": "http://paper.test/b"}\n',
    ],
    ids=["csv", "jsonl"],
)
def test_the_hosts_of_a_visit_log_are_looked_at(command, site, tmp_path, log: str) -> None:
    site.show("/", "/news/")
    (tmp_path / "visits").write_text(log)
    hosts = found(command, "--visits", tmp_path / "visits")
    assert list(hosts) == ["paper.test", "other.test"]  # the one with more pages first
    assert hosts["paper.test"] == {"http://paper.test/": "front", "http://paper.test/news/": "category"}
