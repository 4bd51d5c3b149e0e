"""Pages of the dashboard: the words they are written in, and how they are made."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from fastapi.responses import HTMLResponse

from mayfly.core.model import DAY, PerSecond, Seconds
from mayfly.crawl.health import sentence, several
from mayfly.crawl.spans import about, ago, date, half_life, written
from mayfly.crawl.telling import known_worth
from mayfly.serve.look import page

NOTHING = "–"


def show(name: str, part: str, now: Seconds, status: int = 200, **values: Any) -> HTMLResponse:
    """A page; `part` is the part of the dashboard it is of."""
    return page(name, "ops", status, part=part, now=now, **_WORDS, **values)


def number(value: float | None) -> str:
    """In few letters.

    >>> [number(value) for value in (None, 0.0, 0.01234, 2.345, 99.7, 150.7, 12345.0, 1.2e7)]
    ['–', '0', '0.012', '2.3', '100', '151', '12,345', '12.0 M']
    """
    if value is None or not math.isfinite(value):
        return NOTHING
    if value >= 1e6:
        return f"{value / 1e6:.1f} M"
    if value >= 99.5 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.2g}"


def rate(value: PerSecond | None) -> str:
    """Per second.

    >>> rate(0.0312), rate(None)
    ('0.031/s', '–')
    """
    return NOTHING if value is None else f"{number(value)}/s"


def a_day(value: PerSecond | None) -> str:
    """What comes at this rate in a day."""
    return NOTHING if value is None else number(value * DAY)


def span(value: Seconds | None) -> str:
    """How long.

    >>> span(80.0), span(None)
    ('80 s', '–')
    """
    return NOTHING if value is None or not math.isfinite(value) else about(value)


def percent(value: float | None) -> str:
    """A share.

    >>> percent(0.1234), percent(0.99999)
    ('12.3 %', '100 %')
    """
    return NOTHING if value is None else f"{100 * value:.3g} %"


def change(value: float, digits: int = 1) -> str:
    """By how much it is more or less; nothing, if no digit would show it.

    >>> change(-50.0), change(3.14159), change(-0.04), change(-7237, 0)
    ('−50.0', '+3.1', '±0', '−7,237')
    """
    return "±0" if round(value, digits) == 0 else f"{value:+,.{digits}f}".replace("-", "−")


def size(value: int | None) -> str:
    """Bytes.

    >>> size(300), size(123456)
    ('300 B', '123 kB')
    """
    if value is None:
        return NOTHING
    return f"{value} B" if value < 1000 else f"{value / 1000:,.0f} kB"


def link(path: str, asked: Mapping[str, Any], **other: Any) -> str:
    """An address with what was asked for, and something else.

    >>> link("/ops/sources", {"q": "a b", "page": 3}, page=4), link("/ops/sources", {"q": ""})
    ('/ops/sources?q=a+b&page=4', '/ops/sources')
    """
    values = {name: value for name, value in {**asked, **other}.items() if value not in ("", None)}
    return f"{path}?{urlencode(values)}" if values else path


_WORDS: dict[str, Any] = {
    "number": number,
    "rate": rate,
    "a_day": a_day,
    "span": span,
    "percent": percent,
    "change": change,
    "size": size,
    "link": link,
    "when": ago,
    "date": date,
    "half_life": half_life,
    "written": written,
    "worth_of": known_worth,
    "sentence": sentence,
    "several": several,
}
