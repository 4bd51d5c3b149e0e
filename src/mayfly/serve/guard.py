"""Who may come in, and with how much. Stands before everything else, so that no route can forget it.

- With a token, all but a few open paths need it. A page of another site cannot know it, so it stops forged requests.
  A browser has a cookie in its place, from the form at /login; since it sends that whoever asks, what it says of the
  request's origin must be ours. A program that reads a feed has a key in the address, good for feeds alone.
- Without one we listen on loopback only, where any page a browser shows may knock. So the Host must be one of our
  names (else a name that was made to lead here would be let in), and what a browser says of the request's origin must
  be ours.
- IndexNow pings have a key and hubs an address nobody else knows and a signature: both are open, and checked there.
- Bodies are counted while they come, one by one and all together.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections import Counter
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mayfly.core.model import Seconds

MOST_BYTES = 10_000_000  # of a body
_MOST_TOGETHER = 8 * MOST_BYTES  # of all bodies that are being read
_LONGEST: Seconds = 60.0  # for a body to come
_OPEN = {
    "/login", "/style.css", "/icon.svg", "/reader.css", "/docs", "/docs.js", "/docs.css", "/openapi.json", "/health",
}  # fmt: skip
_PAGES = {"/", "/ops"}  # other sites may lead people there: it only shows
_FEED = "/rss"
COOKIE = "mayfly"
_OWN_KEYS = ("/api/indexnow", "/api/websub/")
_HEADERS = {
    b"content-security-policy": b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
    b"cache-control": b"no-store",
}
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


class Guard:
    """An ASGI application around another."""

    def __init__(
        self, app: ASGIApp, token: str = "", names: Iterable[str] = (), counted: Counter[tuple[str, ...]] | None = None
    ) -> None:
        self._app, self._token = app, token.encode()
        self._names = {*_LOOPBACK, *(name.lower() for name in names)}
        self._counted: Counter[tuple[str, ...]] = Counter() if counted is None else counted
        self._reading = 0  # bytes of all bodies that are being read

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        sending = self._with_headers(scope["method"], send)
        refused = self._refused(scope)
        if refused is not None:
            return await _answer(sending, *refused)
        body = _Body(self, receive)
        try:
            await self._app(scope, body.receive, sending)
        finally:
            self._reading -= body.size

    def _refused(self, scope: Scope) -> tuple[int, str] | None:
        """A status and why, or None: it may come in."""
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        path: str = scope["path"]
        if self._is_large(headers.get(b"content-length", "")):
            return 413, f"a body may have {MOST_BYTES:,} bytes"
        host = headers.get(b"host", "")
        if not self._token and _name(host) not in self._names:
            return 403, "this is no name of mine: use the address mayfly serve printed, or set public-url"
        if path in _OPEN or path.startswith(_OWN_KEYS):
            return None
        looks = path in _PAGES and scope["method"] in ("GET", "HEAD") and headers.get(b"sec-fetch-mode") == "navigate"
        ours = looks or is_ours(headers, host)
        if self._token:
            if self._knows(headers) or (ours and self._has_cookie(headers)) or self._has_key(scope):
                return None
            asks = scope["method"] == "GET" and "text/html" in headers.get(b"accept", "")
            return (303, f"/login?next={quote(path)}") if asks else (401, "give the token: Authorization: Bearer …")
        return None if ours else (403, "this came from a page of another site: set a token if that is meant")

    def _knows(self, headers: dict[bytes, str]) -> bool:
        kind, _, given = headers.get(b"authorization", "").partition(" ")
        told = given.strip().encode("latin-1")
        return hmac.compare_digest(told, self._token) and kind.lower() == "bearer"

    def _has_cookie(self, headers: dict[bytes, str]) -> bool:
        given = [one.strip().partition("=") for one in headers.get(b"cookie", "").split(";")]
        right = cookie_of(self._token.decode()).encode()
        return any(name == COOKIE and hmac.compare_digest(value.encode("latin-1"), right) for name, _, value in given)

    def _has_key(self, scope: Scope) -> bool:
        """For feeds alone, and to read them."""
        if scope["path"] != _FEED or scope["method"] not in ("GET", "HEAD"):
            return False
        given = parse_qs(scope["query_string"].decode("latin-1")).get("key", [""])[0]
        return hmac.compare_digest(given.encode(), feed_key(self._token.decode()).encode())

    def _is_large(self, said: str) -> bool:
        return said.isdecimal() and int(said) > MOST_BYTES

    def come(self, size: int, all_of_it: int) -> None:
        """More of a body came."""
        self._reading += size
        if all_of_it > MOST_BYTES:
            raise HTTPException(413, f"a body may have {MOST_BYTES:,} bytes")
        if self._reading > _MOST_TOGETHER:
            raise HTTPException(503, "too much is being sent at once: try again", {"Retry-After": "1"})

    def _with_headers(self, method: str, send: Send) -> Send:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._counted["requests", method, str(message["status"])] += 1
                given = {name.lower() for name, _ in message.get("headers", ())}
                more = [(name, value) for name, value in _HEADERS.items() if name not in given]
                message = {**message, "headers": [*message.get("headers", ()), *more]}
            await send(message)

        return sending


class _Body:
    """A body while it comes."""

    def __init__(self, guard: Guard, receive: Receive) -> None:
        self._guard, self._receive = guard, receive
        self._until = asyncio.get_running_loop().time() + _LONGEST
        self._whole = False
        self.size = 0

    async def receive(self) -> Message:
        """The next piece; once all is there, whatever else happens, however late."""
        try:
            async with asyncio.timeout_at(None if self._whole else self._until):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408, f"the body must come within {_LONGEST:.0f} seconds") from None
        if message["type"] == "http.request":
            size = len(message.get("body", b""))
            self.size += size
            self._whole = not message.get("more_body", False)
            self._guard.come(size, self.size)
        return message


def cookie_of(token: str) -> str:
    """What stands for the token in a browser; who sees it does not know the token, and a new token ends it."""
    return _derived(token, b"mayfly cookie")


def feed_key(token: str) -> str:
    """What stands for the token in the address of a feed."""
    return _derived(token, b"mayfly feed")[:32]


def _derived(token: str, what: bytes) -> str:
    return hmac.new(token.encode(), what, hashlib.sha256).hexdigest()


def is_ours(headers: dict[bytes, str], host: str) -> bool:
    """Whether what a browser says of where a request is from is us; programs say nothing."""
    if headers.get(b"sec-fetch-site", "none") not in ("same-origin", "none"):
        return False
    origin = headers.get(b"origin")
    return origin is None or urlsplit(origin).netloc.lower() == host.lower() != ""


def _name(host: str) -> str:
    """A Host header without its port.

    >>> _name("LocalHost:8642"), _name("[::1]:8642"), _name("[::1]")
    ('localhost', '[::1]', '[::1]')
    """
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdecimal() and not name.endswith(":") else host.lower()


async def _answer(send: Send, status: int, error: str) -> None:
    headers: list[tuple[bytes, bytes]] = [(b"content-type", b"application/json")]
    if status == 303:
        headers.append((b"location", error.encode()))
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if status == 413:
        headers.append((b"connection", b"close"))
    body = json.dumps({"error": error}).encode()
    start: dict[str, Any] = {"type": "http.response.start", "status": status, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": body})
