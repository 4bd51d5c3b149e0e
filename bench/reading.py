"""The reader with a million pages: how long the front page and searches take, over HTTP, one after another.

usage: python bench/reading.py [PAGES] [HOME]          (1,000,000; a new folder, which is removed)

Words follow Zipf's law, so the commonest stands in most pages. Queries are one to three words drawn by their frequency
in titles. The limit is 50 ms for 95 of 100.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np

from mayfly.core.model import DAY
from mayfly.store.connection import Database, connect

WORDS, SOURCES, HOSTS = 50_000, 5_000, 1_000
TITLE, TEXT = 9, 45  # words
SPAN = 90 * DAY
TOGETHER = 20_000
LIMIT_MS = 50.0
BROWSER = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101", "Accept": "text/html"}
COMMAND = [sys.executable, "-c", "from mayfly.cli import main; main()", "serve", "--bind", "127.0.0.1:0", "--home"]
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


def measured(http: httpx.Client, name: str, asked: list[dict]) -> float:
    """The 95th percentile, in milliseconds."""
    took, found = [], 0
    for params in asked:
        start = time.perf_counter()
        answer = http.get("/", params=params)
        took.append(1e3 * (time.perf_counter() - start))
        found += 'class="pages"' in answer.text
        assert answer.status_code == 200
    p50, p95, most = np.percentile(took, [50, 95, 100])
    print(f"{name:34} p50 {p50:6.1f}   p95 {p95:6.1f}   most {most:6.1f} ms   {found} of {len(asked)} found something")
    return float(p95)


def main(pages: int, home: Path) -> None:
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
    process = subprocess.Popen([*COMMAND, str(home)], stderr=subprocess.PIPE, text=True, env=os.environ)
    try:
        url = next(word for word in process.stderr.readline().split() if word.startswith("http"))
        with httpx.Client(base_url=url, headers=BROWSER, trust_env=False, timeout=60.0) as http:
            measured(http, "warming up", [{}] * 20)
            front = measured(http, "front page", [{}] * 300)
            search = measured(http, "searches", queries)
            measured(http, "the commonest word", [{"q": "the"}] * 50)
            measured(http, "the three commonest", [{"q": "the of in"}] * 50)
            measured(http, "a phrase of the two commonest", [{"q": '"the of"'}] * 50)
            measured(
                http, "front page of a host, first time", [{"host": f"paper-{number}.example"} for number in range(50)]
            )
            measured(
                http, "the commonest word, of a host", [{"q": "the", "host": f"paper-{n}.example"} for n in range(50)]
            )
            measured(http, "second page of a search", [query | {"page": "2", "after": "30"} for query in queries[:100]])
    finally:
        process.terminate()
        process.wait()
    worst = max(front, search)
    print(f"p95 {worst:.1f} ms (limit {LIMIT_MS:.0f})  {'ok' if worst <= LIMIT_MS else 'TOO SLOW'}")


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    if len(sys.argv) > 2:
        main(number, Path(sys.argv[2]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(number, Path(folder))
