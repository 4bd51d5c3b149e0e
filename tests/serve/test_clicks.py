"""Clicks in: arrays and lines, bad rows, batches that count once, limits."""

import json
import time

import pytest

NOW = time.time()


def url(number: int) -> str:
    return f"https://paper.example/story-{number}"


def rows(*numbers: int, **more) -> list[dict]:
    return [{"url": url(number), "at": NOW - 60, "count": 2} | more for number in numbers]


def lines(*told: object) -> bytes:
    return b"\n".join(json.dumps(one).encode() for one in told)


def test_an_array_and_lines_are_read_alike(api, kept) -> None:
    before = kept("stats")["clicks"]
    first = api.http.post("/api/clicks", json=rows(1, 2, 99))
    assert first.status_code == 200
    assert first.json() == {"known": 2, "unknown": 1, "left_out": 0, "bad": []}
    header = {"Content-Type": "application/x-ndjson; charset=utf-8"}
    second = api.http.post("/api/clicks", content=lines(*rows(1, 2, 99)), headers=header)
    assert second.json() == first.json()
    assert kept("stats")["clicks"] == before + 4


def test_what_is_wrong_is_named_by_row_and_the_rest_is_kept(api) -> None:
    bad = [{"url": "x"}, 5, {"url": url(1), "at": NOW, "kind": "look"}]
    answer = api.http.post("/api/clicks", json=[*rows(1), *bad]).json()
    assert (answer["known"], answer["left_out"]) == (1, 3)
    assert [one["row"] for one in answer["bad"]] == [2, 3, 4]
    assert "kind must be click or show" in answer["bad"][2]["reason"]


@pytest.mark.parametrize("how", ["header", "query"])
def test_a_batch_counts_once_and_answers_the_same(api, kept, how) -> None:
    name = f"batch-{how}"
    named = {"headers": {"Idempotency-Key": name}} if how == "header" else {"params": {"batch": name}}
    before = kept("stats")["clicks"]
    answers = [api.http.post("/api/clicks", json=rows(1, 2, 98), **named).json() for _ in range(3)]
    assert answers[0] == answers[1] == answers[2] == {"known": 2, "unknown": 1, "left_out": 0, "bad": []}
    assert kept("stats")["clicks"] == before + 2


@pytest.mark.parametrize(
    ("request_", "status", "says"),
    [
        ({"json": {"url": url(1)}}, 422, "must be a JSON array"),
        ({"content": b"[", "headers": {"Content-Type": "application/json"}}, 422, "must be a JSON array"),
        ({"content": b"[1," + b"[" * 100_000, "headers": {"Content-Type": "application/json"}}, 422, "JSON array"),
        ({"content": b"url=x", "headers": {"Content-Type": "application/x-www-form-urlencoded"}}, 415, "Content-Type"),
        ({"content": b"[]"}, 415, "Content-Type must be"),
        ({"json": [], "headers": {"Content-Encoding": "gzip"}}, 415, "without Content-Encoding"),
        ({"json": [], "headers": {"Idempotency-Key": "two words"}}, 422, "Idempotency-Key"),
        ({"json": [], "params": {"batch": "x" * 201}}, 422, "batch"),
    ],
)  # fmt: skip
def test_what_is_asked_wrong_is_said_in_a_sentence(api, request_, status, says) -> None:
    answer = api.http.post("/api/clicks", **request_)
    assert answer.status_code == status
    assert says in answer.json()["error"]


@pytest.mark.parametrize("declared", [True, False])
def test_a_body_that_is_too_large_is_refused_while_it_comes(api, declared) -> None:
    def pieces():
        for _ in range(300):
            yield b" " * 50_000

    content = b" " * 15_000_000 if declared else pieces()
    answer = api.http.post("/api/clicks", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == 413
    assert "10,000,000 bytes" in answer.json()["error"]


def test_ten_megabytes_are_taken(api) -> None:
    row = json.dumps(rows(1)[0]).encode() + b"\n"
    many = 9_900_000 // len(row)
    answer = api.http.post("/api/clicks", content=row * many, headers={"Content-Type": "application/x-ndjson"})
    assert answer.json() == {"known": many, "unknown": 0, "left_out": 0, "bad": []}


def test_more_than_the_limit_waits(serving, tmp_path) -> None:
    with serving(tmp_path / "home", "--clicks-per-second", "10") as running:
        assert running.http.post("/api/clicks", json=rows(*range(150))).status_code == 200
        refused = running.http.post("/api/clicks", json=rows(1))
        assert refused.status_code == 429
        assert 3 <= int(refused.headers["Retry-After"]) <= 6
        assert "too much" in refused.json()["error"]
        assert running.http.get("/api/pages").status_code == 200
