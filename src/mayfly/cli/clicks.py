"""`mayfly clicks`: click and show logs in."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Annotated

import typer

from mayfly.cli import home as homes
from mayfly.cli import options, words
from mayfly.cli.layers import resolve
from mayfly.core.model import Seconds
from mayfly.errors import RunError, UsageError
from mayfly.fetch.loop import run
from mayfly.store.clicklog import LONGEST_LINE, BadRow, read_clicks
from mayfly.store.records import ClickRow
from mayfly.store.store import Store

_BATCH = 5000  # rows that are kept together
_SHOWN = 20  # bad rows that are named


@dataclass
class _Count:
    """What became of the rows."""

    known: int = 0
    unknown: int = 0
    bad: int = 0
    first: list[tuple[str, BadRow]] = field(default_factory=list)

    def note(self, name: str, row: BadRow) -> None:
        self.bad += 1
        if len(self.first) < _SHOWN:
            self.first.append((name, row))


@dataclass(frozen=True)
class _Log:
    """A log that can be read from its beginning, once or twice."""

    name: str
    file: IO[bytes]
    size: int  # bytes; 0: not known

    def rows(self, now: Seconds, done: Callable[[float], None]) -> Iterator[ClickRow | BadRow]:
        return read_clicks(_lines(self.file, done), now)


def clicks(
    files: Annotated[list[str], typer.Argument(help="JSONL files; - reads standard input.", metavar="FILE…")],
    strict: Annotated[bool, typer.Option("--strict", help="Refuse everything if one row is wrong.")] = False,
    home: homes.Home = homes.DEFAULT,
    as_json: options.Json = False,
) -> None:
    """Take in what people clicked or were shown: a JSON object a line, {"url", "at", "count", "kind"}.

    `at` is in seconds since 1970, or ISO 8601 with a zone. `count` is 1 and `kind` is click (or show) unless said.
    Clicks of pages not found yet are kept for a while. A row that is wrong is left out and named. The same file taken
    in twice counts twice.

    Example: mayfly clicks clicks.jsonl
    """
    settings, _ = resolve(home, {})
    homes.store_of(home)  # says so if nothing is there
    now = time.time()
    with ExitStack() as stack:
        logs = [_opened(name, strict, stack) for name in files]
        if strict:
            for log in logs:
                _refuse(log, now)
        count = run(_take(home, logs, settings.bin, now))
    _report(count, as_json)


def _opened(name: str, strict: bool, stack: ExitStack) -> _Log:
    if name == "-":
        return _Log("standard input", _twice(stack) if strict else sys.stdin.buffer, 0)
    path = Path(name)
    try:
        return _Log(name, stack.enter_context(path.open("rb")), path.stat().st_size)
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror}") from None


def _twice(stack: ExitStack) -> IO[bytes]:
    """Standard input, put where it can be read a second time."""
    kept = tempfile.TemporaryFile()  # noqa: SIM115 (the stack closes it)
    stack.enter_context(kept)
    shutil.copyfileobj(sys.stdin.buffer, kept)
    kept.seek(0)
    return kept


def _refuse(log: _Log, now: Seconds) -> None:
    """Read all of it for the first row that is wrong."""
    for row in log.rows(now, lambda _: None):
        if isinstance(row, BadRow):
            raise UsageError(f"{log.name}, line {row.line}: {row.reason}; nothing was kept")
    log.file.seek(0)


async def _take(home: Path, logs: list[_Log], bin: Seconds, now: Seconds) -> _Count:
    count = _Count()
    async with homes.store_of(home, read_only=False) as store:
        with words.progress("rows", sum(log.size for log in logs)) as done:
            for log in logs:
                batch: list[ClickRow] = []
                for row in log.rows(now, done if log.size else lambda _: None):
                    if isinstance(row, BadRow):
                        count.note(log.name, row)
                    else:
                        batch.append(row)
                    if len(batch) >= _BATCH:
                        await _keep(store, batch, bin, now, count)
                await _keep(store, batch, bin, now, count)
    return count


async def _keep(store: Store, batch: list[ClickRow], bin: Seconds, now: Seconds, count: _Count) -> None:
    if batch:
        taken = await store.add_clicks(now, batch, bin)
        count.known += taken.known
        count.unknown += taken.unknown
        batch.clear()


def _lines(file: IO[bytes], done: Callable[[float], None]) -> Iterator[bytes]:
    """Lines, none of them much longer than a row may be."""
    while line := file.readline(LONGEST_LINE + 1):
        done(len(line))
        rest = line
        while len(rest) > LONGEST_LINE and not rest.endswith(b"\n"):
            rest = file.readline(LONGEST_LINE + 1)
            done(len(rest))
        yield line


def _report(count: _Count, as_json: bool) -> None:
    for name, row in count.first:
        words.say(f"{name}, line {row.line}: {row.reason}", err=True)
    if count.bad > len(count.first):
        words.say(f"… and {count.bad - len(count.first):,} more", err=True)
    kept = count.known + count.unknown
    if as_json:
        typer.echo(words.dumps({"kept": kept, "known": count.known, "unknown": count.unknown, "bad": count.bad}))
    else:
        bad = f"; {count.bad:,} left out" if count.bad else ""
        typer.echo(f"{kept:,} rows kept, {count.unknown:,} of them of pages not found yet{bad}")
    if count.bad and not kept:
        raise RunError('no row could be read; one is {"url": "https://example.com/a", "at": 1790000000, "count": 1}')
