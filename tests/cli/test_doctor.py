"""`mayfly doctor`: it complains of what is wrong, and repairs nothing."""

import asyncio
import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from mayfly.crawl.lock import locked
from mayfly.store.hints import NamedHub, Subscription
from mayfly.store.records import Crawled, Memory
from mayfly.store.sqlite import SqliteStore


def digest(home: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(home.rglob("*"))
        if path.is_file() and not path.name.endswith(("-shm", "-wal"))
    }


def test_a_sound_home(command, lived) -> None:
    before = digest(lived)
    done = command("doctor")
    assert done.status == 0, done.out
    assert done.out == f"{lived}: nothing is wrong.\n"
    assert json.loads(command("doctor", "--json").out) == {"sound": True, "holder": None, "hubs": {}, "complaints": []}
    assert digest(lived) == before


def test_who_crawls_is_said(command, lived) -> None:
    with locked(lived):
        done = command("doctor")
        assert done.status == 0 and f"is being crawled by process {os.getpid()} on" in done.out
        assert command("health").out.startswith(f"! the crawl: stuck, for 10 h: process {os.getpid()}")


def test_no_home_is_asked_wrong(command, home) -> None:
    assert command("doctor").status == 2
    home.mkdir()
    assert command("doctor").status == 0


def test_a_database_that_is_none(command, lived) -> None:
    for path in lived.glob("mayfly.db*"):
        path.unlink()
    (lived / "mayfly.db").write_bytes(b"not a database at all" * 1000)
    before = digest(lived)
    done = command("doctor")
    assert done.status == 1 and "it is not an SQLite database" in done.out and "Traceback" not in done.err
    assert digest(lived) == before


def test_a_damaged_database(command, lived) -> None:
    path = lived / "mayfly.db"
    with path.open("r+b") as file:
        for page in range(8, path.stat().st_size // 4096):
            file.seek(page * 4096)
            file.write(os.urandom(4096))
    done = command("doctor", "--json")
    assert done.status == 1
    told = json.loads(done.out)
    assert not told["sound"] and all(one["what"] and one["where"] and one["advice"] for one in told["complaints"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("budget = -1", "budget must be a number above 0, not -1"),
        ("free-gigabytes = 1000000", "under 1e+06 GB the crawl pauses"),
    ],
)
def test_settings_and_space(command, lived, text: str, said: str) -> None:
    (lived / "mayfly.toml").write_text(text + "\n")
    done = command("doctor")
    assert done.status == 1 and said in done.out


def test_what_was_left_lying_about(command, lived) -> None:
    (lived / "mayfly.db.before-v2.unfinished").write_bytes(b"")
    done = command("doctor")
    assert done.status == 1 and "something was cut short" in done.out
    assert (lived / "mayfly.db.before-v2.unfinished").exists()


def test_raw_answers_left_open(command, lived) -> None:
    (lived / "warc").mkdir()
    (lived / "warc" / "mayfly-20260101T000000Z-1.warc.gz.open").write_bytes(b"")
    with locked(lived):
        assert command("doctor").status == 0
    done = command("doctor")
    assert done.status == 1 and "a crawl that ended badly left it open" in done.out
    assert "rename it to mayfly-20260101T000000Z-1.warc.gz" in done.out


def test_hubs_are_counted_and_those_that_cannot_reach_us_told(command, lived) -> None:
    def keep(*made: Subscription) -> None:
        async def main() -> None:
            async with SqliteStore(lived / "mayfly.db") as store:
                await store.commit(
                    Crawled(1, 1.0, 304, 0.1, 0, Memory(), None, hub=NamedHub("https://hub.example/", "t"))
                )
                for one in made:
                    await store.keep_subscription(one)

        asyncio.run(main())

    asked = Subscription(
        "x1", "t", "https://hub.example/", "https://we.example/api/websub/x1", "s", "asked", 1.0, tries=1
    )
    keep(asked, replace(asked, id="x2", state="active"))
    done = command("doctor")
    assert done.status == 0
    assert "WebSub: feeds that name a hub: 1; subscriptions: 1 active, 1 asked." in done.out
    keep(replace(asked, tries=3))
    done = command("doctor")
    assert done.status == 1
    assert (
        "! https://we.example: hubs took what we asked and never called back (1, as https://hub.example/)." in done.out
    )
    assert json.loads(command("doctor", "--json").out)["hubs"] == {"named": 1, "active": 1, "asked": 1}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_rights(command, lived) -> None:
    (lived / "mayfly.db").chmod(0o400)
    assert "it may not be read and written" in command("doctor").out
