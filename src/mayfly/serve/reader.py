"""The reader: what is worth reading now, search, and the way out to a page, which counts as a click."""

from __future__ import annotations

import io
import re
import secrets
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
from fastapi import APIRouter, Request, Response
from markupsafe import Markup, escape

from mayfly.core.model import Seconds
from mayfly.crawl.checkup import crawled_by
from mayfly.serve import look, ranking
from mayfly.serve.asked import AGES, Asked
from mayfly.serve.guard import feed_key, is_ours
from mayfly.serve.parts import Serving, With
from mayfly.store import export
from mayfly.store.clicklog.visits import not_read
from mayfly.store.sights import BEGIN, END, Sight

router = APIRouter(include_in_schema=False)

_SLOTS = 30  # on a page
_MATCHES = 2000
_IN_FEED = 50
_DEEPEST = 10_000  # position that is believed
_TITLE, _SNIPPET = 200, 320  # characters
# A browser may show it again when someone comes back: the same list, and nobody is told of it twice.
_IN_URLS = "".join(map(chr, range(0x21, 0x7F)))  # stays as it is
_PIECES = re.compile(f"{BEGIN}([^{BEGIN}{END}]*)|([^{BEGIN}{END}]+)")
_MARKS = re.compile(f"[{BEGIN}{END}]")
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_CACHE = {"Cache-Control": "private, no-cache", "Vary": "Cookie"}


class Found(NamedTuple):
    """What a page of the list shows."""

    sights: list[Sight]
    more: bool
    after: int  # for the next page
    upto: int | None


@router.api_route("/", methods=["GET", "HEAD"])
async def read(request: Request, serving: With) -> Response:
    """What is worth reading now, or has the words."""
    asked, now = Asked.of(request.query_params), serving.clock()
    found = await _found(serving, asked, now)
    view = secrets.token_urlsafe(9)
    first = (asked.page - 1) * _SLOTS + 1
    if found.sights and _by_a_person(request):
        serving.ledger.shown([sight.page.url for sight in found.sights], first, now)
    answer = look.page(
        "reader.html",
        "reader",
        asked=asked,
        ages=AGES,
        now=now,
        view=view,
        first=first,
        shown=[_row(sight, now) for sight in found.sights],
        more=_next(asked, found) if found.more else "",
        feed=asked.link("/rss", **_key(serving)),
        source=await _source(serving, asked),
        leave=bool(serving.settings.token),
        home=None if found.sights or asked.q or asked.filtered else await _home(serving),
    )
    answer.headers.update(_CACHE)
    return answer


@router.api_route("/go/{page}", methods=["GET", "HEAD"])
async def go(request: Request, serving: With, page: str) -> Response:
    """On to a page we have, and nowhere else."""
    kept = await serving.reader.page(int(page)) if _is_id(page) else None
    if kept is None or not look.is_web(kept.url):
        return look.page("missing.html", "reader", 404)
    if _by_a_person(request):
        position = request.query_params.get("p", "")
        view = request.query_params.get("v", "")[:32]
        serving.ledger.clicked(kept.id, kept.url, _position(position), view, serving.clock())
    return Response(status_code=302, headers={"Location": quote(kept.url, safe=_IN_URLS)})


@router.api_route("/rss", methods=["GET", "HEAD"])
async def rss(request: Request, serving: With) -> Response:
    """The newest that has the words; without words, what is worth reading now."""
    asked, now = Asked.of(request.query_params), serving.clock()
    if asked.q:
        pages = await serving.reader.matching(asked.q, _IN_FEED, asked.only(now))
        order = np.arange(len(pages.landed))
    else:
        pages = await serving.shelf.freshest(asked.only(now))
        order = ranking.by_worth(pages, now)
    sights = await serving.reader.sights(pages.landed[order[:_IN_FEED]].tolist())
    title = " · ".join(part for part in ("Mayfly", asked.q, asked.host) if part)
    link = (serving.settings.public_url or str(request.base_url)).rstrip("/") + asked.link()
    out = io.BytesIO()
    await export.to_rss(export.each(sight.page for sight in sights), out, title, link)
    return Response(out.getvalue(), media_type="application/rss+xml")


async def _found(serving: Serving, asked: Asked, now: Seconds) -> Found:
    only = asked.only(now)
    if asked.q:
        pages = await serving.reader.matching(asked.q, _MATCHES, only)
        ranked = ranking.by_words(pages, now)[asked.after :]
        slots = ranking.Slots(ranked[:_SLOTS], min(len(ranked), _SLOTS))
    else:
        pages = await serving.shelf.freshest(only)
        ranked = ranking.by_worth(pages, now)[asked.after :]
        slots = ranking.mixed(ranked, pages, _SLOTS, now, serving.chance)
    sights = await serving.reader.sights(pages.landed[slots.shown].tolist(), asked.q)
    newest = int(pages.landed[0]) if len(pages.landed) else None
    return Found(sights, len(ranked) > slots.ranked, asked.after + slots.ranked, asked.upto or newest)


def _next(asked: Asked, found: Found) -> str:
    return asked.link(page=str(asked.page + 1), after=str(found.after), upto=str(found.upto or ""))


def _row(sight: Sight, now: Seconds) -> dict[str, Any]:
    """What the page shows of it. A page from the future is from now."""
    page = sight.page
    at = page.published if page.published is not None else page.found_at
    return {
        "id": page.id,
        "title": _marked(sight.title, _TITLE),
        "snippet": _marked(_without(sight.title, sight.snippet), _SNIPPET),
        "host": page.host,
        "source": page.source,
        "via": page.source_url.partition("://")[2].removeprefix(page.host).rstrip("/"),
        "language": page.language if _LANGUAGE.fullmatch(page.language) else "",
        "at": min(at, now),
    }


def _without(title: str, snippet: str) -> str:
    """A text that begins with its title says it twice.

    >>> _without("A tram", f"A {BEGIN}tram{END} Nobody came."), _without("A tram", "A trampoline")
    ('Nobody came.', 'A trampoline')
    """
    words = _MARKS.sub("", title).split()
    rest = snippet.split()
    if words and [_MARKS.sub("", word) for word in rest[: len(words)]] == words and len(rest) > len(words):
        return " ".join(rest[len(words) :])
    return snippet


def _marked(text: str, most: int) -> Markup:
    """So much of it, escaped, with the words that were asked for in <mark>.

    >>> _marked(f"<b> {BEGIN}prime{END} minister", 100), _marked("minister", 4)
    (Markup('&lt;b&gt; <mark>prime</mark> minister'), Markup('mini…'))
    """
    made, left = Markup(""), most
    for word, plain in _PIECES.findall(text):
        piece = (word or plain)[:left]
        left -= len(piece)
        made += Markup("<mark>{}</mark>").format(piece) if word and piece else escape(piece)
    return made + ("…" if len(text) > most and left <= 0 else "")


def _by_a_person(request: Request) -> bool:
    """Whether someone looks: no program, no browser that looks ahead, nobody sent here by a page of another site."""
    headers = request.headers
    purpose = " ".join(headers.get(name, "") for name in ("sec-purpose", "purpose", "x-purpose", "x-moz"))
    if not_read(request.method, "/", "200", headers.get("user-agent", ""), purpose):
        return False
    return is_ours({name: value.decode("latin-1") for name, value in headers.raw}, headers.get("host", ""))


def _is_id(said: str) -> bool:
    return said.isascii() and said.isdecimal() and len(said) <= 16


def _position(said: str) -> int:
    """Where it stood; 0: not known."""
    return int(said) if said.isascii() and said.isdecimal() and len(said) <= 5 and int(said) <= _DEEPEST else 0


def _key(serving: Serving) -> dict[str, str]:
    """What lets a program for feeds in, which cannot log in."""
    token = serving.settings.token
    return {"key": feed_key(token)} if token else {}


async def _source(serving: Serving, asked: Asked) -> str:
    """The address of the source that is asked for."""
    if asked.source is None:
        return ""
    found = await serving.reader.sources([asked.source])
    return found[0].url if found else f"source {asked.source}"


async def _home(serving: Serving) -> dict[str, Any]:
    """How far it has come, for who sees nothing yet."""
    return {**await serving.reader.stats(), "crawling": bool(await crawled_by(serving.reader, serving.home))}
