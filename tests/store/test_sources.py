"""Sources, what people change about them, and what the finder keeps."""

import pytest

from mayfly.store.listings import HostYield
from mayfly.store.records import Candidate, ClickRow, Estimate, FetchFailure, Host, KeptRobots, Minute, NewSource, Rest


def test_sources_are_numbered_as_they_come_and_known_ones_stay_as_they_are(empty) -> None:
    some = [NewSource("https://www.a.example/", "front"), NewSource("https://a.example/feed", "feed", "robots", 60.0)]
    assert empty.add_sources(5.0, [some[0], *some]) == [0, 1]
    empty.edit_source(0, state="retired", reason="silent")
    assert empty.add_sources(6.0, [some[0], NewSource("http://127.0.0.1:8080/", "front")]) == [2]
    first, second, third = empty.sources()
    assert (first.url, first.host, first.site, first.state, first.found_at) == (
        "https://www.a.example/", "www.a.example", "a.example", "retired", 5.0,
    )  # fmt: skip
    assert (second.kind, second.found_on, second.pinned, second.estimate) == ("feed", "robots", 60.0, None)
    assert (third.host, third.site) == ("127.0.0.1", "127.0.0.1")


def test_one_source(store, make) -> None:
    assert store.source_at(make.source(1).url).id == 1
    assert store.source_at("https://nowhere.example/") is None
    assert [source.id for source in store.sources([2, 0, 77])] == [2, 0]


def test_edits_come_in_their_order_and_only_they(store, make) -> None:
    cursor = store.edited(0)[-1].revision
    store.commit(make.crawl(0, 100.0, 1))
    assert store.edited(cursor) == []
    store.pin(2, 300.0)
    store.edit_source(0, state="blocked", reason="asked to")
    store.edit_source(1, reason="mostly old")
    store.add_sources(9.0, [make.source(8)])
    assert [source.id for source in store.edited(cursor)] == [2, 0, 1, 3]
    store.pin(2, None)
    edited = store.edited(cursor)
    assert [source.id for source in edited] == [0, 1, 3, 2]
    assert [(source.state, source.reason, source.pinned) for source in edited[:2]] == [
        ("blocked", "asked to", None),
        ("active", "mostly old", None),
    ]


def test_a_source_that_is_not_there_cannot_be_edited(store) -> None:
    for call in (lambda: store.pin(9, 1.0), lambda: store.edit_source(9, state="blocked")):
        with pytest.raises(LookupError, match="no source 9"):
            call()


def test_estimates_are_those_of_the_last_plan(store) -> None:
    old = [Estimate(source, 0.1, 2.0, 1e-5, 600.0, 1.0, 700.0) for source in range(3)]
    new = Estimate(1, 0.2, 3.0, 1e-5, None, 0.0, None, "dropped")
    store.save_estimates(old)
    store.save_estimates([new])
    assert [source.estimate for source in store.sources()] == [old[0], new, old[2]]


def test_what_was_learned_of_pages_is_kept_and_replaced(store) -> None:
    assert store.page_values() is None
    store.keep_page_values(bytes(range(256)))
    store.keep_page_values(b"\x00better\xff")
    assert store.page_values() == b"\x00better\xff"


def test_hosts_by_the_new_pages_found_of_them(store, make) -> None:
    landed = store.commit(make.crawl(0, 100.0, 1, 2, 3))
    store.commit(make.fetched(landed.new[0].page, 110.0))
    store.commit(make.fetched(landed.new[1].page, 111.0, "old"))
    store.add_clicks(120.0, [ClickRow(make.url(1), 115.0, 3.0)])
    assert store.host_yields(50.0) == [HostYield(make.site, 2, 1, 3.0, 100.0, True)]
    assert store.host_yields(101.0) == []
    for source in range(3):
        store.edit_source(source, state="retired")
    store.add_hosts(90.0, [make.site])
    assert store.host_yields(50.0) == [HostYield(make.site, 2, 1, 3.0, 90.0, False)]


def test_hosts_and_when_they_were_searched(empty) -> None:
    empty.add_hosts(1.0, ["b.example", "a.example"])
    empty.add_hosts(2.0, ["a.example"])
    empty.host_searched("a.example", 3.0, "dns")
    empty.host_searched("b.example", 4.0)
    assert empty.hosts() == [Host("a.example", 1.0, 3.0, "dns"), Host("b.example", 1.0, 4.0, "")]
    empty.add_hosts(5.0, ["c.example"])
    assert empty.hosts_due(searched=3.0, failed=3.0) == ["c.example"]
    assert empty.hosts_due(searched=3.0, failed=3.5) == ["a.example", "c.example"]
    assert empty.hosts_due(searched=4.5, failed=3.0) == ["a.example", "b.example", "c.example"]


def test_candidates_that_leave_the_front_page_are_forgotten_in_time(empty) -> None:
    day = 86400.0
    empty.note_candidates(0.0, "a.example", ["u", "v"])
    empty.note_candidates(3 * day, "a.example", ["u"])
    empty.note_candidates(0.0, "b.example", ["w"])
    assert empty.candidates("a.example") == [Candidate("u", 0.0, 3 * day), Candidate("v", 0.0, 0.0)]
    empty.note_candidates(8 * day, "a.example", ["u"])
    assert empty.candidates("a.example") == [Candidate("u", 0.0, 8 * day)]
    assert len(empty.candidates("b.example")) == 1


def test_robots_and_minutes(empty) -> None:
    empty.keep_robots(KeptRobots("https://b.example", None, 5.0))
    empty.keep_robots(KeptRobots("https://a.example", b"User-agent: *", 6.0))
    empty.keep_robots(KeptRobots("https://b.example", b"\xff\x00", 7.0))
    assert empty.robots() == [
        KeptRobots("https://a.example", b"User-agent: *", 6.0),
        KeptRobots("https://b.example", b"\xff\x00", 7.0),
    ]
    empty.note_minute(Minute(60.0, 1, 2, 3, 4, 5, None))
    empty.note_minute(Minute(120.0, 1, 1, 1, 1, 1, 0.5))
    empty.note_minute(Minute(60.0, 1, 1, 1, 1, 1, 0.25))  # started again within the minute
    assert empty.minutes(0.0) == [Minute(60.0, 2, 3, 4, 5, 6, 0.25), Minute(120.0, 1, 1, 1, 1, 1, 0.5)]
    assert empty.minutes(61.0) == [Minute(120.0, 1, 1, 1, 1, 1, 0.5)]
    empty.note_minute(Minute(120.0, 5, 2, 0, 0, 0, 1.5))  # another shard, which made four times as many
    assert empty.minutes(61.0) == [Minute(120.0, 6, 3, 1, 1, 1, pytest.approx((3 * 0.5 + 8 * 1.5) / 11))]


def test_sites_that_asked_for_a_rest(store, make) -> None:
    for at, until in ((5.0, 100.0), (6.0, 50.0)):
        failure = FetchFailure("source", 0, at, "busy", "", 503, at + 60, Rest(make.site, until))
        store.commit(failure)
    assert store.rests(99.0) == [Rest(make.site, 100.0)]
    assert store.rests(100.0) == []
