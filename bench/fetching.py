"""Pages per CPU-second: fetch, parse, canonicalise and dedupe, against a bare loop and against other crawlers.

usage: python bench/fetching.py [PAGES] [PEER_PAGES]          (20,000 and the same; 0 leaves the other crawlers out)

The server runs in a process that is not counted; a client's CPU time is that of all its processes. Three repeats, in
turn, and the median. Scrapy and Crawlee are installed into a virtual environment of their own the first time. No client
asks for robots.txt or writes an archive; main text is measured apart, as `text`.
"""

import asyncio
import json
import resource
import statistics
import subprocess
import sys
import time
import venv
from pathlib import Path

CONCURRENCY = 50
REPEATS = 3
PEERS = Path(__file__).parent / ".peers"
LIMITS = {"bare": 0.7, "scrapy": 4.0, "crawlee": 2.0}


# The clients: each fetches /page/0 … /page/N-1, reads the links, and counts the different addresses they lead to.


async def workers(pages: int, work) -> None:
    numbers = iter(range(pages))

    async def worker() -> None:
        for number in numbers:
            await work(number)

    await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))


def run_mayfly(base: str, pages: int, with_text: bool = False) -> int:
    from mayfly.fetch.addresses import Vetting
    from mayfly.fetch.http import Fetcher
    from mayfly.fetch.loop import run
    from mayfly.fetch.readers import Readers

    seen: set[str] = set()

    async def main() -> None:
        fetching = Fetcher("mayfly/bench", vetting=Vetting(["127.0.0.0/8"]))
        async with fetching as fetcher, Readers() as readers:

            async def work(number: int) -> None:
                answer = await fetcher.fetch(f"{base}/page/{number}")
                document = await readers.read(
                    answer.body, answer.url, content_type=answer.content_type, now=answer.at, with_text=with_text
                )
                seen.update(document.links.urls)

            await workers(pages, work)

    run(main())
    return len(seen)


def run_text(base: str, pages: int) -> int:
    return run_mayfly(base, pages, with_text=True)


def run_bare(base: str, pages: int) -> int:
    import aiohttp
    import uvloop
    from resiliparse.parse.html import HTMLTree

    seen: set[str] = set()

    async def main() -> None:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=CONCURRENCY)) as session:

            async def work(number: int) -> None:
                async with session.get(f"{base}/page/{number}") as answer:
                    tree = HTMLTree.parse_from_bytes(await answer.read(), "utf-8")
                    links = [(node.getattr("href"), node.text) for node in tree.body.query_selector_all("a[href]")]
                    seen.update(href for href, _ in links)

            await workers(pages, work)

    uvloop.run(main())
    return len(seen)


def run_scrapy(base: str, pages: int) -> int:
    import scrapy
    from scrapy.crawler import CrawlerProcess
    from scrapy.linkextractors import LinkExtractor

    seen: set[str] = set()

    class Pages(scrapy.Spider):
        name = "pages"
        links = LinkExtractor()

        async def start(self):
            for number in range(pages):
                yield scrapy.Request(f"{base}/page/{number}")

        def parse(self, response):
            seen.update(link.url for link in self.links.extract_links(response))

    process = CrawlerProcess(
        {
            "CONCURRENT_REQUESTS": CONCURRENCY,
            "CONCURRENT_REQUESTS_PER_DOMAIN": CONCURRENCY,
            "DOWNLOAD_DELAY": 0,
            "ROBOTSTXT_OBEY": False,
            "LOG_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
        }
    )
    process.crawl(Pages)
    process.start()
    return len(seen)


def run_crawlee(base: str, pages: int) -> int:
    import logging

    from crawlee import ConcurrencySettings
    from crawlee.crawlers import ParselCrawler
    from crawlee.storage_clients import MemoryStorageClient

    seen: set[str] = set()

    async def main() -> None:
        crawler = ParselCrawler(
            concurrency_settings=ConcurrencySettings(
                min_concurrency=CONCURRENCY, desired_concurrency=CONCURRENCY, max_concurrency=CONCURRENCY
            ),
            storage_client=MemoryStorageClient(),
            respect_robots_txt_file=False,
            configure_logging=False,
        )

        @crawler.router.default_handler
        async def handle(context) -> None:
            seen.update(request.url for request in await context.extract_links())

        await crawler.run([f"{base}/page/{number}" for number in range(pages)])

    logging.disable(logging.CRITICAL)
    asyncio.run(main())
    return len(seen)


# The comparison


def client(name: str, base: str, pages: int) -> None:
    """Run one client in this process and say what it cost."""
    began = time.perf_counter()
    links = globals()[f"run_{name}"](base, pages)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(one.ru_utime + one.ru_stime for one in used)
    print(json.dumps({"cpu": cpu, "wall": time.perf_counter() - began, "links": links}))


def measure(name: str, python: str, base: str, pages: int) -> float:
    command = [python, __file__, "client", name, base, str(pages)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name} failed:\n{done.stderr[-2000:]}")
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["links"] >= pages, f"{name} found {said['links']} links on {pages} pages"
    rate = pages / said["cpu"]
    print(f"  {name:8} {rate:8,.0f} pages per CPU-second  ({said['wall']:.0f} s, {said['links']:,} links)", flush=True)
    return rate


def peers_python() -> str:
    if not (PEERS / "ready").exists():
        print("installing Scrapy and Crawlee", flush=True)
        venv.create(PEERS, with_pip=True, clear=True)
        pip = [str(PEERS / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "scrapy", "crawlee[parsel]"], check=True)
        (PEERS / "ready").touch()
    return str(PEERS / "bin" / "python")


def main() -> None:
    from mayfly.testing.bench import bench_site
    from mayfly.testing.server import Server

    if sys.argv[1:2] == ["server"]:

        async def serve() -> None:
            async with Server({"127.0.0.1": bench_site}) as server:
                print(server.url, flush=True)
                await asyncio.Event().wait()

        asyncio.run(serve())
    pages = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    peer_pages = int(sys.argv[2]) if len(sys.argv) > 2 else pages
    names = ["mayfly", "bare", "text", *(["scrapy", "crawlee"] if peer_pages else [])]
    pythons = {name: peers_python() if name in ("scrapy", "crawlee") else sys.executable for name in names}
    server = subprocess.Popen([sys.executable, __file__, "server"], stdout=subprocess.PIPE, text=True)
    try:
        base = server.stdout.readline().strip()
        rates: dict[str, list[float]] = {name: [] for name in names}
        for repeat in range(REPEATS):
            print(f"repeat {repeat + 1} of {REPEATS}", flush=True)
            for name in names:
                some = peer_pages if name in ("scrapy", "crawlee") else pages
                rates[name].append(measure(name, pythons[name], base, some))
    finally:
        server.terminate()
        server.wait()
    for name in names[1:]:
        ratio = statistics.median(mine / other for mine, other in zip(rates["mayfly"], rates[name], strict=True))
        limit = LIMITS.get(name)
        verdict = "" if limit is None else f" (limit {limit:g})  {'ok' if ratio >= limit else 'BELOW'}"
        print(f"mayfly is {ratio:.2f} x {name}{verdict}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["client"]:
        client(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        main()
