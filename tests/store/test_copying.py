"""A store copied into another kind, and back: the same rows, the same numbers, and it goes on as if nothing were."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from mayfly.core.model import DAY
from mayfly.errors import RunError, UsageError
from mayfly.store import copying
from mayfly.store.copying import NUMBERED, TABLES, copy
from mayfly.store.hints import HintRow, Subscription
from mayfly.store.past import ClockStep, PastClicks
from mayfly.store.postgres import PostgresStore
from mayfly.store.postgres_copying import PostgresSide
from mayfly.store.postgres_schema import shard_of
from mayfly.store.records import (
    ClickRow,
    Crawled,
    Estimate,
    FetchFailure,
    Hinted,
    KeptRobots,
    Memory,
    Minute,
    NewSource,
    Rest,
    Retention,
    ShownLink,
)
from mayfly.store.schema import MIGRATIONS
from mayfly.store.sqlite import SqliteStore
from mayfly.store.sqlite_copying import SqliteSide
from mayfly.urls import site_of

from .conftest import opened

SHORT = Retention(history=3 * DAY, text=5 * DAY, pages=10 * DAY, seen=6 * DAY)
ODD = "Große Überschrift – \U0001f98b, “naïve” words\n\tand tabs \\N {a} ?"


@pytest.fixture
def place(tmp_path: Path, postgres) -> Callable[[str], Any]:
    """A new place for a store of this kind."""
    number = iter(range(100))

    def make(kind: str) -> Any:
        one = f"copy_{next(number)}_{tmp_path.name.replace('-', '_')}".lower()
        return tmp_path / f"{one}.db" if kind == "sqlite" else postgres.create(one)

    return make


def store_at(where: Any) -> Any:
    return opened(SqliteStore(where) if isinstance(where, Path) else PostgresStore(where))


def side(where: Any, write: bool = False) -> Any:
    return SqliteSide(where, write=write) if isinstance(where, Path) else PostgresSide(where, write=write)


def copied(source: Any, target: Any) -> list[copying.Count]:
    with side(source) as one, side(target, write=True) as other:
        return copy(one, other)


def everything(where: Any) -> dict[str, Any]:
    """All rows of all tables, with the columns both kinds have, and the last numbers given."""
    model = apsw.Connection(":memory:")
    for step in MIGRATIONS:
        model.execute(step)
    with side(where) as one:
        found = {}
        for table in (*TABLES, "totals"):
            columns = [row[1] for row in model.execute(f"PRAGMA table_info({table})")]
            found[table] = sorted((row for some in one.rows(table, columns) for row in some), key=repr)
        cursors = one.rows("meta", ["name", "value"], "WHERE name NOT IN ('schema', 'shards')")
        found["meta"] = sorted(row for some in cursors for row in some)
        return found | {f"last {table}": one.last_number(table) for table in NUMBERED}


def fill(store: Any, make: Any) -> None:
    """Something in every table, and something forgotten in each that numbers its rows."""
    store.add_sources(10.0, [make.source(number) for number in range(3)])
    store.add_hosts(10.0, ["news.example", "other.example"])
    store.host_searched("other.example", 11.0, "dns")
    for day in range(1, 13):
        at = day * DAY
        new = store.commit(make.crawl(0, at, *range(2 * day, 2 * day + 5), anchor=ODD, context=ODD)).new
        for page, _ in new[:2]:
            linked = {f"{day}.example": [f"https://{day}.example/{page}"]}
            text = {"title": f"{ODD} {day}", "text": f"words of day {day} " * 40, "linked": linked}
            store.commit(make.fetched(page, at + 60.0, body_hash=-page, canonical=make.url(10_000 + page), **text))
        store.commit(make.crawl(1, at, 2 * day, 5000 + day, wanted=False))
        store.add_clicks(
            at, [ClickRow(make.url(2 * day), at), ClickRow(f"https://x.example/{day}", at)], batch=f"b{day}"
        )
        store.clicks_told(at, store.clicks_since(store.told())[1])
        store.note_minute(Minute(at, 1, 1, 1, 1, 1, None if day % 2 else 0.25, 2.0))
        store.add_hints(at, [HintRow(make.url(day), "page")])
    store.commit(make.fetched(5, 12.5 * DAY, "old", published=1e-3, published_from="gap"))
    store.commit(FetchFailure("page", 6, 12.6 * DAY, "dns", retry_at=99 * DAY, rest=Rest("news.example", 12.7 * DAY)))
    store.commit(FetchFailure("source", 2, 12.6 * DAY, "timeout", status=504))
    store.commit(Hinted(2, 12.7 * DAY, make.links(777)))
    store.clock_stepped(ClockStep(12.8 * DAY, -3600.0))
    store.hints_taken(3)
    store.note_sent(7)
    store.pin(1, 600.0)
    store.save_estimates([Estimate(0, 1e-5, 2.0, 1e-4, None, float("inf"), None, "dropped")])
    store.keep_page_values(bytes(range(256)))
    store.note_candidates(12 * DAY, "news.example", ["https://news.example/sport/"])
    store.keep_robots(KeptRobots("https://news.example", b"\x00\xffUser-agent: *", 12 * DAY))
    store.keep_robots(KeptRobots("https://other.example", None, 12 * DAY))
    store.keep_subscription(
        Subscription("id", "https://news.example/feed", "https://hub.example/", "c", "s", "active", 5.0)
    )
    store.commit(make.unchanged(0, 12.9 * DAY))
    store.prune(13 * DAY, SHORT)


@pytest.mark.parametrize(
    ("first", "second"), [("sqlite", "postgres"), ("postgres", "sqlite"), ("postgres", "postgres")]
)
def test_a_copy_and_the_copy_of_that_hold_the_same_rows(place, make, first, second) -> None:
    here, there, back = place(first), place(second), place(first)
    with store_at(here) as store:
        fill(store, make)
        assert store.check() == []
    counts = copied(here, there)
    assert all(one.read == one.written for one in counts)
    assert {one.table for one in counts if not one.read} == set()
    copied(there, back)
    assert everything(here) == everything(there) == everything(back)
    with store_at(here) as one, store_at(there) as other, store_at(back) as third:
        for each in (other, third):
            assert each.check() == [] and each.stats()["pages"] == one.stats()["pages"]
            assert each.past(0.0) == one.past(0.0)
            assert each.waiting() == one.waiting()
            for words in ("naive", '"words of day 12"', "uberschrift", "day", "5"):
                assert [page.id for page in each.search(words)] == [page.id for page in one.search(words)]


@pytest.mark.parametrize(("first", "second"), [("sqlite", "postgres"), ("postgres", "sqlite")])
def test_a_copy_goes_on_as_the_first_would_have(place, make, first, second) -> None:
    """The same addresses are known, and what comes next gets the numbers it would have got."""
    here, there = place(first), place(second)
    with store_at(here) as store:
        fill(store, make)
    copied(here, there)
    with store_at(here) as one, store_at(there) as other:
        for store in (one, other):
            landed = store.commit(make.crawl(2, 14 * DAY, 24, 28, 9001, 9002))
            assert [link.url for _, link in landed.new] == [make.url(9001), make.url(9002)]
            store.commit(make.fetched(landed.new[0].page, 14 * DAY, text="later words"))
            assert store.add_sources(14 * DAY, [make.source(7)]) == [3]
            store.add_clicks(
                14 * DAY, [ClickRow(make.url(9001), 14 * DAY), ClickRow("https://y.example/", 1.0)], batch="n"
            )
            store.add_hints(14 * DAY, [HintRow(make.url(1), "page")])
    assert everything(here) == everything(there)


class Owner:
    """Of a shard, whom nobody doubts."""

    def __init__(self, shard: int) -> None:
        self.shard = shard

    def check(self, database: Any) -> None: ...


def told(store: Any, at: float) -> float:
    """Tell a crawler of the clicks behind its cursor; how many they are."""
    clicks, cursor = store.clicks_since(store.told())
    store.clicks_told(at, cursor)
    return float(clicks.number.sum())


def times(store: Any) -> int:
    """How often anything is told again."""
    return sum(isinstance(past, PastClicks) for past in store.past(0.0))


def told_again(store: Any) -> float:
    return sum(float(past.clicks.number.sum()) for past in store.past(0.0) if isinstance(past, PastClicks))


@pytest.mark.parametrize("second", ["sqlite", "postgres"])
def test_what_shards_were_told_is_told_once_in_a_copy(place, make, second) -> None:
    """By turns of one process, a cluster of two shards, and one process again; and on a cluster of five."""
    here, there, wide = place("postgres"), place(second), place("postgres")
    sites = [next(f"s{n}.example" for n in range(99) if shard_of(f"s{n}.example", 2) == shard) for shard in (0, 1)]
    urls = [f"https://{site}/{number}" for number in range(3) for site in sites]

    def click(store: Any, at: float, *numbers: int) -> None:
        store.add_clicks(at, [ClickRow(urls[number], at, 10.0**number) for number in numbers], bin=1.0)

    with opened(PostgresStore(here, shards=2)) as one:
        one.add_sources(1.0, [NewSource(f"https://{sites[0]}/feed", "feed")])
        links = [ShownLink(url, site_of(url)) for url in urls]
        new = one.commit(Crawled(0, 10.0, 200, 0.1, 100, Memory(), links)).new
        for at, (page, _) in enumerate(new, 20):
            one.commit(make.fetched(page, at))
        click(one, 30.0, 0, 1)
        assert told(one, 40.0) == 11.0
    shards = [PostgresStore(here, shards=2, fence=Owner(shard), crawls=True) for shard in (0, 1)]
    with opened(shards[0]) as zero, opened(shards[1]) as other:
        click(zero, 50.0, 2, 3)
        assert (told_again(zero), told_again(other)) == (11.0, 10.0)  # shard 0 has found the pages of shard 1
        assert (told(zero, 60.0), told(other, 61.0)) == (1100.0, 1000.0)
        click(zero, 70.0, 4, 5)
        assert told(zero, 80.0) == 110_000.0  # and shard 1 is not told any more
        zero.clock_stepped(ClockStep(85.0, -5.0))
    with opened(PostgresStore(here, shards=2)) as one:
        assert told_again(one) == 1111.0 and times(one) == 2  # of four that anybody was told anything
    copied(here, there)
    with store_at(there) as copy_of_it:
        assert told_again(copy_of_it) == 1111.0 and times(copy_of_it) == 2
        assert told(copy_of_it, 90.0) == 110_000.0
        assert told_again(copy_of_it) == 111_111.0
        assert [past.by for past in copy_of_it.past(0.0) if isinstance(past, ClockStep) and past.by] == []
    with side(there) as one, PostgresSide(wide, write=True, shards=5) as other:
        copy(one, other)
    number = shard_of(sites[1], 5)
    with opened(PostgresStore(wide, shards=5, fence=Owner(number))) as shard:
        assert times(shard) == 3
        clicks, _ = shard.clicks_since(shard.told())
        assert not len(clicks.page)
        shard.add_clicks(95.0, [ClickRow(urls[1], 95.0)], bin=1.0)
        assert told(shard, 96.0) == 1.0


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_store_that_holds_something_is_not_copied_into(place, make, kind) -> None:
    here, there = place("sqlite"), place(kind)
    for where in (here, there):
        with store_at(where) as store:
            store.add_hosts(1.0, ["a.example"])
    before = everything(there)
    with pytest.raises(UsageError, match="is not empty, it has hosts"):
        copied(here, there)
    assert everything(there) == before


@pytest.mark.parametrize(("first", "second"), [("sqlite", "postgres"), ("postgres", "sqlite")])
def test_a_copy_that_is_cut_short_leaves_nothing(place, make, first, second, monkeypatch) -> None:
    here, there = place(first), place(second)
    with store_at(here) as store:
        fill(store, make)
    with store_at(there):
        pass
    before = everything(there)

    def stop(rows: int) -> None:
        stop.left -= rows
        if stop.left < 0:
            raise KeyboardInterrupt

    stop.left = 100
    with pytest.raises(KeyboardInterrupt), side(here) as one, side(there, write=True) as other:
        copy(one, other, stop)
    assert everything(there) == before
    put = SqliteSide.put if second == "sqlite" else PostgresSide.put

    def loses(self: Any, table: str, columns: Any, rows: list[Any]) -> None:
        put(self, table, columns, rows[1:] if table == "robots" else rows)

    monkeypatch.setattr(SqliteSide if second == "sqlite" else PostgresSide, "put", loses)
    with pytest.raises(RunError, match=r"would not hold all .*: robots \(2 and 1\); nothing is kept"):
        copied(here, there)
    assert everything(there) == before
    monkeypatch.undo()
    copied(here, there)
    assert everything(there) == everything(here)


def test_what_changes_meanwhile_is_not_in_the_copy(place, make) -> None:
    here, there = place("postgres"), place("sqlite")
    with store_at(here) as store:
        fill(store, make)
        before = everything(here)

        def meanwhile(_: int) -> None:
            store.add_hosts(1.0, [f"{len(store.hosts())}.example"])

        with side(here) as one, side(there, write=True) as other:
            copy(one, other, meanwhile)
    assert everything(there) == before != everything(here)


def test_one_that_is_crawled_is_not_copied_into(place, make) -> None:
    here, there = place("sqlite"), place("postgres")
    with store_at(here) as store:
        fill(store, make)
    with opened(PostgresStore(there, crawls=True)), pytest.raises(RunError, match="is being crawled by process"):
        copied(here, there)


def test_a_file_that_breaks_is_named(place, make) -> None:
    here, there = place("sqlite"), place("postgres")
    with store_at(here) as store:
        fill(store, make)
    size = here.stat().st_size
    with here.open("r+b") as file:
        file.seek(size // 2)
        file.write(b"\xff" * (size - size // 2))
    with pytest.raises(RunError, match=here.name):
        copied(here, there)
    with opened(PostgresStore(there)) as store:
        assert store.stats()["sources"] == 0
