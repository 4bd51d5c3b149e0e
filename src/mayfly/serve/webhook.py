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

from pydantic import TypeAdapter

from mayfly.core.model import Seconds
from mayfly.fetch.addresses import ConnectTo, Routes, Vetting
from mayfly.fetch.answers import Failed, Limits
from mayfly.fetch.http import Fetcher
from mayfly.serve.pages import landed
from mayfly.serve.parts import Serving
from mayfly.store.records import Page

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
        self._fetcher = Fetcher(
            serving.agent,
            limits=Limits(seconds=_SECONDS, redirects=0),
            vetting=Vetting(settings.allow_private_addresses),
            routes=Routes([ConnectTo.parse(rule) for rule in settings.connect_to]),
            connections=1,
        )

    async def run(self) -> None:
        """What landed since the last batch that was taken; the first time, what lands from now on."""
        serving = self._serving
        cursor = await serving.store.sent()
        if cursor is None:
            cursor = await landed(serving)
            await serving.store.note_sent(cursor)
        async with self._fetcher:
            while True:
                pages = await serving.reader.pages(cursor, _AT_ONCE)
                if not pages:
                    await asyncio.sleep(_LOOK)
                    continue
                await self._deliver(cursor, pages)
                cursor = pages[-1].landed or cursor
                await serving.store.note_sent(cursor)

    async def _deliver(self, after: int, pages: Sequence[Page]) -> None:
        """Until it is taken."""
        pause = _FIRST_PAUSE
        while True:
            wrong = await self._send(after, pages)
            self._serving.counted["webhook", "failed" if wrong else "taken"] += 1
            if not wrong:
                return
            log.warning("the webhook did not take a batch, tried again in %.0f s: %s", pause, wrong)
            await asyncio.sleep(pause * random.uniform(0.75, 1.25))
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _send(self, after: int, pages: Sequence[Page]) -> str:
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
        answer = await self._fetcher.post(self._url, body, headers)
        return f"{answer.reason.sentence} ({answer.detail})" if isinstance(answer, Failed) else ""


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
