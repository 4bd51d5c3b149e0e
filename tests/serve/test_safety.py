"""Who may come in: tokens, origins, names; what every answer carries; how it starts and stops."""

import re
import signal
import socket
import time

import httpx
import pytest

TOKEN = "a-token-of-24-characters"
OPEN = (
    "/login",
    "/docs",
    "/style.css",
    "/reader.css",
    "/icon.svg",
    "/docs.js",
    "/docs.css",
    "/openapi.json",
    "/health",
)
GUARDED = (
    "/",
    "/rss",
    "/go/1",
    "/rss?key=x",
    "/api/pages",
    "/api/sources",
    "/api/plan",
    "/metrics",
    "/health/crawl",
    "/api/why?url=a.example",
    "/nothing",
)


@pytest.fixture(scope="module")
def guarded(serving, tmp_path_factory):
    with serving(tmp_path_factory.mktemp("home"), MAYFLY_TOKEN=TOKEN) as running:
        yield running


@pytest.mark.parametrize("path", GUARDED)
def test_with_a_token_nothing_is_told_without_it(guarded, path) -> None:
    for given in ("", "Bearer", f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}"):
        answer = httpx.get(guarded.url.rstrip("/") + path, headers={"Authorization": given})
        assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
        assert answer.json() == {"error": "give the token: Authorization: Bearer …"}
    assert guarded.http.get(path).status_code != 401


@pytest.mark.parametrize("path", OPEN)
def test_some_pages_are_open(guarded, path) -> None:
    assert httpx.get(guarded.url.rstrip("/") + path).status_code == 200


def test_with_the_token_any_name_and_origin_will_do(guarded) -> None:
    headers = {"Origin": "https://cms.example", "Sec-Fetch-Site": "cross-site", "Host": "api.example"}
    assert guarded.http.post("/api/hints", json=[], headers=headers).status_code == 200
    assert '"HTTPBearer"' in guarded.http.get("/openapi.json").text


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "SAME"}, 200),
        ({"Origin": "SAME", "Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": ""}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Host": "evil.example"}, 403),
        ({"Host": "evil.example", "Origin": "http://evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Host": ""}, 403),
        ({"Host": "localhost:5"}, 200),
        ({"Host": "[::1]:5"}, 200),
    ],
)
def test_without_a_token_a_page_of_another_site_can_do_nothing(api, headers, status) -> None:
    headers = {name: api.url.rstrip("/") if value == "SAME" else value for name, value in headers.items()}
    for method, path, body in (("POST", "/api/hints", "[]"), ("GET", "/api/sources", None), ("GET", "/metrics", None)):
        kind = {"Content-Type": "application/json"} if body else {}
        answer = api.http.request(method, path, headers=headers | kind, content=body)
        assert answer.status_code == status, answer.text


def test_the_public_name_is_ours(serving, tmp_path) -> None:
    with serving(tmp_path / "home", "--public-url", "https://mayfly.example/") as running:
        assert running.http.get("/api/pages", headers={"Host": "mayfly.example"}).status_code == 200


@pytest.mark.parametrize("path", [*OPEN, "/api/pages", "/metrics", "/nothing", "/api/pages/", "/api/sources/x"])
def test_every_answer_carries_the_same_care(api, path) -> None:
    headers = api.http.get(path).headers
    is_page = headers.get("Content-Type", "").startswith("text/html")  # whose forms a browser has to name the origin of
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'") and "frame-ancestors 'none'" in policy and "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == ("same-origin" if is_page else "no-referrer")
    assert headers["X-Frame-Options"] == "DENY"
    assert "Access-Control-Allow-Origin" not in headers and "server" not in headers


def test_errors_are_json_and_nothing_leads_elsewhere(api) -> None:
    for path in ("/nothing", "/api/pages/", "/x//evil.example/", "/api/sources/99999"):
        answer = api.http.get(path, headers={"Host": "localhost"})
        assert answer.status_code == 404 and "location" not in answer.headers
        assert set(answer.json()) == {"error"}
    assert api.http.delete("/api/pages").status_code == 405
    lonely = api.http.post(
        "/api/hints", content=rb'[{"url": "\ud800", "\udfff": 1}]', headers={"Content-Type": "application/json"}
    )
    assert lonely.status_code == 422 and "Traceback" not in lonely.text


def test_the_page_of_documentation_asks_nobody_else(api) -> None:
    page = api.http.get("/docs").text
    assert not re.search(r"https?://|<script>|\son\w+=|style=", page)
    for name in set(re.findall(r'(?:src|href)="([^"]+)"', page)):
        assert api.http.get(name).status_code == 200
    assert not re.search(r"https?://|innerHTML|eval\(", api.http.get("/docs.js").text)
    assert "script-src 'self'" in api.http.get("/docs").headers["Content-Security-Policy"]


@pytest.mark.parametrize("bind", ["0.0.0.0:0", "[::]:0", "192.0.2.1:8642", "example.com:80"])
def test_elsewhere_than_on_loopback_it_needs_a_token(mayfly, tmp_path, bind) -> None:
    done = mayfly("serve", "--home", tmp_path / "home", "--bind", bind)
    assert done.returncode == 2
    assert "a token is needed" in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--bind", "8642"], "must be HOST:PORT"),
        (["--bind", "::1:8642"], "must be HOST:PORT"),
        (["--token", "short"], "must have 16 letters or more"),
        (["--webhook-url", "https://a.example/"], "needs a webhook-secret"),
        (["--webhook-url", "ftp://a.example/"], "must be an address such as"),
        (["--clicks-per-second", "0"], "must be a number above 0"),
    ],
)
def test_what_is_set_wrong_is_said(mayfly, tmp_path, flags, says) -> None:
    done = mayfly("serve", "--home", tmp_path / "home", *flags)
    assert done.returncode == 2 and says in done.stderr
    assert "short" not in done.stderr


def test_an_address_in_use_is_said(mayfly, tmp_path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = mayfly("serve", "--home", tmp_path / "home", "--bind", f"127.0.0.1:{taken.getsockname()[1]}")
    assert done.returncode == 1 and "cannot listen at 127.0.0.1" in done.stderr


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_cleanly_with_a_stream_open(serving, tmp_path, how) -> None:
    with serving(tmp_path / "home") as running, running.http.stream("GET", "/api/pages/stream") as stream:
        pieces = stream.iter_raw()
        assert next(pieces) == b"retry: 3000\n\n"
        began = time.monotonic()
        assert running.stop(how) == (0, "")
        assert time.monotonic() - began < 4
        assert list(pieces) == []


def test_secrets_are_not_shown(mayfly, tmp_path) -> None:
    done = mayfly("config", "--home", tmp_path, "--token", TOKEN, "--json")
    assert done.returncode == 0 and TOKEN not in done.stdout
    assert mayfly("config", "token", "--home", tmp_path, "--token", TOKEN).stdout == "…\n"
