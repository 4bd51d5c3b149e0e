"""Where all is kept is a setting: commands say the same of a home whatever keeps it, and it can be moved."""

import json
import secrets
import sys
from pathlib import Path

import pytest

from mayfly.cli import home as homes
from mayfly.cli.layers import resolve

COMMANDS = [
    ("pages", "--json"), ("pages", "--search", "words story", "--json"), ("sources", "--json"), ("health", "--json"),
    ("plan", "--json"), ("study", "hosts", "--json"), ("find", "--suggest", "--json"),
    ("why", "https://paper.example/", "--json"), ("why", "https://paper.example/story-3", "--json"),
    ("why", "https://paper.example/private/x", "--json"), ("doctor", "--json"),
]  # fmt: skip


@pytest.fixture
def database(postgres) -> str:
    """An empty one."""
    return postgres.create(f"cli_{secrets.token_hex(6)}")


@pytest.fixture
def moved(lived: Path, database: str, command) -> Path:
    """A home with a day of history that is kept in PostgreSQL."""
    done = command("store", "copy", lived, database)
    assert (done.status, done.err) == (0, "")
    (lived / "mayfly.db").unlink()
    (lived / "mayfly.toml").write_text(f"store = {json.dumps(database)}\n")
    return lived


def test_commands_say_the_same_whatever_keeps_it(lived, database, command, monkeypatch) -> None:
    said = [command(*words) for words in COMMANDS]
    assert command("export", "--out", lived / "before.jsonl").status == 0
    assert command("store", "copy", lived, database).status == 0
    for path in lived.glob("mayfly.db*"):
        path.unlink()
    monkeypatch.setenv("MAYFLY_STORE", database)
    for words, before in zip(COMMANDS, said, strict=True):
        now = command(*words)
        assert (now.status, now.err) == (before.status, before.err), words
        assert _timeless(now.out) == _timeless(before.out), words
    assert command("export", "--out", lived / "now.jsonl").status == 0
    assert (lived / "now.jsonl").read_text() == (lived / "before.jsonl").read_text() != ""
    assert not (lived / "mayfly.db").exists()


def _timeless(printed: str) -> list[object]:
    """What was said, without what changes from second to second."""
    return [_without(json.loads(line)) for line in printed.splitlines()]


def _without(told: object) -> object:
    match told:
        case dict():
            return {key: _without(value) for key, value in told.items() if key not in ("says", "per_day", "now")}
        case list():
            return [_without(value) for value in told]
        case float():
            return pytest.approx(told, rel=1e-3)
    return told


def test_what_people_change_is_kept_there(moved, command, tmp_path) -> None:
    assert command("sources", "pin", "https://paper.example/", "--every", "10m").status == 0
    assert command("sources", "add", "https://new.example/feed.xml", "--kind", "feed").status == 0
    rows = tmp_path / "clicks.jsonl"
    rows.write_text(json.dumps({"url": "https://paper.example/story-3", "at": "2026-11-17T10:00:00Z"}) + "\n")
    assert "1 rows kept" in command("clicks", rows).out
    found = [json.loads(line) for line in command("sources", "--json").out.splitlines()]
    assert {one["url"]: one["pinned"] for one in found if one["pinned"]} == {"https://paper.example/": 600.0}
    assert "https://new.example/feed.xml" in {one["url"] for one in found}
    assert command("lab", "record", tmp_path / "trace").status == 0
    assert not (moved / "mayfly.db").exists()


def test_a_crawl_is_kept_where_a_flag_says(home, site, database, command) -> None:
    site.show("/", "/news/")
    site.show("/news/", "/news/old-story-of-yesterday")
    site.show("/news/old-story-of-yesterday")
    assert command("find", site.host, "--store", database, "--older-than", "0").status == 0
    for _ in range(10):  # a busy machine may not come to it in a second
        assert command("crawl", "--store", database, "--for", "1s").status == 0
        if site.visits("/news/"):
            break
    site.show("/news/", "/news/new-story-of-today", "/news/old-story-of-yesterday")
    site.show("/news/new-story-of-today")
    done = command("crawl", "--store", database, "--for", "2s")
    assert (done.status, site.visits("/news/new-story-of-today")) == (0, 1), done.err
    assert not (home / "mayfly.db").exists()
    lost = command("pages")
    assert lost.status == 2 and "kept elsewhere, say so: store in mayfly.toml, or MAYFLY_STORE" in lost.err
    there = home.parent / "copy"
    assert command("store", "copy", database, there).status == 0
    found = command("pages", "--json", "--home", there).out
    assert [json.loads(line)["url"] for line in found.splitlines()] == [f"{site.root}/news/new-story-of-today"]
    done = command("crawl", "--home", there, "--for", "1s")
    assert (done.status, site.visits("/news/new-story-of-today")) == (0, 1)


def test_counts_are_printed_for_people_and_programs(lived, database, command, tmp_path) -> None:
    for_people = command("store", "copy", lived, tmp_path / "other").out
    assert ["sources", "3", "3"] in [line.split() for line in for_people.splitlines()]
    assert f"{tmp_path / 'other' / 'mayfly.db'} holds all that {lived / 'mayfly.db'} does" in for_people
    told = json.loads(command("store", "copy", lived, database, "--json").out)
    assert told["tables"]["sources"] == {"read": 3, "written": 3}
    assert told["from"] == str(lived / "mayfly.db")
    assert all(one["read"] == one["written"] for one in told["tables"].values())


def test_what_cannot_be_copied_is_said(lived, home, database, command, tmp_path) -> None:
    for words, status, complaint in (
        ((lived, lived), 2, "is both; name two stores"),
        ((tmp_path / "nowhere", database), 2, "is not there"),
        ((tmp_path, database), 2, "nothing is kept in"),
        ((database, tmp_path / "new"), 1, "nothing is kept in postgresql://"),
        ((lived, database.replace("/cli_", "/no_")), 1, "there is no such database: make it with createdb"),
        ((lived, "postgresql://me:hush-hush@127.0.0.1:1/x"), 1, "postgresql://me@127.0.0.1:1/x: it cannot be reached"),
    ):
        done = command("store", "copy", *words)
        assert done.status == status and complaint in done.err and len(done.err.splitlines()) == 1, done
        assert "hush" not in done.err
    assert command("store", "copy", lived, database).status == 0
    again = command("store", "copy", lived, database)
    assert again.status == 2 and "is not empty, it has sources: name a home or a database that is" in again.err


def test_the_password_is_not_shown(home, command) -> None:
    home.mkdir()
    (home / "mayfly.toml").write_text('store = "postgresql://me:hush-hush@db.example:5433/crawl?password=hush-hush"\n')
    shown = "postgresql://me@db.example:5433/crawl"
    assert command("config", "store").out.strip() == shown
    assert json.loads(command("config", "--json").out)["store"]["value"] == shown
    printed = [command("config"), command("config", "store", "--json"), command("config", "--json"), command("doctor")]
    assert all("hush" not in done.out + done.err for done in printed)
    assert resolve(home, {})[0].store.count("hush-hush") == 2


@pytest.mark.parametrize("store", ["mysql://me:hush-hush@db/x", "crawl.db", "http://db/x", "postgresql:/x"])
def test_other_stores_are_refused(home, command, store) -> None:
    done = command("crawl", "--store", store)
    assert done.status == 2 and "hush" not in done.err
    assert "--store must be empty, or an address such as postgresql://user@host/database" in done.err


def test_without_asyncpg_it_says_what_to_install(lived, command, monkeypatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("asyncpg", "mayfly.store.postgres"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    for words in (("pages",), ("store", "copy", str(lived), "postgresql://db/x")):
        monkeypatch.setenv("MAYFLY_STORE", "postgresql://db/x")
        done = command(*words)
        assert done.status == 2 and "pip install mayfly[postgres]" in done.err


def test_two_crawls_of_one_database_exclude_each_other_whatever_their_homes(home, site, database, command) -> None:
    import asyncio

    from mayfly.store.postgres import PostgresStore

    async def meanwhile() -> None:
        async with PostgresStore(database, crawls=True):
            crawl = await asyncio.to_thread(command, "crawl", "--store", database, "--for", "1s")
            assert crawl.status == 1 and "is being crawled by process" in crawl.err
            find = await asyncio.to_thread(command, "find", site.host, "--store", database)
            assert find.status == 0 and "It will look for their sources" in find.err

    asyncio.run(meanwhile())
    assert homes.existing(home)
