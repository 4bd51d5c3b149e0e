"""Forgetting, counting, checking."""

import apsw
import pytest

from mayfly.core.model import DAY
from mayfly.store import sqlite_care
from mayfly.store.postgres import PostgresStore
from mayfly.store.records import Candidate, ClickRow, KeptRobots, Minute, Retention

SHORT = Retention(history=3 * DAY, text=5 * DAY, pages=10 * DAY, seen=6 * DAY, clicks_unknown=2 * DAY)


def live(store, make, days: range) -> None:
    """One source that always shows 0 and 1 (old) and two new pages a day, which are fetched, and clicked."""
    for day in days:
        at = day * DAY
        new = store.commit(make.crawl(0, at, 2 * day + 10, 2 * day + 11)).new
        store.together(
            *(("commit", make.fetched(page, at + 60.0, text=f"d{day} words " * 50, linked={f"{day}.example": [f"https://{day}.example/"]}))
              for page, _ in new),
            ("commit", make.crawl(1, at, day + 1_000_000, 0, 1, wanted=False)),
            ("add_clicks", at, [ClickRow(make.url(2 * day + 10), at), ClickRow(f"https://x.example/{day}", at)]),
            ("note_minute", Minute(at, 1, 1, 1, 1, 1, None)),
            ("note_candidates", at, "a.example", [f"https://a.example/{day}"]),
            ("keep_robots", KeptRobots(f"https://{day}.example", b"x", at)),
        )  # fmt: skip
        store.clicks_told(at, store.clicks_since(store.told())[1])


def test_what_is_old_is_forgotten_and_what_is_shown_is_not(store, make) -> None:
    live(store, make, range(1, 21))
    now = 20.5 * DAY
    forgotten = store.prune(now, SHORT)
    assert {page.found_at // DAY for page in store.pages()} == set(range(11, 21))
    assert {page.found_at // DAY for page in store.pages() if page.text} == set(range(16, 21))
    assert forgotten["pages"] == 20
    assert forgotten["texts"] == 10
    assert store.past(0.0)[0].at == 18 * DAY
    assert all(span.removed is None or span.removed >= now - 3 * DAY for span in store.links())
    assert store.minutes(0.0)[0].at == 18 * DAY
    assert store.candidates("a.example")[0] == Candidate("https://a.example/18", 18 * DAY, 18 * DAY)
    assert store.robots()[0].fetched_at == 14 * DAY
    assert len(store.suggestions(99)) == 3
    assert forgotten["linked_pages"] == 16
    addresses = [make.url(0), make.url(1), make.url(1_000_013), make.url(1_000_012), make.url(2 * 11 + 10)]
    assert store.unseen(addresses) == [make.url(1_000_012)]
    assert store.check() == []


def test_a_page_that_is_forgotten_is_not_new_while_its_address_is_remembered(store, make) -> None:
    store.commit(make.crawl(0, 1 * DAY, 1, 2))
    store.commit(make.fetched(1, 1 * DAY))
    store.commit(make.fetched(2, 1 * DAY))
    store.commit(make.unchanged(0, 12 * DAY))
    assert store.prune(13 * DAY, SHORT)["pages"] == 2
    assert store.page_at(make.url(1)) is None
    assert store.commit(make.crawl(1, 13 * DAY, 1, 2)).new == []
    assert store.commit(make.crawl(0, 14 * DAY, 2)).gone == 1
    assert store.check() == []
    store.commit(make.crawl(1, 14 * DAY, 2))
    assert store.prune(30 * DAY, SHORT)["seen"] == 1
    assert len(store.commit(make.crawl(1, 31 * DAY, 1, 2)).new) == 1


def test_a_page_that_waits_is_never_forgotten(store, make) -> None:
    store.commit(make.crawl(0, 1 * DAY, 1))
    store.commit(make.crawl(0, 2 * DAY))
    store.prune(100 * DAY, SHORT)
    assert [page.url for page in store.waiting()] == [make.url(1)]
    assert store.unseen([make.url(1)]) == []
    assert store.check() == []


def test_numbers_are_not_given_twice_after_all_was_forgotten(store, make) -> None:
    live(store, make, range(1, 4))
    last, cursor = store.pages()[-1], store.told()
    store.prune(1000 * DAY, SHORT)
    assert store.pages() == store.past(0.0) == []
    live(store, make, range(1000, 1002))
    assert store.pages()[0].id == last.id + 1
    assert store.pages()[0].landed == last.landed + 1
    assert store.told() > cursor
    assert store.check() == []


def tidy(store) -> None:
    """What a server of PostgreSQL does by itself, some time later."""
    if isinstance(store.store, PostgresStore):
        store.runner.run(store.store._thread.alone(lambda database: database.plainly("VACUUM")))


def test_a_home_with_the_same_sources_stops_growing(store, make) -> None:
    sizes = []
    for month in range(12):
        live(store, make, range(1 + 10 * month, 11 + 10 * month))
        store.prune((11 + 10 * month) * DAY, SHORT)
        tidy(store)
        stats = store.stats()
        sizes.append(stats["bytes"])
        assert stats["free_bytes"] == 0
    assert max(sizes[6:]) <= 1.05 * max(sizes[2:6])


def test_forgetting_beside_writing(store, make) -> None:
    live(store, make, range(1, 21))
    calls = [("commit", make.crawl(2, 21 * DAY + number, 5_000_000 + number)) for number in range(200)]
    forgotten, *landed = store.together(("prune", 20.5 * DAY, SHORT), *calls)
    assert forgotten["pages"] == 20
    assert all(len(each.new) == 1 for each in landed)
    assert store.check() == []


def test_texts_that_are_forgotten_are_not_found_and_titles_are(store, make) -> None:
    store.commit(make.crawl(0, 1 * DAY, 1))
    store.commit(make.fetched(1, 1 * DAY, title="a wren", text="sings"))
    store.prune(7 * DAY, SHORT)
    assert store.search("sings") == []
    assert (store.search("wren")[0].title, store.search("wren")[0].text) == ("a wren", "")


def test_counts(store, make) -> None:
    live(store, make, range(1, 3))
    stats = store.stats()
    assert (stats["sources"], stats["pages"], stats["fetched"], stats["waiting"]) == (3, 4, 4, 0)
    assert (stats["seen"], stats["links"], stats["clicks"], stats["clicks_unknown"]) == (8, 4, 2, 2)
    assert stats["bytes"] > 100_000


# Checks, of SQLite

BROKEN = {
    "1 links to pages that are not kept": "INSERT INTO links VALUES (1, 99, 0, 99, 1.0, NULL, 1, 1)",
    "1 sources without host or site": "UPDATE sources SET site = '' WHERE id = 1",
    "1 numbers of sources that are missing": "DELETE FROM sources WHERE id = 1",
    "1 addresses that lead to pages that are not kept": "INSERT INTO seen VALUES (77, 99, 1)",
    "1 pages whose address is forgotten": "DELETE FROM seen WHERE page = 1",
    "1 pages that are settled and have no number": "UPDATE pages SET landed = NULL WHERE id = 1",
    "4 seen are kept, and 5 are counted": "DROP TRIGGER seen_gone; DELETE FROM seen WHERE page = 1",
    "trigger seen_gone is missing": "DROP TRIGGER seen_gone",
    "index pages_by_landing is missing": "DROP INDEX pages_by_landing",
    "words": "DELETE FROM words_data WHERE id > 10",
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_wrong_is_named(opening, make, tmp_path, what: str) -> None:
    with opening() as store:
        store.add_sources(1.0, [make.source(number) for number in range(3)])
        live(store, make, range(1, 2))
        assert store.check() == []
        other = apsw.Connection(str(tmp_path / "mayfly.db"))
        if "counted" in what:  # without it, a missing trigger is all that is said
            trigger = other.execute("SELECT sql FROM sqlite_schema WHERE name = 'seen_gone'").get
            other.execute(BROKEN[what] + ";" + trigger)
        else:
            other.execute(BROKEN[what])
        other.close()
        assert any(what in complaint.what for complaint in store.check())


def test_little_space_and_a_large_log_are_said(opening, monkeypatch) -> None:
    monkeypatch.setattr(sqlite_care, "LITTLE_SPACE", 1 << 62)
    monkeypatch.setattr(sqlite_care, "_LARGE_WAL", 0)
    with opening() as store:
        store.add_hosts(1.0, ["a.example"])
        large, little = store.check()
    assert "the write-ahead log has grown to" in large.what
    assert "of the disk are free" in little.what
