"""Which requests of a web server's log are people reading pages."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_ASSETS = frozenset({
    "css", "js", "mjs", "map", "json", "xml", "rss", "atom", "txt", "ico", "png", "jpg", "jpeg", "gif", "svg", "webp",
    "avif", "bmp", "woff", "woff2", "ttf", "otf", "eot", "mp3", "m4a", "ogg", "wav", "mp4", "webm", "m3u8", "m4s",
    "mov", "zip", "gz", "tgz", "bz2", "7z", "rar", "exe", "dmg", "apk", "wasm", "webmanifest",
})  # fmt: skip
# Programs name themselves by one of these, or say where to read about them. A Cubot is a telephone.
_BOTS = re.compile(
    r"(?<!cu)bot|crawl|spider|slurp|mayfly|scrap|fetch|feed|rss|curl|wget|python|java/|okhttp|go-http|libwww|perl|ruby"
    r"|httpclient|headless|phantom|selenium|playwright|puppeteer|preview|monitor|uptime|pingdom|lighthouse|validator"
    r"|archive|externalhit|whatsapp|check|scan|https?://",
    re.IGNORECASE,
)
_PREFETCH = re.compile(r"prefetch|prerender|preview", re.IGNORECASE)


class Request(NamedTuple):
    """A page that was read, as the log of a web server says it."""

    line: int
    base: str | None  # the address of its site, where the line says it
    path: str
    time: str  # as it is written
    referrer: str  # empty: none, or not logged
    visitor: str  # the address it came from, where that is logged


def not_read(method: str, path: str, status: str, agent: str | None, purpose: str = "") -> str:
    """Why a request is no reading of a page, in a word or two; empty: it is. `agent` is None where it is not logged.

    >>> not_read("GET", "/a", "200", "Mozilla/5.0 (X11; Linux x86_64)"), not_read("HEAD", "/a", "200", None)
    ('', 'not GET')
    """
    if method != "GET":
        return "not GET"
    if not (status.startswith("2") or status == "304"):  # 304: the reader has it already, and reads it again
        return "not 2xx"
    ending = path.partition("?")[0].rpartition(".")[2]
    if len(ending) <= 11 and ending.lower() in _ASSETS:
        return "assets"
    if agent is not None and is_bot(agent):
        return "by bots"
    return "prefetches" if purpose and _PREFETCH.search(purpose) else ""


@lru_cache(maxsize=10_000)
def is_bot(agent: str) -> bool:
    """Whether a user agent is a program's; one that says nothing is none of a reader's, either."""
    return agent in ("", "-") or _BOTS.search(agent) is not None
