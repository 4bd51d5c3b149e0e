"""Visit logs: the same visit in every form, and what is wrong with the others."""

import io
import json
from datetime import UTC, datetime

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayfly.errors import UsageError
from mayfly.store.clicklog import BadRow, Dropped, Reading, form_of
from mayfly.store.visitlog import LINES, Block, Coded, Wanted, columns, read_csv, read_parquet

AT = datetime(2026, 11, 15, 12, 0, tzinfo=UTC).timestamp()
PAGE, FROM = "https://example.com/a?b=1", "https://example.com/"
ALL = Wanted(visitors=True)
AGENT = "Mozilla/5.0 (X11; Linux x86_64)"
VISIT = (PAGE, AT, FROM, "192.0.2.1", 1.0)


def reading() -> Reading:
    return Reading(float("inf"), zone=UTC, host="https://example.com/")


def read(text: str, wanted: Wanted = ALL) -> list:
    raw = text.encode("utf-8", "surrogateescape")
    return rows(LINES[form_of(raw)](raw.split(b"\n"), reading(), wanted))


def rows(log) -> list:
    """Visits row by row, as they are easier to read."""
    return [row for some in log for row in (zip(*some, strict=True) if isinstance(some, Block) else [some])]


@pytest.mark.parametrize(
    "text",
    [
        f"page,at,referrer,visitor\n{PAGE},{AT},{FROM},192.0.2.1",
        f"visitor_id;page_url;else;time;referrer_url\n192.0.2.1;{PAGE};x;2026-11-15T13:00:00+01:00;{FROM}\r\n",
        f"url\tat\treferer\tip\n{PAGE}\t2026-11-15 12:00:00\t{FROM}\t192.0.2.1",
        json.dumps({"page": PAGE, "at": AT, "referrer": FROM, "visitor": "192.0.2.1"}),
        json.dumps({"url": PAGE, "time": "2026-11-15T12:00:00Z", "referer": FROM, "user": "192.0.2.1", "count": 1}),
        f'192.0.2.1 - - [15/Nov/2026:12:00:00 +0000] "GET /a?b=1 HTTP/1.1" 200 5 "{FROM}" "{AGENT}"',
        f'example.com 192.0.2.1 - - [15/Nov/2026:12:00:00 +0000] "GET /a?b=1 HTTP/2" 200 5 "{FROM}#x" "{AGENT}"',
        "#Fields: date time c-ip cs-method cs-uri-stem cs-uri-query sc-status cs(Referer) cs(Host)\n"
        f"2026-11-15 12:00:00 192.0.2.1 GET /a b=1 200 {FROM} example.com",
    ],
    ids=["csv", "semicolons", "tabs", "jsonl", "other names", "combined", "virtual host", "w3c"],
)
def test_a_visit_in_every_form(text) -> None:
    assert read(text) == [VISIT]


@pytest.mark.parametrize("at", [AT, datetime.fromtimestamp(AT, UTC), "2026-11-15T12:00:00Z"], ids=["s", "time", "text"])
def test_a_visit_of_parquet_of_which_only_what_is_needed_is_read(at) -> None:
    file = io.BytesIO()
    columns = {"page": [PAGE, PAGE], "at": [at, at], "else": [b"\xff", b""], "referrer": [FROM, None], "ip": [1, None]}
    pyarrow.parquet.write_table(pyarrow.table(columns), file)
    assert rows(read_parquet(file, reading(), ALL)) == [(PAGE, AT, FROM, "1", 1.0), (PAGE, AT, "", "", 1.0)]
    assert rows(read_parquet(file, reading(), Wanted(times=False)))[0] == (PAGE, 0.0, FROM, "", 1.0)


def test_addresses_are_as_the_log_has_them_and_need_be_none() -> None:
    text = "source,page\n7,http://A.example:80/?utm_source=x\n,17\n-,17"
    found = read(text, Wanted(times=False))
    assert [(row[0], row[2]) for row in found] == [("http://A.example:80/?utm_source=x", "7"), ("17", ""), ("17", "-")]


def test_what_is_not_asked_for_may_be_missing_or_wrong() -> None:
    assert read(f"page,at\n{PAGE},never", Wanted(times=False, referrers=False)) == [(PAGE, 0.0, "", "", 1.0)]
    assert read(json.dumps({"page": PAGE, "at": "never"}), Wanted(times=False)) == [(PAGE, 0.0, "", "", 1.0)]


@pytest.mark.parametrize(
    ("header", "reason"),
    [("story,at", r"no column of pages \(page or url\): story, at"), ("page,x", "no column of times")],
)
def test_a_header_without_what_is_needed_is_refused(header, reason) -> None:
    with pytest.raises(UsageError, match=reason):
        read(f"{header}\n1,2")


def test_wrong_rows_are_named_and_the_others_read() -> None:
    rows = [
        f"{PAGE},{AT},2",
        PAGE,
        f"{PAGE},soon,1",
        f",{AT},1",
        f"{PAGE},{AT},0",
        f"{PAGE},{AT},-1",
        f"{PAGE},{AT * 1e3},1",
    ]
    found = read("\n".join(["page,at,count", *rows]))
    assert found[-1] == (PAGE, AT, "", "", 2.0)
    assert found[0] == BadRow(3, "has 1 cells where the header has 3")
    assert found[1].reason.startswith("at must be a time such as")
    assert found[2:4] == [BadRow(5, "names no page"), Dropped(6, "counts of 0")]
    assert "count must be" in found[4].reason and "milliseconds" in found[5].reason
    bad = read('{"page": 5\n[]\n{"at": 5}\n' + json.dumps({"page": PAGE, "at": None}))
    assert [row.reason for row in bad[:3]] == ["is not JSON", "is no JSON object", "has no page"]
    assert "at must be seconds" in bad[3].reason


def test_who_is_no_reader_is_dropped() -> None:
    line = '192.0.2.1 - - [15/Nov/2026:12:00:00 +0000] "GET /{} HTTP/1.1" {} 5 "-" "{}"'
    found = read(
        "\n".join([line.format("a.png", 200, AGENT), line.format("a", 404, AGENT), line.format("a", 200, "bot")])
    )
    assert [row.reason for row in found] == ["assets", "not 2xx", "by bots"]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_time_that_is_not_a_number_is_no_time(place, monkeypatch) -> None:
    monkeypatch.setattr(columns, "is_there", lambda: False)
    times = [str(AT), str(AT)]
    times.insert(place, "nan")
    found = read("\n".join(["page,at", *(f"{PAGE},{at}" for at in times)]))
    assert [row for row in found if not isinstance(row, BadRow)] == [(PAGE, AT, "", "", 1.0)] * 2
    assert [row.line for row in found if isinstance(row, BadRow)] == [place + 2]


@given(st.floats(0, 4e9))
def test_seconds_are_read_as_they_are(at) -> None:
    (row,) = read(f"page,at\n{PAGE},{at!r}")
    # Eight digits may be a day, as 20260131; nobody visited anything in the summer of 1970.
    assert row[1] == at or len(repr(at)) in (8, 10)


@given(st.binary(max_size=300))
def test_no_bytes_break_a_reader(raw) -> None:
    for form in LINES:
        try:
            found = rows(LINES[form](raw.split(b"\n"), reading(), ALL))
        except UsageError:
            continue
        assert all(isinstance(row, BadRow | Dropped) or len(row) == 5 for row in found)


# By whole columns

HEADERS = st.sampled_from(["page,at,referrer,count", "page,at,referrer,else"])
CELLS = st.one_of(
    st.sampled_from(["a", "b", "", "-", "page", "at", str(AT), "1.8e9", "20260131", "2026-11-15", "nan", "2", "0"]),
    st.text("a,;\" \r\0\ufeff\udcff'", max_size=4),
    st.sampled_from(['"a"', '"a,b"', '"a""b"', '""', f'"{AT}"', '"a', 'a"b"', '"a"b', '"\n"', "x" * 70]),
)
SOUND = st.tuples(*(st.sampled_from(some) for some in ("abc", (str(AT), "1.8e9"), ("", "-", "d"), "12"))).map(",".join)
ODD = st.one_of(
    st.lists(CELLS, max_size=5).map(",".join),
    st.sampled_from(["HEADER", "", f"\ufeffa,{AT},d,1", f"a,{AT},d,1\ra,{AT},d,1", f'a,{AT},"d\ne",1']),
)
TABLES = st.lists(st.one_of(SOUND, SOUND, ODD), max_size=30)


@given(st.data(), HEADERS, TABLES, st.sampled_from(["\n", "\r\n"]), st.sampled_from([ALL, Wanted(times=False)]))
def test_by_columns_or_row_by_row_a_table_says_the_same(data, header, table, end, wanted) -> None:
    """However it is cut into pieces, and wherever it is odd."""
    text = end.join([header, *(header if row == "HEADER" else row for row in table)])
    lines = text.encode("utf-8", "surrogateescape").split(b"\n")
    found = []
    for arrow in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(columns, "is_there", lambda arrow=arrow: arrow)
            patch.setattr(columns, "_PIECE", data.draw(st.sampled_from([1, 100, 10_000])))
            patch.setattr(columns, "_PART", data.draw(st.sampled_from([1, 30])))
            patch.setattr(columns, "LONGEST_LINE", 60)
            cut = data.draw(st.integers(1, len(lines)))
            found.append(apart(read_csv([b"\n".join(lines[:cut]), *lines[cut:]], reading(), wanted)))
    assert found[0] == found[1]


def apart(log) -> tuple[list, list]:
    """Visits, and what is wrong: which of both comes first is not said. A dash is as good as empty."""
    found = rows(log)
    wrong = [row for row in found if isinstance(row, BadRow | Dropped)]
    visits = [row for row in found if not isinstance(row, BadRow | Dropped)]
    return [(page, at, "" if referrer == "-" else referrer, *rest) for page, at, referrer, *rest in visits], wrong


def test_names_are_numbered_as_they_first_come_over_all_pieces(monkeypatch) -> None:
    monkeypatch.setattr(columns, "_PIECE", 1)
    lines = [b"page,source", *(b"%d,%d" % (number * 7 % 50, number * 3 % 20) for number in range(100))]
    (block,) = read_csv(lines, reading(), Wanted(times=False))
    assert isinstance(block.page, Coded) and len(block.page) == 100
    assert list(block.page.names) == list(dict.fromkeys(str(number * 7 % 50) for number in range(100)))
    assert list(block.referrer) == [str(number * 3 % 20) for number in range(100)]


def test_one_odd_row_does_not_take_its_piece_out_of_the_quick_way(monkeypatch) -> None:
    monkeypatch.setattr(columns, "_PART", 100)
    lines = ["page,at", *(f"p{number},{AT}" for number in range(1000)), "p,soon", *(f"q{n},{AT}" for n in range(1000))]
    found = list(read_csv([line.encode() for line in lines], reading(), Wanted()))
    slow = [len(block.page) for block in found if isinstance(block, Block) and not isinstance(block.page, Coded)]
    assert sum(slow) < 10 and len(rows(found)) == 2001
    assert [row.line for row in found if isinstance(row, BadRow)] == [1002]


def test_parquet_by_columns_and_what_of_it_is_odd(monkeypatch) -> None:
    monkeypatch.setattr(columns, "_PART_ROWS", 2)
    file = io.BytesIO()
    pages = pyarrow.array(["a", "b", None, "a", "c", "a"]).dictionary_encode()
    table = {
        "page": pages,
        "at": [int(AT)] * 6,
        "source": [7, None, 7, 8, 8, 8],
        "count": [1.0, 2.0, 1.0, 1.0, 0.0, 3.0],
    }
    pyarrow.parquet.write_table(pyarrow.table(table), file)
    found = list(read_parquet(file, reading(), ALL))
    assert apart(found) == (
        [("a", AT, "7", "", 1.0), ("b", AT, "", "", 2.0), ("a", AT, "8", "", 1.0), ("a", AT, "8", "", 3.0)],
        [BadRow(3, "names no page"), Dropped(5, "counts of 0")],
    )
    assert isinstance(found[0].page, Coded)
