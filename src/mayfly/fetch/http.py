"""One request, polite and bounded: a URL in, an answer or a named failure out, never an exception.

Theory of operation. A fetch follows redirects itself, hop by hop: each hop's address is resolved and vetted when the
connection is made (`addresses.py`), and `may` is asked before it, so that robots.txt and the budget have their say on
every request that leaves. The body is read as it comes, decoded piece by piece (`decoding.py`), and left as soon as a
limit is reached. All hops together have one deadline; the time `may` takes does not count.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeAlias

import aiohttp
from yarl import URL

from mayfly.core.model import Seconds
from mayfly.fetch.addresses import Resolver, Routes, Vetting
from mayfly.fetch.answers import DEFAULT_LIMITS, Failed, Hop, Limits, Response
from mayfly.fetch.deadlines import Deadline, Deadlines
from mayfly.fetch.decoding import ACCEPTED, Decoder, Plain, TooLarge
from mayfly.fetch.failures import Stop, explained, refused
from mayfly.fetch.reasons import Reason
from mayfly.fetch.validators import UNKNOWN, Validators, hash_of
from mayfly.urls import absolute, is_address

May: TypeAlias = Callable[[str], Awaitable[Reason | None]]  # asked before each request: None, or why not

ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_REPEATS = frozenset((307, 308))  # redirects after which what was sent is sent again
_SCHEME_CHARS = len("https://")
_MOST_ORIGINS = 100_000
_MEDIA = ("image/", "video/", "audio/", "font/")
_ARCHIVES = frozenset(("application/zip", "application/x-rar-compressed", "application/pdf"))


class _Trip:
    """A fetch under way."""

    def __init__(self, asked: str, sends: bytes | None = None) -> None:
        self.asked = self.url = asked
        self.sends = sends  # None: nothing, it asks
        self.at, self.began = time.time(), time.monotonic()
        self.hops: list[Hop] = []
        self.sent = 0
        self.again = False  # asked a second time, because a kept connection was closed

    def failed(self, stop: Stop) -> Failed:
        return Failed(
            asked=self.asked,
            url=self.url,
            reason=stop.reason,
            detail=stop.detail[:300],
            at=self.at,
            seconds=time.monotonic() - self.began,
            requests=self.sent,
            status=stop.status,
            retry_after=stop.retry_after,
            hops=tuple(self.hops),
        )


class Fetcher:
    """Connections, kept alive, and the rules for all of them. An async context manager."""

    def __init__(
        self,
        user_agent: str,
        *,
        limits: Limits = DEFAULT_LIMITS,
        vetting: Vetting | None = None,
        routes: Routes | None = None,
        keep_alive: Seconds = 75.0,  # longer than the delay between two fetches of a site, so that it is one connection
        connections: int = 256,
        nameservers: Sequence[str] | None = None,
        nameserver_port: int | None = None,
        trust: ssl.SSLContext | None = None,
        may_send: Callable[[], bool] = lambda: True,
    ) -> None:
        """`may_send` is asked with the connection in hand, when all that is left to do is to write to it."""
        self._headers = {"User-Agent": user_agent, "Accept-Encoding": ACCEPTED}
        self.limits = limits
        self._vetting = vetting or Vetting()
        self._routes = routes or Routes()
        self._keep_alive = keep_alive
        self._connections = connections
        self._trust = trust
        self._may_send = may_send
        self._session: aiohttp.ClientSession | None = None
        self._resolver = Resolver(self._vetting, self._routes, nameservers, nameserver_port)
        self._deadlines = Deadlines()
        self._as_they_are: set[str] = set()  # origins for which `_dialled` has nothing to say
        self._answered: dict[str, Seconds] = {}  # when an origin last did

    async def __aenter__(self) -> Self:
        connector = _Connector(
            self._may_send,
            resolver=self._resolver,
            use_dns_cache=False,  # the resolver keeps its own, by time to live
            limit=self._connections,
            keepalive_timeout=self._keep_alive,
            ssl=self._trust or ssl.create_default_context(),
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,  # a proxy would resolve names out of our sight
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self.limits.connect_seconds),
            max_line_size=self.limits.header_bytes,
            max_field_size=self.limits.header_bytes,
            max_headers=self.limits.headers,
            headers=self._headers,
        )
        self._session._retry_connection = False  # it would ask again without our leave
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            self._deadlines.close()
            await self._session.close()
            self._session = None

    async def fetch(
        self,
        url: str,
        *,
        validators: Validators = UNKNOWN,
        may: May | None = None,
        accept: str = ACCEPT,
        limits: Limits | None = None,
    ) -> Response | Failed:
        """Get `url`, following redirects."""
        return await self._carry(_Trip(url), {"Accept": accept, **validators.headers()}, may, limits or self.limits)

    async def post(
        self, url: str, body: bytes, headers: dict[str, str], *, may: May | None = None, limits: Limits | None = None
    ) -> Response | Failed:
        """Send `body`. Whether it was taken is all that is asked: any status from 200 to 299 is an answer, and what
        comes with it is not read. Redirects that mean "send it there" are followed, others are failures.
        """
        return await self._carry(_Trip(url, body), headers, may, limits or self.limits)

    async def _carry(self, trip: _Trip, headers: dict[str, str], may: May | None, limits: Limits) -> Response | Failed:
        try:
            with self._deadlines.within(limits.seconds) as deadline:
                return await self._travel(trip, headers, may and _untimed(may, deadline), limits)
        except Stop as stop:
            return trip.failed(stop)
        except Exception as error:
            return trip.failed(explained(error, limits))

    async def address_of(self, host: str, port: int) -> str | None:
        """The address of a host, where it is the web that says so."""
        return await self._resolver.address_of(host, port)

    async def _travel(self, trip: _Trip, headers: dict[str, str], may: May | None, limits: Limits) -> Response:
        url = absolute(trip.asked)
        if url is None:
            raise Stop(Reason.BAD_URL, trip.asked)
        visited = {url}
        while True:
            trip.url = url
            if may is not None and (reason := await may(url)) is not None:
                raise Stop(reason, url)
            try:
                answer = await self._hop(trip, url, headers, limits)
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
                if trip.again or isinstance(error, aiohttp.ClientConnectorError) or not self._keeps(url):
                    raise
                trip.again = True
                continue
            if isinstance(answer, Response):
                return answer
            trip.hops.append(Hop(url, answer.status))
            url = _followed(answer, url)
            if url in visited:
                raise Stop(Reason.REDIRECT_LOOP, url, answer.status)
            visited.add(url)
            if len(trip.hops) > limits.redirects:
                raise Stop(Reason.TOO_MANY_REDIRECTS, f"more than {limits.redirects}", answer.status)

    async def _hop(self, trip: _Trip, url: str, headers: dict[str, str], limits: Limits) -> Response | _Redirect:
        """One request."""
        assert self._session is not None, "a Fetcher is an async context manager"
        target, host, server_name = self._dialled(url)
        if host is not None:
            headers = {**headers, "Host": host}
        trip.sent += 1
        answer = await self._session.request(
            "GET" if trip.sends is None else "POST",
            target,
            data=trip.sends,
            headers=headers,
            allow_redirects=False,
            server_hostname=server_name,
        )
        if len(self._answered) >= _MOST_ORIGINS:
            self._answered.clear()
        self._answered[_origin(url)] = time.monotonic()
        try:
            status = answer.status
            if status in (_REDIRECTS if trip.sends is None else _REPEATS):
                return _Redirect(status, answer.headers.get("Location", ""))
            asked = "If-None-Match" in headers or "If-Modified-Since" in headers
            if not _is_success(status, trip.sends is not None) and not (status == 304 and asked):
                raise refused(answer)
            body, wire = (b"", 0) if status == 304 or trip.sends is not None else await _body_of(answer, limits)
            return Response(
                asked=trip.asked,
                url=url,
                status=status,
                headers=tuple(answer.headers.items()),
                body=body,
                body_hash=hash_of(body),
                at=trip.at,
                seconds=time.monotonic() - trip.began,
                wire_bytes=wire,
                address=_peer(answer),
                hops=tuple(trip.hops),
            )
        finally:
            answer.release()

    def _keeps(self, url: str) -> bool:
        """Whether there was likely a connection kept alive, which the other side may have closed as we asked on it."""
        return time.monotonic() - self._answered.get(_origin(url), -self._keep_alive) < self._keep_alive

    def _dialled(self, url: str) -> tuple[URL, str | None, str | None]:
        """The URL to give to aiohttp, and the Host header and certificate name where they are not that URL's.

        The resolver is asked for names only. So an address in a URL is vetted here, and a rule of `--connect-to` for it
        is followed here.
        """
        whole = URL(url, encoded=True)  # else aiohttp would write it anew, and the URL fetched were not the one stored
        origin = _origin(url)
        if origin in self._as_they_are:
            return whole, None, None
        host, port = whole.host or "", whole.port or 0
        if not is_address(host):
            return self._as_it_is(whole, origin), None, None
        to_host, to_port = self._routes.target(host, port)
        if is_address(to_host) and not self._vetting.allows(to_host):
            raise Stop(Reason.FORBIDDEN_ADDRESS, to_host)
        if (to_host, to_port) == (host, port):
            return self._as_it_is(whole, origin), None, None
        return whole.with_host(to_host).with_port(to_port), whole.raw_authority, host

    def _as_it_is(self, whole: URL, origin: str) -> URL:
        if len(self._as_they_are) >= _MOST_ORIGINS:
            self._as_they_are.clear()
        self._as_they_are.add(origin)
        return whole


class _Connector(aiohttp.TCPConnector):
    """Asks once more when a connection is there: the process may have stood still since it was allowed to connect."""

    def __init__(self, may_send: Callable[[], bool], **how: Any) -> None:
        super().__init__(**how)
        self._may_send = may_send

    async def connect(self, *asked: Any, **how: Any) -> Any:
        connection = await super().connect(*asked, **how)
        if not self._may_send():
            connection.close()
            raise Stop(Reason.STOPPING, "it may not leave any more")
        return connection


def _is_success(status: int, sent: bool) -> bool:
    return 200 <= status < 300 if sent else status in (200, 203)


def _origin(url: str) -> str:
    return url[: url.find("/", _SCHEME_CHARS)]


def _untimed(may: May, deadline: Deadline) -> May:
    """The same question, with the clock stopped: an answer may have to wait for the site's delay, or for robots.txt."""

    async def asked(url: str) -> Reason | None:
        deadline.pause()
        reason = await may(url)
        deadline.resume()
        return reason

    return asked


class _Redirect(NamedTuple):
    status: int
    location: str


def _followed(redirect: _Redirect, base: str) -> str:
    """Where a redirect leads."""
    # Headers are bytes; those who write other letters than ASCII into this one mean UTF-8.
    location = redirect.location.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    url = absolute(location, base) if location else None
    if url is None:
        raise Stop(Reason.BAD_REDIRECT, location or "no Location", redirect.status)
    return url


async def _body_of(answer: aiohttp.ClientResponse, limits: Limits) -> tuple[bytes, int]:
    """The decoded body, and how many bytes it took on the wire."""
    kind = answer.headers.get("Content-Type", "").split(";")[0].strip().lower()
    if kind.startswith(_MEDIA) or kind in _ARCHIVES:
        raise Stop(Reason.MEDIA, kind, answer.status)
    if (answer.content_length or 0) > limits.wire_bytes and not limits.cut:
        raise Stop(Reason.BODY_TOO_LARGE, f"{answer.content_length:,} bytes announced", answer.status)
    encoding = answer.headers.get("Content-Encoding")
    decoder = Decoder(encoding, limits.body_bytes) if encoding else Plain(limits.body_bytes)
    wire = 0
    try:
        async for piece in answer.content.iter_any():
            wire += len(piece)
            decoder.feed(piece)
            if wire > limits.wire_bytes:
                raise TooLarge(f"more than {limits.wire_bytes:,} bytes on the wire")
    except TooLarge:
        if limits.cut:
            return decoder.so_far[: limits.body_bytes], wire
        raise
    return decoder.finish(), wire


def _peer(answer: aiohttp.ClientResponse) -> str:
    """The server's address; none where the whole answer came before we looked."""
    transport = answer.connection.transport if answer.connection is not None else None
    name = transport.get_extra_info("peername") if transport is not None else None
    return str(name[0]) if name else ""
