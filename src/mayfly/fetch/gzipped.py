"""Files that are gzipped themselves, whatever the header said."""

from __future__ import annotations

from mayfly.fetch.decoding import BadEncoding, Decoder, TooLarge

_MOST_LAYERS = 2  # a server that zips what is zipped already is common; one more is a trick


def unzipped(body: bytes, limit: int) -> tuple[bytes, bool]:
    """A body without its gzip, `limit` bytes at most, and whether there was more. What is broken ends where it breaks.

    >>> unzipped(b"plain", limit=3)
    (b'pla', True)
    """
    cut = False
    for _ in range(_MOST_LAYERS):
        if not body.startswith(b"\x1f\x8b"):
            break
        decoder = Decoder("gzip", limit)
        try:
            decoder.feed(body)
        except (TooLarge, BadEncoding):
            cut = True
        body = decoder.so_far
    return body[:limit], cut or len(body) > limit
