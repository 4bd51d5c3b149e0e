"""`mayfly lab record`: a home's history as a trace that can be read and run."""

import asyncio
import json

import numpy as np
import pytest

from mayfly.cli import home as homes
from mayfly.cli.record import History, as_trace
from mayfly.crawl.settings import Settings
from mayfly.lab.trace import read_trace, write_trace
from mayfly.store.records import ClickRow, Clicks, LinkSpan
from mayfly.store.sqlite import SqliteStore


def as_clicks(page: list[int], at: list[float], number: list[float]) -> Clicks:
    none = np.zeros(len(page))
    return Clicks(np.array(page, np.int64), np.array(at), np.array(number), none, none > 0, none.astype(int))


def click(home, url: str, count: float, after: float) -> None:
    async def add() -> None:
        async with SqliteStore(home / "mayfly.db") as store:
            page = await store.page_at(url)
            await store.add_clicks(page.fetched_at + after, [ClickRow(url, page.fetched_at + after, count)])

    asyncio.run(add())


@pytest.mark.parametrize("form", ["csv", "csv.gz", "parquet"])
def test_what_was_seen_becomes_a_trace(command, lived, tmp_path, form: str) -> None:
    click(lived, "https://paper.example/story-4", 7.0, 5000.0)
    out = tmp_path / "trace"
    done = command("lab", "record", out, "--format", form)
    assert done.status == 0, done.err
    assert done.out == f"{out}: 3 sources, 3 new pages, 5 links, 7 clicks in 10 h\n"
    trace = read_trace(out)
    assert trace.end - trace.start == pytest.approx(36000.0)
    assert trace.source_urls[:2] == ["https://paper.example/", "https://paper.example/feed.xml"]
    assert trace.kinds == ["front", "feed", "category"]
    ending = {url[-1]: row for row, url in enumerate(trace.page_urls)}
    assert set(ending) == {"3", "4", "6"}  # 1 and 2 were there before us, 5 turned out to be old
    links = {
        (trace.source_ids[source], trace.page_urls[page][-1]): (added - trace.start, removed - trace.start)
        for source, page, added, removed in zip(
            trace.link_source, trace.link_page, trace.added, trace.removed, strict=True
        )
    }
    assert links == {
        ("0", "3"): (pytest.approx(3600.0), pytest.approx(36000.0)),
        ("1", "3"): (pytest.approx(7200.0), np.inf),
        ("1", "4"): (pytest.approx(7200.0), np.inf),
        ("0", "4"): (pytest.approx(7300.0), pytest.approx(36000.0)),
        ("0", "6"): (pytest.approx(36000.0), np.inf),
    }
    assert trace.rank is not None and trace.clicks.number.tolist() == [7.0]
    about = json.loads((out / "trace.json").read_text())
    assert (about["origin"], about["policy"], about["name"]) == ("recorded", "index", "trace")
    assert about["gaps"].keys() == {"0", "1"} and about["gaps"]["1"] == pytest.approx(7190.0)
    assert "record_every" not in about


def test_a_record_of_a_policy_is_run_with_a_warning(command, lived, tmp_path) -> None:
    click(lived, "https://paper.example/story-4", 7.0, 5000.0)
    command("lab", "record", tmp_path / "by-policy")
    done = command("lab", "run", tmp_path / "by-policy", "--budget", "0.1", "--window", "0", "10h", "--json")
    assert done.status == 0
    assert "by-policy was recorded by index, not at a fixed interval" in done.err and len(done.err.splitlines()) == 1
    assert json.loads(done.out)["page_fetches"] >= 2
    homes.note_run(lived, Settings(record_every=600.0, policy="bfs"))
    command("lab", "record", tmp_path / "steady", "--name", "steady")
    about = json.loads((tmp_path / "steady" / "trace.json").read_text())
    assert (about["record_every"], about["policy"]) == (600.0, "bfs")
    assert command("lab", "run", tmp_path / "steady", "--budget", "0.1", "--json").err == ""


def test_what_cannot_be_recorded_is_said(command, home, lived, tmp_path) -> None:
    done = command("lab", "record", lived)
    assert done.status == 2 and "not an empty folder" in done.err
    command("sources", "--home", tmp_path / "new", "add", "https://a.example/")
    done = command("lab", "record", "--home", tmp_path / "new", tmp_path / "out")
    assert done.status == 1 and "no history to record yet" in done.err
    assert not (tmp_path / "out").exists()
    assert command("lab", "record", "--home", tmp_path / "none", tmp_path / "out").status == 2


def test_how_it_was_run_may_be_unreadable(home) -> None:
    home.mkdir()
    assert homes.last_run(home) == {}
    (home / homes.LAST_RUN).write_text("[")
    assert homes.last_run(home) == {}


def test_clicks_never_come_before_their_page_and_ranks_may_be_missing(tmp_path) -> None:
    history = History(
        sources=[],
        pages={7: ("http://a.example/7", 50.0), 8: ("http://a.example/8", 5.0), 9: ("http://a.example/9", 100.0)},
        links=[],
        clicks=as_clicks([7, 7, 9], [40.0, 90.0, 120.0], [1.6, 2.0, 3.0]),
        gaps={},
        start=10.0,
        end=100.0,
    )
    trace = as_trace(history, "tiny", {})
    assert trace.page_ids == ["7"] and trace.rank is None
    assert trace.clicks.at.tolist() == [50.0, 90.0] and trace.clicks.number.tolist() == [2.0, 2.0]
    write_trace(trace, tmp_path)
    assert read_trace(tmp_path).page_ids == ["7"]


def test_an_unknown_rank_goes_behind_the_known_ones(lived, tmp_path) -> None:
    async def sources() -> list:
        async with SqliteStore(lived / "mayfly.db", read_only=True) as store:
            return await store.sources()

    links = [LinkSpan(0, 7, 20.0, None, 3), LinkSpan(1, 7, 30.0, 40.0, 0)]
    none = as_clicks([], [], [])
    found = asyncio.run(sources())
    trace = as_trace(History(found, {7: ("http://a.example/7", 20.0)}, links, none, {}, 10.0, 100.0), "tiny", {})
    assert trace.rank.tolist() == [3.0, 4.0]
