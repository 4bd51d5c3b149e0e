"""Pages out, in every format, read back by what reads it."""

import asyncio
import csv
import gzip
import io
import json
import sys
from pathlib import Path

import pyarrow.parquet
import pytest
from lxml import etree

from mayfly.errors import UsageError
from mayfly.store.export import COLUMNS, Exported, each, export, settled
from mayfly.store.warc import WarcWriter

NASTY = "<b>Tom & \"Jerry\"</b>, 'ﬁn'\n]]> \u2028 \x0b \U0001f600"
TITLES = ["An ordinary title", '=HYPERLINK("http://evil.example")', "+1", "-1", "@cmd", "\tx", NASTY, ""]


@pytest.fixture
def full(store, make):
    store.commit(make.crawl(0, 1e9, *range(1, len(TITLES) + 1)))
    for page, title in enumerate(TITLES, 1):
        store.commit(make.fetched(page, 1e9 + page, title=title, text=f"text {title}", language="en"))
    return store


def exported(store, to: str, **only) -> tuple[bytes, Exported]:
    out = io.BytesIO()
    result = store.runner.run(export(settled(store.store, **only), to, out))
    return out.getvalue(), result


def test_jsonl(full, make) -> None:
    data, result = exported(full, "jsonl")
    rows = [json.loads(line) for line in data.decode().split("\n")[:-1]]
    assert result == Exported(len(TITLES))
    assert [row["title"] for row in rows] == TITLES
    assert tuple(rows[0]) == COLUMNS
    assert (rows[0]["source"], rows[0]["found_at"], rows[0]["delay"]) == (make.source(0).url, 1e9, 1.0)


def test_csv_has_no_formulas(full) -> None:
    data, _ = exported(full, "csv")
    rows = list(csv.DictReader(io.StringIO(data.decode(), newline="")))
    assert tuple(rows[0]) == COLUMNS
    assert [row["title"] for row in rows] == [TITLES[0], *(f"'{title}" for title in TITLES[1:6]), *TITLES[6:]]
    assert rows[0]["fetched_at"] == "1000000001.0"
    assert not any(value.startswith(("=", "+", "-", "@")) for row in rows for value in row.values())


def test_parquet(full, tmp_path) -> None:
    path = tmp_path / "pages.parquet"
    with path.open("wb") as out:
        full.runner.run(export(settled(full.store), "parquet", out))
    table = pyarrow.parquet.read_table(path)
    assert tuple(table.column_names) == COLUMNS
    assert table["title"].to_pylist() == TITLES
    assert str(table.schema.field("rank").type) == "int64"
    assert table["published"].to_pylist() == [1e9] * len(TITLES)


def test_nothing_to_export(store) -> None:
    for to in "jsonl", "csv", "parquet", "rss":
        data, result = exported(store, to)
        assert result.written == 0
        assert to == "jsonl" or data


def test_rss_is_valid_whatever_a_title_holds(full, make) -> None:
    out = io.BytesIO()
    pages = full.newest(5)
    full.runner.run(export(each(pages), "rss", out))
    channel = etree.fromstring(out.getvalue()).find("channel")
    assert [channel.findtext(name) is not None for name in ("title", "link", "description")] == [True] * 3
    items = channel.findall("item")
    assert [item.findtext("link") for item in items] == [page.url for page in pages]
    assert items[0].findtext("title") == "page 8"  # without a title, the text of the link
    assert items[1].findtext("title") == NASTY.replace("\x0b", "")
    assert items[1].findtext("description").startswith("text &lt;b&gt;Tom &amp; ")
    assert items[0].findtext("pubDate") == "Sun, 09 Sep 2001 01:46:40 +0000"
    assert items[0].find("guid").get("isPermaLink") == "true"
    assert items[0].find("source").get("url") == make.source(0).url


def test_rss_is_read_by_readers_of_feeds(full) -> None:
    import feedparser

    data, _ = exported(full, "rss")
    feed = feedparser.parse(data)
    assert not feed.bozo
    assert feed.version == "rss20"
    assert len(feed.entries) == len(TITLES)


def test_filters_and_cursors(full, make) -> None:
    full.commit(make.crawl(1, 2e9, 100))
    full.commit(make.fetched(len(TITLES) + 1, 2e9, "old"))
    assert exported(full, "jsonl", after=len(TITLES))[1] == Exported(1)
    assert exported(full, "jsonl", outcome="fetched", source=0)[1] == Exported(len(TITLES))
    assert exported(full, "jsonl", host="other.example")[1] == Exported(0)


def test_more_than_fit_at_once(store, make) -> None:
    store.commit(make.crawl(0, 1e9, *range(1200)))
    store.together(*(("commit", make.fetched(page, 1e9)) for page in range(1, 1201)))
    data, result = exported(store, "jsonl")
    assert result.written == 1200
    assert len({json.loads(line)["url"] for line in data.splitlines()}) == 1200
    data, _ = exported(store, "parquet")
    assert pyarrow.parquet.ParquetFile(io.BytesIO(data)).num_row_groups == 3


def test_warc_has_the_records_of_these_pages(store, make, tmp_path) -> None:
    class Answer:
        status, headers, address = 200, (("Content-Type", "text/html"),), ""

        def __init__(self, number: int) -> None:
            self.url, self.body, self.at = make.url(number), b"<html>" * number, 1e9

    store.commit(make.crawl(0, 1e9, *range(1, 6)))
    with WarcWriter(tmp_path) as writer:
        for page in range(1, 6):
            where = "" if page == 2 else "gone.warc.gz:0" if page == 3 else writer.write(Answer(page))
            store.commit(make.fetched(page, 1e9, warc=where))
        out = io.BytesIO()
        result = store.runner.run(export(settled(store.store), "warc", out, archive=tmp_path))
    assert result == Exported(3, 2)
    text = gzip.decompress(out.getvalue())
    assert text.count(b"WARC-Type: response") == text.count(b"WARC-Type: request") == 3
    assert [make.url(page).encode() in text for page in range(1, 6)] == [True, False, False, True, True]


def test_what_is_missing_is_said(monkeypatch, tmp_path) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match="pip install 'mayfly\\[parquet\\]'"):
        asyncio.run(export(each([]), "parquet", io.BytesIO()))
    with pytest.raises(UsageError, match="folder of the raw answers"):
        asyncio.run(export(each([]), "warc", io.BytesIO(), archive=None))
    assert asyncio.run(export(each([]), "warc", io.BytesIO(), archive=Path(tmp_path))) == Exported(0)
