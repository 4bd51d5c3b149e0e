"""Fetches and reads every misbehaviour, in a process of its own so that its memory can be told. Prints JSON.

usage: python tour.py ADDRESS CONNECT_TO… -- NAME=URL…
"""

import asyncio
import json
import resource
import sys
import time

from mayfly.fetch.addresses import ConnectTo, Routes, Vetting
from mayfly.fetch.answers import Failed, Limits
from mayfly.fetch.http import Fetcher
from mayfly.fetch.readers import Readers
from mayfly.fetch.robots import Robots

LIMITS = Limits(seconds=2.0, connect_seconds=1.0, body_bytes=5_000_000)


async def tour(address: str, rules: list[str], urls: dict[str, str]) -> dict[str, dict[str, object]]:
    routes = Routes([ConnectTo.parse(rule) for rule in rules])
    seen = {}
    fetching = Fetcher("mayfly/test", limits=LIMITS, vetting=Vetting([address]), routes=routes)
    async with fetching as fetcher, Readers(seconds=10.0) as readers:
        robots = Robots(fetcher, "mayfly", LIMITS)
        for name, url in {"ordinary": urls["ordinary"], **urls}.items():
            before, began = peak_mb(), time.monotonic()
            now = time.time()
            answer = await fetcher.fetch(url, may=lambda hop, now=now: robots.may(hop, now))
            took = time.monotonic() - began
            document = None
            if not isinstance(answer, Failed):
                document = await readers.read(answer.body, answer.url, content_type=answer.content_type, now=now)
            seen[name] = {
                "reason": answer.reason if isinstance(answer, Failed) else None,
                "detail": answer.detail if isinstance(answer, Failed) else "",
                "retry_after": answer.retry_after if isinstance(answer, Failed) else None,
                "requests": answer.requests,
                "seconds": took,
                "grown_mb": peak_mb() - before,
                "kind": document and document.kind,
                "links": document and len(document.links),
                "looks": document and document.looks,
                "error": document and document.error,
            }
    return seen


def peak_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


if __name__ == "__main__":
    cut = sys.argv.index("--")
    urls = dict(one.split("=", 1) for one in sys.argv[cut + 1 :])
    sys.stdout.write(json.dumps(asyncio.run(tour(sys.argv[1], sys.argv[2:cut], urls))))
