"""One request against everything the web does wrong, over real sockets."""

import asyncio
import json
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mayfly.fetch.addresses import ConnectTo, Routes, Vetting
from mayfly.fetch.answers import Failed, Limits, Response
from mayfly.fetch.http import Fetcher
from mayfly.fetch.reasons import Reason
from mayfly.fetch.robots import Robots
from mayfly.fetch.validators import UNKNOWN
from mayfly.testing.certificates import make_certificates, openssl_missing
from mayfly.testing.messages import Reply, Request
from mayfly.testing.misbehaviour import BAD_CERTIFICATES, MISBEHAVIOURS, trouble_sites
from mayfly.testing.server import Server, in_thread
from mayfly.testing.trap import Trap
from mayfly.testing.trouble import answers

HERE = Path(__file__).parent
QUICK = Limits(seconds=2.0, connect_seconds=1.0)

# What each misbehaviour comes to; None: there is an answer, and it is read.
EXPECTED: dict[str, Reason | None] = {
    "silence": Reason.TIMEOUT,
    "slow-headers": Reason.TIMEOUT,
    "dripping-body": Reason.TIMEOUT,
    "endless-body": Reason.BODY_TOO_LARGE,
    "endless-chunks": Reason.BODY_TOO_LARGE,
    "endless-continue": Reason.TIMEOUT,
    "giant-header": Reason.HEADERS_TOO_LARGE,
    "many-headers": Reason.HEADERS_TOO_LARGE,
    "long-status-line": Reason.HEADERS_TOO_LARGE,
    "length-too-short": None,
    "length-too-long": Reason.CUT_SHORT,
    "length-twice": Reason.BAD_ANSWER,
    "length-negative": Reason.BAD_ANSWER,
    "length-and-chunks": Reason.BAD_ANSWER,
    "bad-chunks": Reason.BAD_ANSWER,
    "cut-chunks": Reason.CUT_SHORT,
    "odd-headers": Reason.BAD_ANSWER,
    "header-injection": Reason.BAD_ANSWER,
    "garbage": Reason.BAD_ANSWER,
    "empty-reply": Reason.NO_ANSWER,
    "reset-before-headers": Reason.RESET,
    "reset-in-body": Reason.CUT_SHORT,
    "gzip-bomb": Reason.BODY_TOO_LARGE,
    "gzip-twice": Reason.BODY_TOO_LARGE,
    "br-bomb": Reason.BODY_TOO_LARGE,
    "zstd-bomb": Reason.BODY_TOO_LARGE,
    "sitemap-bomb": None,  # a file of gzip, undone by the reader
    "redirect-loop": Reason.REDIRECT_LOOP,
    "redirect-itself": Reason.REDIRECT_LOOP,
    "redirect-chain": Reason.TOO_MANY_REDIRECTS,
    "redirect-nowhere": Reason.BAD_REDIRECT,
    **{f"redirect-to-{name}": Reason.FORBIDDEN_ADDRESS for name in answers.FORBIDDEN},
    **{f"redirect-to-{name}": Reason.BAD_REDIRECT for name in answers.SCHEMES},
    **{f"redirect-{name}": Reason.BAD_REDIRECT for name in answers.INVALID},
    "redirect-injected": Reason.NOT_FOUND,
    "redirect-credentials": None,
    "unasked-304": Reason.ODD_STATUS,
    "busy-429": Reason.BUSY,
    "busy-429-date": Reason.BUSY,
    "busy-503": Reason.BUSY,
    "busy-503-date": Reason.BUSY,
    "busy-for-ever": Reason.BUSY,
    "busy-nonsense": Reason.BUSY,
    "busy-then-well": Reason.BUSY,
    "error-500": Reason.SERVER_ERROR,
    "forbidden": Reason.REFUSED,
    "html-as-image": Reason.MEDIA,
    "unknown-encoding": Reason.BAD_ENCODING,
    "robots-500": Reason.ROBOTS_UNREACHABLE,
    "robots-429": Reason.ROBOTS_UNREACHABLE,
    "robots-loop": Reason.ROBOTS_UNREACHABLE,
    "robots-silent": Reason.ROBOTS_UNREACHABLE,
    "robots-forbids": Reason.ROBOTS,
    "self-signed": Reason.TLS,
    "expired": Reason.TLS,
    "wrong-name": Reason.TLS,
}
READ = {
    "ordinary", "etag-changes", "etag-stuck", "lying-304", "future-date", "wrong-charset", "unknown-charset",
    "image-as-html", "no-type", "lying-encoding", "calendar", "session-ids", "many-links", "deep-nesting", "long-urls",
    "soft-404", "login-wall", "entity-bomb-feed", "entity-bomb-sitemap", "outside-entity", "cut-feed", "feed-as-html",
    "html-as-feed", "cut-sitemap", "sitemap-loop", "robots-403", "robots-huge", "robots-html", "robots-slow",
    "vanishing", "mirror", "original",
}  # fmt: skip


def other_loopback() -> str:
    """An address apart from 127.0.0.1, where there is one: macOS has only that."""
    try:
        with socket.create_server(("127.0.0.2", 0)):
            return "127.0.0.2"
    except OSError:
        return "127.0.0.1"


ADDRESS = other_loopback()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    sites = trouble_sites()
    tls = None
    if openssl_missing() is None:
        tls = make_certificates(tmp_path_factory.mktemp("certificates"), [*sites]).context
    with in_thread(Server(sites, addresses=(ADDRESS,), tls=tls)) as made:
        yield made


def rules_of(server: Server) -> list[str]:
    """Only names lead to the server; addresses in URLs mean what they say."""
    ports = [("80", server.port), ("443", server.tls_port)]
    return [f"{host}:{port}:{ADDRESS}:{own}" for host in server.sites for port, own in ports if own]


def fetcher_of(server: Server, limits: Limits = QUICK, **more: Any) -> Fetcher:
    routes = Routes([ConnectTo.parse(rule) for rule in rules_of(server)])
    return Fetcher("mayfly/test", limits=limits, vetting=Vetting([ADDRESS]), routes=routes, **more)


def fetched(server: Server, url: str, limits: Limits = QUICK, **more: Any) -> Response | Failed:
    async def run() -> Response | Failed:
        async with fetcher_of(server, limits) as fetcher:
            return await fetcher.fetch(url, **more)

    return asyncio.run(run())


# All of it


@pytest.fixture(scope="module")
def tour(server: Server) -> dict[str, dict[str, Any]]:
    """Every misbehaviour, fetched and read in one process, while a trap waits on the address that is not allowed."""
    there = {name: one for name, one in MISBEHAVIOURS.items() if server.tls_port or not one.secure}
    urls = [f"{name}={_page_of(name, one.url)}" for name, one in there.items()]
    command = [sys.executable, str(HERE / "tour.py"), ADDRESS, *rules_of(server), "--", *urls]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    seen: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return seen


def _page_of(name: str, url: str) -> str:
    """Of a host whose robots.txt misbehaves it is a page that is asked for."""
    return url.replace("/robots.txt", "/") if name.startswith("robots-") else url


@pytest.mark.parametrize("name", sorted(MISBEHAVIOURS))
def test_every_misbehaviour_ends_with_its_reason_within_its_limits(tour: dict[str, dict[str, Any]], name: str) -> None:
    if MISBEHAVIOURS[name].secure and openssl_missing():
        pytest.skip(str(openssl_missing()))
    if ADDRESS == "127.0.0.1" and "127.0.0.1" in str(answers.FORBIDDEN.get(name.removeprefix("redirect-to-"))):
        pytest.skip("there is only one loopback address here, and the server is on it")
    seen = tour[name]
    assert name in EXPECTED or name in READ, "say what it comes to"
    assert seen["reason"] == EXPECTED.get(name), seen
    assert seen["seconds"] < QUICK.seconds * 2 + 1  # robots.txt and the page
    assert seen["grown_mb"] < 20, seen
    assert seen["requests"] <= 7
    if seen["reason"] is None:
        assert seen["kind"] is not None


def test_all_of_them_together_grow_memory_by_less_than_20_mb(tour: dict[str, dict[str, Any]]) -> None:
    assert sum(seen["grown_mb"] for name, seen in tour.items() if name != "ordinary") < 20


def test_what_is_read_of_them(tour: dict[str, dict[str, Any]]) -> None:
    assert tour["soft-404"]["looks"] == "soft-404"
    assert tour["login-wall"]["looks"] == "log-in"
    assert tour["many-links"]["links"] == 5000
    assert tour["cut-feed"]["kind"] == "feed" and tour["cut-feed"]["links"] > 0
    assert tour["cut-sitemap"]["kind"] == "sitemap" and tour["cut-sitemap"]["links"] > 0
    assert tour["feed-as-html"]["kind"] == "feed"
    assert tour["html-as-feed"]["kind"] == "html"
    assert tour["image-as-html"]["kind"] == "other" and tour["image-as-html"]["error"]
    assert tour["busy-429"]["retry_after"] == 2.0
    assert 1.0 < tour["busy-503-date"]["retry_after"] < 3.0
    assert tour["busy-for-ever"]["retry_after"] == 86400.0
    assert tour["busy-nonsense"]["retry_after"] is None


# Addresses


@pytest.mark.skipif(ADDRESS == "127.0.0.1", reason="there is only one loopback address here")
def test_no_request_reaches_an_address_outside_the_allowed_set(server: Server) -> None:
    async def run(port: int) -> None:
        async with fetcher_of(server) as fetcher:
            for host in (
                "127.0.0.1",
                "0x7f.1",
                "2130706433",
                "0177.0.0.1",
                "localhost",
                "[::ffff:127.0.0.1]",
                "0.0.0.0",
            ):
                failed = await fetcher.fetch(f"http://{host}:{port}/")
                assert isinstance(failed, Failed) and failed.reason is Reason.FORBIDDEN_ADDRESS, host
                failed = await fetcher.fetch(f"http://bounce.test/?http://{host}:{port}/")
                assert isinstance(failed, Failed) and failed.reason is Reason.FORBIDDEN_ADDRESS, host
                assert [hop.status for hop in failed.hops] == [307]

    def bounce(request: Request) -> Reply:
        return Reply(b"", 307, headers=(("Location", request.query),))

    server.sites["bounce.test"] = bounce
    with Trap() as trap:
        asyncio.run(run(trap.port))
        assert trap.caught == []


def test_an_address_in_a_url_follows_connect_to_and_is_vetted_there(server: Server) -> None:
    async def run() -> None:
        rules = [ConnectTo.parse(f"8.8.8.8:80:{ADDRESS}:{server.port}"), ConnectTo.parse("9.9.9.9:80:10.0.0.1:80")]
        server.sites["8.8.8.8"] = lambda request: Reply(request.headers["host"].encode())
        async with Fetcher("mayfly/test", limits=QUICK, vetting=Vetting([ADDRESS]), routes=Routes(rules)) as fetcher:
            answer = await fetcher.fetch("http://8.8.8.8/")
            assert isinstance(answer, Response) and answer.body == b"8.8.8.8"
            assert answer.address == ADDRESS or answer.address == ""
            failed = await fetcher.fetch("http://9.9.9.9/")
            assert isinstance(failed, Failed) and failed.reason is Reason.FORBIDDEN_ADDRESS

    asyncio.run(run())


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://trouble.test/", Reason.BAD_URL),
        ("http://", Reason.BAD_URL),
        ("", Reason.BAD_URL),
        ("http://trouble.test/" + "a" * 5000, Reason.BAD_URL),
        ("http://nowhere.invalid/", Reason.DNS),
        (f"http://{ADDRESS}:1/", Reason.CONNECT),
    ],
)
def test_what_never_gets_an_answer(server: Server, url: str, reason: Reason) -> None:
    failed = fetched(server, url, Limits(seconds=15.0))
    assert isinstance(failed, Failed)
    assert failed.reason is reason, failed
    assert failed.asked == url


# Answers


def test_the_url_fetched_is_the_url_stored(server: Server) -> None:
    asked = "http://echo.test/%7Ea%20b/c?d=%7e&e=ü&f=a+b"
    server.sites["echo.test"] = lambda request: Reply(request.target.encode())
    answer = fetched(server, asked)
    assert isinstance(answer, Response)
    assert answer.url.endswith(answer.body.decode())
    assert answer.body == b"/%7Ea%20b/c?d=%7e&e=%C3%BC&f=a+b"


def test_we_say_who_we_are_and_what_we_can_read(server: Server) -> None:
    server.sites["headers.test"] = lambda request: Reply(json.dumps(request.headers).encode())
    answer = fetched(server, "http://headers.test/")
    assert isinstance(answer, Response)
    sent = json.loads(answer.body)
    assert sent["user-agent"] == "mayfly/test"
    assert sent["accept-encoding"] == "gzip, deflate, br, zstd"
    assert "cookie" not in sent


def test_cookies_are_not_kept(server: Server) -> None:
    def site(request: Request) -> Reply:
        return Reply(request.headers.get("cookie", "none").encode(), headers=(("Set-Cookie", "a=1; Path=/"),))

    async def run() -> list[Response | Failed]:
        async with fetcher_of(server) as fetcher:
            return [await fetcher.fetch("http://cookies.test/") for _ in range(2)]

    server.sites["cookies.test"] = site
    assert [answer.body for answer in asyncio.run(run()) if isinstance(answer, Response)] == [b"none", b"none"]


def test_one_connection_serves_many_requests_of_a_host(server: Server) -> None:
    async def run() -> int:
        async with fetcher_of(server) as fetcher:
            before = server.connections
            for _ in range(5):
                await fetcher.fetch("http://trouble.test/ordinary")
            return server.connections - before

    assert asyncio.run(run()) == 1


def test_redirects_are_followed_and_told(server: Server) -> None:
    server.sites["moved.test"] = lambda request: Reply(
        b"", 301, headers=(("Location", "http://trouble.test/ordinary"),)
    )
    answer = fetched(server, "http://moved.test/a")
    assert isinstance(answer, Response)
    assert (answer.asked, answer.url) == ("http://moved.test/a", "http://trouble.test/ordinary")
    assert answer.hops == (("http://moved.test/a", 301),)
    assert answer.requests == 2


def test_every_request_is_asked_for_first(server: Server) -> None:
    seen: list[str] = []

    async def may(url: str) -> Reason | None:
        seen.append(url)
        return Reason.ROBOTS if "again" in url else None

    failed = fetched(server, "http://trouble.test/redirect-loop", may=may)
    assert isinstance(failed, Failed)
    assert (failed.reason, failed.url) == (Reason.ROBOTS, "http://trouble.test/redirect-loop/again")
    assert seen == ["http://trouble.test/redirect-loop", "http://trouble.test/redirect-loop/again"]
    assert failed.requests == 1


def test_a_deadline_is_for_all_hops_together(server: Server) -> None:
    def slow(request: Request) -> Reply:
        time.sleep(0.3)
        return Reply(b"", 302, headers=(("Location", f"{request.path}x"),))

    server.sites["slow-hops.test"] = slow
    began = time.monotonic()
    failed = fetched(server, "http://slow-hops.test/", Limits(seconds=0.8, redirects=50))
    assert isinstance(failed, Failed) and failed.reason is Reason.TIMEOUT
    assert time.monotonic() - began < 2


@pytest.mark.skipif(openssl_missing() is not None, reason=str(openssl_missing()))
def test_a_good_certificate_is_accepted(tmp_path: Path) -> None:
    made = make_certificates(tmp_path, ["good.test", *BAD_CERTIFICATES])
    site = {"good.test": lambda request: Reply(b"sound")}

    async def run() -> Response | Failed:
        async with Server(site, tls=made.context) as server:
            trust = ssl.create_default_context(cafile=str(made.authority))
            routes = Routes([ConnectTo.parse(rule) for rule in server.connect_to])
            vetting = Vetting(["127.0.0.1/32"])
            async with Fetcher("mayfly/test", limits=QUICK, vetting=vetting, routes=routes, trust=trust) as fetcher:
                return await fetcher.fetch("https://good.test/")

    answer = asyncio.run(run())
    assert isinstance(answer, Response), answer
    assert answer.body == b"sound"


# Asking whether anything changed


def test_nothing_changed_is_an_answer_without_a_body(server: Server) -> None:
    server.sites["steady.test"] = lambda request: Reply(b"steady", etag='"1"', modified=1e9)

    async def run() -> None:
        async with fetcher_of(server) as fetcher:
            first = await fetcher.fetch("http://steady.test/")
            assert isinstance(first, Response) and not first.not_modified
            known = UNKNOWN.after(first)
            second = await fetcher.fetch("http://steady.test/", validators=known)
            assert isinstance(second, Response) and second.not_modified and second.body == b""
            assert not known.changed(second)

    asyncio.run(run())


@pytest.mark.parametrize(("name", "changes"), [("etag-changes", False), ("etag-stuck", True), ("lying-304", True)])
def test_validators_that_lie_hide_nothing_for_long(server: Server, name: str, changes: bool) -> None:
    async def run() -> list[bool]:
        known, changed = UNKNOWN, []
        async with fetcher_of(server) as fetcher:
            for _ in range(50):
                answer = await fetcher.fetch(MISBEHAVIOURS[name].url, validators=known)
                assert isinstance(answer, Response)
                changed.append(known.changed(answer))
                known = known.after(answer)
        return changed[1:]

    changed = asyncio.run(run())
    if changes:
        assert sum(changed) >= 20  # once caught, every change is seen
        assert all(changed[-20:])
    else:
        assert not any(changed)


# robots.txt over the wire


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("robots-500.test", Reason.ROBOTS_UNREACHABLE),
        ("robots-403.test", None),
        ("robots-loop.test", Reason.ROBOTS_UNREACHABLE),
        ("robots-html.test", None),
        ("robots-forbids.test", Reason.ROBOTS),
        ("robots-silent.test", Reason.ROBOTS_UNREACHABLE),
    ],
)
def test_robots_of_odd_hosts(server: Server, host: str, reason: Reason | None) -> None:
    async def run() -> Reason | None:
        async with fetcher_of(server) as fetcher:
            return await Robots(fetcher, "mayfly", Limits(seconds=1.0)).may(f"http://{host}/", time.time())

    assert asyncio.run(run()) is reason


def test_of_a_huge_robots_the_head_counts(server: Server) -> None:
    async def run() -> None:
        async with fetcher_of(server) as fetcher:
            robots = Robots(fetcher, "mayfly")
            rules = await robots.rules("http://robots-huge.test/", 0.0)
            slow = await robots.rules("http://robots-slow.test/", 0.0)
            assert not rules.allows("http://robots-huge.test/story/1")
            assert rules.allows("http://robots-huge.test/story/2")  # forbidden beyond what is read
            assert (slow.delay, slow.asked_delay) == (120.0, 3600.0)

    asyncio.run(run())
