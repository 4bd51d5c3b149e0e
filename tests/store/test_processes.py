"""Several processes with one database, and processes that are killed."""

import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import apsw
import pytest

from mayfly.errors import RunError
from mayfly.store import connection, thread
from mayfly.store.records import ClickRow, NewSource

WRITER = Path(__file__).parent / "writer.py"


def writer(path: Path, source: int, rounds: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(WRITER), str(path), str(source), str(rounds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def whole(lines: str) -> list[tuple[str, int]]:
    """What was printed up to the last whole line."""
    return [(url, int(page)) for url, page in (line.split() for line in lines[: lines.rfind("\n") + 1].splitlines())]


def test_what_was_acknowledged_survives_a_kill(opening, tmp_path) -> None:
    path, chance = tmp_path / "mayfly.db", random.Random(1)
    with opening() as store:
        store.add_sources(1.0, [NewSource("https://site-0.example/", "front")])
    kept: list[tuple[str, int]] = []
    for _ in range(5):
        with writer(path, 0, 1_000_000) as process:
            assert process.stdout is not None
            first = process.stdout.readline()
            time.sleep(chance.uniform(0.0, 0.4))
            process.send_signal(signal.SIGKILL)
            kept += whole(first + process.stdout.read())
        with opening() as store:
            assert store.check() == []
            pages = {page.url: page for page in store.pages(first=1_000_000)}
            assert all(pages[url].id == page and pages[url].outcome == "fetched" for url, page in kept)
            assert len(pages) + len(store.waiting()) == store.stats()["seen"]
    assert len(kept) > 20


def test_two_crawlers_and_a_click_log_write_at_once(opening, tmp_path, make) -> None:
    path = tmp_path / "mayfly.db"
    with opening() as store:
        store.add_sources(1.0, [NewSource(f"https://site-{number}.example/", "front") for number in range(2)])
        writers = [writer(path, source, 200) for source in range(2)]
        clicks = 0
        while any(process.poll() is None for process in writers):
            clicks += store.add_clicks(2.0, [ClickRow(make.url(n), 1.0) for n in range(200)]).unknown
            store.pin(0, float(clicks))
        for source, process in enumerate(writers):
            printed, complained = process.communicate()
            assert (complained, process.returncode) == ("", 0)
            found = whole(printed)
            assert len({url for url, _ in found}) == len(found) == 203
            assert all(store.page_at(url).id == page for url, page in found)
            assert store.sources([source])[0].crawls == 200
        assert store.stats()["clicks_unknown"] == clicks
        assert store.check() == []


def test_who_reads_sees_what_is_committed_and_may_not_write(opening, make) -> None:
    with opening() as store, opening(read_only=True) as reader:
        store.add_sources(1.0, [make.source(0)])
        store.commit(make.crawl(0, 100.0, 1, 2))
        assert [page.url for page in reader.waiting()] == [make.url(1), make.url(2)]
        assert reader.check() == []
        with pytest.raises(RunError, match=r"mayfly\.db is open for reading only"):
            reader.add_hosts(1.0, ["a.example"])


@pytest.fixture
def locked(opening, tmp_path, monkeypatch):
    """A store, and a way to lock its database from elsewhere for a while."""
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.02)
    with opening() as store:
        other = apsw.Connection(str(tmp_path / "mayfly.db"))

        def lock(seconds: float) -> threading.Timer:
            other.execute("BEGIN IMMEDIATE")
            timer = threading.Timer(seconds, lambda: other.execute("COMMIT"))
            timer.start()
            return timer

        yield store, lock
        other.close()


def test_a_lock_is_waited_for(locked) -> None:
    store, lock = locked
    timer = lock(0.3)
    store.add_hosts(1.0, ["a.example"])
    timer.join()
    assert len(store.hosts()) == 1


def test_a_lock_that_stays_is_reported_and_the_store_goes_on(locked, monkeypatch) -> None:
    store, lock = locked
    monkeypatch.setattr(thread, "_PATIENCE", 0.1)
    timer = lock(1.0)
    with pytest.raises(RunError, match="locked for too long"):
        store.add_hosts(1.0, ["a.example"])
    timer.join()
    store.add_hosts(1.0, ["b.example"])
    assert [host.host for host in store.hosts()] == ["b.example"]
