"""Bodies as they come over the wire, decoded piece by piece, never more than a limit.

A few kilobytes of gzip or brotli can stand for gigabytes of zeros. So every step asks its library for small pieces, and
stops when there were too many.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from typing import Any, Protocol

import brotli

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ACCEPTED = "gzip, deflate, br, zstd"
_MOST_LAYERS = 2
_PIECE = 1 << 16
_WINDOW = 23  # logarithm of the longest look back zstd may ask for: 8 MB, as RFC 9659 has it
_ZSTD_FRAME = b"\x28\xb5\x2f\xfd"


class TooLarge(Exception):
    """More bytes than the limit."""


class BadEncoding(Exception):
    """Bytes that are not in the encoding they were said to be in."""


class CutShort(Exception):
    """An encoded body that ends too early."""


class _Layer(Protocol):
    """One decompressor."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decode, a small piece at a time."""

    @property
    def complete(self) -> bool:
        """Whether the stream may end here."""


class Decoder:
    """Undoes a Content-Encoding.

    >>> decoder = Decoder("gzip", limit=100)
    >>> decoder.feed(zlib.compress(b"hello", wbits=31))
    >>> decoder.finish()
    b'hello'
    """

    def __init__(self, encoding: str, limit: int) -> None:
        names = [name for part in encoding.split(",") if (name := part.strip().lower()) not in ("", "identity")]
        if len(names) > _MOST_LAYERS:
            raise BadEncoding(f"{len(names)} encodings, one over the other")
        unknown = [name for name in names if name not in _LAYERS]
        if unknown:
            raise BadEncoding(f"unknown encoding {unknown[0][:40]}")
        self._layers: list[_Layer] = [_LAYERS[name]() for name in reversed(names)]
        self._limit = limit
        self._body = bytearray()
        self._any = False

    def feed(self, data: bytes) -> None:
        """More bytes from the wire."""
        self._any = self._any or bool(data)
        try:
            self._pass(data, 0)
        except (zlib.error, brotli.error, zstd.ZstdError, EOFError) as error:
            raise BadEncoding(str(error)) from None

    def _pass(self, data: bytes, layer: int) -> None:
        if layer < len(self._layers):
            for piece in self._layers[layer].feed(data):
                self._pass(piece, layer + 1)
            return
        self._body += data
        if len(self._body) > self._limit:
            raise TooLarge(f"more than {self._limit:,} bytes")

    @property
    def so_far(self) -> bytes:
        """What has been decoded."""
        return bytes(self._body)

    def finish(self) -> bytes:
        """The decoded body; the wire has no more."""
        if self._any and not all(layer.complete for layer in self._layers):
            raise CutShort("the encoded body ends too early")
        return self.so_far


class Plain:
    """A decoder for what is not encoded: keeps the pieces as they are."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._pieces: list[bytes] = []

    def feed(self, data: bytes) -> None:
        """More bytes from the wire."""
        self._pieces.append(data)
        self._size += len(data)
        if self._size > self._limit:
            raise TooLarge(f"more than {self._limit:,} bytes")

    @property
    def so_far(self) -> bytes:
        """What has come."""
        return b"".join(self._pieces)

    def finish(self) -> bytes:
        """The body; the wire has no more."""
        return self.so_far


class _Zlib:
    """gzip and deflate, the latter with or without its header, and plain bytes that only claim to be one of them."""

    def __init__(self, gzip: bool) -> None:
        self._gzip = gzip
        self._stream: Any = None
        self._plain = False
        self._head = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._stream is None and not self._plain:
            data = self._begin(data)
        if self._plain:
            yield data
            return
        full = False  # there may be more to come out, though all has gone in
        while (data or full) and self._stream is not None:
            piece = self._stream.decompress(data, _PIECE)
            data, full = self._stream.unconsumed_tail, len(piece) == _PIECE
            yield piece
            if self._stream.eof:
                data, full = self._next_member(self._stream.unused_data), False

    @property
    def complete(self) -> bool:
        return self._plain or (self._stream is not None and self._stream.eof)

    def _begin(self, data: bytes) -> bytes:
        data = self._head + data
        if len(data) < 2:
            self._head = data
            return b""
        self._head = b""
        is_gzip, is_zlib = data[:2] == b"\x1f\x8b", data[0] & 15 == 8 and (data[0] << 8 | data[1]) % 31 == 0
        if is_gzip or is_zlib:
            self._stream = zlib.decompressobj(wbits=47)
        elif self._gzip:
            self._plain = True  # servers that announce gzip and send none
        else:
            self._stream = zlib.decompressobj(wbits=-15)
        return data

    def _next_member(self, rest: bytes) -> bytes:
        """gzip allows several streams, one after the other; anything else behind the end is padding."""
        if self._gzip and rest[:2] == b"\x1f\x8b":
            self._stream = zlib.decompressobj(wbits=47)
            return rest
        return b""


class _Brotli:
    def __init__(self) -> None:
        self._stream = brotli.Decompressor()

    def feed(self, data: bytes) -> Iterator[bytes]:
        while not self._stream.is_finished():
            piece = self._stream.process(data, output_buffer_limit=_PIECE)
            yield piece
            data = b""
            if not piece:  # all that went in has come out
                return

    @property
    def complete(self) -> bool:
        return bool(self._stream.is_finished())


class _Zstd:
    """Frames, one after the other; anything else behind a frame is padding."""

    def __init__(self) -> None:
        self._stream = self._new()
        self._behind = b""  # what came after the end of a frame

    def feed(self, data: bytes) -> Iterator[bytes]:
        while True:
            if self._stream.eof:
                self._behind, data = self._behind + data, b""
                if not self._behind.startswith(_ZSTD_FRAME):
                    return
                self._stream, data, self._behind = self._new(), self._behind, b""
            if not data and self._stream.needs_input:
                return
            yield self._stream.decompress(data, _PIECE)
            data = self._stream.unused_data if self._stream.eof else b""

    @property
    def complete(self) -> bool:
        return bool(self._stream.eof)

    def _new(self) -> Any:
        return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _WINDOW})


_LAYERS: dict[str, Any] = {
    "gzip": lambda: _Zlib(gzip=True),
    "x-gzip": lambda: _Zlib(gzip=True),
    "deflate": lambda: _Zlib(gzip=False),
    "br": _Brotli,
    "zstd": _Zstd,
}
