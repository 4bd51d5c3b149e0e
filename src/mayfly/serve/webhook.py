"""Pages sent on as they land: signed batches to one address, each again until it is taken, so at least once.

The address is vetted as the crawler's are: a name that leads to a private network is refused unless that was allowed.
Redirects are not followed.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

import aiohttp
from pydantic import TypeAdapter

from mayfly.core.model import Seconds
from mayfly.fetch.addresses import ConnectTo, ForbiddenAddress, Resolver, Routes, Vetting
from mayfly.serve.pages import landed
from mayfly.serve.parts import Serving
from mayfly.store.records import Page
from mayfly.urls import is_address

_AT_ONCE = 100
_LOOK: Seconds = 1.0
_SECONDS: Seconds = 30.0  # for an answer
_FIRST_PAUSE: Seconds = 1.0
_LONGEST_PAUSE: Seconds = 300.0
_PAGES: TypeAdapter[list[Page]] = TypeAdapter(list[Page])
log = logging.getLogger("mayfly")


def signature(secret: str, at: int, body: bytes) -> str:
    """What proves that a batch is from us, and when it was sent.

    >>> signature("secret", 5, b"{}")[:13]
    'sha256=f18d2f'
    """
    return "sha256=" + hmac.new(secret.encode(), b"%d." % at + body, hashlib.sha256).hexdigest()


class Webhook:
    """Sends until it is cancelled."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        settings = serving.settings
        self._url, self._secret = settings.webhook_url, settings.webhook_secret
        self._vetting = Vetting(settings.allow_private_addresses)
        self._routes = Routes([ConnectTo.parse(rule) for rule in settings.connect_to])

    async def run(self) -> None:
        """What landed since the last batch that was taken; the first time, what lands from now on."""
        serving = self._serving
        cursor = await serving.store.sent()
        if cursor is None:
            cursor = await landed(serving)
            await serving.store.note_sent(cursor)
        async with self._session() as session:
            while True:
                pages = await serving.reader.pages(cursor, _AT_ONCE)
                if not pages:
                    await asyncio.sleep(_LOOK)
                    continue
                await self._deliver(session, cursor, pages)
                cursor = pages[-1].landed or cursor
                await serving.store.note_sent(cursor)

    async def _deliver(self, session: aiohttp.ClientSession, after: int, pages: Sequence[Page]) -> None:
        """Until it is taken."""
        pause = _FIRST_PAUSE
        while True:
            wrong = await self._send(session, after, pages)
            self._serving.counted["webhook", "failed" if wrong else "taken"] += 1
            if not wrong:
                return
            log.warning("the webhook did not take a batch, tried again in %.0f s: %s", pause, wrong)
            await asyncio.sleep(pause * random.uniform(0.75, 1.25))
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _send(self, session: aiohttp.ClientSession, after: int, pages: Sequence[Page]) -> str:
        """Why it was not taken; empty: it was."""
        upto = pages[-1].landed or after
        body = b'{"after":%d,"next":%d,"pages":%s}' % (after, upto, _PAGES.dump_json(list(pages)))
        at = int(self._serving.clock())
        headers = {
            "Content-Type": "application/json",
            "X-Mayfly-Batch": f"{after}-{upto}",
            "X-Mayfly-Timestamp": str(at),
            "X-Mayfly-Signature": signature(self._secret, at, body),
        }
        try:
            self._vet()
            async with session.post(self._url, data=body, headers=headers, allow_redirects=False) as answer:
                return "" if 200 <= answer.status < 300 else f"status {answer.status}"
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            cause = getattr(error, "os_error", None) or error  # aiohttp says only that there is no connection
            return f"{type(cause).__name__} {cause}".strip()

    def _vet(self) -> None:
        """The resolver is not asked for addresses that stand in a URL."""
        parts = urlsplit(self._url)
        host, _ = self._routes.target(parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
        if is_address(host) and not self._vetting.allows(host):
            raise ForbiddenAddress(f"{host} is private: allow-private-addresses, if it is yours")

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[aiohttp.ClientSession]:
        connector = aiohttp.TCPConnector(
            resolver=Resolver(self._vetting, self._routes), use_dns_cache=False, limit=1, keepalive_timeout=30.0
        )
        session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            timeout=aiohttp.ClientTimeout(total=_SECONDS),
            headers={"User-Agent": self._serving.agent},
        )
        try:
            yield session
        finally:
            await session.close()


@asynccontextmanager
async def sending(serving: Serving) -> AsyncIterator[None]:
    """Beside what is done meanwhile, if there is a webhook."""
    if not serving.settings.webhook_url:
        yield
        return
    task = asyncio.create_task(Webhook(serving).run())
    task.add_done_callback(_complain)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await task


def _complain(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        log.error("the webhook has stopped: %s", task.exception())
