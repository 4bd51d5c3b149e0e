"""The reader with a million pages: how long the front page and searches take, one after another, in this process.

usage: python bench/reading.py [PAGES] [HOME]          (1,000,000; a new folder, which is removed)

Words follow Zipf's law, so the commonest stands in most pages. Queries are one to three words drawn by their frequency
in titles. The limit is 50 ms for 95 of 100. The work of the processors is told, too: the machine may be busy otherwise.
"""

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode

import numpy as np

from mayfly.core.model import DAY
from mayfly.crawl.settings import Settings
from mayfly.serve.app import make_app
from mayfly.serve.guard import Guard
from mayfly.serve.parts import Serving
from mayfly.store.connection import Database, connect
from mayfly.store.sqlite import SqliteStore

WORDS, SOURCES, HOSTS = 50_000, 5_000, 1_000
TITLE, TEXT = 9, 45  # words
SPAN = 90 * DAY
TOGETHER = 20_000
LIMIT_MS = 50.0
BROWSER = [(b"host", b"127.0.0.1"), (b"user-agent", b"Mozilla/5.0 (X11; Linux x86_64)"), (b"accept", b"text/html")]
PAGE = """
INSERT INTO pages (id, hash, url, host, site, source, anchor, context, rank, found_at, published, published_from,
    outcome, landed, settled, fetched_at, delay, status, final_url, language)
VALUES (?1, ?1, ?2, ?3, ?3, ?4, ?5, '', 1, ?6, ?6 - 120, 'feed', 'fetched', ?1, ?1, ?6 + 60, 180, 200, ?2, 'en')
"""


class Language:
    """Made-up words; the first are the commonest."""

    def __init__(self, chance: np.random.Generator) -> None:
        parts = [a + b for a in ("b", "d", "f", "k", "l", "m", "n", "r", "s", "t", "v", "pr", "st") for b in "aeiou"]
        made = dict.fromkeys("".join(chance.choice(parts, 1 + number % 4)) for number in range(4 * WORDS))
        self.words = np.array(["the", "of", "in", *list(made)[: WORDS - 3]], object)
        self._upto = np.cumsum(1 / np.arange(1, len(self.words) + 1))
        self._chance = chance

    def drawn(self, *shape: int) -> np.ndarray:
        return self.words[np.searchsorted(self._upto, self._chance.random(shape) * self._upto[-1])]


def fill(database: Database, pages: int, language: Language, chance: np.random.Generator, now: float) -> None:
    hosts = [f"paper-{number}.example" for number in range(HOSTS)]
    sources = [
        (number, f"https://{hosts[number % HOSTS]}/section-{number}", hosts[number % HOSTS])
        for number in range(SOURCES)
    ]
    database.execute("BEGIN")
    database.executemany(
        "INSERT INTO sources (id, url, host, site, kind, found_at, revision) VALUES (?1, ?2, ?3, ?3, 'front', 1, ?1)",
        sources,
    )
    profit, decay = chance.lognormal(0, 1.5, SOURCES), 1 / (DAY * chance.lognormal(-1, 0.5, SOURCES))
    beliefs = [(number, p, d) for number, (p, d) in enumerate(zip(profit.tolist(), decay.tolist(), strict=True))]
    database.executemany("INSERT INTO estimates VALUES (?, 1e-4, ?, ?, 900, 1, NULL, '')", beliefs)
    for low in range(1, pages + 1, TOGETHER):
        ids = range(low, min(low + TOGETHER, pages + 1))
        title, text = language.drawn(len(ids), TITLE), language.drawn(len(ids), TEXT)
        source = chance.integers(SOURCES, size=len(ids)).tolist()
        rows, texts = [], []
        for row, id in enumerate(ids):
            said, host = " ".join(title[row]).capitalize(), hosts[source[row] % HOSTS]
            at = now - SPAN * (pages - id + 1) / pages
            rows.append((id, f"https://{host}/story-{id}-{title[row][3]}", host, source[row], said, at))
            texts.append((id, 1, said, " ".join(text[row]) + "."))
        database.executemany(PAGE, rows)
        database.executemany("INSERT INTO texts VALUES (?, ?, ?, ?)", texts)
    database.execute("UPDATE totals SET fetched = ?1, landed = ?1", (pages,))
    database.execute("COMMIT")


async def look(app: Guard, asked: dict[str, str]) -> tuple[float, float, bool]:
    """Milliseconds until a page is there, those of them the processors worked, and whether it shows anything."""
    body = bytearray()

    async def receive() -> dict:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict) -> None:
        assert message.get("status", 200) == 200
        body.extend(message.get("body", b""))

    scope = {"type": "http", "http_version": "1.1", "method": "GET", "scheme": "http", "path": "/", "raw_path": b"/",
             "query_string": urlencode(asked).encode(), "headers": BROWSER, "server": ("127.0.0.1", 80),
             "client": ("127.0.0.1", 1), "root_path": ""}  # fmt: skip
    start, worked = time.perf_counter(), time.process_time()
    await app(scope, receive, send)
    return 1e3 * (time.perf_counter() - start), 1e3 * (time.process_time() - worked), b'<ol class="pages' in body


async def measured(app: Guard, name: str, asked: list[dict[str, str]]) -> float:
    """The 95th percentile, in milliseconds."""
    rows = np.array([await look(app, params) for params in asked])
    took, worked = np.percentile(rows[:, 0], [50, 95, 100]), np.percentile(rows[:, 1], [50, 95])
    print(
        f"{name:34} p50 {took[0]:6.1f}   p95 {took[1]:6.1f}   most {took[2]:6.1f} ms   (processor: p50 {worked[0]:5.1f}"
        f"   p95 {worked[1]:5.1f})   {rows[:, 2].sum():.0f} of {len(asked)} found something",
        flush=True,
    )
    return float(took[1])


async def main(pages: int, home: Path) -> None:
    chance = np.random.default_rng(0)
    language = Language(chance)
    path = home / "mayfly.db"
    if not path.exists():
        start = time.perf_counter()
        database = connect(path)
        fill(database, pages, language, chance, time.time())
        database.close()
        print(f"{pages:,} pages made in {time.perf_counter() - start:.0f} s, {path.stat().st_size / 1e6:,.0f} MB")
    queries = [{"q": " ".join(language.drawn(1 + number % 3))} for number in range(600)]
    hosts = [{"host": f"paper-{number}.example"} for number in range(50)]
    async with SqliteStore(path) as store, SqliteStore(path, read_only=True) as reader:
        serving = Serving(home, Settings(), "mayfly", store, reader)
        app = make_app(serving)
        await measured(app, "warming up", [{}] * 20)
        front = await measured(app, "front page", [{}] * 300)
        search = await measured(app, "searches", queries)
        await measured(app, "the commonest word", [{"q": "the"}] * 50)
        await measured(app, "the three commonest", [{"q": "the of in"}] * 50)
        await measured(app, "a phrase of the two commonest", [{"q": '"the of"'}] * 50)
        await measured(app, "front page of a host, first time", hosts)
        await measured(app, "the commonest word, of a host", [{"q": "the", **host} for host in hosts])
        await measured(
            app, "second page of a search", [{**query, "page": "2", "after": "30"} for query in queries[:100]]
        )
        await serving.ledger.close()
    worst = max(front, search)
    print(f"p95 {worst:.1f} ms (limit {LIMIT_MS:.0f})  {'ok' if worst <= LIMIT_MS else 'TOO SLOW'}")
    print(f"others on this machine: load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    if len(sys.argv) > 2:
        asyncio.run(main(number, Path(sys.argv[2])))
    else:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(main(number, Path(folder)))
