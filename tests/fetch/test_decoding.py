"""Bodies decoded piece by piece, never more than the limit."""

import gzip
import random
import tracemalloc
import zlib

import brotli
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mayfly.fetch.decoding import BadEncoding, CutShort, Decoder, TooLarge, zstd


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACKERS = {
    "gzip": ("gzip", gzip.compress),
    "two gzip members": ("gzip", lambda data: gzip.compress(data[:100]) + gzip.compress(data[100:])),
    "gzip with padding": ("x-gzip", lambda data: gzip.compress(data) + b"\0" * 50),
    "deflate": ("deflate", zlib.compress),
    "deflate without header": ("deflate", raw_deflate),
    "br": ("br", brotli.compress),
    "zstd": ("zstd", zstd.compress),
    "two zstd frames": ("zstd", lambda data: zstd.compress(data[:100]) + zstd.compress(data[100:])),
    "br over gzip": ("gzip, br", lambda data: brotli.compress(gzip.compress(data))),
    "plain, though gzip is said": ("gzip", lambda data: b"<" + data[1:]),
    "plain": ("identity", bytes),
}


def decoded(encoding: str, body: bytes, step: int, limit: int = 10_000_000) -> bytes:
    decoder = Decoder(encoding, limit)
    for at in range(0, len(body), step):
        decoder.feed(body[at : at + step])
    return decoder.finish()


@pytest.mark.parametrize("name", PACKERS)
@pytest.mark.parametrize("step", [1, 7, 1000, 10_000_000])
def test_every_encoding_however_it_is_cut(name: str, step: int) -> None:
    data = b"<" + random.Random(1).randbytes(2999) * 50
    encoding, pack = PACKERS[name]
    assert decoded(encoding, pack(data), step) == data


@settings(deadline=None)
@given(st.binary(max_size=2000), st.sampled_from(["gzip", "deflate", "br", "zstd"]), st.integers(1, 100))
def test_what_was_packed_comes_out(data: bytes, encoding: str, step: int) -> None:
    assert decoded(encoding, PACKERS[encoding][1](data), step) == data


@settings(deadline=None)
@given(st.binary(max_size=500), st.sampled_from(["gzip", "deflate", "br", "zstd", "gzip, br", "x", "gzip,gzip,gzip"]))
def test_garbage_is_a_named_failure(data: bytes, encoding: str) -> None:
    try:
        assert isinstance(decoded(encoding, data, 50), bytes)
    except (BadEncoding, CutShort) as error:
        assert str(error)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_bodies_that_end_too_early_are_cut_short(encoding: str) -> None:
    packed = PACKERS[encoding][1](random.Random(1).randbytes(5000))
    with pytest.raises(CutShort):
        decoded(encoding, packed[:-10], 1000)


def test_an_empty_body_is_empty_in_any_encoding() -> None:
    assert Decoder("gzip", 10).finish() == b""


BOMB = b"\0" * 100_000_000


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzip.compress),
        ("br", lambda data: brotli.compress(data, quality=1)),
        ("zstd", zstd.compress),
        ("gzip, gzip", lambda data: gzip.compress(gzip.compress(data))),
    ],
)
def test_a_bomb_goes_off_in_a_small_room(encoding: str, pack: object) -> None:
    packed = pack(BOMB)  # type: ignore[operator]
    tracemalloc.start()
    try:
        with pytest.raises(TooLarge, match="more than 2,000,000 bytes"):
            decoded(encoding, packed, 65536, limit=2_000_000)
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()
