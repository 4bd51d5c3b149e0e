"""`mayfly export`: pages out, once or as they land."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from mayfly.cli import home as homes
from mayfly.cli import words
from mayfly.cli.pages import After, OfHost, OfOutcome, OfSource, Only, Outcome, chosen, in_order
from mayfly.core.model import Seconds
from mayfly.crawl.health import several
from mayfly.crawl.settings import WARC
from mayfly.errors import RunError, UsageError
from mayfly.fetch.loop import run
from mayfly.store.export import Exported, each
from mayfly.store.export import export as write
from mayfly.store.records import Page
from mayfly.store.store import Store

_NEWEST = 50  # pages in RSS, unless more are asked for
_LOOK_EVERY: Seconds = 1.0  # for pages that landed, with --follow


class Form(StrEnum):
    """How pages are written."""

    jsonl = "jsonl"
    csv = "csv"
    parquet = "parquet"
    warc = "warc"
    rss = "rss"


_TEXTS = [one.name for one in fields(Page) if one.type == "str"]
_STREAMS = (Form.jsonl, Form.csv)
_BYTES = (Form.parquet, Form.warc)  # nothing for a terminal


def export(
    form: Annotated[Form, typer.Option("--format", help="jsonl, csv, parquet, warc or rss (the newest).")] = Form.jsonl,
    out: Annotated[str, typer.Option(help="A file, or - for standard output.")] = "-",
    after: After = None,
    limit: Annotated[int | None, typer.Option(help=f"So many at most. Default: all, {_NEWEST} in RSS.", min=1)] = None,
    host: OfHost = None,
    source: OfSource = None,
    outcome: OfOutcome = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on with pages as they land, until Ctrl-C.")] = False,
    home: homes.Home = homes.DEFAULT,
) -> None:
    """Write pages: as lines of JSON, CSV, Parquet, the raw answers as WARC, or RSS of the newest.

    In the order they landed. At the end it says the cursor to go on from with --after.

    Example: mayfly export --format csv --outcome fetched --out pages.csv
    """
    if follow and form not in _STREAMS:
        raise UsageError(f"--follow goes with {' or '.join(_STREAMS)}, not {form.value}: that has an end")
    if form is Form.rss and after is not None:
        raise UsageError("RSS is of the newest pages; --after goes with the other formats")
    if out == "-" and form in _BYTES and sys.stdout.isatty():
        raise UsageError(f"{form.value} is nothing for a terminal; give --out FILE")
    if follow and limit is not None:
        raise UsageError("--follow has no end, so no --limit")
    with contextlib.suppress(BrokenPipeError):  # whoever read it has seen enough
        run(_export(home, form, out, _Wanted(after or 0, limit, host, source, outcome), follow))


class _Wanted:
    """What is to be written, and how far that has come."""

    def __init__(
        self, after: int, limit: int | None, host: str | None, source: str | None, outcome: Outcome | None
    ) -> None:
        self.cursor, self._limit = after, limit
        self._host, self._source, self._outcome = host, source, outcome

    async def newest(self, store: Store) -> AsyncIterator[Page]:
        only = await chosen(store, self._host, self._source, self._outcome or Outcome.fetched)
        async for page in each(await store.newest(self._limit or _NEWEST, **only.asked())):
            yield page

    async def landed(self, store: Store) -> AsyncIterator[Page]:
        """All there are."""
        async for page in in_order(store, await self._only(store), self.cursor, self._limit):
            yield page
            self.cursor = page.landed or self.cursor

    async def landing(self, store: Store, to: BinaryIO) -> AsyncIterator[Page]:
        """All there are and all that come, each at once, until one is told to stop or nobody reads any more."""
        stop = _told_to_stop()
        only = await self._only(store)
        while not stop.is_set() and not _nobody_reads(to):
            async for page in in_order(store, only, self.cursor):
                yield page
                to.flush()
                self.cursor = page.landed or self.cursor
                if stop.is_set():
                    return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), _LOOK_EVERY)

    async def _only(self, store: Store) -> Only:
        return await chosen(store, self._host, self._source, self._outcome)


async def _export(home: Path, form: Form, out: str, wanted: _Wanted, follow: bool) -> None:
    with _opened(out, follow) as to:
        async with homes.store_of(home) as store:
            if form is Form.rss:
                pages = wanted.newest(store)
            else:
                pages = wanted.landing(store, to) if follow else wanted.landed(store)
            if out == "-" and sys.stdout.isatty():
                pages = _tame(pages)
            done = await write(pages, form.value, to, home / WARC)
    _report(done, form, wanted.cursor)


async def _tame(pages: AsyncIterator[Page]) -> AsyncIterator[Page]:
    """For a terminal: text that does nothing to it."""
    async for page in pages:
        tame: dict[str, Any] = {name: words.plain(getattr(page, name)) for name in _TEXTS}
        yield replace(page, **tame)


def _report(done: Exported, form: Form, cursor: int) -> None:
    left = f"; of {done.left_out:,} no raw answer is kept" if done.left_out else ""
    more = f"; go on with --after {cursor}" if form is not Form.rss and cursor else ""
    words.say(f"{several(done.written, 'page')}{left}{more}", err=True)


@contextlib.contextmanager
def _opened(out: str, follow: bool) -> Iterator[BinaryIO]:
    """Standard output, or a file that is there when it is whole; one that is followed is there at once."""
    if out == "-":
        sys.stdout.flush()
        with _closing(os.fdopen(os.dup(sys.stdout.fileno()), "wb")) as to:
            yield to
        return
    path = Path(out)
    draft = path if follow else path.with_name(f".{path.name}.{os.getpid()}")
    try:
        file = draft.open("wb")
    except OSError as error:
        raise UsageError(f"--out {out}: {error.strerror}") from None
    try:
        with file as to:
            yield to
        if draft is not path:
            draft.replace(path)
    except OSError as error:
        raise RunError(f"{out} cannot be written: {error.strerror}") from None
    finally:
        if draft is not path:
            draft.unlink(missing_ok=True)


@contextlib.contextmanager
def _closing(to: BinaryIO) -> Iterator[BinaryIO]:
    """Close it, and do not complain twice that nobody reads it."""
    try:
        yield to
        to.flush()
    finally:
        with contextlib.suppress(BrokenPipeError):
            to.close()


def _told_to_stop() -> asyncio.Event:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


def _nobody_reads(to: BinaryIO) -> bool:
    """Whether the other end of a pipe is closed. Writing would tell, but nothing may land for hours."""
    asked = select.poll()
    asked.register(to.fileno(), 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in asked.poll(0))
