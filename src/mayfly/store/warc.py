"""Raw answers on disk: WARC 1.1, compressed record by record, so that any of them can be read from its offset.

A file is open under a name that ends in `.open`, and gets its own name when it is full or old. What a crawler that died
left open is whole up to its last record; it keeps that name, and the next run begins another file. Bodies are kept as
they were decoded, so the headers that say how they travelled are kept under names of their own.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import threading
import warnings
import zlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import BinaryIO, Protocol
from urllib.parse import urlsplit

from mayfly.core.model import DAY, Seconds
from mayfly.errors import RunError

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it warns of names of its own that we do not use
    from fastwarc.stream_io import GzipWriter
    from fastwarc.warc import WarcRecord, WarcRecordType

OPEN = ".open"
_NAME_TIME = "%Y%m%dT%H%M%SZ"
_LEVEL = 6  # of compression: 9 takes twice the time for one percent
_TRAVELLED = {"content-encoding", "transfer-encoding", "content-length"}
_CHUNK = 1 << 16


class Answer(Protocol):
    """What is kept of a fetch (`fetch.answers.Response`)."""

    @property
    def url(self) -> str: ...
    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Sequence[tuple[str, str]]: ...
    @property
    def body(self) -> bytes: ...
    @property
    def at(self) -> Seconds: ...
    @property
    def address(self) -> str: ...


class WarcWriter:
    """Writes answers to files of a folder. May be called from several threads; compressing takes its time."""

    def __init__(
        self, folder: Path, *, agent: str = "", max_bytes: int = 1 << 30, max_seconds: Seconds = DAY, part: str = ""
    ) -> None:
        """`part`: whose files these are, where several write to the folder."""
        self._folder, self._agent, self._part = folder, agent, f"{part}-" if part else ""
        self._max_bytes, self._max_seconds = max_bytes, max_seconds
        self._lock = threading.Lock()
        self._file: BinaryIO | None = None
        self._path = folder
        self._size, self._begun = 0, 0.0

    def __enter__(self) -> WarcWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, answer: Answer) -> str:
        """Keep an answer and the request for it; says where, as `file:offset`."""
        records = _compressed(_response_and_request(answer, self._agent))
        with self._lock:
            try:
                return self._append(records, answer.at)
            except OSError as error:
                raise _cannot_write(self._path, error) from error

    def close(self) -> None:
        """Finish the file that is open."""
        with self._lock:
            try:
                self._finish()
            except OSError as error:
                raise _cannot_write(self._path, error) from error

    def prune(self, now: Seconds, keep_seconds: Seconds, max_total_bytes: int) -> int:
        """Delete files whose last answer is too old, and the oldest while all are too large together; how many.

        Of other parts that wrote here, and may be elsewhere by now, those that are finished and too old.
        """
        with self._lock:
            files = [path for path in archives(self._folder, self._part) if path != self._path]
            sizes = {path: size for path in files if (size := _size(path)) is not None}
            total = self._size + sum(sizes.values())
            deleted = 0
            for path, size in sizes.items():
                if total <= max_total_bytes and not self._is_old(path, now - keep_seconds):
                    continue
                total -= size
                path.unlink(missing_ok=True)  # another part may have been quicker
                deleted += 1
            others = [path for path in archives(self._folder) if not path.name.endswith(OPEN) and path not in sizes]
            for path in others if self._part else ():
                if self._is_old(path, now - keep_seconds):
                    path.unlink(missing_ok=True)
                    deleted += 1
            return deleted

    def _is_old(self, path: Path, before: Seconds) -> bool:
        return begun_at(path) + self._max_seconds < before

    def _append(self, records: bytes, at: Seconds) -> str:
        full = self._size + len(records) > self._max_bytes
        old = not self._begun <= at < self._begun + self._max_seconds  # before, too: the clock was set
        if self._file is None or full or old:
            self._finish()
            self._begin(at)
        assert self._file is not None
        offset = self._size
        self._write(self._file, records)
        return f"{self._path.name.removesuffix(OPEN)}:{offset}"

    def _begin(self, at: Seconds) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        stamp = datetime.fromtimestamp(at, UTC).strftime(_NAME_TIME)
        number = 0
        name = f"mayfly-{stamp}-{self._part}"
        while (path := self._folder / f"{name}{number:05}.warc.gz{OPEN}").exists() or final(path).exists():
            number += 1
        self._file = path.open("xb", buffering=0)
        self._path, self._size, self._begun = path, 0, at
        self._write(self._file, _compressed([_info(final(path).name, at)]))

    def _write(self, file: BinaryIO, data: bytes) -> None:
        """All of it or nothing: half a record would hide those behind it."""
        view = memoryview(data)
        try:
            while view:
                view = view[file.write(view) :]
        except OSError:
            file.truncate(self._size)
            file.seek(self._size)
            raise
        self._size += len(data)

    def _finish(self) -> None:
        if self._file is not None:
            os.fsync(self._file.fileno())
            self._file.close()
            self._path.replace(final(self._path))
            self._file, self._size = None, 0


def _size(path: Path) -> int | None:
    """None: another has deleted it."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None


def archives(folder: Path, part: str = "") -> list[Path]:
    """All files, unfinished ones, too, the oldest first."""
    return sorted(path for path in folder.glob(f"mayfly-*-{part}*.warc.gz*") if path.name.endswith((".warc.gz", OPEN)))


def unfinished(folder: Path) -> list[Path]:
    """Files that are being written, or were when a crawler died."""
    return [path for path in archives(folder) if path.name.endswith(OPEN)]


def begun_at(path: Path) -> Seconds:
    """When the first answer in a file came.

    >>> begun_at(Path("mayfly-19700101T000100Z-00003.warc.gz"))
    60.0
    """
    return datetime.strptime(path.name.split("-")[1], _NAME_TIME).replace(tzinfo=UTC).timestamp()


def final(path: Path) -> Path:
    """The name of a file once it is finished."""
    return path.with_name(path.name.removesuffix(OPEN))


def raw_records(folder: Path, where: str, number: int = 2) -> Iterator[bytes]:
    """An answer and its request as they are on disk, compressed, piece by piece; `where` is what `write` said."""
    name, _, offset = where.rpartition(":")
    path = folder / Path(name).name
    try:
        with (path if path.exists() else path.with_name(path.name + OPEN)).open("rb") as file:
            file.seek(int(offset))
            for _ in range(number):
                yield from _member(file)
    except (OSError, ValueError, zlib.error) as error:
        raise RunError(f"{path}: there is no record at {offset} ({error})") from error


def _member(file: BinaryIO) -> Iterator[bytes]:
    """One member of a gzip file, from where it stands to its end."""
    inflate = zlib.decompressobj(wbits=31)
    while not inflate.eof:
        piece = file.read(_CHUNK)
        if not piece:
            raise ValueError("it is cut short")
        rest: bytes = piece
        while rest and not inflate.eof:  # a small piece may hold a large text: look at it bit by bit
            inflate.decompress(rest, _CHUNK)
            rest = inflate.unconsumed_tail
        yield piece[: len(piece) - len(inflate.unused_data)]
    file.seek(-len(inflate.unused_data), os.SEEK_CUR)


def _compressed(records: Sequence[WarcRecord]) -> bytes:
    out = io.BytesIO()
    writer = GzipWriter(out, compression_level=_LEVEL)
    for record in records:
        record.write(writer, checksum_data=True)
        writer.finish()
    writer.flush()
    return out.getvalue()


def _info(name: str, at: Seconds) -> WarcRecord:
    text = "software: Mayfly\r\nformat: WARC File Format 1.1\r\n"
    text += "conformsTo: https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n"
    record = _record(WarcRecordType.warcinfo, at, text.encode(), "application/warc-fields")
    record.headers["WARC-Filename"] = name
    return record


def _response_and_request(answer: Answer, agent: str) -> list[WarcRecord]:
    response = _record(
        WarcRecordType.response, answer.at, _head(answer) + answer.body, "application/http; msgtype=response"
    )
    digest = base64.b32encode(hashlib.sha1(answer.body, usedforsecurity=False).digest()).decode()
    response.headers["WARC-Payload-Digest"] = f"sha1:{digest}"
    if answer.address:
        response.headers["WARC-IP-Address"] = answer.address
    request = _record(WarcRecordType.request, answer.at, _asked(answer.url, agent), "application/http; msgtype=request")
    request.headers["WARC-Concurrent-To"] = response.headers["WARC-Record-ID"]
    for record in response, request:
        record.headers["WARC-Target-URI"] = answer.url
    return [response, request]


def _record(kind: WarcRecordType, at: Seconds, block: bytes, content_type: str) -> WarcRecord:
    record = WarcRecord()
    record.init_headers(kind)
    record.record_date = datetime.fromtimestamp(at, UTC)
    record.headers["Content-Type"] = content_type
    record.set_bytes_content(block)
    return record


def _head(answer: Answer) -> bytes:
    """The status line and the headers, as if the body had come as it is kept."""
    try:
        phrase = HTTPStatus(answer.status).phrase
    except ValueError:
        phrase = ""
    lines = [f"HTTP/1.1 {answer.status} {phrase}"]
    for name, value in answer.headers:
        lines.append(f"{'X-Crawl-' if name.lower() in _TRAVELLED else ''}{_line(name)}: {_line(value)}")
    lines.append(f"Content-Length: {len(answer.body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogateescape")


def _asked(url: str, agent: str) -> bytes:
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [f"GET {target} HTTP/1.1", f"Host: {parts.netloc}", *([f"User-Agent: {_line(agent)}"] if agent else [])]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _line(text: str) -> str:
    """Without what would begin another line."""
    return " ".join(text.replace("\0", " ").splitlines())


def _cannot_write(path: Path, error: OSError) -> RunError:
    return RunError(
        f"{path}: it cannot be written: free some space, or check the rights of its folder ({error.strerror})"
    )
