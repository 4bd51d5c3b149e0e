"""Everything the web does wrong ends with its reason, within its limits."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mayfly.fetch.reasons import Reason
from mayfly.testing.certificates import openssl_missing
from mayfly.testing.misbehaviour import MISBEHAVIOURS
from mayfly.testing.server import Server
from mayfly.testing.trouble import answers

HERE = Path(__file__).parent
SECONDS = 2.0  # for one fetch, as in tour.py

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


@pytest.fixture(scope="module")
def tour(server: Server) -> dict[str, dict[str, Any]]:
    """Every misbehaviour, fetched and read in one process, while a trap waits on the address that is not allowed."""
    there = {name: one for name, one in MISBEHAVIOURS.items() if server.tls_port or not one.secure}
    urls = [f"{name}={_page_of(name, one.url)}" for name, one in there.items()]
    command = [sys.executable, str(HERE / "tour.py"), server.addresses[0], *server.connect_to_names, "--", *urls]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    seen: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return seen


def _page_of(name: str, url: str) -> str:
    """Of a host whose robots.txt misbehaves it is a page that is asked for."""
    return url.replace("/robots.txt", "/") if name.startswith("robots-") else url


@pytest.mark.parametrize("name", sorted(MISBEHAVIOURS))
def test_every_misbehaviour_ends_with_its_reason_within_its_limits(
    server: Server, tour: dict[str, dict[str, Any]], name: str
) -> None:
    if MISBEHAVIOURS[name].secure and openssl_missing():
        pytest.skip(str(openssl_missing()))
    if server.addresses == ("127.0.0.1",) and "127.0.0.1" in str(
        answers.FORBIDDEN.get(name.removeprefix("redirect-to-"))
    ):
        pytest.skip("there is only one loopback address here, and the server is on it")
    seen = tour[name]
    assert name in EXPECTED or name in READ, "say what it comes to"
    assert seen["reason"] == EXPECTED.get(name), seen
    assert seen["seconds"] < SECONDS * 2 + 1  # robots.txt and the page
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
