"""How pages for people are made: one layout (`page/base.html`), filled in, and all that is from the web escaped."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

import mayfly
from mayfly.core.model import DAY, HOUR, Seconds

FILES = Path(__file__).parent / "page"
# Scripts and styles from our own files only, requests and forms to ourselves only.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
# With none at all a browser says of our own forms that they are from nowhere, and the guard would not take them.
_REFERRER = "same-origin"
_MINUTE: Seconds = 60.0
_FIRST_YEAR, _YEARS = 0.0, 253_402_300_799.0  # what a calendar can say


def page(name: str, here: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A page by its template; `here` is the part of the site it is of: reader, ops, api."""
    html = _TEMPLATES.get_template(name).render(here=here, **values)
    return HTMLResponse(html, status, {"Content-Security-Policy": POLICY, "Referrer-Policy": _REFERRER})


def ago(at: Seconds, now: Seconds) -> str:
    """How long it is since then, as people say it.

    >>> [ago(0.0, passed) for passed in (5.0, 90.0, 3599.0, 7000.0, 90000.0, 700000.0)]
    ['just now', '1 min ago', '59 min ago', '1 h ago', '1 day ago', '8 days ago']
    """
    passed = now - at
    if passed < _MINUTE:
        return "just now"
    if passed < HOUR:
        return f"{int(passed / _MINUTE)} min ago"
    if passed < DAY:
        return f"{int(passed / HOUR)} h ago"
    days = int(passed / DAY)
    return "1 day ago" if days == 1 else f"{days} days ago"


def iso(at: Seconds) -> str:
    """For `<time datetime>`.

    >>> iso(0.0)
    '1970-01-01T00:00:00Z'
    """
    told = datetime.fromtimestamp(min(max(at, _FIRST_YEAR), _YEARS), UTC)
    return told.strftime("%Y-%m-%dT%H:%M:%SZ")


def is_web(url: str) -> bool:
    """Whether a link may lead there.

    >>> is_web("https://a.example/"), is_web("javascript:alert(1)"), is_web("//a.example")
    (True, False, False)
    """
    return url.startswith(("https://", "http://"))


_TEMPLATES = Environment(
    loader=FileSystemLoader(FILES),
    autoescape=True,
    undefined=StrictUndefined,
    auto_reload=False,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters.update(ago=ago, iso=iso)
_TEMPLATES.tests.update(web=is_web)
_TEMPLATES.globals.update(version=mayfly.__version__)
