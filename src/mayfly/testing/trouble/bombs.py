"""Small on the wire, 256 MB once unpacked. Each is made once, without ever holding what it unpacks to."""

from __future__ import annotations

import zlib
from functools import lru_cache

import brotli

from mayfly.testing.messages import Reply, Request

UNPACKED = 256 * 2**20
_BLOCK = bytes(2**20)
_GZIP_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"


@lru_cache(maxsize=1)
def gzip_bytes() -> bytes:
    """A gzip file of zeros: deflated blocks end on whole bytes, so one can be repeated."""
    squeeze = zlib.compressobj(9, wbits=-15)
    block = squeeze.compress(_BLOCK) + squeeze.flush(zlib.Z_FULL_FLUSH)
    check = 0
    for _ in range(UNPACKED // len(_BLOCK)):
        check = zlib.crc32(_BLOCK, check)
    sums = check.to_bytes(4, "little") + UNPACKED.to_bytes(4, "little")
    return _GZIP_HEAD + block * (UNPACKED // len(_BLOCK)) + squeeze.flush() + sums


@lru_cache(maxsize=1)
def br_bytes() -> bytes:
    squeeze = brotli.Compressor(quality=1)
    parts = [squeeze.process(_BLOCK) for _ in range(UNPACKED // len(_BLOCK))]
    return b"".join([*parts, squeeze.finish()])


@lru_cache(maxsize=1)
def zstd_bytes() -> bytes:
    """A frame written by hand (RFC 8878): blocks of one byte and how often it stands there, 128 KB each."""
    head = b"\x28\xb5\x2f\xfd" + b"\x00" + b"\x58"  # magic, no options, a window of 2 MB
    run = 128 * 1024
    number = UNPACKED // run
    block, last = ((run << 3 | 1 << 1 | end).to_bytes(3, "little") + b"\0" for end in (0, 1))
    return head + block * (number - 1) + last


def gzip_bomb(request: Request, visit: int) -> Reply:
    return Reply(gzip_bytes(), headers=(("Content-Encoding", "gzip"),))


def gzip_twice(request: Request, visit: int) -> Reply:
    return Reply(_twice(), headers=(("Content-Encoding", "gzip, gzip"),))


def br_bomb(request: Request, visit: int) -> Reply:
    return Reply(br_bytes(), headers=(("Content-Encoding", "br"),))


def zstd_bomb(request: Request, visit: int) -> Reply:
    return Reply(zstd_bytes(), headers=(("Content-Encoding", "zstd"),))


def sitemap_bomb(request: Request, visit: int) -> Reply:
    return Reply(gzip_bytes(), type="application/gzip")


@lru_cache(maxsize=1)
def _twice() -> bytes:
    squeeze = zlib.compressobj(9, wbits=31)
    return squeeze.compress(gzip_bytes()) + squeeze.flush()
