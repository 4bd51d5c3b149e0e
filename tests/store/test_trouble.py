"""Full disks, homes that may not be written, files that are not ours: one clear sentence, and nothing half-written."""

import asyncio
import os
import resource
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from mayfly.errors import RunError
from mayfly.store import schema
from mayfly.store.connection import connect
from mayfly.store.schema import APPLICATION_ID

FIRST = "CREATE TABLE meta (name TEXT, value); CREATE TABLE birds (name TEXT); INSERT INTO birds VALUES ('wren');"
SECOND = "ALTER TABLE birds ADD COLUMN legs INTEGER DEFAULT 2"


def birds(path: Path) -> list[tuple]:
    database = apsw.Connection(str(path))
    try:
        return database.execute("SELECT * FROM birds").fetchall()
    finally:
        database.close()


# Schema


def test_a_new_database_has_all_there_is(tmp_path) -> None:
    database = connect(tmp_path / "mayfly.db")
    assert database.pragma("user_version") == len(schema.MIGRATIONS)
    assert database.pragma("application_id") == APPLICATION_ID
    assert database.pragma("auto_vacuum") == 2
    assert database.pragma("journal_mode") == "wal"
    database.close()


def test_each_home_has_another_seed(tmp_path) -> None:
    seeds = set()
    for name in "ab":
        for _ in range(2):
            database = connect(tmp_path / name)
            seeds.add(database.seed)
            database.close()
    assert len(seeds) == 2


def test_a_migration_copies_first(tmp_path) -> None:
    path = tmp_path / "mayfly.db"
    connect(path, migrations=(FIRST,)).close()
    assert [file.name for file in tmp_path.iterdir()] == ["mayfly.db"]
    connect(path, migrations=(FIRST, SECOND)).close()
    assert birds(path) == [("wren", 2)]
    assert birds(tmp_path / "mayfly.db.before-v2") == [("wren",)]
    assert not list(tmp_path.glob("*.unfinished"))


def test_a_migration_that_fails_changes_nothing(tmp_path) -> None:
    path = tmp_path / "mayfly.db"
    connect(path, migrations=(FIRST,)).close()
    with pytest.raises(RunError, match="no such table"):
        connect(path, migrations=(FIRST, SECOND, "DROP TABLE fish"))
    assert birds(path) == [("wren",)]
    connect(path, migrations=(FIRST,)).close()


def test_hosts_counted_before_new_articles_were_are_still_suggested(tmp_path, opening, make) -> None:
    old = connect(tmp_path / "mayfly.db", migrations=schema.MIGRATIONS[:6])
    old.execute(
        "INSERT INTO linked_hosts VALUES ('a.example', 7, 100.0); INSERT INTO linked_by VALUES ('a.example', 0)"
    )
    old.close()
    with opening() as store:
        assert store.suggestions(9) == [("a.example", 0.0, 7, 1, 100.0)]
        store.add_sources(1.0, [make.source(0)])
        store.commit(make.crawl(0, 110.0, 1))
        store.commit(make.fetched(1, 110.0, linked={"a.example": ["https://a.example/new"]}))
        assert store.suggestions(9) == [("a.example", 1.0, 8, 1, 110.0)]


def test_a_newer_database_is_refused(tmp_path) -> None:
    path = tmp_path / "mayfly.db"
    connect(path, migrations=(FIRST, SECOND)).close()
    with pytest.raises(RunError, match=r"has schema 2, this Mayfly knows up to 1: update Mayfly.*before-v2"):
        connect(path, migrations=(FIRST,))


def test_an_older_database_cannot_be_only_read(tmp_path) -> None:
    path = tmp_path / "mayfly.db"
    connect(path, migrations=(FIRST,)).close()
    with pytest.raises(RunError, match=r"has schema 1 and this Mayfly reads 2: run a command that writes"):
        connect(path, read_only=True, migrations=(FIRST, SECOND))


# Files that are not ours, or not whole


def test_a_database_of_another_program_is_left_alone(tmp_path) -> None:
    path = tmp_path / "mayfly.db"
    other = apsw.Connection(str(path))
    other.execute("CREATE TABLE theirs (x)")
    other.close()
    with pytest.raises(RunError, match=r"mayfly\.db is a database, but not one of Mayfly's"):
        connect(path)


def test_a_file_that_is_no_database(tmp_path) -> None:
    path = tmp_path / "mayfly.db"
    path.write_bytes(b"to whom it may concern" * 500)
    with pytest.raises(RunError, match="not an SQLite database: move it away"):
        connect(path)
    assert path.read_bytes()[:7] == b"to whom"


def test_a_damaged_database_is_reported(opening, tmp_path, make) -> None:
    path = tmp_path / "mayfly.db"
    with opening() as store:
        store.add_sources(1.0, [make.source(number) for number in range(400)])
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] + b"\xff" * 8192 + whole[len(whole) // 2 + 8192 :])
    with opening() as store:
        assert store.check()
        assert path.name in store.check()[0].where
    path.write_bytes(whole[:5000])
    with pytest.raises(RunError, match=r"damaged|not an SQLite database"), opening() as store:
        store.check()


def test_there_is_nothing_to_read(tmp_path) -> None:
    with pytest.raises(RunError, match=r"there is no .*mayfly\.db"):
        connect(tmp_path / "mayfly.db", read_only=True)
    with pytest.raises(RunError, match="cannot be opened: check that its folder exists"):
        connect(tmp_path / "nowhere" / "mayfly.db")


READ_ONLY_HOME = """
import asyncio, os, sys
from pathlib import Path
import encodings.idna
from mayfly.errors import RunError
from mayfly.store.sqlite import SqliteStore
if os.getuid() == 0:
    os.setuid(65534)  # root may write anywhere

async def main(read_only):
    try:
        async with SqliteStore(Path(sys.argv[1]), read_only=read_only) as store:
            print(len(await store.sources()))
            await store.add_hosts(1.0, ["a.example"])
    except RunError as error:
        print(error)

asyncio.run(main(False))
asyncio.run(main(True))
"""


def test_a_home_that_may_not_be_written_can_be_read(opening, tmp_path, make) -> None:
    with opening() as store:
        store.add_sources(1.0, [make.source(0)])
    path = tmp_path / "mayfly.db"
    for parent in (tmp_path, *tmp_path.parents):
        if parent.owner() == tmp_path.owner() and len(parent.parts) > 2:
            parent.chmod(0o755)
    path.chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        done = subprocess.run([sys.executable, "-c", READ_ONLY_HOME, str(path)], capture_output=True, text=True)
    finally:
        tmp_path.chmod(0o755)
    written, read, refused = done.stdout.splitlines()
    assert "may not be written: check the rights of the file and its folder" in written
    assert (read, "open for reading only" in refused) == ("1", True)


# Disks


@contextmanager
def full_by_pages(store):
    """SQLite's own limit on the size of the file."""
    store.runner.run(store.store._thread.alone(lambda database: database.pragma("max_page_count", 1)))
    yield "the disk is full: free some space, and it goes on"
    store.runner.run(store.store._thread.alone(lambda database: database.pragma("max_page_count", 1 << 30)))


@contextmanager
def full_by_bytes(store):
    """The limit of a process on what it may write, which comes as an error of the disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    path = store.store._thread._engine.name
    resource.setrlimit(resource.RLIMIT_FSIZE, (os.stat(f"{path}-wal").st_size + 20_000, hard))
    yield "the disk does not do as it is told"
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("full", [full_by_pages, full_by_bytes])
def test_a_full_disk_is_said_and_nothing_is_half_written(opening, make, full) -> None:
    with opening() as store:
        store.add_sources(1.0, [make.source(number) for number in range(3)])
        store.commit(make.crawl(0, 100.0, 1, 2, 3))
        many = [("commit", make.crawl(1, 200.0 + n, *range(1000 * n, 1000 * n + 1000))) for n in range(5)]
        with full(store) as said:
            results = store.together(*many)
            refused = [number for number, result in enumerate(results) if isinstance(result, Exception)]
            assert refused
            assert all(isinstance(results[number], RunError) and said in str(results[number]) for number in refused)
            assert "mayfly.db" in str(results[refused[0]])
            assert len(store.pages()) == 0  # it can still be read
        assert store.check() == []
        assert store.sources([1])[0].crawls == 5 - len(refused)
        assert all(store.unseen([make.url(1000 * number + 999)]) for number in refused)
        for number in refused:
            assert store.commit(many[number][1]).new
        assert store.check() == []


# Orderly ends


def test_what_was_asked_for_is_done_before_the_store_closes(opening, make) -> None:
    with opening() as store:
        store.add_sources(1.0, [make.source(0)])

        async def leave() -> None:
            for number in range(50):
                task = asyncio.ensure_future(store.store.commit(make.crawl(0, float(number), number)))
                await asyncio.sleep(0)
                task.cancel()

        store.runner.run(leave())
    with opening() as store:
        assert store.sources()[0].crawls == 50


def test_a_closed_store_says_so(opening) -> None:
    with opening() as store:
        pass
    with asyncio.Runner() as runner, pytest.raises(RuntimeError, match="is not open"):
        runner.run(store.store.sources())
