"""`mayfly export`: pages out in every form, once and as they land."""

import asyncio
import csv
import gzip
import io
import json
import os
import pty
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from typing import NamedTuple

import pytest

from mayfly.store.records import Fetched, Page
from mayfly.store.sqlite import SqliteStore
from mayfly.store.warc import WarcWriter

STORIES = [f"https://paper.example/story-{number}" for number in (3, 4, 5)]


@pytest.fixture
def exported(mayfly, lived, tmp_path):
    """Run it as people do, for it writes bytes past what a test can catch."""

    def run(*flags: object) -> subprocess.CompletedProcess[str]:
        return mayfly("export", "--home", lived, *flags, cwd=tmp_path)

    return run


def settle(home, page: int, title: str = "Late", warc: str = "") -> None:
    url = "https://paper.example/story-6"

    async def fetch() -> None:
        async with SqliteStore(home / "mayfly.db") as store:
            await store.commit(
                Fetched(page, time.time(), "fetched", 200, 0.1, 10, url, title=title, body_hash=99, warc=warc)
            )

    asyncio.run(fetch())


def test_lines_of_json_and_where_to_go_on(exported) -> None:
    done = exported()
    assert done.returncode == 0 and done.stderr == "3 pages; go on with --after 3\n"
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["url"] for row in rows] == STORIES
    assert [json.loads(line)["url"] for line in exported("--after", 2).stdout.splitlines()] == STORIES[2:]
    done = exported("--limit", 1, "--outcome", "fetched", "--host", "paper.example")
    assert len(done.stdout.splitlines()) == 1 and done.stderr == "1 page; go on with --after 1\n"
    assert exported("--after", 3).stderr == "0 pages; go on with --after 3\n"


def test_csv_parquet_and_rss(exported, tmp_path) -> None:
    rows = list(csv.DictReader(io.StringIO(exported("--format", "csv").stdout, newline="")))
    assert [row["url"] for row in rows] == STORIES
    assert exported("--format", "parquet", "--out", "pages.parquet").returncode == 0
    import pyarrow.parquet

    assert pyarrow.parquet.read_table(tmp_path / "pages.parquet").column("url").to_pylist() == STORIES
    done = exported("--format", "rss")
    titles = [item.findtext("title") for item in ET.fromstring(done.stdout).iter("item")]
    assert len(titles) == 2 and titles[0] == "Title 2" and "\x1b" not in done.stdout  # the newest, those fetched
    assert done.stderr == "2 pages\n"
    assert len(list(ET.fromstring(exported("--format", "rss", "--limit", 1).stdout).iter("item"))) == 1


def test_warc_says_what_is_not_kept(exported) -> None:
    done = exported("--format", "warc")
    assert done.returncode == 0 and done.stdout == ""
    assert done.stderr == "0 pages; of 3 no raw answer is kept; go on with --after 3\n"


class Answer(NamedTuple):
    url: str = "https://paper.example/story-6"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "text/html"),)
    body: bytes = b"<p>raw"
    at: float = 1_790_000_000.0
    address: str = "192.0.2.1"


def test_warc_has_the_raw_answers(exported, lived, tmp_path) -> None:
    with WarcWriter(lived / "warc") as archive:
        where = archive.write(Answer())
    settle(lived, 4, warc=where)
    done = exported("--format", "warc", "--out", "pages.warc.gz")
    assert done.stderr == "1 page; of 3 no raw answer is kept; go on with --after 4\n"
    assert b"<p>raw" in gzip.decompress((tmp_path / "pages.warc.gz").read_bytes())


def test_a_file_is_whole_or_not_there(exported, lived, tmp_path) -> None:
    assert exported("--out", "pages.jsonl").returncode == 0
    assert len((tmp_path / "pages.jsonl").read_text().splitlines()) == 3
    (lived / "mayfly.db").write_bytes(b"broken" * 1000)
    for path in lived.glob("mayfly.db-*"):
        path.unlink()
    assert exported("--out", "more.jsonl").returncode == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "pages.jsonl"]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--follow", "--format", "rss"], "--follow goes with jsonl or csv, not rss"),
        (["--follow", "--limit", "3"], "so no --limit"),
        (["--format", "rss", "--after", "1"], "RSS is of the newest pages"),
        (["--out", "nowhere/pages.jsonl"], "--out nowhere/pages.jsonl: No such file or directory"),
        (["--source", "https://paper.example/fed.xml"], "the nearest is https://paper.example/feed.xml"),
        (["--format", "pdf"], "pdf"),
    ],
)
def test_what_is_asked_wrong_is_said(exported, flags, said: str) -> None:
    done = exported(*flags)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr


def follow(home, *flags: str, **options) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", "from mayfly.cli import main; main()", "export", "--follow", "--home", str(home)]
    return subprocess.Popen([*command, *flags], stderr=subprocess.PIPE, **options)


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_follow_writes_pages_as_they_land_until_ctrl_c(lived, form: str) -> None:
    with follow(lived, "--format", form, "--after", "2", stdout=subprocess.PIPE) as running:
        if form == "csv":
            assert running.stdout.readline().startswith(b"url,")
        assert b"story-5" in running.stdout.readline()
        settle(lived, 4)
        assert b"Late" in running.stdout.readline()
        running.send_signal(signal.SIGINT)
        rest, said = running.communicate(timeout=20)
    assert (running.returncode, rest) == (0, b"")
    assert said == b"2 pages; go on with --after 4\n"


def test_follow_ends_when_nobody_reads_any_more(lived) -> None:
    with follow(lived, stdout=subprocess.PIPE) as running:
        running.stdout.readline()
        running.stdout.close()
        assert running.wait(timeout=20) == 0  # though nothing lands
        assert b"Traceback" not in running.stderr.read()


def test_a_reader_that_has_seen_enough_is_no_failure(lived) -> None:
    read, write = os.pipe()
    os.close(read)
    with follow(lived, stdout=write) as running:
        os.close(write)
        assert running.wait(timeout=20) == 0 and b"Traceback" not in running.stderr.read()


def test_a_terminal_gets_tame_text_and_no_bytes(lived) -> None:
    settle(lived, 4, title="\x9b31mRed")
    command = [
        sys.executable,
        "-c",
        "from mayfly.cli import main; main()",
        "export",
        "--home",
        str(lived),
        "--after",
        "3",
    ]

    def shown(*flags: str) -> tuple[int, bytes]:
        main, other = pty.openpty()
        done = subprocess.run([*command, *flags], stdout=other, stderr=subprocess.DEVNULL, timeout=60)
        os.close(other)
        with open(main, "rb", buffering=0) as file:
            try:
                return done.returncode, file.read(65536)
            except OSError:  # nothing was written
                return done.returncode, b""

    status, text = shown()
    assert status == 0 and b"31mRed" in text and "\x9b".encode() not in text
    assert shown("--format", "warc") == (2, b"")


def test_every_text_of_a_page_is_tamed() -> None:
    from mayfly.cli.export import _TEXTS

    assert {"title", "anchor", "context", "text", "reason", "url", "language"} <= set(_TEXTS) <= set(Page.__slots__)
