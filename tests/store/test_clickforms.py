"""Forms of click logs: tables, access logs, extended logs. Rows, what is dropped, and what is wrong."""

import csv
import io
from datetime import date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayfly.errors import UsageError
from mayfly.store.clicklog import LINES, BadRow, Dropped, Reading, form_of, read_parquet
from mayfly.store.clicklog.tables import csv_head, csv_rows
from mayfly.store.clicklog.visits import is_bot
from mayfly.store.records import ClickRow
from mayfly.urls import canonical

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=ZoneInfo("UTC")).timestamp()
NOON = NOW - 86400.0
BERLIN, UTC = ZoneInfo("Europe/Berlin"), ZoneInfo("UTC")
URL = "https://example.com/a"


def read(text: str | bytes, form: str | None = None, **how) -> list:
    raw = text if isinstance(text, bytes) else text.encode()
    lines = raw.split(b"\n")
    return list(LINES[form or form_of(raw)](lines, Reading(NOW, **how)))


# Tables


@pytest.mark.parametrize(
    ("text", "row"),
    [
        (f"url,at,count\n{URL},{NOON},3", ClickRow(URL, NOON, 3.0)),
        (f"page;time;clicks\n{URL};2026-11-15T12:00:00Z;3", ClickRow(URL, NOON, 3.0)),
        (f"Views\tTimestamp\tPAGE\n3\t2026-11-15 13:00:00+01:00\t{URL}#x", ClickRow(URL, NOON, 3.0)),
        (f'\ufeffurl|date\r\n"{URL}"|2026-11-15T12:00:00Z\r\n', ClickRow(URL, NOON)),
        (f"url,at,kind,position\n{URL},{NOON},impression,2.6", ClickRow(URL, NOON, 1.0, "show", 3)),
        (f"url,at,shows\n{URL},{NOON},9", ClickRow(URL, NOON, 9.0, "show")),
        (f'url,at,count\n{URL},{NOON},"1,234"', ClickRow(URL, NOON, 1234.0)),
        (f"position,what,at,url\n,else,{NOON},{URL}", ClickRow(URL, NOON)),
    ],
)
def test_a_table_says_by_its_header_what_stands_where(text: str, row: ClickRow) -> None:
    assert form_of(text.encode()) == "csv"
    assert read(text) == [row]


def test_times_without_a_zone_are_of_the_zone_that_is_given() -> None:
    text = f"url,time\n{URL},2026-11-15 13:00:00\n{URL},2026-11-15T12:00:00Z"
    assert [row.at for row in read(text, zone=BERLIN)] == [NOON, NOON]
    assert read(text)[0] == BadRow(2, 'time has no zone: "2026-11-15 13:00:00"; write Z or +02:00 behind it', True)


@pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 23), ("2026-06-01", 24), ("20251026", 25)])
def test_a_date_is_a_day_of_its_zone(day: str, hours: int) -> None:
    (row,) = read(f"url,date,views\n{URL},{day},7", zone=BERLIN)
    begin = datetime.combine(date.fromisoformat(day), datetime.min.time(), BERLIN).timestamp()
    assert row == ClickRow(URL, begin, 7.0, span=hours * 3600.0)
    assert read(f"url,views\n{URL},7", zone=BERLIN, day=date.fromisoformat(day)) == [row]
    assert read(f"url,date\n{URL},{day}")[0].zoneless


SEARCH = "Top pages,Clicks,Impressions,CTR,Position\nhttps://example.com/a,12,340,3.53%,4.6\nhttps://example.com/b,0,5,0%,80\n"


def test_search_console_says_clicks_and_shows_of_days_in_california() -> None:
    assert form_of(SEARCH.encode()) == "search-console"
    found = read(SEARCH, day=date(2026, 11, 10))
    begin = datetime(2026, 11, 10, tzinfo=ZoneInfo("America/Los_Angeles")).timestamp()
    assert found == [
        ClickRow(URL, begin, 12.0, "click", 5, 86400.0),
        ClickRow(URL, begin, 340.0, "show", 5, 86400.0),
        ClickRow("https://example.com/b", begin, 5.0, "show", 80, 86400.0),
    ]
    dated = "date,page,clicks,impressions,ctr,position\n2026-11-10,https://example.com/a,12,340,0.0353,4.6"
    assert read(dated) == found[:2]
    with pytest.raises(UsageError, match=r"no column of times .* give --date"):
        read(SEARCH)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (f"{URL},{NOON}", "has 2 cells where the header has 3"),
        (f"{URL},{NOON},-2", 'count must be a number above 0, not "-2"'),
        (f"{URL},{NOON},many", "count must be a number above 0"),
        (f'{URL},{NOON},"1,5"', "count must be a number above 0"),
        (f"{URL},{NOON},nan", "count must be a number above 0"),
        (f"{URL},{NOW + 2 * 86400},1", "at lies in the future"),
        (f"{URL},{NOON * 1000},1", "are these milliseconds?"),
        (f"{URL},15.11.2026,1", "at must be a time such as 2026-01-31T10:00:00Z"),
        (f"{URL},2026-13-01,1", "at must be a time such as"),
        (f"{URL},,1", "at must be a time such as"),
        (f"nowhere,{NOON},1", "url must be a web address"),
        (f"https://example.com/{'x' * 200_000},{NOON},1", "is no row of CSV"),
    ],
)
def test_a_wrong_row_is_named_and_the_others_are_read(row: str, reason: str) -> None:
    bad, good = read(f"url,at,count\n{row}\n{URL},{NOON},1", oldest=0.0)
    assert isinstance(bad, BadRow) and bad.line == 2 and reason in bad.reason
    assert good == ClickRow(URL, NOON)


def test_rows_of_nothing_and_rows_too_old_are_dropped() -> None:
    found = read(f"url,at,count\n{URL},{NOON},0\n{URL},5000,1\n", oldest=10_000.0)
    assert found == [Dropped(2, "counts of 0"), Dropped(3, "too old")]


def test_files_that_were_joined_and_bytes_that_are_no_text() -> None:
    text = f"url,at\n{URL},{NOON}\nurl,at\n".encode() + b"https://example.com/\xff," + f"{NOON}\n\n".encode()
    found = read(text)
    assert found[0] == ClickRow(URL, NOON) and len(found) == 2
    assert found[1].line == 4 and "web address" in found[1].reason


@given(st.lists(st.lists(st.text("ab;, \r\"'", max_size=4), min_size=2, max_size=3), max_size=8))
def test_lines_are_split_as_the_csv_module_does(table) -> None:
    """With quotes or without, from the first line or later."""
    text = "url,at\n" + "\n".join(",".join(cells) for cells in table)
    lines = text.encode().split(b"\n")
    head, rest = csv_head(lines)
    header, rows = head.cells, csv_rows(rest, head, head.lines)
    expected = csv.reader((line.decode() for line in lines), delimiter=",")
    assert header == next(expected)
    try:
        wanted = [(expected.line_num, cells) for cells in expected if cells and cells != header]
    except csv.Error:
        return  # then only the lines before and after are known
    assert list(rows) == wanted


def test_a_header_without_what_is_needed_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no column of addresses \(url or page\): link, at"):
        read(f"link,at\n{URL},{NOON}")
    with pytest.raises(UsageError, match="no column of addresses"):
        read(f"u\rrl,at\n{URL},{NOON}")
    with pytest.raises(UsageError, match="no column of times"):
        read(f"url,views\n{URL},3")


@given(
    rows=st.lists(st.lists(st.text() | st.sampled_from([URL, str(NOON), "3", "2026-11-15"]), max_size=5), max_size=6),
    mark=st.sampled_from(",;\t|"),
)
def test_whatever_a_table_holds_it_is_rows_or_reasons(rows, mark: str) -> None:
    body = "\n".join(mark.join(cells) for cells in rows)
    for one in read(f"url{mark}at{mark}count{mark}kind\n{body}".encode(errors="surrogatepass"), "csv", zone=BERLIN):
        if isinstance(one, ClickRow):
            assert canonical(one.url) == one.url and 0 <= one.at <= NOW + 86400 and one.number > 0
        else:
            assert one.reason and one.line > 1


def parquet(**columns) -> io.BytesIO:
    arrow, write = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    file = io.BytesIO()
    write.write_table(arrow.table(columns), file)
    file.seek(0)
    return file


def test_parquet_has_the_same_columns() -> None:
    moment = datetime.fromtimestamp(NOON, UTC)
    file = parquet(
        url=[URL, "nowhere", None], time=[moment] * 3, views=[4, 1, 1], other=["x"] * 3, position=[1.4, None, None]
    )
    good, bad, none = read_parquet(file, Reading(NOW))
    assert good == ClickRow(URL, NOON, 4.0, position=1)
    assert [bad.line, none.line] == [2, 3] and "not null" in none.reason
    naive = parquet(page=[URL], at=[moment.replace(tzinfo=None)])
    assert next(read_parquet(naive, Reading(NOW))).zoneless
    naive.seek(0)
    assert next(read_parquet(naive, Reading(NOW, zone=UTC))).at == NOON
    (day,) = read_parquet(parquet(page=[URL], day=[date(2026, 11, 15)], clicks=[2]), Reading(NOW, zone=UTC))
    assert day == ClickRow(URL, NOON - 43200.0, 2.0, span=86400.0)
    with pytest.raises(UsageError, match="no sound Parquet"):
        list(read_parquet(io.BytesIO(b"PAR1xxxx"), Reading(NOW)))


# Access logs

AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


def line(
    request: str = "GET /a?utm_source=x HTTP/1.1", status: int = 200, agent: str | None = AGENT, before: str = ""
) -> str:
    tail = "" if agent is None else f' "https://ref.example/?q=secret" "{agent}"'
    return f'{before}203.0.113.9 - jane [15/Nov/2026:13:00:00 +0100] "{request}" {status} 5123{tail}'


SITE = {"host": "https://example.com/"}


@pytest.mark.parametrize(
    "text",
    [
        line(), line(agent=None), line(status=304), line(before="example.com:443 "), line() + ' "-" 0.003',
        line("GET https://example.com/a HTTP/1.1"), line("GET /a"), line(agent="Mozilla/5.0 (Linux; CUBOT NOTE 20)"),
    ],
)  # fmt: skip
def test_a_view_is_a_click(text: str) -> None:
    assert form_of(text.encode()) == "access"
    (row,) = read(text, **SITE)
    assert row == ClickRow(URL, NOON)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (line("HEAD /a HTTP/1.1"), "not GET"),
        (line("POST /a HTTP/1.1"), "not GET"),
        (line(r"\x16\x03\x01\x00"), "not GET"),
        (line(status=404), "not 2xx"),
        (line(status=301), "not 2xx"),
        (line("GET /style.css?v=3 HTTP/2.0"), "assets"),
        (line("GET /feed.XML HTTP/2.0"), "assets"),
        (line(agent="Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"), "by bots"),
        (line(agent="Mayfly/0.1 (+mailto:me@example.com)"), "by bots"),
        (line(agent="-"), "by bots"),
    ],
)
def test_what_no_reader_did_is_dropped(text: str, reason: str) -> None:
    assert read(text, **SITE) == [Dropped(1, reason)]


def test_lines_must_say_the_host_or_we_be_told() -> None:
    with pytest.raises(UsageError, match="give --host"):
        read(line())
    (row,) = read(line(before="news.example:80 "), **SITE)
    assert row.url == "http://news.example/a"


@given(st.lists(st.text(max_size=80) | st.just(line()), max_size=5))
def test_whatever_an_access_log_holds_it_is_rows_or_reasons(lines: list[str]) -> None:
    for one in read("\n".join(lines).encode(errors="surrogatepass"), "access", **SITE):
        assert one == ClickRow(URL, NOON) or isinstance(one, BadRow | Dropped)


@pytest.mark.parametrize("agent", ["", "curl/8.5", "python-requests/2", "Feedly/1.0", "Scrapy/2.11", "bingbot/2.0"])
def test_programs_are_no_readers(agent: str) -> None:
    assert is_bot(agent)


@pytest.mark.parametrize(
    "agent",
    [
        AGENT,
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6"
        " Mobile/15E148 Safari/604.1",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) [FBAN/FBIOS;FBAV/500.0.0;FBDV/iPhone14,7]",
    ],
)
def test_readers_are_no_programs(agent: str) -> None:
    assert not is_bot(agent)


# Extended logs

FIELDS = "#Fields: date time c-ip cs-method cs-uri-stem cs-uri-query sc-status cs(User-Agent) cs(Purpose)"
HEAD = f"#Software: Microsoft Internet Information Services 10.0\n#Version: 1.0\n{FIELDS}\n"


def extended(**other: str) -> str:
    cells = {"method": "GET", "stem": "/a", "query": "-", "status": "200", "agent": "Mozilla/5.0+(X11)", "purpose": "-"}
    return "2026-11-15 12:00:00 203.0.113.9 {method} {stem} {query} {status} {agent} {purpose}".format(**cells | other)


def test_an_extended_log_says_its_fields() -> None:
    text = HEAD + "\n".join([
        extended(), extended(query="id=5&utm_source=x"), extended(method="HEAD"), extended(status="500"),
        extended(agent="Googlebot/2.1"), extended(purpose="prefetch;prerender"), "2026-11-15 12:00:00 too few",
    ])  # fmt: skip
    assert form_of(text.encode()) == "w3c"
    found = read(text, **SITE)
    assert found[:2] == [ClickRow(URL, NOON), ClickRow(URL + "?id=5", NOON)]
    assert [one.reason for one in found[2:6]] == ["not GET", "not 2xx", "by bots", "prefetches"]
    assert found[6] == BadRow(10, "has 4 fields where #Fields has 9")
    with pytest.raises(UsageError, match="give --host"):
        read(text)


def test_fields_may_change_and_the_date_stand_above() -> None:
    text = (
        "#Date: 2026-11-15 00:00:01\n#Fields: time cs-method cs-uri-stem sc-status cs-host\n"
        "12:00:00 GET /a 304 example.com\n"
        "#Fields: date\ttime\tsc-status\tcs-method\tcs-uri-stem\tx-host-header\tcs(User-Agent)\n"
        "2026-11-15\t12:00:00\t200\tGET\t/a\texample.com\tMozilla/5.0%20(X11)\n"
    )
    assert read(text) == [ClickRow(URL, NOON)] * 2
    with pytest.raises(UsageError, match="its #Fields name no cs-uri-stem"):
        read("#Fields: time cs-method sc-status\n")


@pytest.mark.parametrize(
    ("beginning", "form"),
    [
        (b"", "jsonl"), (b"\n\n", "jsonl"), (b"nonsense\n{}", "jsonl"), (b"nonsense", "jsonl"), (b"url\nx", "csv"),
        (b"a;b\n1;2", "csv"), (b"\xef\xbb\xbfTop pages,Clicks,Impressions,CTR,Position\n", "search-console"),
    ],
)  # fmt: skip
def test_the_beginning_tells_the_form(beginning: bytes, form: str) -> None:
    assert form_of(beginning) == form
