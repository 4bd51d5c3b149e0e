"""`mayfly crawl` as people run it: on a real site, stopped by hand, with settings that must do something."""

import asyncio
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mayfly.core.model import DAY, HOUR
from mayfly.store.sqlite import SqliteStore
from mayfly.testing.messages import Raw, Reply

MAYFLY = Path(sys.executable).with_name("mayfly")


def kept(home, ask):
    async def look():
        async with SqliteStore(home / "mayfly.db") as store:
            return await ask(store)

    return asyncio.run(look())


@pytest.fixture
def watched(command, site, home):
    """A home that has read the two sources of a site once."""
    site.show("/", "/news/")
    site.show("/news/")
    assert command("find", site.host).status == 0
    crawl_until(command, lambda: all(source.crawls for source in kept(home, lambda store: store.sources())))
    return home


def crawl_until(command, check, *flags) -> None:
    """As many short crawls as it takes: the machine may be busy."""
    for _ in range(15):
        if check():
            return
        assert command("crawl", "--for", "1s", *flags).status == 0
    assert check()


def until(check, what: str) -> None:
    end = time.monotonic() + 30.0
    while not check():
        assert time.monotonic() < end, what
        time.sleep(0.02)


# Ctrl-C


def test_a_second_ctrl_c_stops_at_once_and_loses_nothing(command, site, watched) -> None:
    story, stuck = "/the-first-story-of-the-day-at-last", "/the-story-whose-server-never-ends-it"
    released = []

    async def hang(line) -> None:
        await line.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 99999\r\n\r\n<html>")
        while not released:
            await asyncio.sleep(0.02)

    site.show(story)
    site.pages[stuck] = Raw(hang)
    site.show("/news/", story, stuck)
    running = subprocess.Popen(
        [MAYFLY, "crawl", "--home", watched, "--fetch-seconds", "10m"], stderr=subprocess.PIPE, text=True
    )
    try:
        until(lambda: site.visits(stuck) and site.visits(story), "it never got there")
        running.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):  # it waits for what is under way
            running.wait(2.0)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=20.0)
    finally:
        released.append(True)
        running.kill()
    assert running.returncode == 0 and "Traceback" not in said and "Start it again and it goes on." in said
    site.show(stuck)
    done = {site.root + story: "fetched", site.root + stuck: "fetched"}

    def landed():
        return {page.url: page.outcome for page in kept(watched, lambda store: store.pages())} == done

    crawl_until(command, landed)
    assert (site.visits(story), site.visits(stuck)) == (1, 2)  # what was under way is due again, and nothing else
    assert kept(watched, lambda store: store.check()) == []


# A site at its limit


def test_why_says_that_a_site_takes_no_more(command, site, watched) -> None:
    limit = "Its site cannot take more requests: a shorter host-delay would help, a larger budget would not."
    assert command("crawl", "--for", "2s", "--host-delay", "0.5s", "--budget", "50").status == 0
    assert limit in command("why", f"{site.root}/news/").out
    notes = {row["url"]: row["note"] for row in map(json.loads, command("sources", "--json").out.splitlines())}
    assert notes == {f"{site.root}/": "site-limited", f"{site.root}/news/": "site-limited"}
    assert command("crawl", "--for", "2s", "--host-delay", "0.02s", "--budget", "0.5").status == 0
    assert limit not in command("why", f"{site.root}/news/").out


# Settings that must do something


def old_archive(home: Path, age: float) -> Path:
    """Raw answers of a crawl so long ago."""
    stamp = datetime.fromtimestamp(time.time() - age, UTC).strftime("%Y%m%dT%H%M%SZ")
    (home / "warc").mkdir(exist_ok=True)
    path = home / "warc" / f"mayfly-{stamp}-00000.warc.gz"
    path.write_bytes(os.urandom(50_000))
    return path


def test_raw_answers_are_kept_as_long_as_keep_warc_says(command, watched) -> None:
    path = old_archive(watched, 5 * DAY)
    for keep, stays in (("30d", True), ("2d", False)):
        assert command("crawl", "--for", "2s", "--keep-warc", keep).status == 0
        assert path.exists() is stays


def test_raw_answers_take_no_more_room_than_warc_gigabytes_says(command, watched) -> None:
    path = old_archive(watched, HOUR)
    for most, stays in (("1", True), ("0.00001", False)):
        assert command("crawl", "--for", "2s", "--warc-gigabytes", most).status == 0
        assert path.exists() is stays


@pytest.mark.parametrize("most", [4, 7])
def test_a_host_has_no_more_sources_than_most_sources_says(command, site, home, most: int) -> None:
    site.show("/", *(f"/section-{number}/" for number in range(9)))
    assert command("find", site.host, "--most-sources", most).status == 0
    first = [source.url for source in kept(home, lambda store: store.sources())]
    assert len(first) == most
    site.show("/", *(f"/department-{number}/" for number in range(9)))  # nor after a second look
    assert command("find", site.host, "--most-sources", most, "--older-than", "0s").status == 0
    assert [source.url for source in kept(home, lambda store: store.sources())] == first


def test_a_body_may_be_twice_as_large_decoded_as_on_the_wire(command, site, watched) -> None:
    def zipped(size: int) -> Reply:
        return Reply(gzip.compress(b"<p>" + b"x" * size), headers=(("Content-Encoding", "gzip"),))

    site.pages |= {
        "/a-large-page-that-came-as-it-is": Reply(b"<p>" + b"x" * 1_100_000),
        "/a-large-page-that-came-zipped-well": zipped(1_900_000),
        "/a-large-page-that-came-zipped-too-well": zipped(2_100_000),
    }
    site.show("/news/", *(path for path in site.pages if "large" in path))

    def reasons():
        return {page.url.rpartition("came-")[2]: page.reason for page in kept(watched, lambda store: store.pages())}

    crawl_until(command, lambda: len(reasons()) == 3, "--body-megabytes", "1")
    assert reasons() == {"as-it-is": "body-too-large", "zipped-well": "", "zipped-too-well": "body-too-large"}
