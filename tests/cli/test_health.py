"""`mayfly health`: what fails silently, with an exit status for cron."""

import asyncio
import json
import time

from mayfly.store.records import Crawled, FetchFailure, Memory, Minute, NewSource, ShownLink
from mayfly.store.sqlite import SqliteStore


def test_what_is_wrong_is_said_with_what_to_do(command, lived) -> None:
    done = command("health")
    assert done.status == 1 and done.err == ""
    for said in (
        "! the crawl: not-running, for 10 h: the crawl is not running.",
        "    start it: mayfly crawl",
        "! gone.example: nothing-found, for 20 h: no sources were found: dns (the host name has no address).",
        "! https://paper.example/news/: forbidden, for 20 h: 1 failure in a row, the last: robots",
    ):
        assert said in done.out, said
    told = json.loads(command("health", "--json").out)
    assert told["healthy"] is False
    assert {finding["what"]: finding["sources"] for finding in told["findings"]} == {
        "not-running": {}, "nothing-found": {}, "forbidden": {"https://paper.example/news/": "robots"},
    }  # fmt: skip


def test_many_of_a_kind_are_one_line_for_people_and_all_there_for_programs(command, lived) -> None:
    ill = [f"https://ill-{number}.example/" for number in range(7)]

    async def fail() -> None:
        async with SqliteStore(lived / "mayfly.db") as store:
            ids = await store.add_sources(time.time(), [NewSource(url, "front") for url in ill])
            for source in ids:
                await store.commit(FetchFailure("source", source, time.time(), "not-found"))

    asyncio.run(fail())
    said = command("health").out
    assert "! 7 times failing: not-found (" in said
    assert "https://ill-2.example/ and 4 more: mayfly health --json names all" in said
    assert "ill-5" not in said
    assert "! https://paper.example/news/: forbidden" in said  # a single one is told as before
    named = [finding["sources"] for finding in json.loads(command("health", "--json").out)["findings"]]
    assert [each for each in named if "https://paper.example/news/" not in each and each] == [
        {url: "not-found"} for url in ill
    ]


def test_all_well_is_status_0(command, home) -> None:
    async def live() -> None:
        now = time.time()
        async with SqliteStore(home / "mayfly.db") as store:
            await store.add_sources(now, [NewSource("https://a.example/", "front")])
            await store.commit(
                Crawled(0, now, 200, 0.1, 10, Memory(), [ShownLink("https://a.example/x", "a.example")], first=True)
            )
            await store.note_minute(Minute(now, 1, 0, 0, 0, 0, None))

    home.mkdir()
    asyncio.run(live())
    done = command("health")
    assert done.status == 0 and done.out == "1 source watched; nothing needs attention.\n"
    assert json.loads(command("health", "--json").out) == {"healthy": True, "findings": []}


def test_little_space_needs_attention(command, lived) -> None:
    (lived / "mayfly.toml").write_text("free-gigabytes = 1000000\n")
    assert "disk-low" in command("health").out
