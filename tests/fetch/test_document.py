"""Links: columns that look like a sequence of links, and are checked where they come from another process."""

import msgspec
import pytest

from mayfly.fetch.document import NO_LINKS, Link, Links

ROWS = (
    Link("https://example.com/a", "A", 1),
    Link("https://example.com/b", "", 2, date=5.0, context="around", rel="nofollow", nofollow=True),
    Link("https://example.com/c", "C", 3, rel="me"),
)


def test_what_goes_in_comes_out() -> None:
    links = Links.of(ROWS)
    assert tuple(links) == ROWS
    assert (links[1], links[-1], links[1:], links[:0]) == (ROWS[1], ROWS[2], ROWS[1:], ())
    assert (len(links), bool(links), bool(NO_LINKS)) == (3, True, False)
    assert links.urls == tuple(row.url for row in ROWS)
    with pytest.raises(IndexError):
        links[3]


def test_equal_links_are_equal() -> None:
    links = Links.of(ROWS)
    assert links == Links.of(ROWS) == ROWS
    assert hash(links) == hash(Links.of(ROWS))
    assert links != Links.of(ROWS[:2])
    assert links != list(ROWS)
    assert Links.of(()) == NO_LINKS == ()


def test_links_survive_the_way_between_processes() -> None:
    links = Links.of(ROWS)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(links), type=Links) == links


@pytest.mark.parametrize(
    "columns",
    [
        (["https://example.com/a"], []),
        ([], ["A"]),
        (["https://example.com/a"], ["A"], {1: 5.0}),
        (["https://example.com/a"], ["A"], {}, {-1: "around"}),
        (["https://example.com/a"], ["A"], {}, {}, {7: "me"}),
        (["https://example.com/a"], ["A"], {}, {}, {}, [1]),
        (["https://example.com/a"], [3]),
    ],
)
def test_columns_that_do_not_agree_are_refused(columns: tuple[object, ...]) -> None:
    with pytest.raises(msgspec.DecodeError):
        msgspec.msgpack.decode(msgspec.msgpack.encode(columns), type=Links)
