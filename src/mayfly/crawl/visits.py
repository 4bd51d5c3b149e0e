"""One visit: ask the doorman, fetch, read. What comes of it, as the store keeps it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

from mayfly.core.model import DAY, HOUR, MINUTE, WEEK, Seconds
from mayfly.core.sources import looks_like_article
from mayfly.crawl.candidates import is_dull, is_front
from mayfly.crawl.doorman import HUB, Doorman
from mayfly.fetch.answers import Failed, Response
from mayfly.fetch.document import Document
from mayfly.fetch.http import ACCEPT, Fetcher
from mayfly.fetch.readers import Readers
from mayfly.fetch.reasons import Reason
from mayfly.fetch.validators import UNKNOWN, Validators
from mayfly.store.records import Fetched, Outcome, Rest
from mayfly.store.store import Store
from mayfly.urls import canonical, host_of, site_of

_FEED_ACCEPT = (
    "application/rss+xml,application/atom+xml,application/feed+json,application/xml;q=0.9,text/xml;q=0.9,*/*;q=0.8"
)
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}
OLD: Seconds = WEEK  # a page dated so long before it was found is not new
PAGE_TRIES = 3  # fetches of a page before it is given up
_FIRST_RETRY: Seconds = 5 * MINUTE
_LONGEST_RETRY: Seconds = DAY
_PAGE_RETRY: Seconds = MINUTE
_MOST_HOSTS = 50  # that a page links, counted
_MOST_ARTICLES = 5  # of each


@dataclass(frozen=True, slots=True)
class Visit:
    """What came of a request: an answer, read if it brought something else than last time; or why there is none."""

    answer: Response | Failed
    document: Document | None = None


class Visitor:
    """Fetches and reads, at the pace the doorman allows."""

    def __init__(self, fetcher: Fetcher, readers: Readers, door: Doorman, store: Store) -> None:
        self._fetcher, self._readers, self._door, self._store = fetcher, readers, door, store

    async def rest(self, failed: Failed, at: Seconds) -> None:
        """Leave a site alone as long as its failure asks for, whoever crawls it then."""
        rest = rest_of(failed, at)
        if rest is not None:
            self._door.rest(rest.site, rest.until - at)
            await self._store.note_rest(rest, failed.reason)

    async def visit(
        self,
        url: str,
        kind: str,
        *,
        validators: Validators = UNKNOWN,
        feed: bool = False,
        paid: bool = False,
        with_text: bool = False,
        outward: bool = False,
    ) -> Visit:
        """Get a URL. Its body is read if there is one and it is not the one the validators remember."""
        passage = self._door.passage(kind, paid)
        try:
            answer = await self._fetcher.fetch(
                url, validators=validators, may=passage.may, accept=_FEED_ACCEPT if feed else ACCEPT
            )
        finally:
            passage.leave()
        if isinstance(answer, Failed) or not validators.changed(answer):
            return Visit(answer)
        document = await self._readers.read(
            answer.body,
            _home_of(url, answer),
            content_type=answer.content_type,
            now=answer.at,
            with_text=with_text,
            outward=outward,
        )
        if document.error is not None and document.error.startswith(Reason.READER_DIED):
            return Visit(_unread(answer, document.error))  # an empty document would say that all its links left
        return Visit(answer, document)

    async def post(self, url: str, form: Mapping[str, str]) -> Response | Failed:
        """Send a form to a hub. robots.txt is not asked: it speaks of pages, and a hub is there to be asked."""
        passage = self._door.passage(HUB)
        try:
            return await self._fetcher.post(url, urlencode(form).encode(), _FORM, may=passage.enter)
        finally:
            passage.leave()


def _home_of(asked: str, answer: Response) -> str:
    """Where an answer came from, canonical as what was asked for is."""
    return (canonical(answer.url) or asked) if answer.hops else asked


def _unread(answer: Response, error: str) -> Failed:
    return Failed(
        answer.asked, answer.url, Reason.READER_DIED, error.removeprefix(f"{Reason.READER_DIED}: "), answer.at,
        answer.seconds, answer.requests, answer.status, hops=answer.hops,
    )  # fmt: skip


def fetched_of(page: int, asked: str, found_at: Seconds, visit: Visit, at: Seconds, warc: str = "") -> Fetched:
    """What a page turned out to be."""
    answer, document = visit.answer, visit.document
    assert isinstance(answer, Response), "only what came can be kept"
    assert document is not None, "a page is read whenever it is fetched"
    date = document.published
    outcome, reason = _outcome(asked, answer, document, found_at)
    return Fetched(
        page=page,
        at=at,
        outcome=outcome,
        status=answer.status,
        seconds=answer.seconds,
        wire_bytes=answer.wire_bytes,
        final_url=_home_of(asked, answer),
        canonical=document.canonical or "",
        title=document.title,
        language=document.language,
        published=date.at if date else None,
        published_from=date.origin if date else "",
        body_hash=answer.body_hash,
        text=document.text,
        reason=reason,
        warc=warc,
        linked=_linked(document, asked),
    )


def _outcome(asked: str, answer: Response, document: Document, found_at: Seconds) -> tuple[Outcome, str]:
    if document.error is not None:
        return "failed", document.error[:300]
    if document.looks is not None:
        return (
            document.looks,
            f"the page {'says it is not there' if document.looks == 'soft-404' else 'asks to log in'}",
        )
    if answer.hops and is_front(answer.url) and not is_front(asked):
        return "soft-404", "it leads to the front page"
    date = document.published
    if date is not None and date.at < found_at - OLD:
        return "old", "its own date is more than a week before it was found"
    return "fetched", ""


def _linked(document: Document, asked: str) -> dict[str, list[str]]:
    """Other hosts a page links, and what is shaped as an article there: some, as one page must not count as many."""
    own = host_of(asked)
    linked: dict[str, list[str]] = {}
    for url in document.links.urls:
        if not (host := host_of(url)) or host == own:
            continue
        if host not in linked and len(linked) == _MOST_HOSTS:
            continue
        articles = linked.setdefault(host, [])
        if len(articles) < _MOST_ARTICLES and looks_like_article(urlsplit(url).path) and not is_dull(url):
            articles.append(url)
    return linked


def source_retry(failures: int, failed: Failed, luck: random.Random) -> Seconds:
    """How long to leave a source alone after so many failures in a row; drawn by lot, so that none keep step."""
    if failed.retry_after is not None:
        return min(max(failed.retry_after, MINUTE), DAY) * luck.uniform(1.0, 1.1)
    first = _FIRST_RETRY if failed.reason.again else HOUR
    return min(first * 2.0 ** min(failures, 20), _LONGEST_RETRY) * luck.uniform(0.8, 1.2)


def page_retry(tries: int, failed: Failed, luck: random.Random) -> Seconds | None:
    """The same for a page; None: it is given up."""
    if not failed.reason.again or tries + 1 >= PAGE_TRIES:
        return None
    wait = _PAGE_RETRY * 4.0**tries if failed.retry_after is None else max(failed.retry_after, MINUTE)
    return min(wait, DAY) * luck.uniform(0.8, 1.2)


def rest_of(failed: Failed, at: Seconds) -> Rest | None:
    """How long a failure asks for the whole site to be left alone; None: it says nothing of the site."""
    if failed.reason is Reason.BUSY:
        return Rest(site_of(failed.url), at + min(failed.retry_after or MINUTE, HOUR))
    if failed.reason in _NOBODY_THERE:
        return Rest(site_of(failed.url), at + MINUTE)
    return None


_NOBODY_THERE = {Reason.CONNECT, Reason.CONNECT_TIMEOUT, Reason.DNS, Reason.TLS}
