"""What is PostgreSQL's own: servers that are restarted, answers that are lost, many writers, shards."""

import asyncio
import contextlib
import random
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mayfly.errors import BeingCrawled, RunError
from mayfly.store.postgres import PostgresStore
from mayfly.store.postgres_schema import shard_of
from mayfly.store.records import ClickRow, Crawled, Memory, NewSource, ShownLink
from mayfly.testing.postgres import Postgres

from .conftest import Plainly, opened

WRITER = Path(__file__).parent / "writer.py"


# A server that goes away


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["quickly", "as if it crashed"])
def test_writes_go_on_after_a_restart_and_nothing_is_lost_or_done_twice(restarted, make, how) -> None:
    stop = threading.Event()

    def restart() -> None:
        chance = random.Random(1)
        while not stop.wait(chance.uniform(0.1, 0.5)):
            restarted.stop(how)
            restarted.start()

    with opened(PostgresStore(restarted.create(f"restart_{how.name.lower()}"), crawls=True)) as store:
        store.add_sources(1.0, [make.source(0)])
        other = threading.Thread(target=restart)
        other.start()
        rounds, end = 0, time.monotonic() + 4.0
        try:
            while time.monotonic() < end:
                rounds += 1
                landed = store.commit(make.crawl(0, 100.0 + rounds, 2 * rounds, 2 * rounds + 1))
                assert [page for page, _ in landed.new] and store.sources([0])[0].crawls == rounds
                store.together(*(("commit", make.fetched(page, 200.0, body_hash=page)) for page, _ in landed.new))
                store.add_clicks(300.0, [ClickRow(make.url(2 * rounds), 300.0)])
        finally:
            stop.set()
            other.join()
        assert [page.landed for page in store.pages(first=1_000_000)] == list(range(1, 2 * rounds + 1))
        assert len({page.url for page in store.pages(first=1_000_000)}) == 2 * rounds
        assert float(store.clicks_since(0)[0].number.sum()) == rounds == store.sources([0])[0].crawls
        assert store.check() == []
    assert rounds > 5


def test_a_transaction_that_was_cut_is_done_again_as_a_whole(restarted) -> None:
    began: list[int] = []

    def work(database: Any) -> None:
        database.execute("INSERT INTO hosts (host, added_at) VALUES ('first.example', 1)")
        began.append(1)
        if len(began) == 1:
            restarted.stop(signal.SIGQUIT)
            restarted.start()
        database.execute("INSERT INTO hosts (host, added_at) VALUES ('second.example', 1)")

    with opened(PostgresStore(restarted.create("within"))) as store:
        store.runner.run(store.store._thread.write(work))
        assert len(began) == 2
        assert [host.host for host in store.hosts()] == ["first.example", "second.example"]


class Cut:
    """Stands between a client and the server and cuts the line at a COMMIT: before the server hears of it, or after."""

    def __init__(self, server: Postgres, folder: Path) -> None:
        self.folder, self._server = folder, str(server.folder / ".s.PGSQL.5432")
        self.when = ""  # before, after; empty: never
        self.cuts = 0
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(str(folder / ".s.PGSQL.5432"))
        self._door.listen()
        threading.Thread(target=self._welcome, daemon=True).start()

    def close(self) -> None:
        self._door.close()

    def _welcome(self) -> None:
        while True:
            try:
                client, _ = self._door.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._server)
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=self._carry, args=(one, other, one is client), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, asks: bool) -> None:
        try:
            while said := source.recv(65536):
                if asks and b"COMMIT" in said and self.when:
                    if self.when == "after":
                        target.sendall(said)
                        time.sleep(0.2)  # it is done, and the answer is on its way
                    self.cuts += 1
                    self.when = ""
                    break
                if not asks and self.when == "after" and b"COMMIT\0" in said:
                    continue  # the answer, which is lost
                target.sendall(said)
        except OSError:
            pass
        for one in (source, target):  # the other thread waits at them
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        source.close()


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_commit_whose_answer_is_lost_is_not_done_twice(postgres, database, make, tmp_path, when) -> None:
    line = Cut(postgres, tmp_path)
    url = database.replace(str(postgres.folder), str(tmp_path))
    with opened(PostgresStore(url, crawls=True)) as store:
        store.add_sources(1.0, [make.source(0)])
        for number in range(1, 6):
            line.when = when
            landed = store.commit(make.crawl(0, 100.0 + number, number))
            assert (len(landed.new), line.cuts) == (1, number)
            store.add_clicks(200.0, [ClickRow(make.url(number), 300.0)])
        assert store.sources([0])[0].crawls == 5 == len(store.waiting())
        assert store.stats()["clicks"] == 5 and store.check() == []
        with pytest.raises(BeingCrawled), opened(PostgresStore(database, crawls=True)):
            pass  # it still is the only one that crawls
    line.close()


def test_a_line_that_died_silently_does_not_lock_the_crawl_out(postgres, database, make, tmp_path) -> None:
    """The server still holds the lock of a connection whose other end is gone."""
    with opened(PostgresStore(database, crawls=True)) as store:
        engine = store.store._thread._engine
        dead, engine._connection = engine._connection, None  # as after a network that swallowed all
        store.add_hosts(1.0, ["a.example"])
        assert engine._connection is not dead
        with pytest.raises(BeingCrawled, match="process"), opened(PostgresStore(database, crawls=True)):
            pass


def test_a_server_that_stays_away_is_said(restarted, monkeypatch) -> None:
    from mayfly.store import thread

    monkeypatch.setattr(thread, "_PATIENCE", 0.3)
    with opened(PostgresStore(restarted.create("away"))) as store:
        restarted.stop()
        with pytest.raises(RunError, match=r"away.*: it cannot be reached: check that PostgreSQL runs there"):
            store.hosts()
        restarted.start()
        store.add_hosts(1.0, ["a.example"])
        assert len(store.hosts()) == 1


# Many writers


def test_a_reader_sees_every_page_once_while_four_write(database, make) -> None:
    """The law of cursors: what has a larger number is committed later."""
    writers, rounds = 4, 25
    done = threading.Event()

    def write(number: int) -> None:
        with opened(PostgresStore(database)) as store:
            for turn in range(rounds):
                mine = [1_000_000 * (number + 1) + 3 * turn + k for k in range(3)]
                shared = [10 * turn + k for k in range(4)]  # all of them find these
                landed = store.commit(make.crawl(number, 100.0 + turn, *mine, *shared))
                store.together(
                    *(
                        ("commit", make.fetched(page, 200.0, text=f"words {page}", body_hash=page))
                        for page, _ in landed.new
                    ),
                    ("add_clicks", 300.0, [ClickRow(make.url(shared[0]), 300.0)]),
                    ("add_hosts", 1.0, [f"{turn}.example"]),
                )

    def read() -> list[int]:
        seen: list[int] = []
        with opened(PostgresStore(database, read_only=True)) as store:
            while True:
                over = done.is_set()
                some = store.pages(after=seen[-1] if seen else 0, first=7)
                seen += [page.landed for page in some]
                if over and not some:
                    return seen

    with opened(PostgresStore(database)) as store:
        store.add_sources(1.0, [make.source(number) for number in range(writers)])
        with ThreadPoolExecutor() as pool:
            reader = pool.submit(read)
            try:
                for one in [pool.submit(write, number) for number in range(writers)]:
                    one.result(120)
            finally:
                done.set()
            number = writers * rounds * 3 + rounds * 4
            assert reader.result(60) == list(range(1, number + 1))
        pages = store.pages(first=1_000_000)
        assert len({page.url for page in pages}) == len({page.id for page in pages}) == number
        assert [source.crawls for source in store.sources()] == [rounds] * writers
        assert float(store.clicks_since(0)[0].number.sum()) + store.stats()["clicks_unknown"] == writers * rounds
        assert store.check() == []


def test_one_who_loses_a_race_tries_again_and_one_who_is_wrong_is_told(database) -> None:
    tries = []

    def forestalled(database: Any) -> None:
        """As if another writer had added what is missing, thrice between the look and the leap."""
        tries.append(1)
        database.execute("INSERT INTO hosts (host, added_at) VALUES (?, 1)", (f"{min(len(tries), 4)}.example",))

    def wrong(database: Any) -> None:
        database.execute("INSERT INTO hosts (host, added_at) VALUES ('1.example', 1)")

    with opened(PostgresStore(database)) as store:
        store.add_hosts(1.0, ["1.example", "2.example", "3.example"])
        write = store.store._thread.write

        async def both() -> Any:
            return await asyncio.gather(write(forestalled), write(wrong), return_exceptions=True)

        done, told = store.runner.run(both())
        assert done is None and isinstance(told, asyncpg.UniqueViolationError)
        assert [host.host for host in store.hosts()] == [f"{number}.example" for number in range(1, 5)]


def test_sources_are_numbered_once_whoever_adds_them(database, make) -> None:
    def add(first: int) -> list[int]:
        with opened(PostgresStore(database)) as store:
            return [new for k in range(20) for new in store.add_sources(1.0, [make.source(first + k), make.source(k)])]

    with opened(PostgresStore(database)) as store, ThreadPoolExecutor() as pool:
        found = [number for some in pool.map(add, (100, 200, 300)) for number in some]
        assert sorted(found) == [source.id for source in store.sources()] == list(range(80))
        assert store.check() == []


def test_what_was_acknowledged_survives_kill_9(database) -> None:
    with opened(PostgresStore(database)) as store:
        store.add_sources(1.0, [NewSource("https://site-0.example/", "front")])
    chance, kept = random.Random(1), list[tuple[str, int]]()
    for _ in range(3):
        command = [sys.executable, str(WRITER), database, "0", "1000000"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            first = process.stdout.readline()
            time.sleep(chance.uniform(0.0, 0.4))
            process.kill()
            lines = first + process.stdout.read()
            kept += [(url, int(page)) for url, page in map(str.split, lines[: lines.rfind("\n") + 1].splitlines())]
        with opened(PostgresStore(database)) as store:
            assert store.check() == []
            pages = {page.url: page for page in store.pages(first=1_000_000)}
            assert all(pages[url].id == page and pages[url].outcome == "fetched" for url, page in kept)
    assert len(kept) > 12


def test_a_host_leads_to_another_once_and_not_for_ever(database) -> None:
    with opened(PostgresStore(database)) as store:
        store.add_hosts(1.0, ["0.example"])
        for hop in range(20):
            store.add_hosts(2.0, [f"{hop + 1}.example"], led_by=f"{hop}.example")
        store.add_hosts(3.0, ["more.example"], led_by="0.example")
        store.add_hosts(3.0, ["none.example"], led_by="nobody.example")
        assert sorted(host.host for host in store.hosts()) == [f"{hop}.example" for hop in range(6)]


# What it holds


@pytest.fixture(scope="module")
def shard_in_sql(postgres: Postgres) -> Iterator[Callable[[str], int]]:
    with opened(PostgresStore(postgres.create(f"shards_{secrets.token_hex(6)}"), shards=37)) as store:
        yield lambda site: _read(store, "SELECT shard_of(?)", site)


def _read(store: Plainly, sql: str, *values: Any) -> Any:
    return store.runner.run(store.store._thread.read(lambda database: database.execute(sql, values).get))


@given(site=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
@settings(max_examples=60)
def test_the_database_finds_the_same_shard(shard_in_sql, site: str) -> None:
    assert shard_in_sql(site) == shard_of(site, 37)


def test_rows_find_their_shard_themselves(database, make) -> None:
    with opened(PostgresStore(database, shards=64)) as store:
        store.add_sources(1.0, [NewSource(f"https://www.site-{number}.example/", "front") for number in range(9)])
        links = [ShownLink(f"https://site-{number}.example/a", f"site-{number}.example") for number in range(5)]
        landed = store.commit(Crawled(8, 1.0, 200, 0.1, 1000, Memory(), links))
        store.commit(make.fetched(landed.new[0].page, 2.0))
        assert _read(store, "SELECT count(*) FROM sources WHERE shard = shard_of(site)") == 9
        finders = "SELECT count(*) FROM pages WHERE shard = shard_of(site) AND finder = ?"
        assert _read(store, finders, shard_of("site-8.example", 64)) == 5
        happened = "SELECT array_agg(shard ORDER BY seq) FROM log"
        assert _read(store, happened) == [shard_of("site-8.example", 64), shard_of("site-0.example", 64)]


def test_zeros_in_what_the_web_says_are_no_trouble(database, make) -> None:
    nul = "before\0after"
    with opened(PostgresStore(database)) as store:
        store.add_sources(1.0, [NewSource("https://news.example/", "front", nul)])
        landed = store.commit(make.crawl(0, 1.0, 1, anchor=nul, context=nul))
        what = {"title": nul, "text": nul, "language": nul, "canonical": f"https://news.example/{nul}", "reason": nul}
        store.commit(make.fetched(landed.new[0].page, 2.0, linked={nul: []}, **what))
        store.host_searched("news.example", 1.0, nul)
        store.add_clicks(1.0, [ClickRow(f"https://news.example/{nul}", 1.0)], batch=nul)
        assert store.has_batch(nul)
        assert len(store.search("after")) == 1 == len(store.search(nul))
        assert store.page_at(f"https://news.example/{nul}x") is None
        assert store.check() == []
