"""`mayfly doctor`: it complains of what is wrong, and repairs nothing."""

import hashlib
import json
import os
from pathlib import Path

import pytest

from mayfly.crawl.lock import locked


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
    assert json.loads(command("doctor", "--json").out) == {"sound": True, "holder": None, "complaints": []}
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


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_rights(command, lived) -> None:
    (lived / "mayfly.db").chmod(0o400)
    assert "it may not be read and written" in command("doctor").out
