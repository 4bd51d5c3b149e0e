"""`mayfly clicks`: rows in, bad ones named, nothing kept of a file that is refused."""

import asyncio
import gzip
import io
import json
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime

import pytest

from mayfly.cli import clicks
from mayfly.errors import RunError
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
    assert told == {"kept": 3, "known": 2, "unknown": 1, "bad": 2, "dropped": {}, "repeated": False}
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


def iso(seconds: float, form: str) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime(form)


def access(when: float, path: str = "/story-4", agent: str = "Mozilla/5.0 (X11)", before: str = "") -> str:
    stamp = iso(when, "%d/%b/%Y:%H:%M:%S +0000")
    return f'{before}203.0.113.77 - jane [{stamp}] "GET {path} HTTP/1.1" 200 1 "-" "{agent}"\n'


def test_each_form_is_told_by_its_beginning(command, lived, tmp_path) -> None:
    when = at(lived)
    csv = f"page;time;views\n{URL};{iso(when, '%Y-%m-%dT%H:%M:%SZ')};2\n"
    fields = "#Fields: date time cs-method cs-uri-stem sc-status cs-host\n"
    texts = {
        "a.csv": csv,
        "b.csv.gz": csv,
        "c.log": access(when) * 2 + access(when, agent="Googlebot/2.1") + access(when, "/x.png"),
        "d.log": fields + f"{iso(when, '%Y-%m-%d %H:%M:%S')} GET /story-4 200 paper.example\n" * 2,
    }
    for name, text in texts.items():
        (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    done = command("clicks", "--host", "paper.example", *(tmp_path / name for name in texts))
    assert (done.status, done.err) == (0, "")
    assert done.out == "6 rows kept, 0 of them of pages not found yet; 2 dropped: 1 by bots, 1 assets\n"
    assert total(lived) == 8.0
    told = json.loads(command("clicks", "--json", "--host", "paper.example", tmp_path / "c.log").out)
    assert told["dropped"] == {"by bots": 1, "assets": 1}
    done = command("clicks", "--format", "jsonl", tmp_path / "a.csv")
    assert done.status == 1 and "say so with --format" in done.err


def test_parquet_also_from_a_pipe(command, lived, monkeypatch) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    file = io.BytesIO()
    parquet.write_table(arrow.table({"url": [URL], "at": [at(lived)], "count": [5]}), file)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(file.getvalue())))
    assert command("clicks", "-").status == 0
    assert total(lived) == 5.0


def test_a_day_of_search_console(command, lived, tmp_path) -> None:
    file = tmp_path / "Pages.csv"
    file.write_text(f"Top pages,Clicks,Impressions,CTR,Position\n{URL},6,90,6.67%,3.5\n")
    done = command("clicks", file)
    assert done.status == 2 and "give --date for a day of all rows" in done.err
    today = iso(at(lived), "%Y-%m-%d")
    assert command("clicks", "--date", today, "--timezone", "UTC", file).out.startswith("2 rows kept, 0 of them")
    assert 0 < total(lived) <= 6.0
    assert command("clicks", "--date", "yesterday", file).status == 2


def test_times_without_a_zone_end_it_with_status_2(command, lived, tmp_path) -> None:
    file = tmp_path / "views.csv"
    file.write_text(f"url,time\n{URL},{iso(at(lived), '%Y-%m-%d %H:%M:%S')}\n")
    for flags in ([], ["--strict"]):
        done = command("clicks", *flags, file)
        assert done.status == 2
        assert f"{file}, line 2: time has no zone" in done.err and "give --timezone" in done.err
        assert "nothing was kept" in done.err and total(lived) == 0.0
    for zone in ("UTC", "Europe/Berlin", "+02:00"):
        assert command("clicks", "--timezone", zone, file).status == 0
    for zone in ("Nowhere/Else", "../etc/passwd", "+99:00", ""):
        done = command("clicks", "--timezone", zone, file)
        assert done.status == 2 and "--timezone must be a zone such as" in done.err


def test_what_came_too_late_or_too_early(command, lived, tmp_path) -> None:
    now = time.time()
    said = [{"url": URL, "at": when} for when in (now - 40 * 86400, now - 86400 / 2, now + 3600, now + 90_000)]
    file = tmp_path / "clicks.jsonl"
    file.write_text(rows(*said))
    done = command("clicks", file)
    assert done.out == "2 rows kept, 0 of them of pages not found yet; 1 dropped: 1 too old; 1 left out\n"
    assert "line 4: at lies in the future" in done.err


def test_a_batch_counts_once_also_when_it_was_cut_off(command, lived, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(clicks, "_PART", 10)
    file = tmp_path / "clicks.jsonl"
    file.write_text(rows(*[{"url": URL, "at": at(lived)}] * 35) + "nonsense\n")
    cut = tmp_path / "cut.jsonl"
    cut.write_text("".join(file.read_text().splitlines(keepends=True)[:20]))
    keep, parts = SqliteStore.add_clicks, []

    async def stops(self, *values):
        if len(parts) == 2:
            raise RunError("the disk is full")
        parts.append(values)
        return await keep(self, *values)

    with monkeypatch.context() as patch:
        patch.setattr(SqliteStore, "add_clicks", stops)
        assert command("clicks", "--batch", "monday", file).status == 1
    assert total(lived) == 20.0
    assert command("clicks", "--batch", "monday", file).out.startswith("35 rows kept")
    assert total(lived) == 35.0
    done = command("clicks", "--batch", "monday", file)
    assert (done.status, done.out) == (0, "this batch was taken in before, so nothing is counted twice\n")
    assert json.loads(command("clicks", "--json", "--batch", "monday", file).out)["repeated"] is True
    assert command("clicks", "--batch", "tuesday", file).status == 0
    assert total(lived) == 70.0


def test_nothing_of_who_it_was_is_kept(command, lived, tmp_path) -> None:
    """Address, name, agent, referrer, cookie and query are planted, and looked for in every file of the home."""
    secrets = ["198.51.100.211", "jane-doe-the-reader", "AgentOfSecrets", "where-they-came-from", "cookie-monster",
               "what-they-looked-for", "never-found-page"]  # fmt: skip
    when = iso(at(lived), "%d/%b/%Y:%H:%M:%S +0000")
    line = '{0} - {1} [{when}] "GET {path}?q={5} HTTP/1.1" 200 5 "https://x.example/{3}" "Mozilla/5.0 {2}" "{4}"\n'
    file = tmp_path / "access.log"
    file.write_text("".join(line.format(*secrets, when=when, path=path) for path in ("/story-4", "/never-found-page")))
    extended = tmp_path / "w3c.log"
    extended.write_text(
        "#Fields: date time c-ip cs-username cs-method cs-uri-stem cs-uri-query sc-status cs(User-Agent) cs(Cookie)\n"
        f"{iso(at(lived), '%Y-%m-%d %H:%M:%S')} {secrets[0]} {secrets[1]} GET /never-found-page q={secrets[5]} 200"
        f" Mozilla/5.0+{secrets[2]} {secrets[4]}\n"
    )
    done = command("clicks", "--host", "https://paper.example", file, extended)
    assert done.out == "3 rows kept, 3 of them of pages not found yet\n"
    held = b"".join(path.read_bytes() for path in lived.rglob("*") if path.is_file())
    assert b"paper.example/story-4" in held
    for secret in secrets:
        assert secret.encode() not in held


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--follow", "a", "b"], "goes with one file"),
        (["--follow", "--strict", "a"], "no --strict"),
        (["--follow", "--batch", "x", "a"], "no --batch"),
        (["--host", "ftp://x", "a"], "--host must be a site"),
    ],
)
def test_what_cannot_be_asked_for(command, lived, words, why) -> None:
    done = command("clicks", *words)
    assert done.status == 2 and why in done.err


def test_files_that_are_broken(command, lived, tmp_path) -> None:
    whole = gzip.compress(rows(*[{"url": URL, "at": at(lived)}] * 5).encode())
    (tmp_path / "cut.gz").write_bytes(whole[:-9])
    done = command("clicks", tmp_path / "cut.gz")
    assert done.status in (1, 2) and "is zipped and broken" in done.err
    (tmp_path / "wide.csv").write_bytes("url,at\n".encode("utf-16"))
    done = command("clicks", tmp_path / "wide.csv")
    assert done.status == 2 and "save it as UTF-8" in done.err
    (tmp_path / "bad.parquet").write_bytes(b"PAR1")
    assert command("clicks", tmp_path / "bad.parquet").status == 2


@pytest.fixture
def following(lived):
    """A `mayfly clicks --follow` in a process of its own."""
    started = []

    def start(*words: object, **how) -> subprocess.Popen:
        code = "from mayfly.cli import main; main()"
        command = [sys.executable, "-c", code, "clicks", "--home", str(lived), "--follow", *map(str, words)]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def until(check, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.05)


def test_a_growing_file_is_followed_also_when_it_is_moved_away(following, lived, tmp_path) -> None:
    file, when = tmp_path / "access.log", at(lived)
    file.write_text(access(when) + access(when)[:40])
    process = following("--host", "https://paper.example", file)
    until(lambda: total(lived) == 1.0)
    with file.open("a") as more:
        more.write(access(when)[40:])
        more.flush()
        until(lambda: total(lived) == 2.0, 10.0)
    file.rename(tmp_path / "access.log.1")
    file.write_text(access(when) * 3 + access(when)[:-2])
    until(lambda: total(lived) == 5.0, 10.0)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (0, b"5 rows kept, 0 of them of pages not found yet\n", b"")


def test_a_pipe_is_followed_until_it_is_closed(following, lived) -> None:
    process = following("-", stdin=subprocess.PIPE)
    row = rows({"url": URL, "at": at(lived)}).encode()
    process.stdin.write(row)
    process.stdin.flush()
    until(lambda: total(lived) == 1.0)
    out, err = process.communicate(row * 50_000 + b"nonsense\n" + row.strip(), timeout=60)
    assert process.returncode == 0 and out.startswith(b"50,002 rows kept") and b"line 50002: is not JSON" in err
    assert total(lived) == 50_002.0


def test_a_stream_that_cannot_be_read_says_why(following, lived, tmp_path) -> None:
    for said, why in ((access(at(lived)), b"give --host"), (f"url,at\n{URL},2026-11-15 10:00\n", b"give --timezone")):
        process = following("-", stdin=subprocess.PIPE)
        _, err = process.communicate(said.encode(), timeout=60)
        assert process.returncode == 2 and why in err
    process = following(tmp_path / "none.log")
    assert b"No such file" in process.communicate(timeout=60)[1] and process.returncode == 2
