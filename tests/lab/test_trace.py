"""Traces on disk: read as written, in every form, and refused with file, row and reason."""

import csv
import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from mayfly.errors import TraceError, UsageError
from mayfly.lab.trace import Trace, read_trace, write_trace


def small(tmp_path: Path) -> Path:
    """A trace of two sources and two pages, as plain CSV."""
    tables = {
        "sources": ["source,url,host,kind", "a,http://x/,x,front", "b,http://x/f,x,feed"],
        "pages": ["page,url,published", "p,http://x/p,10", "q,http://x/q,20.5"],
        "links": ["source,page,added,removed,rank", "a,p,10,50,1", "b,q,21,,2"],
        "clicks": ["page,at,count", "p,11,3", "q,500,1"],
    }
    for name, lines in tables.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "trace.json").write_text(json.dumps({"name": "small", "start": 0, "end": 100}))
    return tmp_path


def change(folder: Path, name: str, row: int, column: str, value: str) -> None:
    with (folder / f"{name}.csv").open(newline="") as file:
        lines = list(csv.reader(file))
    lines[row][lines[0].index(column)] = value
    with (folder / f"{name}.csv").open("w", newline="") as file:
        csv.writer(file).writerows(lines)


def same(one: Trace, other: Trace) -> None:
    for name in ("name", "start", "end", "source_ids", "source_urls", "hosts", "kinds", "page_ids", "page_urls"):
        assert getattr(one, name) == getattr(other, name), name
    for name in ("published", "link_source", "link_page", "added", "removed"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)
    for mine, theirs in zip(one.clicks, other.clicks, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_what_is_written_is_read_again(world: Trace, tmp_path: Path, suffix: str) -> None:
    write_trace(world, tmp_path, suffix)
    same(read_trace(tmp_path), world)


def test_the_same_trace_gives_the_same_bytes(world: Trace, tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_trace(world, tmp_path / name)
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()


def test_plain_columns_mean_what_they_say(tmp_path: Path) -> None:
    trace = read_trace(small(tmp_path))
    assert (trace.start, trace.end, trace.page_rate) == (0.0, 100.0, 0.02)
    assert trace.removed.tolist() == [50.0, np.inf]
    assert trace.link_page.tolist() == [0, 1]
    assert trace.rank is not None and trace.rank.tolist() == [1.0, 2.0]
    assert trace.clicks.number.tolist() == [3.0, 1.0]


@pytest.mark.parametrize(
    ("name", "row", "column", "value", "complaint"),
    [
        ("pages", 2, "published", "soon", "pages.csv, row 2: published is not a number: 'soon'"),
        ("pages", 2, "published", "nan", "pages.csv, row 2: published is not a finite number"),
        ("pages", 1, "published", "-1", "pages.csv, row 1: published must lie in"),
        ("pages", 1, "published", "100", "pages.csv, row 1: published must lie in"),
        ("pages", 2, "page", "p", "pages.csv, row 1: page 'p' stands there twice"),
        ("links", 1, "page", "r", "links.csv, row 1: unknown page 'r'"),
        ("links", 2, "source", "c", "links.csv, row 2: unknown source 'c'"),
        ("links", 1, "added", "-5", "links.csv, row 1: added is before the start"),
        ("links", 1, "added", "", "links.csv, row 1: added is not a number"),
        ("links", 1, "removed", "5", "links.csv, row 1: removed is before added"),
        ("clicks", 1, "at", "9", "clicks.csv, row 1: at is before the page was published"),
        ("clicks", 2, "count", "-1", "clicks.csv, row 2: count is negative"),
        ("clicks", 2, "count", "many", "clicks.csv, row 2: count is not a number: 'many'"),
        ("clicks", 2, "page", "z", "clicks.csv, row 2: unknown page 'z'"),
    ],
)
def test_a_broken_row_is_named(tmp_path: Path, name: str, row: int, column: str, value: str, complaint: str) -> None:
    folder = small(tmp_path)
    change(folder, name, row, column, value)
    with pytest.raises(TraceError) as error:
        read_trace(folder)
    assert complaint in str(error.value)


@pytest.mark.parametrize("name", ["sources", "pages", "links", "clicks"])
def test_a_missing_file_or_column_is_named(tmp_path: Path, name: str) -> None:
    folder = small(tmp_path)
    text = (folder / f"{name}.csv").read_text()
    (folder / f"{name}.csv").write_text(text.replace(text.split(",")[0], "other", 1))
    with pytest.raises(TraceError, match=f"{name}.csv: there is no column"):
        read_trace(folder)
    (folder / f"{name}.csv").unlink()
    with pytest.raises(TraceError, match=f"there is no {name}"):
        read_trace(folder)


def test_rubbish_is_refused_without_a_traceback(tmp_path: Path) -> None:
    folder = small(tmp_path)
    good = (folder / "links.csv").read_bytes()
    (folder / "links.csv").write_text("source,page,added,removed\na,p,10\n")
    with pytest.raises(TraceError, match=r"row 1: has 3 cells where there are 4 columns"):
        read_trace(folder)
    (folder / "links.csv").write_bytes(b"\xff\xfe\x00rubbish")
    with pytest.raises(TraceError, match=r"links\.csv"):
        read_trace(folder)
    (folder / "links.csv").write_bytes(b"")
    with pytest.raises(TraceError, match="is empty"):
        read_trace(folder)
    (folder / "links.csv").unlink()
    (folder / "links.csv.gz").write_bytes(gzip.compress(good)[:-12])
    with pytest.raises(TraceError, match=r"links.csv.gz.*cannot be read"):
        read_trace(folder)
    (folder / "links.csv.gz").unlink()
    (folder / "links.parquet").write_bytes(b"PAR1 or not")
    with pytest.raises(TraceError, match=r"links.parquet: cannot be read as Parquet"):
        read_trace(folder)


@pytest.mark.parametrize("about", ["[]", "{", '{"start": 0}', '{"start": 5, "end": 5}', '{"start": true, "end": 9}'])
def test_a_broken_trace_json_is_refused(tmp_path: Path, about: str) -> None:
    folder = small(tmp_path)
    (folder / "trace.json").write_text(about)
    with pytest.raises(TraceError, match=r"trace\.json"):
        read_trace(folder)


def test_a_table_in_two_forms_is_refused(tmp_path: Path) -> None:
    folder = small(tmp_path)
    shutil.copy(folder / "clicks.csv", folder / "clicks.csv.gz")
    with pytest.raises(TraceError, match="is there twice"):
        read_trace(folder)


def test_a_cut_trace_knows_nothing_of_later(world: Trace) -> None:
    end = (world.start + world.end) / 2
    cut = world.until(end)
    assert cut.published.max() < end and cut.added.max() < end and cut.end == end
    assert len(cut.page_ids) == (world.published < end).sum()
    # Later clicks of earlier pages still count as profit.
    assert (cut.clicks.at >= end).any()
    names = {name: number for number, name in enumerate(world.page_ids)}
    rows = [names[name] for name in cut.page_ids]
    np.testing.assert_array_equal(world.published[rows], cut.published)
    with pytest.raises(UsageError, match="--until"):
        world.until(world.end + 1)
