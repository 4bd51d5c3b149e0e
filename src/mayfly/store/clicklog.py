"""Click logs: a JSON object a line, {url, at, count, kind}, as rows to keep or as what is wrong with them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from mayfly.core.model import DAY, Seconds
from mayfly.store.records import ClickKind, ClickRow
from mayfly.urls import canonical

LONGEST_LINE = 65536  # bytes; a longer one is no row of ours
_MILLISECONDS = 1e11  # seconds in the year 5138: nobody means that


class BadRow(NamedTuple):
    """A line that says nothing we can keep, and why."""

    line: int  # from 1
    reason: str


def read_clicks(lines: Iterable[bytes], now: Seconds) -> Iterator[ClickRow | BadRow]:
    """What each line says, in order; empty lines say nothing. Times more than a day ahead of `now` are wrong.

    >>> row, bad = read_clicks([b'{"url": "http://a.example/x#y", "at": 5, "count": 2}', b"[]"], now=9.0)
    >>> row
    ClickRow(url='http://a.example/x', at=5.0, number=2.0, kind='click', position=0)
    >>> bad
    BadRow(line=2, reason='is no JSON object')
    """
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        read = _row(line, now)
        yield BadRow(number, read) if isinstance(read, str) else read


def _row(line: bytes, now: Seconds) -> ClickRow | str:
    """A row, or why it is none."""
    if len(line) > LONGEST_LINE:
        return f"is longer than {LONGEST_LINE:,} bytes"
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return "is not JSON"
    if not isinstance(said, dict):
        return "is no JSON object"
    try:
        return ClickRow(
            _url(said),
            _moment(said, now),
            _count(said.get("count", 1)),
            _kind(said),
            _position(said.get("position", 0)),
        )
    except ValueError as wrong:
        return str(wrong)


def _url(said: dict[str, Any]) -> str:
    given = said.get("url")
    url = canonical(given) if isinstance(given, str) else None
    if url is None:
        raise ValueError(f"url must be a web address, not {_short(given)}")
    return url


def _moment(said: dict[str, Any], now: Seconds) -> Seconds:
    given = said.get("at")
    if isinstance(given, str):
        at = _iso(given)
    elif _is_number(given):
        at = _float(given)
    else:
        raise ValueError(f"at must be seconds since 1970 or a time with its zone, not {_short(given)}")
    if not 0 <= at < _MILLISECONDS:
        hint = "; are these milliseconds?" if _MILLISECONDS <= at < 1000 * _MILLISECONDS else ""
        raise ValueError(f"at must be seconds since 1970, not {_short(given)}{hint}")
    if at > now + DAY:
        raise ValueError(f"at lies in the future: {_short(given)}")
    return at


def _iso(text: str) -> Seconds:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"at must be a time such as 2026-01-31T10:00:00Z, not {_short(text)}") from None
    if moment.tzinfo is None:
        raise ValueError(f"at has no zone: {_short(text)}; write Z or +02:00 behind it")
    try:
        return moment.timestamp()
    except (OverflowError, ValueError):
        raise ValueError(f"at must be a time after 1970, not {_short(text)}") from None


def _count(given: Any) -> float:
    count = _float(given) if _is_number(given) else 0.0
    if not 0 < count < math.inf:
        raise ValueError(f"count must be a number above 0, not {_short(given)}")
    return count


def _kind(said: dict[str, Any]) -> ClickKind:
    match said.get("kind", "click"):
        case "click":
            return "click"
        case "show":
            return "show"
        case other:
            raise ValueError(f"kind must be click or show, not {_short(other)}")


def _position(given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given < 2**31:
        raise ValueError(f"position must be a whole number, 1 for the top, not {_short(given)}")
    return given


def _is_number(given: Any) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool)


def _float(given: Any) -> float:
    try:
        return float(given)
    except OverflowError:
        return math.inf


def _short(given: Any) -> str:
    """What was given, in few letters."""
    text = json.dumps(given, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"
