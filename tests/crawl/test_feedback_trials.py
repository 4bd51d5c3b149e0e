"""The trials of `bench/feedback.py`: what they count with, and one of them in a few seconds.

`pytest -m "not trial"` leaves the latter out.
"""

import asyncio
import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mayfly.core.model import DAY, HOUR, PLACES, Beliefs
from mayfly.core.quality import Interest
from mayfly.lab.replay import Settings
from mayfly.lab.trace import Trace
from mayfly.testing.witness import Pages, Visit
from mayfly.testing.world import Times, served_world, small_shape

BENCH = Path(__file__).parents[2] / "bench"
sys.path.append(str(BENCH))
hints, truth = (importlib.import_module(name) for name in ("feedback_hints", "feedback_truth"))
storms = importlib.import_module("storm")


def small_trace() -> Trace:
    """Two sources; page 1 is on both, page 2 on none that was fetched in time."""
    return Trace(
        name="small", start=0.0, end=1000.0, source_ids=["0", "1"], hosts=["a.test", "b.test"],
        source_urls=["http://a.test/news.xml", "http://b.test/news.xml"], kinds=["sitemap", "sitemap"],
        page_ids=["0", "1", "2"], page_urls=["http://a.test/0", "http://a.test/1", "http://b.test/2"],
        published=np.array([0.0, 100.0, 200.0]), link_source=np.array([0, 0, 1, 1, 1]),
        link_page=np.array([0, 1, 1, 2, 2]), added=np.array([0.0, 100, 100, 200, 300]),
        removed=np.array([np.inf, np.inf, np.inf, 250, np.inf]), rank=None,
        clicks=Interest(np.array([0, 0, 1, 2]), np.array([10.0, 30, 160, 260]), np.array([1.0, 1, 4, 2])),
    )  # fmt: skip


def test_true_is_what_all_pages_of_a_source_gathered_in_all_their_life():
    true = truth.true_of(small_trace())
    assert true.profit.tolist() == [(2 + 4) / 2, (4 + 2) / 2]
    assert np.allclose(1 / true.decay, [(10 + 30 + 4 * 60) / 6, (4 * 60 + 2 * 60) / 6])


def test_a_page_counts_as_clicked_if_a_click_came_after_its_fetch():
    fetched = np.array([20.0, 100.0, 261.0])
    assert truth.clicked_pages(small_trace(), fetched).tolist() == [2, 1]


def test_errors_are_of_the_sources_with_enough_pages_only():
    profit, decay = np.array([3.3, 9.0]), np.array([0.5, 0.9])
    flat = np.ones(2)
    believed = Beliefs(flat, profit, profit, decay, flat, flat, flat, np.ones(PLACES))
    errors = truth.errors_of(believed, truth.True_(np.array([3.0, 3.0]), np.array([1.0, 1.0])), np.array([200, 199]))
    assert np.allclose(errors.profit, [0.1]) and np.allclose(errors.decay, [-0.5])


@pytest.mark.parametrize("late", [0.0, 6 * HOUR])
def test_pages_are_fetched_as_late_as_asked_and_profit_is_found_all_the_same(late):
    trace = served_world(small_shape(1, 6.0), 1, Times(truth.BEGIN, head_start=0.0))
    learned, fetched = truth.crawled(trace, Settings("index", 0.01), late)
    delay = (fetched - trace.published)[np.isfinite(fetched)]
    assert late <= np.median(delay) < late + HOUR
    plain, hoped = truth.without_hope(learned, trace.end)
    assert (plain.page_profit < hoped.page_profit).all()
    errors = truth.errors_of(plain, truth.true_of(trace), truth.clicked_pages(trace, fetched))
    assert len(errors.profit) and np.median(np.abs(errors.profit)) < 0.15


def test_found_soon_and_thirds_are_counted_by_crawls_of_the_one_source():
    visits = [Visit(at, at, "a.test", "/news.xml", 200) for at in (-1.0, 3.0, 250.0, 900.0)]
    pages = Pages(small_trace(), visits)
    assert hints.found_soon(pages, "a.test", until=1000.0) == 50.0  # page 0 after 3 s, page 1 after 150
    assert hints.thirds(hints.crawls_of(pages, "a.test"), 0.0, 1200.0) == (3, 1)


def test_the_two_most_alike_are_compared_and_the_quietest_lies():
    trace = served_world(small_shape(6, 2.0), 1, Times(0.0, head_start=0.0))
    chosen = hints.choose(trace, trace.start, trace.start + 2 * DAY)
    pages = {host: sum(host in url for url in trace.page_urls) for host in trace.hosts}
    assert len({chosen.true, chosen.like, chosen.false}) == 3
    assert pages[chosen.false] == min(pages.values()) < min(pages[chosen.true], pages[chosen.like])


class Moody:
    """A server that hangs up on the first batch, refuses the second once, and takes all others."""

    def __init__(self):
        self.seen = []

    async def __call__(self, reader, writer):
        while head := await self._head(reader):
            name = head.partition(b"Idempotency-Key: ")[2].partition(b"\r\n")[0].decode()
            size = int(head.partition(b"Content-Length: ")[2].partition(b"\r\n")[0])
            rows = json.loads(await reader.readexactly(size))
            self.seen.append(name)
            if self.seen == ["storm-0000000"]:
                break
            status = "503 No" if name.endswith("1") and self.seen.count(name) == 1 else "200 OK"
            body = json.dumps({"known": len(rows), "unknown": 0}).encode()
            writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        writer.close()

    async def _head(self, reader):
        try:
            return await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return b""


def test_a_storm_sends_again_what_was_not_taken_and_tells_of_every_batch(tmp_path):
    (tmp_path / "bodies").write_text('[{"url": "http://a.test/1", "at": 1}]\n')

    async def main():
        moody = Moody()
        async with await asyncio.start_server(moody, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            storm = storms.Storm({
                "url": f"http://127.0.0.1:{port}/api/clicks", "bodies": str(tmp_path / "bodies"), "per_second": 100,
                "seconds": 0.03, "connections": 1, "repeat": 1.0,
            })  # fmt: skip
            await storm.run()
        return moody.seen, storm.report()["batches"]

    seen, batches = asyncio.run(main())
    assert [(one[2], one[3], one[4], one[6], one[7]) for one in batches] == [
        (2, 0, 200, 1, 1), (2, 503, 200, 1, 1), (1, 200, 200, 1, 1),
    ]  # fmt: skip
    assert [seen.count(f"storm-000000{number}") for number in range(3)] == [3, 3, 2]


@pytest.mark.trial
def test_kill_9_loses_no_click():
    words = ["killed", "--kills", "2", "--alive", "2", "--rate", "500", "--hosts", "3", "--budget", "5"]
    done = subprocess.run([sys.executable, BENCH / "feedback.py", *words], capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr
