"""One request, over real sockets."""

import asyncio
import json
import ssl
import time
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
from mayfly.testing.messages import Answer, Reply, Request
from mayfly.testing.misbehaviour import BAD_CERTIFICATES, MISBEHAVIOURS
from mayfly.testing.server import Server
from mayfly.testing.trap import Trap
from mayfly.testing.trouble.streams import reset_before_headers

QUICK = Limits(seconds=2.0, connect_seconds=1.0)
ONE_ADDRESS = "there is only one loopback address here, and the server is on it"


def fetcher_of(server: Server, limits: Limits = QUICK, **more: Any) -> Fetcher:
    """Only names lead to the server; addresses in URLs mean what they say."""
    routes = Routes([ConnectTo.parse(rule) for rule in server.connect_to_names])
    return Fetcher("mayfly/test", limits=limits, vetting=Vetting(server.addresses), routes=routes, **more)


def fetched(server: Server, url: str, limits: Limits = QUICK, **more: Any) -> Response | Failed:
    async def run() -> Response | Failed:
        async with fetcher_of(server, limits) as fetcher:
            return await fetcher.fetch(url, **more)

    return asyncio.run(run())


# Addresses


def test_no_request_reaches_an_address_outside_the_allowed_set(server: Server) -> None:
    if server.addresses == ("127.0.0.1",):
        pytest.skip(ONE_ADDRESS)

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
        address = server.addresses[0]
        rules = [ConnectTo.parse(f"8.8.8.8:80:{address}:{server.port}"), ConnectTo.parse("9.9.9.9:80:10.0.0.1:80")]
        server.sites["8.8.8.8"] = lambda request: Reply(request.headers["host"].encode())
        async with Fetcher("mayfly/test", limits=QUICK, vetting=Vetting([address]), routes=Routes(rules)) as fetcher:
            answer = await fetcher.fetch("http://8.8.8.8/")
            assert isinstance(answer, Response) and answer.body == b"8.8.8.8"
            assert answer.address in (address, "")
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
    ],
)
def test_what_never_gets_an_answer(server: Server, url: str, reason: Reason) -> None:
    failed = fetched(server, url, Limits(seconds=15.0))
    assert isinstance(failed, Failed)
    assert failed.reason is reason, failed
    assert failed.asked == url


def test_a_port_where_nobody_listens_is_no_connection(server: Server) -> None:
    failed = fetched(server, f"http://{server.addresses[0]}:1/")
    assert isinstance(failed, Failed) and failed.reason is Reason.CONNECT


def test_nothing_is_sent_on_a_connection_that_came_too_late(server: Server) -> None:
    """The process may stand still after it was allowed to connect, so it is asked once more."""
    asked: list[str] = []
    server.sites["late.test"] = lambda request: Reply(asked.append(request.target) or b"told")
    connected: list[bool] = []

    def may_send() -> bool:
        connected.append(True)
        return len(connected) == 1

    async def run() -> None:
        async with fetcher_of(server, may_send=may_send) as fetcher:
            assert isinstance(await fetcher.fetch("http://late.test/in-time"), Response)
            failed = await fetcher.fetch(
                "http://late.test/too-late"
            )  # whether on a new connection or on the one that is kept
            assert isinstance(failed, Failed) and failed.reason is Reason.STOPPING

    asyncio.run(run())
    assert len(connected) == 2 and asked == ["/in-time"]


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


def test_a_connection_closed_meanwhile_is_asked_for_again(server: Server) -> None:
    """aiohttp by itself would ask twice, and nobody would know."""
    seen: list[str] = []
    answers = iter([True, False, True, False, False, True])

    def moody(request: Request) -> Answer:
        return Reply(b"well") if next(answers) else reset_before_headers(request, 1)

    async def may(url: str) -> Reason | None:
        seen.append(url)
        return None

    async def run() -> list[Response | Failed]:
        async with fetcher_of(server) as fetcher:
            return [await fetcher.fetch("http://moody.test/", may=may) for _ in range(3)]

    server.sites["moody.test"] = moody
    first, second, third = asyncio.run(run())
    assert isinstance(first, Response) and isinstance(second, Response)
    assert isinstance(third, Failed) and (third.reason, third.requests) == (Reason.RESET, 2)
    assert len(seen) == len(server.journal.visits("moody.test")) == 5


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
