"""What is sent, over real sockets: it is taken or not, and nobody can do anything with the answer."""

import asyncio
import time
from typing import Any

import pytest

from mayfly.fetch.addresses import ConnectTo, Routes, Vetting
from mayfly.fetch.answers import Failed, Limits, Response
from mayfly.fetch.http import Fetcher
from mayfly.fetch.link_header import linked
from mayfly.fetch.reasons import Reason
from mayfly.testing.messages import Reply, Request
from mayfly.testing.misbehaviour import MISBEHAVIOURS
from mayfly.testing.server import Server

QUICK = Limits(seconds=1.0, connect_seconds=1.0)
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Taker:
    """A site that takes what is sent: what came stands in `came`; paths say how it is answered."""

    def __init__(self) -> None:
        self.came: list[tuple[str, str, bytes]] = []

    def __call__(self, request: Request) -> Reply:
        self.came.append((request.method, request.path, request.body))
        status = int(request.path.strip("/") or 202)
        return Reply(
            b"" if status == 204 else b"an answer" * 1000,
            status,
            headers=(("Location", "/"),) if 300 <= status < 400 else (),
        )


async def nothing() -> None:
    pass


def posted(server: Server, url: str, limits: Limits = QUICK, beside: Any = nothing, **more: Any) -> Response | Failed:
    async def run() -> Response | Failed:
        routes = Routes([ConnectTo.parse(rule) for rule in server.connect_to_names])
        async with Fetcher("mayfly/test", limits=limits, vetting=Vetting(server.addresses), routes=routes) as fetcher:
            running = asyncio.ensure_future(beside())
            try:
                return await fetcher.post(url, b"a=1&b=2", FORM, **more)
            finally:
                running.cancel()

    return asyncio.run(run())


@pytest.fixture
def taker(server: Server) -> Taker:
    made = server.sites["taker.test"] = Taker()
    return made


@pytest.mark.parametrize("status", [200, 202, 204])
def test_what_is_taken_is_answered(server: Server, taker: Taker, status: int) -> None:
    answer = posted(server, f"http://taker.test/{status}")
    assert isinstance(answer, Response) and (answer.status, answer.body) == (status, b"")
    assert taker.came == [("POST", f"/{status}", b"a=1&b=2")]


@pytest.mark.parametrize(
    ("status", "reason"),
    [(301, Reason.ODD_STATUS), (302, Reason.ODD_STATUS), (303, Reason.ODD_STATUS), (404, Reason.NOT_FOUND),
     (422, Reason.CLIENT_ERROR), (429, Reason.BUSY), (500, Reason.SERVER_ERROR)],
)  # fmt: skip
def test_what_is_not_taken_says_why(server: Server, taker: Taker, status: int, reason: Reason) -> None:
    answer = posted(server, f"http://taker.test/{status}")
    assert isinstance(answer, Failed) and (answer.reason, answer.detail) == (reason, f"status {status}")
    assert len(taker.came) == 1


def test_sent_again_only_where_that_is_said_and_allowed(server: Server, taker: Taker) -> None:
    asked: list[str] = []

    async def may(url: str) -> Reason | None:
        asked.append(url)
        return None

    assert isinstance(posted(server, "http://taker.test/307", may=may), Response)
    assert [path for _, path, _ in taker.came] == ["/307", "/"] and {body for *_, body in taker.came} == {b"a=1&b=2"}
    assert asked == ["http://taker.test/307", "http://taker.test/"]
    answer = posted(server, "http://taker.test/308", limits=Limits(redirects=0))
    assert isinstance(answer, Failed) and answer.reason is Reason.TOO_MANY_REDIRECTS
    assert len(taker.came) == 3


@pytest.mark.parametrize("name", ["127.9.9.9", "10.0.0.1", "[::1]", "169.254.169.254"])
def test_nothing_is_sent_to_private_addresses(server: Server, name: str) -> None:
    answer = posted(server, f"http://{name}:{server.port}/")
    assert isinstance(answer, Failed) and answer.reason is Reason.FORBIDDEN_ADDRESS and answer.requests <= 1


@pytest.mark.parametrize("to", ["http://10.0.0.1/", "http://[::ffff:127.9.9.9]/"])
def test_nor_where_a_redirect_leads_to_one(server: Server, to: str) -> None:
    server.sites["sly.test"] = lambda request: Reply(b"", 307, headers=(("Location", to),))
    answer = posted(server, "http://sly.test/")
    assert isinstance(answer, Failed) and (answer.reason, len(answer.hops)) == (Reason.FORBIDDEN_ADDRESS, 1)


@pytest.mark.parametrize(
    "name", [name for name, one in MISBEHAVIOURS.items() if not one.secure and one.host == "trouble.test"]
)
def test_no_answer_holds_us_up_or_fills_memory(server: Server, name: str) -> None:
    limits, waited, begin = Limits(seconds=0.3, connect_seconds=0.3), Waited(), time.thread_time()
    answer = posted(server, MISBEHAVIOURS[name].url, limits=limits, beside=waited)
    assert isinstance(answer, Failed) or answer.body == b""
    assert waited.seconds + time.thread_time() - begin < 1.5


class Waited:
    """How long this thread had nothing to do; that others had the machine, or the server that floods us, is no part."""

    seconds, beat = 0.0, 0.01

    async def __call__(self) -> None:
        while True:
            await asyncio.sleep(self.beat)
            self.seconds += self.beat


def test_link_headers() -> None:
    said = [
        ("LINK", '<https://a.example/x,y>; title="a, <b>"; rel="self Hub"; x, <h>;REL=hub'),
        ("Other", "<https://b.example/>; rel=hub"),
        ("Link", "<mailto:x>; rel=hub, <https://c.example>; rel='hub', nonsense, <", ),
        ("Link", '<https://d.example/>; rel="hubs"'),
    ]  # fmt: skip
    base = "https://e.example/f/g"
    assert linked(said, "hub", base) == ["https://a.example/x,y", "https://e.example/f/h"]
    assert linked(said, "self", base) == ["https://a.example/x,y"]
    assert linked([], "hub", base) == linked([("Link", "<" * 50_000 + ", " * 20_000)], "hub", base) == []
