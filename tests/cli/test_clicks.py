"""`mayfly clicks`: rows in, bad ones named, nothing kept of a file that is refused."""

import asyncio
import io
import json
import sys

import pytest

from mayfly.store.sqlite import SqliteStore

URL = "https://paper.example/story-4"


def rows(*said: dict) -> str:
    return "".join(json.dumps(one) + "\n" for one in said)


def total(home) -> float:
    async def ask() -> float:
        async with SqliteStore(home / "mayfly.db", read_only=True) as store:
            told, _ = await store.clicks_since(0)
            return float(told.number[~told.show].sum())

    return asyncio.run(ask())


def at(lived) -> float:
    async def ask() -> float:
        async with SqliteStore(lived / "mayfly.db", read_only=True) as store:
            return (await store.page_at(URL)).fetched_at + 3600.0

    return asyncio.run(ask())


def test_rows_are_kept_and_bad_ones_named(command, lived, tmp_path) -> None:
    when = at(lived)
    file = tmp_path / "clicks.jsonl"
    good = [{"url": URL + "#top", "at": when, "count": 3}, {"url": "https://paper.example/later", "at": when}]
    shows = {"url": URL, "at": when, "kind": "show", "count": 100}
    file.write_text(rows(*good, shows) + "nonsense\n\n" + rows({"url": URL, "at": when, "count": -1}))
    done = command("clicks", file)
    assert done.status == 0
    assert done.out == "3 rows kept, 1 of them of pages not found yet; 2 left out\n"
    assert done.err.splitlines() == [
        f"{file}, line 4: is not JSON",
        f"{file}, line 6: count must be a number above 0, not -1",
    ]
    assert total(lived) == 3.0
    told = json.loads(command("clicks", file, "--json").out)
    assert told == {"kept": 3, "known": 2, "unknown": 1, "bad": 2}
    assert total(lived) == 6.0


def test_only_the_first_bad_rows_are_named(command, lived, tmp_path) -> None:
    file = tmp_path / "clicks.jsonl"
    file.write_text("x\n" * 30 + rows({"url": URL, "at": at(lived)}))
    lines = command("clicks", file).err.splitlines()
    assert len(lines) == 21 and lines[-1] == "… and 10 more"


def test_strict_keeps_nothing_of_anything(command, lived, tmp_path) -> None:
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text(rows({"url": URL, "at": at(lived)}))
    bad.write_text(good.read_text() + "nonsense\n")
    done = command("clicks", "--strict", good, bad)
    assert done.status == 2
    assert done.err == f"mayfly: {bad}, line 2: is not JSON; nothing was kept\n"
    assert total(lived) == 0.0
    assert command("clicks", "--strict", good).status == 0
    assert total(lived) == 1.0


@pytest.mark.parametrize("flags", [[], ["--strict"]])
def test_standard_input(command, lived, monkeypatch, flags) -> None:
    said = rows(*[{"url": URL, "at": at(lived)}] * 12_345).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(said)))
    done = command("clicks", *flags, "-")
    assert done.status == 0 and done.out.startswith("12,345 rows kept")
    assert total(lived) == 12_345.0


def test_a_line_without_end_is_one_bad_row(command, lived, tmp_path) -> None:
    file = tmp_path / "clicks.jsonl"
    file.write_text("{" + "x" * 300_000 + "\n" + rows({"url": URL, "at": at(lived)}) + "y" * 70_000)
    done = command("clicks", file)
    assert done.out == "1 rows kept, 0 of them of pages not found yet; 2 left out\n"
    assert [line.split(": ")[0][-1] for line in done.err.splitlines()] == ["1", "3"]


def test_what_is_wrong_is_said(command, lived, tmp_path) -> None:
    done = command("clicks", tmp_path / "none.jsonl")
    assert done.status == 2 and done.err == f"mayfly: {tmp_path / 'none.jsonl'}: No such file or directory\n"
    (tmp_path / "all-bad").write_text("x\n")
    done = command("clicks", tmp_path / "all-bad")
    assert done.status == 1 and "no row could be read; one is" in done.err
    (tmp_path / "empty").write_text("")
    assert command("clicks", tmp_path / "empty").status == 0
    assert command("clicks", "--home", tmp_path / "nowhere", tmp_path / "empty").status == 2
