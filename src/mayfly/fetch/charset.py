"""Bytes to text: the charset is what a byte order mark says, else the header, else the page, else a guess.

The order and the aliases are those of browsers (w3lib). Python knows codecs that are no charsets of pages; some of them
(punycode, idna) take quadratic time, which a hostile header could ask for. They count as not told.
"""

from __future__ import annotations

from functools import lru_cache

from resiliparse.parse.encoding import detect_encoding
from w3lib.encoding import (
    html_body_declared_encoding,
    http_content_type_encoding,
    read_bom,
    resolve_encoding,
    to_unicode,
)

_GUESSED_FROM = 32_768  # bytes; more makes the guess slower, not better
_NO_CHARSETS = {"punycode", "idna", "unicode_escape", "raw_unicode_escape", "unicode-escape", "raw-unicode-escape"}
_MARKS = {b"\xef", b"\xff", b"\xfe", b"\0"}  # how byte order marks begin
_WIDE = (
    (b"\0\0\0<", "utf-32-be"),
    (b"<\0\0\0", "utf-32-le"),
    (b"\0<\0", "utf-16-be"),
    (b"<\0", "utf-16-le"),
)


def decoded(body: bytes, content_type: str = "") -> tuple[str, str]:
    """The text of a body and the name of its charset. What cannot be decoded becomes U+FFFD.

    >>> decoded("Grüße".encode("latin-1"), "text/html; charset=ISO-8859-1")
    ('Grüße', 'cp1252')
    """
    marked, mark = read_bom(body) if body[:1] in _MARKS else (None, None)
    if marked and mark:
        return to_unicode(body[len(mark) :], marked), marked
    charset = _wide(body) or _of_header(content_type) or _declared(body) or _guessed(body)
    if charset in ("utf-16", "utf-32"):
        charset += "-be"  # as browsers take them without a mark
    try:
        return to_unicode(body, charset), charset
    except (LookupError, ValueError):  # a codec, but not one of text
        return body.decode("utf-8", "replace"), "utf-8"


def _wide(body: bytes) -> str | None:
    """By where the zeros are around a first "<", as XML has it: files in two or four bytes a letter without a mark."""
    if 0 not in body[:2]:
        return None
    return next((name for start, name in _WIDE if body.startswith(start)), None)


@lru_cache(maxsize=256)
def _of_header(content_type: str) -> str | None:
    return _told(http_content_type_encoding(content_type or None))


def _told(name: str | None) -> str | None:
    return None if name in _NO_CHARSETS else name


def _declared(body: bytes) -> str | None:
    name = _told(html_body_declared_encoding(body))
    # If it were UTF-16, the declaration could not have been read.
    return "utf-8" if name and name.startswith(("utf-16", "utf-32")) else name


def _guessed(body: bytes) -> str:
    """UTF-8 if it is that, which is quick to see and seldom wrong; else what the letters look like."""
    try:
        body.decode("utf-8")
        return "utf-8"
    except UnicodeDecodeError as error:
        if error.end >= len(body) - 3 and error.start > 0:
            return "utf-8"  # cut in the middle of a letter
    guess = detect_encoding(body, max_len=_GUESSED_FROM)
    return resolve_encoding(guess) or "utf-8"
