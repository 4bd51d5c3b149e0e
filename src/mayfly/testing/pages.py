"""The documents of a newspaper as text: pure functions from what they show to what they look like."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from urllib.parse import quote

from mayfly.core.model import Seconds
from mayfly.testing.messages import http_date


@dataclass(frozen=True, slots=True)
class Story:
    """A page, as those who link it know it."""

    url: str  # the one that counts
    shown: str  # the one linked here, perhaps another spelling
    title: str
    teaser: str
    published: Seconds


@dataclass(frozen=True, slots=True)
class Frame:
    """What is around every page of a host: its name, its sections and tags, its friends elsewhere."""

    host: str
    sections: Sequence[str]  # paths
    tags: Sequence[str]
    friends: Sequence[str]  # URLs

    @property
    def root(self) -> str:
        return f"http://{self.host}"


def listing(frame: Frame, title: str, stories: Iterable[Story]) -> str:
    """A front page, section or tag page: links to stories, the newest first, without dates."""
    items = "\n".join(
        f'<article><h2><a href="{escape(story.shown)}">{escape(story.title)}</a></h2><p>{escape(story.teaser)}</p>'
        f'<a class="share" href="{_share(story.url)}">Share</a></article>'
        for story in stories
    )
    return _page(frame, title, "", f"<h1>{escape(title)}</h1>\n{items}")


def article(frame: Frame, story: Story, section: str, text: Sequence[str], related: Iterable[Story]) -> str:
    """A story, whole. Its date stands in the metadata, in JSON-LD and on the page."""
    date, amp = iso(story.published), f"{frame.root}/amp{story.url.removeprefix(frame.root)}"
    about = {"@context": "https://schema.org", "@type": "NewsArticle", "headline": story.title, "url": story.url}
    about |= {"datePublished": date, "dateModified": date}
    head = f"""<link rel="canonical" href="{story.url}">
<link rel="amphtml" href="{amp}">
<meta property="og:type" content="article"><meta property="og:title" content="{escape(story.title)}">
<meta property="article:published_time" content="{date}">
<script type="application/ld+json">{json.dumps(about)}</script>"""
    body = "\n".join(f"<p>{escape(paragraph)}</p>" for paragraph in text)
    links = "\n".join(f'<li><a href="{other.shown}">{escape(other.title)}</a></li>' for other in related)
    return _page(
        frame,
        story.title,
        head,
        f"""<article><h1>{escape(story.title)}</h1>
<p><a href="{section}">More of this</a> · <time datetime="{date}">{http_date(story.published)}</time></p>
<img src="/pictures/{len(story.title)}.png" alt="">
{body}
<p><a href="{_share(story.url)}">Share</a> <a href="mailto:?body={quote(story.url)}">Mail</a>
<a href="{story.url}?utm_source=share&amp;utm_medium=link">Link</a> <a href="#comments">Comments</a></p></article>
<aside><h2>Related</h2><ul>{links}</ul></aside>""",
    )


def plain(frame: Frame, title: str, text: str) -> str:
    """About, log-in, imprint."""
    return _page(frame, title, "", f"<h1>{title}</h1>\n{text}")


def rss(frame: Frame, stories: Iterable[Story], changed: Seconds) -> str:
    items = "".join(
        f"<item><title>{escape(story.title)}</title><link>{escape(story.shown)}</link>"
        f'<guid isPermaLink="true">{story.url}</guid><pubDate>{http_date(story.published)}</pubDate>'
        f"<description>{escape(story.teaser)}</description></item>\n"
        for story in stories
    )
    return (
        f'<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0"><channel><title>{frame.host}</title>'
        f"<link>{frame.root}/</link><lastBuildDate>{http_date(changed)}</lastBuildDate>\n{items}</channel></rss>\n"
    )


def atom(frame: Frame, stories: Iterable[Story], changed: Seconds) -> str:
    entries = "".join(
        f'<entry><title>{escape(story.title)}</title><link href="{escape(story.shown)}"/><id>{story.url}</id>'
        f"<published>{iso(story.published)}</published><updated>{iso(story.published)}</updated></entry>\n"
        for story in stories
    )
    return (
        f'<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom"><title>{frame.host}</title>'
        f"<id>{frame.root}/</id><updated>{iso(changed)}</updated>\n{entries}</feed>\n"
    )


def sitemap(stories: Iterable[Story]) -> str:
    urls = "".join(
        f"<url><loc>{story.shown}</loc><lastmod>{iso(story.published)}</lastmod></url>\n" for story in stories
    )
    return f'<?xml version="1.0" encoding="utf-8"?>\n<urlset xmlns="{_SITEMAPS}/0.9">\n{urls}</urlset>\n'


def news_sitemap(frame: Frame, stories: Iterable[Story]) -> str:
    urls = "".join(
        f"<url><loc>{story.shown}</loc><news:news><news:publication><news:name>{frame.host}</news:name>"
        f"<news:language>en</news:language></news:publication><news:publication_date>{iso(story.published)}"
        f"</news:publication_date><news:title>{escape(story.title)}</news:title></news:news></url>\n"
        for story in stories
    )
    return (
        f'<?xml version="1.0" encoding="utf-8"?>\n<urlset xmlns="{_SITEMAPS}/0.9" '
        f'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">\n{urls}</urlset>\n'
    )


def sitemap_index(frame: Frame) -> str:
    maps = "".join(f"<sitemap><loc>{frame.root}/{file}</loc></sitemap>" for file in ("news.xml", "articles.xml.gz"))
    return f'<?xml version="1.0" encoding="utf-8"?>\n<sitemapindex xmlns="{_SITEMAPS}/0.9">{maps}</sitemapindex>\n'


def robots(frame: Frame) -> str:
    return f"User-agent: *\nDisallow: /login\nDisallow: /search\n\nSitemap: {frame.root}/sitemap.xml\n"


def iso(at: Seconds) -> str:
    """An instant to the millisecond, never later than it was.

    >>> iso(0.9999)
    '1970-01-01T00:00:00.999Z'
    """
    return f"{datetime.fromtimestamp(int(at), UTC):%Y-%m-%dT%H:%M:%S}.{int(at * 1000) % 1000:03}Z"


_SITEMAPS = "http://www.sitemaps.org/schemas/sitemap"


def _share(url: str) -> str:
    return f"http://social.test/share?u={quote(url, safe='')}"


def _page(frame: Frame, title: str, head: str, body: str) -> str:
    ways = "".join(f'<a href="{path}">{path.strip("/")}</a> ' for path in (*frame.sections, *frame.tags))
    friends = "".join(f'<a href="{url}">{url}</a> ' for url in frame.friends)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>
<link rel="stylesheet" href="/style.css"><link rel="icon" href="/logo.png">
<link rel="alternate" type="application/rss+xml" title="RSS" href="/feed.xml">
<link rel="alternate" type="application/atom+xml" title="Atom" href="/atom.xml">
{head}</head>
<body><nav><a href="/">{frame.host}</a> {ways}<a href="/login">Log in</a> <a href="/search?q=">Search</a></nav>
<main>
{body}
</main>
<footer><a href="/about">About</a> <a href="/imprint">Imprint</a>
<a href="http://social.test/{frame.host}">Follow us</a> {friends}</footer><script src="/app.js"></script></body></html>
"""
