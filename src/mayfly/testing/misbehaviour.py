"""An address for everything the web does wrong, in one table, so that tests can run over all of it.

Most live on `trouble.test`, each on the path of its name; what takes a whole host has one of its own. So that a polite
crawler can meet all of them at once, each of the others is on a host of its own as well: `NAME-trouble.test`. All are
bounded on this side too: an endless body ends after 200 MB, after a minute, or when the client leaves.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from mayfly.testing.messages import Answer, Reply, Request, Site
from mayfly.testing.trouble import answers, bombs, documents, hosts, streams
from mayfly.testing.trouble.answers import Answerer, busy, redirect_to

TROUBLE = "trouble.test"
BAD_CERTIFICATES = ("self-signed.test", "expired.test", "wrong-name.test")


@dataclass(frozen=True, slots=True)
class Misbehaviour:
    """A thing done wrong: where, and what, in a sentence."""

    name: str
    answer: Answerer
    about: str
    host: str = TROUBLE
    path: str = ""  # else /name
    secure: bool = False  # needs the TLS listener

    @property
    def url(self) -> str:
        """Where to see it.

        >>> MISBEHAVIOURS["gzip-bomb"].url, MISBEHAVIOURS["robots-500"].url
        ('http://trouble.test/gzip-bomb', 'http://robots-500.test/robots.txt')
        """
        return self._on(self.host)

    @property
    def apart(self) -> str:
        """The same on a host of its own.

        >>> MISBEHAVIOURS["gzip-bomb"].apart
        'http://gzip-bomb-trouble.test/gzip-bomb'
        """
        return self._on(self.own_host)

    @property
    def own_host(self) -> str:
        return f"{self.name}-{TROUBLE}" if self.host == TROUBLE else self.host

    def _on(self, host: str) -> str:
        return f"http{'s' * self.secure}://{host}{self.path or '/' + self.name}"


_ON_THE_WIRE = (
    Misbehaviour("silence", streams.silence, "Takes the request and never says a word."),
    Misbehaviour("slow-headers", streams.slow_headers, "A byte of a head that never ends, five a second."),
    Misbehaviour("dripping-body", streams.dripping_body, "A byte of the body, ten a second."),
    Misbehaviour("endless-body", streams.endless_body, "A body without length that does not end."),
    Misbehaviour("endless-chunks", streams.endless_chunks, "A chunked body that does not end."),
    Misbehaviour("endless-continue", streams.endless_continue, "100 Continue, again and again."),
    Misbehaviour("giant-header", streams.giant_header, "One header of 10 MB."),
    Misbehaviour("many-headers", streams.many_headers, "10 MB of small headers."),
    Misbehaviour("long-status-line", streams.long_status_line, "A status line of 10 MB."),
    Misbehaviour("length-too-short", streams.length_too_short, "More body than said; it looks like another answer."),
    Misbehaviour("length-too-long", streams.length_too_long, "A tenth of the body promised, then the end."),
    Misbehaviour("length-twice", streams.length_twice, "Two lengths that differ."),
    Misbehaviour("length-negative", streams.length_negative, "A length below zero."),
    Misbehaviour("length-and-chunks", streams.length_and_chunks, "A length and chunks, which differ."),
    Misbehaviour("bad-chunks", streams.bad_chunks, "A chunk whose size is no number."),
    Misbehaviour("cut-chunks", streams.cut_chunks, "Chunks without the last."),
    Misbehaviour("odd-headers", streams.odd_headers, "Bare line feeds, folds, NULs, a line without colon."),
    Misbehaviour("header-injection", streams.header_injection, "Headers with carriage returns in their values."),
    Misbehaviour("garbage", streams.garbage, "Bytes that are no HTTP."),
    Misbehaviour("empty-reply", streams.empty_reply, "The connection is closed without a word."),
    Misbehaviour("reset-before-headers", streams.reset_before_headers, "The connection is reset at once."),
    Misbehaviour("reset-in-body", streams.reset_in_body, "The connection is reset within the body."),
)  # fmt: skip
_BOMBS = (
    Misbehaviour("gzip-bomb", bombs.gzip_bomb, "256 KB of gzip that unpack to 256 MB."),
    Misbehaviour("gzip-twice", bombs.gzip_twice, "The same, packed once more."),
    Misbehaviour("br-bomb", bombs.br_bomb, "48 KB of brotli that unpack to 256 MB."),
    Misbehaviour("zstd-bomb", bombs.zstd_bomb, "8 KB of zstd that unpack to 256 MB."),
    Misbehaviour("sitemap-bomb", bombs.sitemap_bomb, "A gzip file of 256 MB.", path="/sitemap-bomb/sitemap.xml.gz"),
)  # fmt: skip
_ANSWERS = (
    Misbehaviour("ordinary", answers.ordinary, "Nothing wrong with this one: what the others are compared with."),
    Misbehaviour("redirect-loop", answers.redirect_loop, "Two addresses that lead to each other."),
    Misbehaviour("redirect-itself", answers.redirect_itself, "An address that leads to itself."),
    Misbehaviour("redirect-chain", answers.redirect_chain, "Thirty redirects to a page."),
    Misbehaviour("redirect-nowhere", answers.redirect_nowhere, "A redirect that does not say where to."),
    *(
        Misbehaviour(f"redirect-to-{name}", redirect_to(url), f"A redirect to a private address: {url}")
        for name, url in answers.FORBIDDEN.items()
    ),
    *(
        Misbehaviour(f"redirect-to-{name}", redirect_to(url), f"A redirect to another scheme: {url}")
        for name, url in answers.SCHEMES.items()
    ),
    *(
        Misbehaviour(f"redirect-{name}", redirect_to(url), f"A redirect with an odd Location: {url!r}")
        for name, url in answers.INVALID.items()
    ),
    Misbehaviour("unasked-304", answers.unasked_304, "304 to whoever asks, also without a condition."),
    Misbehaviour("etag-changes", answers.etag_changes, "Equal bodies, each time with another ETag."),
    Misbehaviour("etag-stuck", answers.etag_stuck, "Another body each time, always with the same ETag."),
    Misbehaviour("lying-304", answers.lying_304, "304 to every condition, though the body has changed."),
    Misbehaviour("future-date", answers.future_date, "Last modified in ten years."),
    Misbehaviour("busy-429", busy(429, "2"), "429, come again in two seconds."),
    Misbehaviour("busy-429-date", busy(429, "date"), "429, come again at a date two seconds from now."),
    Misbehaviour("busy-503", busy(503, "2"), "503, come again in two seconds."),
    Misbehaviour("busy-503-date", busy(503, "date"), "503, come again at a date two seconds from now."),
    Misbehaviour("busy-for-ever", busy(503, "999999999"), "503, come again in thirty years."),
    Misbehaviour("busy-nonsense", busy(429, "soon"), "429, come again 'soon'."),
    Misbehaviour("busy-then-well", answers.busy_then_well, "503 for the first two visits, then a page."),
    Misbehaviour("error-500", answers.error_500, "500, always."),
    Misbehaviour("forbidden", answers.forbidden, "403, always."),
    Misbehaviour("wrong-charset", answers.wrong_charset, "Header, meta and bytes each say another charset."),
    Misbehaviour("unknown-charset", answers.unknown_charset, "A charset nobody knows."),
    Misbehaviour("image-as-html", answers.image_as_html, "A picture that says it is HTML."),
    Misbehaviour("html-as-image", answers.html_as_image, "HTML that says it is a picture."),
    Misbehaviour("no-type", answers.no_type, "HTML that does not say what it is."),
    Misbehaviour("unknown-encoding", answers.unknown_encoding, "A Content-Encoding nobody knows."),
    Misbehaviour("lying-encoding", answers.lying_encoding, "Says it is gzip, and is not."),
)  # fmt: skip
_DOCUMENTS = (
    Misbehaviour("calendar", documents.calendar, "A calendar without end, a page a day."),
    Misbehaviour("session-ids", documents.session_ids, "The same pages under new addresses at each visit."),
    Misbehaviour("many-links", documents.many_links, "50,000 links on a page."),
    Misbehaviour("deep-nesting", documents.deep_nesting, "100,000 elements, each inside the one before."),
    Misbehaviour("long-urls", documents.long_urls, "Links of up to a million characters."),
    Misbehaviour("soft-404", documents.soft_404, "'Not found' with status 200, for every address below."),
    Misbehaviour("login-wall", documents.login_wall, "Every page leads to a form that wants a password."),
    Misbehaviour("entity-bomb-feed", documents.entity_bomb_feed, "A feed whose title grows to 2 GB."),
    Misbehaviour("entity-bomb-sitemap", documents.entity_bomb_sitemap, "A sitemap with an address of 2 GB."),
    Misbehaviour("outside-entity", documents.outside_entity, "A feed that wants a file and an address read into it."),
    Misbehaviour("cut-feed", documents.cut_feed, "The first half of a feed."),
    Misbehaviour("feed-as-html", documents.feed_as_html, "A feed that says it is HTML."),
    Misbehaviour("html-as-feed", documents.html_as_feed, "HTML that says it is a feed."),
    Misbehaviour("cut-sitemap", documents.cut_sitemap, "The first half of a sitemap."),
    Misbehaviour("sitemap-loop", documents.sitemap_loop, "An index that names itself, and always one more."),
)  # fmt: skip


def _host(name: str, answer: Answerer, about: str, path: str = "/robots.txt", secure: bool = False) -> Misbehaviour:
    return Misbehaviour(name, answer, about, f"{name}.test", path, secure)


_HOSTS = (
    _host("robots-500", hosts.robots_status(500), "500 for robots.txt."),
    _host("robots-403", hosts.robots_status(403), "403 for robots.txt, which allows all."),
    _host("robots-429", hosts.robots_status(429), "429 for robots.txt."),
    _host("robots-huge", hosts.with_robots(hosts.robots_huge), "A robots.txt of 20 MB; what counts stands first."),
    _host("robots-loop", hosts.with_robots(hosts.robots_loop), "A robots.txt that leads to itself."),
    _host("robots-html", hosts.with_robots(hosts.robots_html), "A robots.txt that is a web page."),
    _host("robots-silent", hosts.with_robots(hosts.robots_silent), "A robots.txt that never comes."),
    _host("robots-forbids", hosts.robots_text("User-agent: *\nDisallow: /\n"), "Wants no robots."),
    _host("robots-slow", hosts.robots_text("User-agent: *\nCrawl-delay: 3600\n"), "Wants an hour between requests."),
    _host("vanishing", hosts.vanishing, "Three answers, then every connection is cut.", "/"),
    _host("mirror", hosts.small_site, "The same pages as original.test.", "/"),
    _host("original", hosts.small_site, "The pages mirror.test has copied.", "/"),
    _host("self-signed", hosts.small_site, "A certificate signed by nobody else.", "/", secure=True),
    _host("expired", hosts.small_site, "A certificate that is past its time.", "/", secure=True),
    _host("wrong-name", hosts.small_site, "A certificate of another host.", "/", secure=True),
)  # fmt: skip
MISBEHAVIOURS: dict[str, Misbehaviour] = {
    one.name: one for one in (*_ON_THE_WIRE, *_BOMBS, *_ANSWERS, *_DOCUMENTS, *_HOSTS)
}


def trouble_sites() -> dict[str, Site]:
    """Sites for the server, by host. They count their visits anew."""
    visits: Counter[str] = Counter()

    def answer(one: Misbehaviour, request: Request) -> Answer:
        visits[one.name] += 1
        return one.answer(request, visits[one.name])

    def trouble(request: Request) -> Answer:
        name = request.path.split("/")[1]
        one = MISBEHAVIOURS.get(name)
        if one is not None and one.host == TROUBLE:
            return answer(one, request)
        if name == "":
            return Reply(_contents())
        if name == "robots.txt":
            return Reply(b"User-agent: *\nAllow: /\n", type="text/plain")
        return Reply(b"not found\n", 404, "text/plain")

    own = {one.host: lambda request, one=one: answer(one, request) for one in _HOSTS}
    apart = {one.own_host: trouble for one in MISBEHAVIOURS.values() if one.host == TROUBLE}
    return {TROUBLE: trouble, **apart, **own}


def _contents() -> bytes:
    links = (f"<li>{documents.link(one.url, one.name)}</li>" for one in MISBEHAVIOURS.values())
    return documents.html("All that can go wrong", "<ul>", *links, "</ul>")
