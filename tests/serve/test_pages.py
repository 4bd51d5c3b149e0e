"""Pages out, sources, why, plan, metrics: what the crawl knows."""

import json
import time

import httpx
import pytest

FRONT = "https://paper.example/"


def story(number: int) -> str:
    return f"https://paper.example/story-{number}"


def test_pages_by_cursor(api) -> None:
    seen, after = [], 0
    while (answer := api.http.get("/api/pages", params={"after": after, "first": 2}).json())["pages"]:
        seen += [page["url"] for page in answer["pages"]]
        assert answer["next"] == answer["pages"][-1]["landed"] > after
        after = answer["next"]
    assert seen == [story(1), story(2), story(3)]
    assert answer == {"pages": [], "next": after}
    page = api.http.get("/api/pages", params={"first": 1}).json()["pages"][0]
    assert (page["title"], page["outcome"], page["source_url"]) == (f"Title of {story(1)}", "fetched", FRONT)
    assert page["text"].startswith("words words")


@pytest.mark.parametrize(
    ("asked", "number"),
    [
        ({"host": "PAPER.example"}, 3), ({"host": "x.example"}, 0), ({"outcome": "old"}, 0), ({"source": 0}, 3),
        ({"source": 7}, 0), ({"outcome": "fetched", "host": "paper.example", "source": 0}, 3),
    ],
)  # fmt: skip
def test_pages_that_are_asked_for(api, asked, number) -> None:
    assert len(api.http.get("/api/pages", params=asked).json()["pages"]) == number
    bare = api.http.get("/api/pages", params=asked | {"text": False}).json()["pages"]
    assert len(bare) == number and not any(page["text"] for page in bare)


@pytest.mark.parametrize("asked", ["after=-1", "after=x", "first=0", "first=1001", "outcome=waiting", "source=a"])
def test_what_cannot_be_asked_for(api, asked) -> None:
    answer = api.http.get(f"/api/pages?{asked}")
    assert answer.status_code == 422 and answer.json()["error"].startswith("query." + asked.split("=")[0])


def events(stream: httpx.Response, number: int) -> list[dict]:
    """The next so many events, each a dict of its fields."""
    found: list[dict] = []
    fields: dict = {}
    for line in stream.iter_lines():
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        else:
            found += [fields] if "data" in fields else []
            fields = {}
        if len(found) == number:
            return found
    return found


def test_a_stream_goes_on_where_it_was_and_tells_what_lands(serving, lands, tmp_path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    lands(home, 1, 2, 3)
    with serving(home) as running:
        with running.http.stream("GET", "/api/pages/stream", headers={"Last-Event-ID": "1"}) as stream:
            assert stream.headers["Content-Type"].startswith("text/event-stream")
            found = events(stream, 2)
            assert [json.loads(one["data"])["url"] for one in found] == [story(2), story(3)]
            assert [(one["event"], one["id"]) for one in found] == [("page", "2"), ("page", "3")]
        with running.http.stream("GET", "/api/pages/stream?text=false") as stream:
            running.http.get("/health")
            lands(home, 4)
            told = json.loads(events(stream, 1)[0]["data"])
            assert (told["url"], told["text"]) == (story(4), "")
        with running.http.stream("GET", "/api/pages/stream?after=3&outcome=old") as stream:
            lands(home, 5)
            lands(home, 6, outcome="old")
            assert events(stream, 1)[0]["id"] == "6"


def test_so_many_listen_and_no_more(serving, tmp_path) -> None:
    with serving(tmp_path / "home") as running, httpx.Client(base_url=running.url, timeout=20) as http:

        def listen() -> httpx.Response:
            return http.send(http.build_request("GET", "/api/pages/stream"), stream=True)

        streams = [listen() for _ in range(32)]
        pieces = [stream.iter_raw() for stream in streams]  # kept: to drop one closes its connection
        assert [next(each) for each in pieces] == [b"retry: 3000\n\n"] * 32
        refused = http.get("/api/pages/stream")
        assert refused.status_code == 503 and "Retry-After" in refused.headers
        assert "mayfly_api_streams 32.0" in running.http.get("/metrics").text
        streams.pop().close()
        end = time.monotonic() + 20
        while "mayfly_api_streams 31.0" not in running.http.get("/metrics").text:
            assert time.monotonic() < end
            time.sleep(0.1)
        streams.append(listen())
        assert streams[-1].status_code == 200
        for stream in streams:
            stream.close()


def test_sources_are_added_edited_and_told(api, kept) -> None:
    added = api.http.post("/api/sources", json={"url": "paper.example/feed.xml", "pinned": 600})
    assert added.status_code == 201
    told = added.json()
    assert (told["url"], told["kind"], told["pinned"]) == ("https://paper.example/feed.xml", "feed", 600.0)
    again = api.http.post("/api/sources", json={"url": "https://paper.example/feed.xml", "kind": "front"})
    assert (again.status_code, again.json()) == (200, told)
    path = f"/api/sources/{told['id']}"
    assert api.http.get(path).json() == told
    blocked = api.http.patch(path, json={"state": "blocked", "reason": "advertisements only", "pinned": None}).json()
    assert (blocked["state"], blocked["reason"], blocked["pinned"]) == ("blocked", "advertisements only", None)
    assert blocked["revision"] > told["revision"]
    restored = api.http.patch(path, json={"state": "active"}).json()
    assert (restored["state"], restored["reason"]) == ("active", "")
    assert kept("source_at", told["url"]).state == "active"


def test_sources_by_cursor(api) -> None:
    api.http.post("/api/sources", json={"url": "https://other.example/"})
    first = api.http.get("/api/sources", params={"first": 1}).json()
    assert (first["sources"][0]["url"], first["next"]) == (FRONT, 0)
    rest = api.http.get("/api/sources", params={"after": 0}).json()
    assert rest["next"] is None and all(source["id"] > 0 for source in rest["sources"])
    assert [one["host"] for one in api.http.get("/api/sources?host=other.example").json()["sources"]] == [
        "other.example"
    ]
    assert api.http.get("/api/sources?state=retired").json() == {"sources": [], "next": None}


@pytest.mark.parametrize(
    "body", [{}, {"state": "gone"}, {"pinned": 0}, {"pinned": "10m"}, {"pinned": True}, {"x": 1}, []]
)
def test_edits_that_say_nothing_are_refused(api, body) -> None:
    assert api.http.patch("/api/sources/0", json=body).status_code == 422
    assert api.http.patch("/api/sources/77", json={"state": "active"}).status_code == 404


def test_why(api) -> None:
    told = api.http.get("/api/why", params={"url": FRONT}).json()
    assert (told["what"], told["source"]["id"]) == ("source", 0)
    assert any("12 new links a day" in line for line in told["says"])
    assert api.http.get("/api/why", params={"url": story(1)}).json()["outcome"] == "fetched"
    assert api.http.get("/api/why", params={"url": "unknown.example/x"}).json()["what"] == "unknown"
    assert api.http.get("/api/why", params={"url": "http://"}).status_code == 422


def test_plan(api, serving, tmp_path) -> None:
    told = api.http.get("/api/plan", params={"budget": 0.01}).json()
    assert (told["budget"], told["sources"], told["upper_bound"]) == (0.01, 1, pytest.approx(36 / 86400))
    assert 0.5 < told["exact"]["share"] < 1 and told["exact"]["sources_in"] == 1
    assert told["smallest_budget"]["90%"] < told["smallest_budget"]["99%"]
    shares = [point["share"] for point in told["curve"]]
    assert shares == sorted(shares)
    assert told["marginal_value"] == told["exact"]["price"] == told["hosts"][0]["marginal_value"]
    assert told["smallest_budget_for_sources"] == dict.fromkeys(("90%", "100%"), told["no_source_refused"])
    assert (told["hosts_total"], len(told["hosts"]), told["hosts"][0]["sources_in"]) == (1, 1, 1)
    assert api.http.get("/api/plan").json()["budget"] == 2.0
    for budget in ("0", "-1", "nan", "inf", "x"):
        assert api.http.get("/api/plan", params={"budget": budget}).status_code == 422
    with serving(tmp_path / "empty") as running:
        empty = running.http.get("/api/plan").json()
        assert (empty["sources"], empty["exact"], empty["curve"], empty["hosts"]) == (0, {}, [], [])
        assert running.http.get("/health/crawl").json() == {"healthy": True, "watched": 0, "findings": []}


def test_alive_is_not_well(api) -> None:
    assert api.http.get("/health").json()["alive"] is True
    crawl = api.http.get("/health/crawl")
    assert crawl.status_code == 503
    assert crawl.json()["healthy"] is False
    assert {finding["what"] for finding in crawl.json()["findings"] if finding["attention"]} == {"not-running"}


def test_metrics(api) -> None:
    api.http.post("/api/clicks", json=[{"url": story(1), "at": 5}, {}])
    text = api.http.get("/metrics").text
    for line in ('mayfly_pages{outcome="fetched"} 3.0', "mayfly_landed 3.0", "mayfly_crawling 0.0"):
        assert line in text.splitlines()
    assert 'mayfly_api_clicks_total{result="known"}' in text
    assert 'mayfly_api_requests_total{method="GET",status="200"}' in text
