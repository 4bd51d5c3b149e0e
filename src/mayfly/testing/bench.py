"""`bench.test/page/N`: pages of 30 KB for benchmarks, cheap enough that the server is not what is measured."""

from __future__ import annotations

from functools import lru_cache

from mayfly.testing.messages import Reply, Request

HOST = "bench.test"
PAGE_BYTES = 30_000
LINKS = 80
_WORDS = "the river rose in the night and by morning the lower town stood in a foot of brown water "


def bench_site(request: Request) -> Reply:
    """`/page/N` for any number N; `/robots.txt` allows all."""
    if request.path == "/robots.txt":
        return Reply(b"User-agent: *\nAllow: /\n", type="text/plain")
    number = request.path.removeprefix("/page/")
    if not number.isdecimal() or len(number) > 15:
        return Reply(b"not found\n", 404, "text/plain")
    return Reply(bench_page(int(number)))


@lru_cache(maxsize=1000)
def bench_page(number: int) -> bytes:
    """The same bytes for the same number; each page links eighty others.

    >>> len(bench_page(7)), bench_page(7).count(b"<a href=")
    (30000, 80)
    """
    links = "".join(
        f'<li><a href="/page/{number * LINKS + k}">Story {number * LINKS + k} of the day</a></li>\n'
        for k in range(1, LINKS + 1)
    )
    head = f"<!doctype html>\n<html lang=en><head><title>Page {number}</title></head><body><h1>Page {number}</h1><ul>\n"
    start = f"{head}{links}</ul>\n<p>".encode()
    return start + _FILLER[: PAGE_BYTES - len(start) - len(_END)] + _END


_END = b"</p></body></html>\n"
_FILLER = (_WORDS * 12 + "</p>\n<p>").encode() * 40
