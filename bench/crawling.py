"""The whole crawler (scheduler, politeness, store) against fetching and reading alone, in fetches per CPU-second.

usage: python bench/crawling.py [FETCHES]          (20,000)

Both get pages of 30 KB, all new and all read, from a server in a process that is not counted; CPU time is that of all
the client's processes. Three repeats, in turn, and the median. Main text and WARC are off, and measured apart as `text`
and `warc`; `postgres` and `postgres-text` keep it in PostgreSQL, with the CPU time of that server, too. There are hosts
enough that politeness does not make the crawler wait: an idle machine is a slow one. Ends with status 1 if the crawler
gets less than 0.6 of the fetches.
"""

import asyncio
import itertools
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fetching import run_mayfly

HOSTS = 200
REPEATS = 3
LIMIT = 0.6


def site(number: int):
    """A host whose front page shows two more pages whenever it is asked for, and is as large as a page."""
    from mayfly.testing.bench import LINKS, PAGE_BYTES, bench_site
    from mayfly.testing.messages import Reply

    asked = itertools.count(number * 1_000_000)  # no page stands on two hosts

    def front() -> Reply:
        first = 2 * next(asked)
        links = "".join(f'<li><a href="/page/{first + k}">Story {first + k} of the day</a></li>' for k in range(LINKS))
        text = f"<!doctype html><html lang=en><head><title>Front</title></head><body><ul>{links}</ul><p>"
        return Reply((text + "the river rose in the night " * (PAGE_BYTES // 28))[:PAGE_BYTES].encode())

    return lambda request: front() if request.path == "/" else bench_site(request)


async def crawl(port: int, pages: int, url: str = "", **other) -> int:
    from mayfly.crawl.crawler import Crawler
    from mayfly.crawl.settings import Settings
    from mayfly.fetch.addresses import ConnectTo, Routes, Vetting
    from mayfly.fetch.http import Fetcher
    from mayfly.fetch.readers import Readers
    from mayfly.store.postgres import PostgresStore
    from mayfly.store.records import NewSource
    from mayfly.store.sqlite import SqliteStore
    from mayfly.store.warc import WarcWriter

    settings = Settings(
        **{"budget": 1e5, "host_delay": 0.0, "address_delay": 0.0, "text": False, "warc": False, **other}
    )
    routes = Routes([ConnectTo.parse(f"::127.0.0.1:{port}")])
    fetching = Fetcher("mayfly/bench", vetting=Vetting(["127.0.0.0/8"]), routes=routes)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        archive = WarcWriter(home / "warc") if settings.warc else None
        kept = PostgresStore(url) if url else SqliteStore(home / "mayfly.db")
        async with kept as store, fetching as fetcher, Readers() as readers:
            found = [NewSource(f"http://bench-{number}.test/", "front") for number in range(HOSTS)]
            await store.add_sources(time.time(), found)
            crawler = Crawler(home, settings, store, fetcher, readers, "mayfly", archive=archive)

            async def stop_at_the_end() -> None:
                while crawler.parts.tally.pages + crawler.parts.tally.crawls < pages:
                    await asyncio.sleep(0.02)
                crawler.stop()

            watch = asyncio.ensure_future(stop_at_the_end())
            await crawler.run(600)
            watch.cancel()
            if archive is not None:
                archive.close()
            return crawler.parts.tally.pages + crawler.parts.tally.crawls


def client(name: str, port: int, pages: int) -> None:
    """Run one client in this process and say what it cost."""
    from mayfly.fetch.loop import run

    began = time.perf_counter()
    more = {}
    if name == "read":
        run_mayfly(f"http://127.0.0.1:{port}", pages)
        done = pages
    elif name.startswith("postgres"):
        done, more = crawl_into_postgres(port, pages, text=name.endswith("text"))
    else:
        done = run(crawl(port, pages, **({} if name == "crawl" else {name: True})))
    print(json.dumps({"cpu": cpu_seconds(), "wall": time.perf_counter() - began, "pages": done, **more}))


def crawl_into_postgres(port: int, pages: int, text: bool) -> tuple[int, dict[str, float]]:
    """Fetches; and what they took of the server: seconds of CPU, and transactions that wrote something."""
    import asyncpg

    from mayfly.fetch.loop import run
    from mayfly.testing.postgres import Postgres

    database = Postgres(settings=())
    database.start()
    url = database.create("crawl")

    async def written() -> int:
        line = await asyncpg.connect(url)
        try:
            return int(await line.fetchval("SELECT pg_current_xact_id()::text"))
        finally:
            await line.close()

    async def crawled() -> tuple[int, int]:
        before = await written()
        return await crawl(port, pages, url, text=text), await written() - before

    done, writes = run(crawled())
    own = cpu_seconds()
    database.end()
    return done, {"server": cpu_seconds() - own, "writes": writes}


def cpu_seconds() -> float:
    """Of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def measure(name: str, port: int, pages: int) -> float:
    command = [sys.executable, __file__, "client", name, str(port), str(pages)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name} failed:\n{done.stderr[-3000:]}")
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["pages"] >= pages, f"{name} fetched {said['pages']} of {pages}"
    rate = said["pages"] / said["cpu"]
    print(f"  {name:14} {rate:8,.0f} fetches per CPU-second  ({said['pages']:,} in {said['wall']:.0f} s)", flush=True)
    if "server" in said:
        share, writes = said["server"] / said["cpu"], said["writes"] / said["pages"]
        print(f"{'':17}{share:.0%} of it the server's; {writes:.3f} write transactions a fetch", flush=True)
    return rate


def serve() -> None:
    from mayfly.testing.bench import bench_site
    from mayfly.testing.server import Server

    async def forever() -> None:
        sites = {f"bench-{number}.test": site(number) for number in range(HOSTS)}
        async with Server({"127.0.0.1": bench_site, **sites}) as server:
            print(server.port, flush=True)
            await asyncio.Event().wait()

    asyncio.run(forever())


def main() -> int:
    """The exit status: 1 if the limit is missed."""
    pages = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    server = subprocess.Popen([sys.executable, __file__, "server"], stdout=subprocess.PIPE, text=True)
    names = ["read", "crawl", "text", "warc", "postgres", "postgres-text"]
    rates: dict[str, list[float]] = {name: [] for name in names}
    try:
        port = int(server.stdout.readline())
        for repeat in range(REPEATS):
            print(f"repeat {repeat + 1} of {REPEATS}", flush=True)
            for name in names:
                rates[name].append(measure(name, port, pages))
    finally:
        server.terminate()
        server.wait()
    ratios = {
        name: statistics.median(mine / other for mine, other in zip(rates[name], rates["read"], strict=True))
        for name in names[1:]
    }
    good = ratios["crawl"] >= LIMIT
    for name, ratio in ratios.items():
        verdict = f" (limit {LIMIT:g})  {'ok' if good else 'BELOW'}" if name == "crawl" else ""
        print(f"{name} is {ratio:.2f} x fetching and reading alone{verdict}")
    return 0 if good else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["client"]:
        client(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    elif sys.argv[1:2] == ["server"]:
        serve()
    else:
        sys.exit(main())
