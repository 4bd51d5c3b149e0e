"""Which charset a body is in: mark, header, declaration, guess; and that nothing makes it fail."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayfly.fetch.charset import decoded

GERMAN = "Schöne Grüße aus der Fußgängerzone: alles für die Bäckerei, sagt Frau Müller über Herrn Schäfer."
RUSSIAN = "Сегодня в Москве хорошая погода, говорят жители города, и завтра тоже будет тепло."


@pytest.mark.parametrize(
    ("body", "content_type", "text", "charset"),
    [
        (b"\xef\xbb\xbfa", "text/html; charset=latin-1", "a", "utf-8"),
        ("ü".encode("latin-1"), "text/html; charset=ISO-8859-1", "ü", "cp1252"),
        ("я".encode("cp1251"), 'text/html; charset="windows-1251"', "я", "cp1251"),
        ("日本".encode("shift_jis"), "text/html;charset=Shift_JIS", "日本", "cp932"),
        ("a".encode("utf-16-le"), "text/html; charset=utf-16le", "a", "utf-16-le"),
        ("<a>".encode("utf-16-be"), "", "<a>", "utf-16-be"),
        ("ü".encode(), "text/html; charset=no-such", "ü", "utf-8"),
        (b"", "", "", "utf-8"),
    ],
)
def test_what_is_told_is_believed(body: bytes, content_type: str, text: str, charset: str) -> None:
    assert decoded(body, content_type) == (text, charset)


def test_a_page_may_declare_its_charset() -> None:
    assert decoded("<meta charset=koi8-r><p>я".encode("koi8-r"))[0].endswith("я")
    assert decoded('<?xml version="1.0" encoding="iso-8859-2"?><a>ł</a>'.encode("iso-8859-2"))[0].endswith("ł</a>")


def test_a_declaration_that_can_be_read_is_not_in_utf_16() -> None:
    assert decoded(b"<meta charset=utf-16><p>abc") == ("<meta charset=utf-16><p>abc", "utf-8")


@pytest.mark.parametrize(("text", "charset"), [(GERMAN, "utf-8"), (GERMAN, "cp1252"), (RUSSIAN, "cp1251")])
def test_what_nobody_tells_is_guessed(text: str, charset: str) -> None:
    assert decoded(text.encode(charset)) == (text, charset)


def test_a_letter_cut_in_half_is_still_utf_8() -> None:
    assert decoded(RUSSIAN.encode()[:-2])[1] == "utf-8"


@pytest.mark.parametrize("name", ["punycode", "idna", "unicode_escape", "hex", "rot13", "zlib", "utf-7", "undefined"])
def test_codecs_that_are_no_charsets_are_not_used(name: str) -> None:
    start = time.perf_counter()
    text, charset = decoded(b"ab-\xff" * 100_000, f"text/html; charset={name}")
    assert time.perf_counter() - start < 2
    assert charset != name
    assert text.startswith("ab-")


@given(st.binary(max_size=200), st.text(max_size=30))
def test_any_bytes_are_some_text(body: bytes, content_type: str) -> None:
    text, charset = decoded(body, content_type)
    text.encode()
    assert charset
