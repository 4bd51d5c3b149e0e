"""The people of the demo: each wants one page at one moment, looks for it in the reader, and clicks if it is there.

Who wants what and when is the world's script, the clicks of its trace. They come by HTTP, like everybody; whether the
crawler has the page is all that decides what they find.
"""

from __future__ import annotations

import asyncio
import html
import re
import time
from typing import NamedTuple

import aiohttp
import numpy as np

from mayfly.core.model import Seconds
from mayfly.lab.trace import Trace
from mayfly.testing.prose import headline

_AT_ONCE = 16  # who finds the reader busier than this waits
_STROLLS = 20  # one of so many looks at the front page first
_BROWSER = {"User-Agent": "Mozilla/5.0 (a reader of the demo)"}
_ITEM = re.compile(r"<li>\s*<h2.*?</li>", re.DOTALL)
_LINK = re.compile(r'<a href="(/go/[^"]+)"')
_TAG = re.compile(r"<[^>]+>")


class Wish(NamedTuple):
    """Someone wants to read a page."""

    at: Seconds
    title: str
    host: str


def wishes(trace: Trace, seed: int, since: Seconds) -> list[Wish]:
    """All there will be from then on, in order."""
    first = int(np.searchsorted(trace.clicks.at, since))
    pages, times = trace.clicks.page[first:].tolist(), trace.clicks.at[first:].tolist()
    return [
        Wish(at, headline(seed, page), trace.page_urls[page].split("/")[2])
        for page, at in zip(pages, times, strict=True)
    ]


class Readers:
    """All of them, and how many came and found."""

    def __init__(self, reader: str, wanted: list[Wish]) -> None:
        """`reader`: its address."""
        self._reader, self._wanted = reader, wanted
        self.came = self.found = 0

    async def go_on(self) -> None:
        """Until cancelled, or until nobody wants anything more."""
        room = asyncio.Semaphore(_AT_ONCE)
        timeout = aiohttp.ClientTimeout(total=20)
        async with aiohttp.ClientSession(headers=_BROWSER, timeout=timeout) as session, asyncio.TaskGroup() as people:
            for wish in self._wanted:
                await asyncio.sleep(max(wish.at - time.time(), 0.0))
                await room.acquire()
                people.create_task(self._read(session, wish)).add_done_callback(lambda _: room.release())

    async def _read(self, session: aiohttp.ClientSession, wish: Wish) -> None:
        try:
            if self.came % _STROLLS == 0:
                await self._page(session, {})
            link = link_to(wish, await self._page(session, {"q": wish.title}))
            self.came += 1
            if link is not None:
                async with session.get(self._reader + link, allow_redirects=False):
                    self.found += 1
        except (aiohttp.ClientError, TimeoutError):
            return  # the reader is busy, or the demo ends

    async def _page(self, session: aiohttp.ClientSession, asked: dict[str, str]) -> str:
        async with session.get(f"{self._reader}/", params=asked) as answer:
            return await answer.text()


def link_to(wish: Wish, page: str) -> str | None:
    """Where the list leads to what was wanted; None: it is not there.

    >>> item = '<li><h2><a href="/go/7?p=1&amp;v=x">A <mark>tram</mark></a></h2><p>a.test</p></li>'
    >>> link_to(Wish(0.0, "A tram", "a.test"), item), link_to(Wish(0.0, "A tram", "b.test"), item)
    ('/go/7?p=1&v=x', None)
    """
    for item in _ITEM.findall(page):
        text = html.unescape(_TAG.sub("", item))
        link = _LINK.search(item)
        if link and wish.title in text and wish.host in text:
            return html.unescape(link[1])
    return None
