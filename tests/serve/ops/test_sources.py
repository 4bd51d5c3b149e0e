"""The table of sources, of very many."""

import asyncio
import html
import re

import httpx
import pytest

from mayfly.store.listings import Listing
from mayfly.store.sqlite import SqliteStore


def rows(answer: httpx.Response) -> list[str]:
    return [
        html.unescape(url) for url in re.findall(r'<th scope="row"><a href="/ops/sources/\d+">(.*?)</a>', answer.text)
    ]


@pytest.mark.parametrize(
    "column", ["url", "rate", "profit", "decay", "interval", "yield", "due", "worth", "state", "failures"]
)
def test_any_order_of_very_many(much, column) -> None:
    first, last, back = much(
        f"/ops/sources?sort={column}&down=1",
        f"/ops/sources?sort={column}&down=1&page=2000",
        f"/ops/sources?sort={column}&down=0",
    )
    for answer in (first, last, back):
        assert answer.status_code == 200 and len(rows(answer)) == 50 and len(answer.content) < 150_000
    assert "1–50 of 100,000 sources" in first.text and "99,951–100,000 of 100,000 sources" in last.text
    assert 'aria-sort="descending"' in first.text and 'aria-sort="ascending"' in back.text
    assert rows(first) != rows(last)


def test_the_order_is_right(much) -> None:
    async def found() -> tuple[list, list]:
        async with SqliteStore(much.home / "mayfly.db", read_only=True) as store:
            listed = await store.list_sources(Listing("profit", True, state="active", first=100, skip=50))
            everything = [one for one in await store.sources() if one.state == "active"]
        everything.sort(key=lambda one: (-one.estimate.page_profit, one.id))
        return [one.id for one in listed.rows], [one.id for one in everything[50:150]]

    listed, right = asyncio.run(found())
    assert listed == right
    page = much.one("/ops/sources?sort=url&down=0")
    assert rows(page) == sorted(rows(page)) and rows(page)[0].startswith("www.host0.example/")


def test_search_among_very_many(much) -> None:
    page = much.one("/ops/sources?q=host77.example%20section-77")
    assert "www.host77.example/section-77/" in rows(page)
    assert all("host77.example" in row for row in rows(page))
    assert len(rows(much.one("/ops/sources?q=100%25"))) == 0
    assert "of 1,000 sources" in much.one("/ops/sources?state=retired").text
    assert "of 20 sources" in much.one("/ops/sources?host=www.host7.example").text


def test_nonsense_is_taken_as_the_usual(much) -> None:
    for path in ("?page=0", "?page=-1", "?page=x", "?page=99999999999", "?sort=passwords", "?down=x", "?state=dead"):
        answer = much.one(f"/ops/sources{path}")
        assert answer.status_code == 200 and len(rows(answer)) == 50
