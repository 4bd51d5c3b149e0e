"""`mayfly clicks`: click and show logs in."""

from __future__ import annotations

import asyncio
import queue
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import date as Day
from datetime import datetime, tzinfo
from enum import StrEnum
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from mayfly.cli import home as homes
from mayfly.cli import options, words
from mayfly.cli.layers import resolve
from mayfly.cli.logfiles import STDIN, Log, form_told, growing, opened, whole_lines
from mayfly.core.model import Seconds
from mayfly.errors import RunError, UsageError
from mayfly.fetch.loop import run
from mayfly.store.clicklog import LINES, BadRow, Read, Reading
from mayfly.store.records import ClickRow
from mayfly.store.store import Store
from mayfly.urls import canonical

_PART = 20_000  # rows that are kept together
_SHOWN = 20  # bad rows that are named
_FLUSH: Seconds = 0.5  # with --follow, what came is kept at least so often


class Form(StrEnum):
    """How a log is written."""

    jsonl = "jsonl"
    csv = "csv"
    parquet = "parquet"
    access = "access"
    w3c = "w3c"
    search_console = "search-console"


@dataclass
class _Taken:
    """What became of the rows."""

    known: int = 0
    unknown: int = 0
    bad: int = 0
    first: list[tuple[str, BadRow]] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    seen: int = 0  # rows of all kinds since the last part
    before: bool = False  # the batch was taken before

    def note(self, name: str, row: Read, rows: list[ClickRow]) -> None:
        self.seen += 1
        if isinstance(row, ClickRow):
            rows.append(row)
        elif not isinstance(row, BadRow):
            self.dropped[row.reason] += 1
        elif row.zoneless:
            raise UsageError(f"{_zoneless(name, row)}{self._kept_before()}")
        else:
            self.bad += 1
            if len(self.first) < _SHOWN:
                self.first.append((name, row))

    def _kept_before(self) -> str:
        kept = self.known + self.unknown
        return f"; {kept:,} rows before it are kept" if kept else "; nothing was kept"


def clicks(
    files: Annotated[
        list[str], typer.Argument(help="Logs, also zipped (gz); - reads standard input.", metavar="FILE…")
    ],
    form: Annotated[
        Form | None,
        typer.Option("--format", help="How they are written. Default: told by their beginning.", show_default=False),
    ] = None,
    timezone: Annotated[
        str | None, typer.Option(help="Zone of times that have none: Europe/Berlin, UTC, +02:00.", metavar="ZONE")
    ] = None,
    date: Annotated[
        str | None, typer.Option(help="The day of rows without a time, as 2026-01-31.", metavar="DAY")
    ] = None,
    host: Annotated[
        str | None, typer.Option(help="The site of access logs that do not say it.", metavar="https://example.com")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse everything if one row is wrong.")] = False,
    batch: Annotated[
        str | None,
        typer.Option(help="A name for these rows: given again within a week, they count once.", metavar="ID"),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on as the file grows or more comes in, until Ctrl-C.")
    ] = False,
    home: homes.Home = homes.DEFAULT,
    as_json: options.Json = False,
) -> None:
    """Take in what people clicked or were shown: JSON lines, CSV, Parquet, access logs, exports of Search Console.

    A JSON line is {"url", "at", "count", "kind"}; `at` is in seconds since 1970, or ISO 8601 with a zone; `count` is 1
    and `kind` is click (or show) unless said; `position` is where it stood. A table has columns of these names. Of
    access logs bots, prefetches, assets, all but GET and all but 2xx and 304 are dropped and counted.

    Kept are page, 20 minutes, kind, position and number; never who it was. Clicks of pages not found yet are kept for a
    while. A row that is wrong is left out and named. Without --batch the same file taken in twice counts twice.

    Example: mayfly clicks --host https://example.com /var/log/nginx/access.log
    """
    settings, _ = resolve(home, {})
    homes.store_of(home)  # says so if nothing is there
    now = time.time()
    how = Reading(now, oldest=now - settings.keep_history, zone=_zone(timezone), host=site(host), day=_day(date))
    if follow:
        _only_one(files, strict, batch)
        taken = run(_follow(home, files[0], form, how, settings.bin))
    else:
        with ExitStack() as stack:
            logs = [opened(name, form and form.value, strict, stack) for name in files]
            if strict:
                for log in logs:
                    _refuse(log, how)
            taken = run(_take(home, logs, how, settings.bin, batch or ""))
    _report(taken, as_json)


# What was asked for


def _zone(text: str | None) -> tzinfo | None:
    if text is None:
        return None
    try:
        if text[:1] in ("+", "-"):
            return datetime.fromisoformat(f"2000-01-01T00:00:00{text}").tzinfo
        return ZoneInfo(text)
    except (ValueError, OSError, LookupError):  # of a file that is none, a folder, a name nobody has
        raise UsageError(f"--timezone must be a zone such as Europe/Berlin, UTC or +02:00, not '{text}'") from None


def _day(text: str | None) -> Day | None:
    try:
        return None if text is None else Day.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--date must be a day such as 2026-01-31, not '{text}'") from None


def site(text: str | None) -> str | None:
    """The address of the site that --host names."""
    if text is None:
        return None
    url = canonical(text if "://" in text else f"https://{text}")
    if url is None:
        raise UsageError(f"--host must be a site such as https://example.com, not '{text}'")
    return url


def _only_one(files: list[str], strict: bool, batch: str | None) -> None:
    if len(files) > 1:
        raise UsageError("--follow goes with one file, or with -")
    if strict or batch:
        raise UsageError(f"--follow has no end, so no {'--strict' if strict else '--batch'}")


def _zoneless(name: str, row: BadRow) -> str:
    joined = ", or" if row.reason.endswith("behind it") else ";"
    return f"{name}, line {row.line}: {row.reason}{joined} give --timezone, the zone it was written in"


def _refuse(log: Log, how: Reading) -> None:
    """Read all of it for the first row that is wrong."""
    for row in log.rows(how):
        if isinstance(row, BadRow):
            raise UsageError(
                f"{_zoneless(log.name, row) if row.zoneless else f'{log.name}, line {row.line}: {row.reason}'}"
                "; nothing was kept"
            )
    log.file.seek(0)


# Files


async def _take(home: Path, logs: list[Log], how: Reading, bin: Seconds, batch: str) -> _Taken:
    """All rows, some thousand at a time. Of a batch each part has a name, so that one that was cut off can go on."""
    taken = _Taken()
    async with homes.store_of(home, read_only=False) as store:
        if batch and await store.has_batch(batch):
            taken.before = True
            return taken
        with words.progress("rows", sum(log.size for log in logs)) as done:
            for number, log in enumerate(logs):
                keep = _Keeper(store, how, bin, taken, f"{batch} {number}" if batch else "")
                for row in log.rows(how, done if log.size else lambda _: None):
                    taken.note(log.name, row, keep.rows)
                    if taken.seen >= _PART:
                        await keep.part()
                await keep.part()
        if batch:
            await store.add_clicks(how.now, [], bin, batch)
    return taken


class _Keeper:
    """Puts rows into the store. Parts are cut by what was read, not by what was kept: they are the same next time."""

    def __init__(self, store: Store, how: Reading, bin: Seconds, taken: _Taken, batch: str = "") -> None:
        self._store, self._how, self._bin, self._taken, self._batch = store, how, bin, taken, batch
        self.rows: list[ClickRow] = []
        self._parts = 0

    async def part(self) -> None:
        self._taken.seen = 0
        self._parts += 1
        if self.rows:
            name = f"{self._batch} {self._parts}" if self._batch else ""
            taken = await self._store.add_clicks(self._how.now, self.rows, self._bin, name)
            self._taken.known += taken.known
            self._taken.unknown += taken.unknown
            self.rows.clear()


# Streams


async def _follow(home: Path, name: str, form: Form | None, how: Reading, bin: Seconds) -> _Taken:
    """Rows as they come, kept every half second, until one is told to stop or there can be no more."""
    taken, stream = _Taken(), _Stream(name, form, how)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with homes.store_of(home, read_only=False) as store:
        keep = _Keeper(store, how, bin, taken)
        stream.start()
        try:
            while not (stream.ended and stream.rows.empty()):
                if stop.is_set():
                    stream.stop()  # what was read is still kept
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), 0.01 if stream.hurries else _FLUSH)
                how.now = time.time()
                stream.drain(taken, keep.rows)
                await keep.part()
        finally:
            stream.stop()
    if stream.error is not None:
        raise stream.error
    return taken


class _Stream:
    """A log that grows, read in a thread of its own: it waits for more while others work."""

    def __init__(self, name: str, form: Form | None, how: Reading) -> None:
        self._name, self._form, self._how = name, form, how
        self.name = STDIN if name == "-" else name
        self.rows: queue.Queue[Read] = queue.Queue(2 * _PART)
        self.error: BaseException | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def hurries(self) -> bool:
        """Whether more has come than is kept at once, or no more will."""
        return self.rows.qsize() >= _PART or self._stop.is_set() or self.ended

    @property
    def ended(self) -> bool:
        return not self._thread.is_alive()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()

    def drain(self, taken: _Taken, rows: list[ClickRow]) -> None:
        """Take what there is, a part at most."""
        with suppress(queue.Empty):
            while taken.seen < _PART:
                taken.note(self.name, self.rows.get_nowait(), rows)

    def _run(self) -> None:
        try:
            for row in self._read():
                self.rows.put(row)
        except UsageError as error:
            self.error = UsageError(f"{self.name}: {error}")
        except BaseException as error:
            self.error = error

    def _read(self) -> Iterator[Read]:
        blocks = growing(self._name, self._stop)
        beginning = b""
        while b"\n" not in beginning:  # a header, or a line
            block = next(blocks, b"")
            beginning += block
            if not block:
                break
        form = self._form.value if self._form else form_told(self.name, beginning)
        if form not in LINES or beginning.startswith(b"\x1f\x8b"):
            raise UsageError("--follow reads lines of text")

        def all_of() -> Iterator[bytes]:
            yield beginning
            yield from blocks

        yield from LINES[form](whole_lines(all_of(), lambda: not self._stop.is_set()), self._how)


# What became of them


def _report(taken: _Taken, as_json: bool) -> None:
    for name, row in taken.first:
        words.say(f"{name}, line {row.line}: {row.reason}", err=True)
    if taken.bad > len(taken.first):
        words.say(f"… and {taken.bad - len(taken.first):,} more", err=True)
    kept = taken.known + taken.unknown
    if as_json:
        counts = {"kept": kept, "known": taken.known, "unknown": taken.unknown, "bad": taken.bad}
        typer.echo(words.dumps(counts | {"dropped": dict(taken.dropped), "repeated": taken.before}))
    elif taken.before:
        typer.echo("this batch was taken in before, so nothing is counted twice")
    else:
        bad = f"; {taken.bad:,} left out" if taken.bad else ""
        why = ", ".join(f"{number:,} {reason}" for reason, number in taken.dropped.most_common())
        dropped = f"; {taken.dropped.total():,} dropped: {why}" if why else ""
        typer.echo(f"{kept:,} rows kept, {taken.unknown:,} of them of pages not found yet{dropped}{bad}")
    if taken.bad and not kept:
        raise RunError(
            'no row could be read; one is {"url": "https://example.com/a", "at": 1790000000, "count": 1}; '
            "if the log is of another kind, say so with --format"
        )
