"""`mayfly cluster`: what is wrong is said in one sentence; the rest of it runs in tests/cluster."""

import pytest

STORE = ("--store", "postgresql://nobody@127.0.0.1:1/none")


@pytest.mark.parametrize("words", [("up",), ("status",), ("drain",), ("down",)], ids=" ".join)
def test_machines_must_share_a_store(command, home, words) -> None:
    home.mkdir()
    done = command("cluster", *words)
    assert done.status == 2 and done.err.startswith("mayfly: store is not set: machines share a PostgreSQL")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("up", "--store", "sqlite:///x"), "--store must be empty, or an address such as postgresql://"),
        (("up", *STORE, "--lease", "10"), "set fetch-seconds < margin < lease, not fetch-seconds 12s"),
        (("up", *STORE, "--address", "head"), "--address must be HOST:PORT"),
        (("up", *STORE, "--address", "head:6379", "--nodes", "2"), "--nodes is for a cluster on this machine"),
        (("up", *STORE), "contact is not set"),
        (("up", *STORE, "--contact", "a@b.example"), "a budget of 2 fetches per second is too small for 256 shards"),
        (("down", *STORE), "no cluster of"),
        (("drain", *STORE), "no cluster runs here; start one by mayfly cluster up"),
    ],
)
def test_what_is_wrong_is_said(command, home, words, said) -> None:
    home.mkdir()
    done = command("cluster", *words)
    assert done.status == 2 and said in done.err and done.err.count("\n") == 1


@pytest.mark.parametrize("missing", ["ray", "asyncpg"])
def test_what_must_be_installed_is_said(command, home, monkeypatch, missing) -> None:
    home.mkdir()
    found = __import__("importlib.util").util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == missing else found(name))
    done = command("cluster", "status", *STORE)
    assert done.status == 2 and done.err.endswith("a cluster runs on it: pip install mayfly[cluster]\n")


def test_a_database_that_is_away_is_said(command, home) -> None:
    home.mkdir()
    done = command("cluster", "status", *STORE)
    assert done.status == 1 and done.err.startswith("mayfly: the store does not answer: ") and done.err.count("\n") == 1


@pytest.mark.parametrize("words", [("drain",), ("drain", "node-1"), ("down",)], ids=" ".join)
def test_a_ray_that_is_away_is_said(command, home, words) -> None:
    home.mkdir()
    done = command("cluster", *words, *STORE, "--address", "127.0.0.1:1")
    assert done.status == 1 and "Ray does not answer at 127.0.0.1:1" in done.err
