"""The files of `mayfly clicks` and `mayfly study`: opened, unzipped, read line by line, once or as they grow."""

from __future__ import annotations

import gzip
import io
import os
import select
import shutil
import sys
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

from mayfly.core.model import Seconds
from mayfly.errors import RunError, UsageError
from mayfly.store import visitlog
from mayfly.store.clicklog import LINES, LONGEST_LINE, Read, Reading, form_of, read_parquet

STDIN = "standard input"
_BLOCK = 1 << 18  # bytes
_LOOK_EVERY: Seconds = 0.2  # whether a file has grown
_T = TypeVar("_T")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Log:
    """A log that can be read from its beginning."""

    name: str
    file: BinaryIO
    size: int  # bytes; 0: not known
    form: str

    def rows(self, how: Reading, done: Callable[[float], None] = lambda _: None) -> Iterator[Read]:
        """What it says of clicks and shows. `done` is told of the bytes read."""
        if self.form == "parquet":
            return self._told(lambda: read_parquet(self.file, how))
        return self._told(lambda: LINES[self.form](whole_lines(_blocks(self.file, done)), how))

    def visits(
        self, how: Reading, wanted: visitlog.Wanted, done: Callable[[float], None] = lambda _: None
    ) -> Iterator[visitlog.Visited]:
        """What it says of visits."""
        if self.form == "parquet":
            return self._told(lambda: visitlog.read_parquet(self.file, how, wanted))
        if self.form in ("csv", "search-console"):
            return self._told(lambda: visitlog.read_csv(whole_pieces(_blocks(self.file, done)), how, wanted))
        return self._told(lambda: visitlog.LINES[self.form](whole_lines(_blocks(self.file, done)), how, wanted))

    def _told(self, read: Callable[[], Iterator[_T]]) -> Iterator[_T]:
        """All of it, with the name of the file in what is wrong."""
        try:
            yield from read()
        except UsageError as error:
            raise UsageError(f"{self.name}: {error}") from None
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise RunError(f"{self.name} is zipped and broken: {error}") from None


def opened(name: str, form: str | None, twice: bool, stack: ExitStack) -> Log:
    """A file, or standard input (`-`); one that is read `twice` can be."""
    if name == "-":
        file, size, name = cast(BinaryIO, sys.stdin.buffer), 0, STDIN
    else:
        try:
            file = stack.enter_context(Path(name).open("rb"))  # noqa: SIM115 (the stack closes it)
            size = Path(name).stat().st_size
        except OSError as error:
            raise UsageError(f"{name}: {error.strerror}") from None
    beginning = _peekable(file)
    if beginning.peek(2)[:2] == b"\x1f\x8b":
        size, beginning = 0, io.BufferedReader(cast(io.RawIOBase, gzip.GzipFile(fileobj=beginning)))
    try:
        first = beginning.peek(_BLOCK)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UsageError(f"{name} is zipped and broken: {error}") from None
    form = form or form_told(name, first)
    if not file.seekable() and (twice or form == "parquet"):
        beginning = _spooled(beginning, stack)
    return Log(name, cast(BinaryIO, beginning), size, form)


def form_told(name: str, beginning: bytes) -> str:
    """The form of a log, by its beginning."""
    if beginning.startswith(_UTF16):
        raise UsageError(f"{name} is written in UTF-16: save it as UTF-8")
    return form_of(beginning)


def whole_lines(blocks: Iterable[bytes], ended: Callable[[], bool] = lambda: True) -> Iterator[bytes]:
    """Lines without their ends, none of them much longer than a row may be; the last one only if it has `ended`."""
    for piece in whole_pieces(blocks, ended):
        yield from piece.split(b"\n")


def whole_pieces(blocks: Iterable[bytes], ended: Callable[[], bool] = lambda: True) -> Iterator[bytes]:
    """The same, but lines that come together are not taken apart; the last of them is without its end."""
    rest, cut = b"", False  # the beginning of a line; whether we are within one that is too long
    for block in blocks:
        if cut:  # the end of that line is passed over
            _, newline, block = block.partition(b"\n")
            if not newline:
                continue
            block = b"\n" + block
        piece, newline, last = (rest + block).rpartition(b"\n")
        if newline:
            yield piece
        rest, cut = last[: LONGEST_LINE + 1], len(last) > LONGEST_LINE
    if rest and ended():
        yield rest


def growing(name: str, stop: threading.Event) -> Iterator[bytes]:
    """Blocks of a file or of standard input as they come, until told to stop or the pipe is closed.

    A file that is moved away is read to its end and then its successor, as `tail -F` does.
    """
    if name == "-":
        yield from _from_pipe(sys.stdin.fileno(), stop)
        return
    path, file = Path(name), _open(Path(name))
    try:
        while not stop.is_set():
            if block := file.read(_BLOCK):
                yield block
            elif _moved(path, file):
                file.close()
                file = _open(path)
            else:
                if os.fstat(file.fileno()).st_size < file.tell():  # emptied in place
                    file.seek(0)
                stop.wait(_LOOK_EVERY)
    finally:
        file.close()


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb", buffering=0)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None


def _moved(path: Path, file: BinaryIO) -> bool:
    try:
        return not os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except OSError:  # its successor is not there yet
        return False


def _from_pipe(number: int, stop: threading.Event) -> Iterator[bytes]:
    """Past Python's buffer, whose lock would be held while waiting, and so at the end of the program."""
    while not stop.is_set():
        if select.select([number], [], [], _LOOK_EVERY)[0]:
            block = os.read(number, _BLOCK)
            if not block:
                return
            yield block


def _blocks(file: BinaryIO, done: Callable[[float], None]) -> Iterator[bytes]:
    read = cast(io.BufferedReader, file).read1
    while block := read(_BLOCK):
        done(len(block))
        yield block


def _peekable(file: BinaryIO) -> io.BufferedReader:
    return file if isinstance(file, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, file))


def _spooled(file: io.BufferedReader, stack: ExitStack) -> io.BufferedReader:
    """What comes through a pipe, put where it can be read a second time."""
    kept = tempfile.TemporaryFile()  # noqa: SIM115 (the stack closes it)
    stack.enter_context(kept)
    shutil.copyfileobj(file, kept)
    kept.seek(0)
    return _peekable(cast(BinaryIO, kept))
