"""`mayfly study`: the paper's section 3 on a log, as people run it."""

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayfly.cli import logfiles
from mayfly.crawl.finder import hosts_in

DAY = 86400.0
START = 1_789_948_800.0
SHARED = Path(__file__).resolve().parents[3] / "shared"
SESSIONS = SHARED / "data" / "referrer-visits" / "two_page_sessions.csv.gz"
MAIN, SPORT = "https://a.example/", "https://a.example/sport"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Three weeks: eighty pages that are gone in two days, twenty that stay; each linked from one of two sources."""
    rng = np.random.default_rng(3)
    rows = []
    for page in range(100):
        born = START + rng.uniform(0, 6 * DAY)
        ages = rng.exponential(0.7, 30) if page < 80 else rng.uniform(0, 14, 40)
        rows += [
            {"page": f"https://a.example/{page}/x", "at": born + age * DAY, "referrer": MAIN if page % 4 else SPORT,
             "visitor": f"v{number % 7}"}
            for number, age in enumerate([0.0, *ages])
        ]  # fmt: skip
    rows += [{"page": SPORT, "at": START + 20.5 * DAY, "referrer": MAIN, "visitor": "v1"}]
    path = tmp_path / "visits.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_patterns_then_sources(command, log, tmp_path) -> None:
    out, picture = tmp_path / "patterns.csv", tmp_path / "patterns.png"
    done = command("study", "patterns", log, "--json", "--out", out, "--plot", picture)
    facts = json.loads(done.out)
    assert done.status == 0 and facts["ephemeral_share"] == pytest.approx(0.8, abs=0.02)
    assert facts["pages"] == 100 and facts["left_out"] == {"not_new": 0, "not_whole": 1}
    assert [one["k"] for one in facts["by_k"]] == [2, 3, 4, 5, 6, 7, 8]
    assert sum(one["pages"] for one in facts["clusters"]) == 100 and len(facts["clusters"]) == 6
    assert picture.read_bytes().startswith(b"\x89PNG")
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert len(rows) == 100 and sum(row["ephemeral"] == "1" for row in rows) == round(100 * facts["ephemeral_share"])

    listed, curve = tmp_path / "sources.txt", tmp_path / "curve.png"
    done = command(
        "study", "sources", log, "--patterns", out, "--share", "0.5,all", "--json", "--out", listed, "--plot", curve
    )
    found = json.loads(done.out)
    assert [one["url"] for one in found["chosen"]] == [MAIN, SPORT]
    assert found["pages"] == sum(row["ephemeral"] == "1" for row in rows) and found["hosts"] == 1
    assert [one["sources"] for one in found["shares"]] == [1, 2]
    assert found["shares"][1]["kinds"] == {"main": 1, "category": 1, "deeper": 0}
    assert found["curve"][-1] == {"sources": 2, "per_host": 2.0, "share": 1.0}
    assert curve.read_bytes().startswith(b"\x89PNG")
    assert hosts_in(listed.read_text().splitlines()) == ["a.example"]  # as `mayfly find --file` reads it


def test_it_is_the_same_again_and_does_not_depend_on_the_form(command, log, tmp_path) -> None:
    rows = list(csv.DictReader(log.read_text().splitlines()))
    other = tmp_path / "visits.jsonl.gz"
    with gzip.open(other, "wt") as file:
        file.writelines(json.dumps({**row, "at": float(row["at"])}) + "\n" for row in rows)
    first, again, third = (command("study", "patterns", path, "--json").out for path in (log, log, other))
    assert first == again == third
    assert command("study", "patterns", log, "--seed", "1", "--json").out != first


def test_it_is_told_to_people(command, log) -> None:
    done = command("study", "patterns", log)
    assert "ephemeral: 8" in done.out and "(the paper: 96%)" in done.out and "nearest its centre" in done.out
    done = command("study", "sources", log)
    assert "the paper: 80%" in done.out and MAIN in done.out
    done = command("study", "hosts", log)
    assert "a.example" in done.out and "visitors" in done.out


def test_hosts_of_a_log_and_of_a_home(command, log, lived, tmp_path) -> None:
    done = command("study", "hosts", log, "--json", "--out", tmp_path / "hosts.txt")
    host = json.loads(done.out)
    assert (host["host"], host["new"], host["pages"], host["visitors"]) == ("a.example", 101, 101, 7)
    assert host["per_day"] == pytest.approx(101 / 21)
    assert (tmp_path / "hosts.txt").read_text() == "a.example\n"
    ours = json.loads(command("study", "hosts", "--json").out)
    assert (ours["host"], ours["new"], ours["dull"], ours["watched"]) == ("paper.example", 3, 1, True)
    assert ours["per_day"] == 3.0  # of less than a day one cannot tell more
    assert "paper.example" in command("study", "hosts").out


def test_a_log_that_begins_in_the_middle_is_noticed(command, log) -> None:
    old = "".join(f"https://a.example/old/{number},{START + number},,\n" for number in range(200))
    log.write_text(log.read_text() + old)
    done = command("study", "patterns", log, "--json")
    assert "--settle 3d" in done.err
    done = command("study", "patterns", log, "--json", "--settle", "1h")
    assert "--settle" not in done.err and json.loads(done.out)["left_out"]["not_new"] >= 200


@given(st.lists(st.text("ab\n", min_size=1, max_size=12)))
def test_lines_are_whole_however_a_file_is_cut_and_none_is_endless(blocks) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logfiles, "LONGEST_LINE", 3)
        found = list(logfiles.whole_lines(block.encode() for block in blocks))
    lines = "".join(blocks).removesuffix("\n").split("\n") if blocks else []
    assert len(found) == len(lines)
    for line, whole in zip(found, lines, strict=True):
        assert line.decode() == whole or (len(whole) > 3 < len(line) and whole.startswith(line.decode()))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("sources", "none.csv"), "none.csv: No such file"),
        (("sources", "LOG", "--share", "2"), "--share must be shares of the pages above 0 and up to 1"),
        (("sources", "LOG", "--patterns", "none.csv"), "none.csv cannot be read"),
        (("sources", "LOG", "--patterns", "LOG"), "has no columns page and ephemeral"),
        (("sources", "LOG", "--patterns", "OTHER"), "none of its ephemeral pages is in the log"),
        (("sources", "EMPTY"), "there is no visit in"),
        (("sources", "OTHER"), "no visit says from which other page it came"),
        (("patterns", "OTHER"), "its header names no column of times"),
        (("patterns", "SHORT"), "2 different patterns cannot make 6 clusters: of 3 pages"),
        (("patterns", "LOG", "--out", "no/such/folder"), "no/such/folder cannot be written"),
        (("hosts", "--home", "nowhere"), "the home nowhere is not there"),
    ],
    ids=lambda given: given if isinstance(given, str) else " ".join(given)[:40],
)
def test_what_is_wrong_is_said(command, log, tmp_path, words, said) -> None:
    made = {
        "LOG": None,
        "EMPTY": "page,at,referrer\n",
        "OTHER": "page,cluster,ephemeral\nhttps://b.example/x,1,1\n",
        "SHORT": f"page,at\na,{START}\nb,{START}\nb,{START + DAY}\nc,{START + DAY}\nb,{START + 13.5 * DAY}\n",
    }
    for name, text in made.items():
        if text is not None:
            (tmp_path / name).write_text(text)
    done = command(
        "study", *(str(log if word == "LOG" else tmp_path / word if word in made else word) for word in words)
    )
    assert done.status == 2 and said in done.err and done.err.count("\n") == 1


def test_the_shared_sessions_need_as_many_sources_as_were_counted(command) -> None:
    if not SESSIONS.exists():
        pytest.skip("the shared data is not beside this checkout")
    facts = json.loads(command("study", "sources", SESSIONS, "--json").out)
    assert [one["sources"] for one in facts["shares"]] == [248, 934, 1214]
    assert (facts["pages"], facts["sources"], facts["hosts"]) == (2804, 12204, 434)
