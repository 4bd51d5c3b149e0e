"""Which databases of PostgreSQL are opened, who is let in, and what others are told."""

import time
from typing import Any

import asyncpg
import pytest

from mayfly.errors import RunError
from mayfly.store import postgres_engine
from mayfly.store.postgres import PostgresStore
from mayfly.store.records import Crawled, Fetched, Memory, NewSource, ShownLink

from .conftest import ask, opened


def refused(url: str, **how: Any) -> str:
    with pytest.raises(RunError) as error, opened(PostgresStore(url, **how)):
        pass
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_newer_database_is_refused(database) -> None:
    with opened(PostgresStore(database)):
        pass
    ask(database, "UPDATE meta SET value = 99 WHERE name = 'schema'", "SELECT 1")
    assert "has schema 99, this Mayfly knows up to 5: update Mayfly" in refused(database)
    assert "has schema 99" in refused(database, read_only=True)


def test_an_older_database_is_brought_up_to_date_by_who_writes(database) -> None:
    with opened(PostgresStore(database, steps=postgres_engine.migrations(4)[:1])):
        pass
    assert "has schema 1 and this Mayfly reads 5: run a command that writes" in refused(database, read_only=True)
    with opened(PostgresStore(database)) as store:
        store.add_hosts(1.0, ["a.example"])
    assert ask(database, "SELECT value FROM meta WHERE name = 'schema'")[0][0] == 5


def test_a_database_of_another_program_is_left_alone(database) -> None:
    ask(database, "CREATE TABLE birds (name text)", "INSERT INTO birds VALUES ('wren')")
    for how in ({}, {"read_only": True}):
        assert "is a database, but not one of Mayfly's: name one that is empty" in refused(database, **how)
    tables = ask(database, "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace")
    assert [row[0] for row in tables] == ["birds"]


def test_there_is_nothing_to_read(database) -> None:
    assert "nothing is kept in postgresql://" in refused(database, read_only=True)
    assert ask(database, "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace")[0][0] == 0


def test_who_reads_may_not_write(database, make) -> None:
    with opened(PostgresStore(database)) as store, opened(PostgresStore(database, read_only=True)) as reader:
        store.add_sources(1.0, [make.source(0)])
        assert len(reader.sources()) == 1
        with pytest.raises(RunError, match="is open for reading only"):
            reader.add_hosts(1.0, ["a.example"])
        with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
            reader.runner.run(reader.store._thread.read(lambda one: one.execute("DELETE FROM sources")))


def test_what_is_not_there_or_locked_is_said(restarted) -> None:
    rules = restarted.folder / "data" / "pg_hba.conf"
    rules.write_text("local all guest scram-sha-256\n" + rules.read_text())
    role = "CREATE ROLE guest LOGIN PASSWORD 'sesame-sesame'"
    there = restarted.create("locked")
    ask(there, role, "ALTER DATABASE locked OWNER TO guest", "SELECT pg_reload_conf()")
    time.sleep(0.2)
    guest = f"postgresql://guest:%s@/locked?host={restarted.folder}"
    told = refused(guest % "hush-hush")
    assert "it does not let us in: check the user and password" in told and "hush" not in told
    with opened(PostgresStore(guest % "sesame-sesame", crawls=True)) as store:  # one who may nothing else is enough
        store.add_sources(1.0, [NewSource("https://site-0.example/", "front")])
        store.commit(
            Crawled(0, 1.0, 200, 0.1, 1000, Memory(), [ShownLink("https://site-0.example/a", "site-0.example")])
        )
        store.commit(Fetched(1, 2.0, "fetched", 200, 0.1, 1000, "https://site-0.example/a", text="some words"))
        assert store.check() == [] and len(store.search("words")) == 1
        assert "is being crawled by" in refused(there, crawls=True)
    other = restarted.create("of_another")
    ask(other, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")  # before PostgreSQL 15 everybody may make tables there
    told = refused(f"postgresql://guest:sesame-sesame@/of_another?host={restarted.folder}")
    assert "this user may not do that: let him own the database" in told
    assert "there is no such database: make it with createdb" in refused(restarted.url("nowhere"))


@pytest.mark.parametrize("url", ["postgresql://me:hush-hush@127.0.0.1:1/x", "postgresql:///x?host=/nowhere"])
def test_what_cannot_be_reached_is_said(url) -> None:
    told = refused(url)
    assert "it cannot be reached: check that PostgreSQL runs there, and the address" in told and "hush" not in told


@pytest.mark.parametrize("url", ["postgresql://me:hush-hush@h:port/x", "postgresql://[me:hush-hush@h/x"])
def test_what_is_no_address_is_said(url) -> None:
    told = refused(url)
    assert "that is no address of a PostgreSQL: write postgresql://user@host:5432/database" in told
    assert "hush" not in told
