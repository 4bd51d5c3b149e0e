"""Misbehaviour that takes a whole host: its robots.txt, its certificate, its existence, its likeness to another."""

from __future__ import annotations

from functools import lru_cache, partial

from mayfly.testing.messages import Answer, Raw, Reply, Request
from mayfly.testing.trouble.answers import Answerer
from mayfly.testing.trouble.documents import html, link
from mayfly.testing.trouble.streams import reset_before_headers, silence

ROBOTS_BYTES = 20_000_000
VANISHES_AFTER = 3  # requests
_STORIES = 20


def small_site(request: Request, visit: int) -> Reply:
    """A front page and twenty stories, the same on every host that has nothing better to show."""
    if request.path == "/robots.txt":
        return Reply(b"User-agent: *\nAllow: /\n", type="text/plain")
    if request.path == "/":
        return Reply(html("A small site", *(link(f"/story/{n}", f"Story {n}") for n in range(_STORIES))))
    number = request.path.removeprefix("/story/")
    if number.isdecimal() and len(number) < 4 and int(number) < _STORIES:
        return Reply(html(f"Story {number}", f"<p>{'It was a long story. ' * 20}</p>", link("/", "Home")))
    return Reply(b"not found\n", 404, "text/plain")


def with_robots(robots: Answerer) -> Answerer:
    """The small site, but for its robots.txt."""

    def answer(request: Request, visit: int) -> Answer:
        return robots(request, visit) if request.path == "/robots.txt" else small_site(request, visit)

    return answer


def robots_text(text: str) -> Answerer:
    return with_robots(partial(_text, text))


def _text(text: str, request: Request, visit: int) -> Reply:
    return Reply(text.encode(), type="text/plain")


def robots_status(status: int) -> Answerer:
    return with_robots(partial(_status, status))


def _status(status: int, request: Request, visit: int) -> Reply:
    return Reply(b"no\n", status, "text/plain")


def robots_huge(request: Request, visit: int) -> Reply:
    return Reply(_huge_robots(), type="text/plain")


@lru_cache(maxsize=1)
def _huge_robots() -> bytes:
    """Allows all but `/story/1` at its beginning; what comes after the first 500 KiB nobody need read."""
    line = b"Disallow: /a/very/long/way/from/home/and/back/again\n"
    start = b"User-agent: *\nDisallow: /story/1$\n"
    return start + line * ((ROBOTS_BYTES - len(start)) // len(line)) + b"Disallow: /story/2$\n"


def robots_loop(request: Request, visit: int) -> Reply:
    return Reply(b"", 302, headers=(("Location", "/robots.txt"),))


def robots_html(request: Request, visit: int) -> Reply:
    return Reply(html("Not found", "<p>Disallow: nothing, this is not the file you want.</p>"))


def robots_silent(request: Request, visit: int) -> Raw:
    return silence(request, visit)


def vanishing(request: Request, visit: int) -> Answer:
    """A small site for a few requests; after that whoever asks is cut off."""
    return small_site(request, visit) if visit <= VANISHES_AFTER else reset_before_headers(request, visit)
