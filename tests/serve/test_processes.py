"""Several processes on one home, and a server that is killed: nothing that was accepted is lost."""

import itertools
import random
import signal
import threading
import time

import httpx


def rows(number: int) -> list[dict]:
    return [{"url": f"https://clicked.example/{number}-{place}", "at": 1000.0} for place in range(20)]


def post(url: str, numbers: itertools.count, accepted: list[int]) -> None:
    """Post batches until the server is gone; one that may have been taken is named, so it can be sent again."""
    with httpx.Client(base_url=url, timeout=10) as http:
        while True:
            number = next(numbers)
            try:
                answer = http.post("/api/clicks", json=rows(number), headers={"Idempotency-Key": f"batch-{number}"})
            except httpx.HTTPError:
                return
            if answer.status_code == 200:
                accepted.append(number)


def test_a_kill_loses_nothing_that_was_accepted(serving, kept, tmp_path) -> None:
    home, numbers, chance = tmp_path / "home", itertools.count(), random.Random(1)
    accepted: list[int] = []
    for _ in range(2):
        with serving(home, "--clicks-per-second", "1000000") as running:
            posting = [threading.Thread(target=post, args=(running.url, numbers, accepted)) for _ in range(3)]
            for thread in posting:
                thread.start()
            time.sleep(chance.uniform(0.5, 1.5))
            running.stop(signal.SIGKILL)
            for thread in posting:
                thread.join()
    assert len(accepted) > 10
    before = kept("stats", home=home)["clicks_unknown"]
    assert before >= 20 * len(accepted)
    with serving(home, "--clicks-per-second", "1000000") as running:  # all again: each counts once
        tried = next(numbers)
        for number in range(tried):
            answer = running.http.post("/api/clicks", json=rows(number), headers={"Idempotency-Key": f"batch-{number}"})
            assert answer.json()["unknown"] == 20
    assert kept("stats", home=home)["clicks_unknown"] == 20 * tried
    assert kept("check", home=home) == []


def test_two_servers_beside_one_that_writes(serving, lands, kept, tmp_path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with serving(home, "--clicks-per-second", "1000000") as one, serving(home) as two:
        for number in range(30):
            header = {"Idempotency-Key": f"batch-{number}"}
            posts = [running.http.post("/api/clicks", json=rows(number), headers=header) for running in (one, two)]
            assert posts[0].json() == posts[1].json()
            if number % 10 == 0:
                lands(home, number, number + 1)
        assert one.http.get("/api/pages").json() == two.http.get("/api/pages").json()
        assert len(two.http.get("/api/pages").json()["pages"]) == 6
    assert kept("stats", home=home)["clicks_unknown"] == 600
    assert kept("check", home=home) == []
