"""The whole crawler on a small site: what is new is fetched once, what is not is left alone."""

import time
from itertools import pairwise

import pytest

from mayfly.core.features import slot_of
from mayfly.errors import RunError
from mayfly.store.listings import Listing
from mayfly.store.past import ClockStep
from mayfly.store.records import NewSource, Rest
from mayfly.testing.messages import Reply

either = pytest.mark.parametrize("house", ["sqlite", "postgres"], indirect=True)  # whatever keeps it
OLD = '<meta property="article:published_time" content="2020-11-01T00:00:00Z">'


def fetched(many):
    return lambda crawler: crawler.parts.tally.pages + crawler.parts.tally.rejected >= many


@either
def test_what_was_there_before_is_old_and_what_comes_is_fetched_once(house, paper):
    paper.show("/", "/news/", "/a-story-that-was-there-before")
    paper.show("/news/", "/another-story-that-was-there-before")
    house.find("paper.test")
    house.crawl(until=house.baselined)
    assert house.pages() == {}
    for path in ("/the-first-new-story-of-today", "/the-second-new-story-of-today"):
        paper.story(path)
    paper.show("/", "/news/", "/the-first-new-story-of-today", "/a-story-that-was-there-before")
    paper.show("/news/", "/the-first-new-story-of-today", "/the-second-new-story-of-today")
    house.crawl(until=fetched(2))
    assert house.pages() == {"/the-first-new-story-of-today": "fetched", "/the-second-new-story-of-today": "fetched"}
    house.crawl(seconds=1.0)
    for path in house.pages():
        assert house.visits("paper.test").count(path) == 1
    assert "/a-story-that-was-there-before" not in house.visits("paper.test")


def test_robots_txt_is_asked_first_and_obeyed(house, paper):
    paper.show("/", "/news/", "/secret/section")
    paper.show("/news/")
    house.find("paper.test")
    by_hand = NewSource("http://paper.test/secret/section", "category")
    house.ask(lambda store: store.add_sources(time.time(), [by_hand]))
    house.crawl(until=house.baselined, seconds=2.0)
    paper.show("/news/", "/secret/the-story-nobody-may-fetch-now", "/the-story-all-may-fetch-now")
    paper.story("/the-story-all-may-fetch-now")
    house.crawl(until=fetched(1))
    visits = house.visits("paper.test")
    assert "/the-story-all-may-fetch-now" in visits
    assert not [target for target in visits if target.startswith("/secret")]
    assert visits.count("/robots.txt") == 1  # kept over restarts
    failures = {source.url: source.failure for source in house.ask(lambda store: store.sources())}
    assert failures["http://paper.test/secret/section"] == "robots"


def test_a_site_is_asked_one_thing_at_a_time_with_pauses(house, paper):
    paper.show("/", *[f"/section-{number}/" for number in range(5)])
    for number in range(5):
        paper.show(f"/section-{number}/", *[f"/the-story-number-{number}-{k}-of-many" for k in range(4)])
    house.find("paper.test", host_delay=0.05)
    house.crawl(seconds=2.0, host_delay=0.05)
    visits = sorted(house.server.journal.visits("paper.test"), key=lambda visit: visit.at)
    assert len(visits) > 10
    for before, after in pairwise(visits):
        assert after.at - before.ended >= 0.05 - 0.002


def test_a_crawl_delay_makes_it_slower(house, paper):
    paper.pages["/robots.txt"] = Reply(b"User-agent: *\nCrawl-delay: 0.3\n", type="text/plain")
    paper.show("/", "/news/", "/sport/")
    paper.show("/news/")
    paper.show("/sport/")
    house.find("paper.test")
    house.crawl(seconds=2.5)
    visits = sorted(house.server.journal.visits("paper.test"), key=lambda visit: visit.at)
    asked = [visit.target for visit in visits]
    first = asked.index("/robots.txt") + 1
    for before, after in pairwise(visits[first:]):
        assert after.at - before.ended >= 0.298


def test_the_budget_is_kept_whatever_is_asked_for(house, paper):
    paper.show("/", *[f"/section-{number}/" for number in range(30)])
    for number in range(30):
        paper.pages[f"/section-{number}/"] = Reply(b"", 301, headers=(("Location", f"/moved-{number}/"),))
        paper.show(f"/moved-{number}/", f"/the-new-story-number-{number}-of-today")
    house.find("paper.test", budget=10.0, host_delay=0.0)
    begin = time.time()
    house.crawl(seconds=5.0, budget=10.0, host_delay=0.0)
    times = [visit.at for visit in house.server.journal.visits("paper.test") if visit.at >= begin]
    assert len(times) <= 10 * 5.5 + 1 + 5
    late = [at for at in times if at >= begin + 2.5]  # when the process that reads has started
    assert len(late) >= 10 * 2.5 * 0.7


@pytest.mark.parametrize(
    ("what", "outcome"),
    [
        (lambda paper, path: paper.story(path, head=OLD), "old"),
        (lambda paper, path: paper.pages.update({path: Reply(b"", 302, headers=(("Location", "/"),))}), "soft-404"),
        (lambda paper, path: paper.pages.update({path: Reply(b"gone", 410)}), "failed"),
        (lambda paper, path: paper.story(path, text="Another text. " * 50), "fetched"),
    ],
)  # fmt: skip
def test_a_page_is_kept_as_what_it_turns_out_to_be(house, paper, what, outcome):
    paper.show("/", "/news/")
    paper.show("/news/")
    house.find("paper.test")
    house.crawl(until=house.baselined)
    what(paper, "/the-story-in-question-of-today")
    paper.show("/news/", "/the-story-in-question-of-today")
    house.crawl(until=lambda crawler: fetched(1)(crawler) or crawler.parts.tally.failed)
    assert house.pages() == {"/the-story-in-question-of-today": outcome}


@either
def test_a_copy_of_a_page_is_a_duplicate(house, paper):
    paper.show("/", "/news/")
    paper.show("/news/")
    house.find("paper.test")
    house.crawl(until=house.baselined)
    same = "The very same words. " * 40
    paths = ("/one-story-under-two-addresses-a", "/one-story-under-two-addresses-b")
    paper.story(paths[0], text=same)
    paper.pages[paths[1]] = paper.pages[paths[0]]
    paper.show("/news/", *paths)
    house.crawl(until=fetched(2))
    assert sorted(house.pages().values()) == ["duplicate", "fetched"]


def test_a_page_that_fails_for_now_is_tried_again(watched, paper, monkeypatch):
    monkeypatch.setattr("mayfly.crawl.visits._PAGE_RETRY", 0.2)
    path = "/the-story-that-takes-two-tries"
    answers = iter([Reply(b"later", 500), Reply(b"later", 500)])
    paper.story(path)
    story = paper.pages[path]
    paper.pages[path] = lambda request: next(answers, story)
    paper.show("/news/", path)
    watched.crawl(until=fetched(1))
    assert watched.pages() == {path: "fetched"}
    assert watched.visits("paper.test").count(path) == 3


def test_a_restart_gives_a_page_no_more_tries(watched, paper, monkeypatch):
    monkeypatch.setattr("mayfly.crawl.visits._PAGE_RETRY", 0.05)
    path = "/the-story-that-never-comes"
    paper.pages[path] = Reply(b"later", 500)
    paper.show("/news/", path)
    watched.crawl(until=lambda crawler: crawler.parts.tally.failed >= 1)
    watched.crawl(seconds=4.0, until=lambda crawler: crawler.learning is None and not crawler.parts.pages)
    assert watched.pages() == {path: "failed"}
    assert watched.visits("paper.test").count(path) == 3


def test_a_page_that_waited_longer_than_history_is_kept_is_dropped(watched, paper):
    path = "/the-story-that-waits"
    paper.pages[path] = Reply(b"later", 500)
    paper.show("/news/", path)
    watched.crawl(until=lambda crawler: crawler.parts.tally.failed >= 1)
    watched.crawl(seconds=2.0, keep_history=0.001)
    assert watched.ask(lambda store: store.waiting()) == []


def test_a_busy_site_is_left_alone(house, paper):
    paper.show("/", "/news/", "/sport/")
    paper.show("/sport/")
    paper.pages["/news/"] = Reply(b"slow down", 429, headers=(("Retry-After", "3600"),))
    house.find("paper.test")
    house.crawl(seconds=2.0)
    visits = house.visits("paper.test")
    assert visits.count("/news/") == 1
    assert visits[-1] == "/news/"  # nothing of that site was asked afterwards
    (host,) = house.ask(lambda store: store.list_hosts(Listing("host"))).rows
    assert host.rest_reason == "busy" and host.rests_until == pytest.approx(time.time() + 3600, abs=60)


@either
def test_estimates_and_waiting_pages_survive_a_restart(house, paper):
    paper.show("/", "/news/")
    paper.show("/news/")
    house.find("paper.test")
    house.crawl(until=house.baselined)
    for many in range(1, 4):
        stories = [f"/the-story-number-{number}-of-today" for number in range(many * 3)]
        for path in stories:
            paper.story(path)
        paper.show("/news/", *stories)
        house.crawl(until=fetched(3))
    before = house.crawl(seconds=0.5)
    after = house.crawl(seconds=0.0)
    later = after.parts.clock.now() + 10
    for crawler in (before, after):
        crawler.parts.scheduler.next(later)
    rate = before.parts.scheduler.beliefs.link_rate
    assert after.parts.scheduler.beliefs.link_rate == pytest.approx(rate, rel=1e-9)
    kept = {source.url: source.estimate for source in house.ask(lambda store: store.sources())}
    assert kept["http://paper.test/news/"].link_rate > 0


@either
@pytest.mark.parametrize("what", ["not there", "no page"])
def test_pages_that_came_to_nothing_say_of_their_source_after_a_restart_what_they_said_before(house, paper, what):
    paper.show("/", "/news/")
    paper.show("/news/")
    house.find("paper.test")
    house.crawl(until=house.baselined)
    stories = [f"/the-story-number-{number}-of-today" for number in range(8)]
    for path in stories:
        paper.pages[path] = Reply(f"no page: {path}".encode(), type="text/plain")
        if what == "not there":
            del paper.pages[path]
    for path in stories[:2]:
        paper.story(path)
    paper.show("/news/", *stories)

    def settled(crawler) -> bool:
        if len(crawler.parts.pages) == 1:  # whatever it is
            crawler.parts.scheduler.dropped.update(crawler.parts.pages)
        tally = crawler.parts.tally
        return sum(tally.failures.values()) + tally.pages + tally.rejected >= 7 and not crawler.parts.pages

    before, after = house.crawl(until=settled), house.crawl(seconds=0.0)
    assert list(house.pages().values()).count("failed") > 4
    later = after.parts.clock.now() + 10
    for crawler in (before, after):
        crawler.parts.scheduler.next(later)
    rate = before.parts.scheduler.beliefs.link_rate
    assert after.parts.scheduler.beliefs.link_rate == pytest.approx(rate, rel=1e-3)


@either
def test_a_site_rests_no_longer_because_the_clock_was_set_in_the_past(house, paper):
    paper.show("/", "/news/")
    paper.show("/news/")
    house.find("paper.test")
    house.crawl(until=house.baselined)
    for _ in range(3):
        house.ask(lambda store: store.clock_stepped(ClockStep(time.time(), 8 * 3600.0)))
    house.ask(lambda store: store.note_rest(Rest("paper.test", time.time() + 2.0), "busy"))
    before, asked = time.time(), len(house.visits("paper.test"))
    house.crawl(until=lambda crawler: len(house.visits("paper.test")) > asked)
    assert 1.0 < time.time() - before < 20.0


@either
def test_what_is_known_of_a_page_is_the_same_after_a_restart_the_text_around_its_link_too(house, paper):
    paper.show("/", "/news/")
    paper.show("/news/")
    house.find("paper.test")
    house.crawl(until=house.baselined)
    paper.story("/the-first-story-of-today")
    link = '<a href="/the-first-story-of-today">The first story</a>'
    paper.pages["/news/"] = Reply(f"<html><body><p>Rivers rise in towns along the coast {link}</p></body>".encode())
    before, after = house.crawl(until=fetched(1)), house.crawl(seconds=0.0)
    rows = [crawler.parts.scheduler.merits._slots[1:2].tolist() for crawler in (before, after)]
    assert rows[0] == rows[1]
    assert {slot_of("word story"), slot_of("near rivers"), slot_of("near coast")} <= set(rows[0][0])


def test_what_people_ask_for_is_known_before_the_past_is_told_again(house, paper, tmp_path):
    (tmp_path / "trends").write_text("first,12\n")
    paper.show("/", "/news/")
    paper.show("/news/")
    house.find("paper.test")
    house.crawl(until=house.baselined)
    paper.story("/the-first-story-of-today")
    paper.pages["/news/"] = Reply(b'<html><body><a href="/the-first-story-of-today">The first story</a></body>')
    trends = {"trends": str(tmp_path / "trends")}
    before, after = house.crawl(until=fetched(1), **trends), house.crawl(seconds=0.0, **trends)
    plain = house.crawl(seconds=0.0)
    rows = [crawler.parts.scheduler.merits._slots[1:2].tolist() for crawler in (before, after, plain)]
    assert rows[0] == rows[1] != rows[2]


@either
def test_ctrl_c_finishes_what_is_in_the_air(house, paper):
    paper.show("/", "/news/")
    paper.show("/news/")
    house.find("paper.test")
    house.crawl(until=house.baselined)
    stories = [f"/the-story-number-{number}-of-today" for number in range(20)]
    for path in stories:
        paper.story(path)
    paper.show("/news/", *stories)
    house.crawl(until=fetched(3))
    asked = set(house.visits("paper.test")) & set(stories)
    assert asked == set(house.pages())
    house.crawl(until=lambda crawler: not crawler.parts.pages and crawler.parts.tally.crawls)
    assert set(house.pages()) == set(stories)
    assert max(house.visits("paper.test").count(path) for path in stories) == 1


def test_it_can_be_stopped_while_it_learns_again(house, paper):
    paper.show("/", "/news/")
    paper.show("/news/")
    house.find("paper.test")
    house.crawl(until=house.baselined)
    before = len(house.visits("paper.test"))
    crawler = house.crawl(until=lambda crawler: True)
    assert crawler.parts.tally.crawls == 0 or crawler.learning is None
    house.crawl(until=lambda crawler: crawler.learning is None and crawler.parts.tally.crawls > 2)
    assert len(house.visits("paper.test")) > before


def test_what_fails_beside_it_while_it_learns_again_is_said(house, paper):
    paper.show("/", "/news/")
    house.find("paper.test")
    house.crawl(until=house.baselined)

    def fails(crawler) -> bool:
        crawler.fail(RunError("the lease is lost"))
        return False

    with pytest.raises(RunError, match="the lease is lost"):
        house.crawl(until=fails)


def test_a_source_whose_reader_died_still_shows_what_it_showed(house, paper):
    paper.show("/", "/news/")
    paper.show("/news/", "/a-story-that-was-there-before")
    house.find("paper.test")
    house.crawl(until=house.baselined)
    shown = {source.url: source.shown for source in house.ask(lambda store: store.sources())}
    for path in ("/", "/news/"):
        paper.pages[path] = Reply(b"<p>a <b>b</b>" * 300_000)
    house.crawl(until=lambda crawler: crawler.parts.tally.failed >= 2, reading_seconds=0.02)
    sources = house.ask(lambda store: store.sources())
    assert {source.url: source.shown for source in sources} == shown
    assert {source.failure for source in sources} == {"reader-died"}


@either
def test_a_source_that_asked_for_patience_is_left_alone_after_a_restart(house, paper):
    paper.show("/", "/news/")
    paper.pages["/news/"] = Reply(b"slow down", 429, headers=(("Retry-After", "3600"),))
    house.find("paper.test")
    house.crawl(until=lambda crawler: crawler.parts.tally.failed >= 1)
    asked = house.visits("paper.test").count("/news/")
    house.crawl(seconds=2.0)
    assert house.visits("paper.test").count("/news/") == asked
    retries = {source.url: source.retry_at for source in house.ask(lambda store: store.sources())}
    assert retries["http://paper.test/news/"] > time.time() + 3000


def test_hosts_behind_links_to_new_articles_are_counted(watched, paper):
    body = "".join(
        f'<a href="{url}">A link to somewhere else</a>'
        for url in (
            "https://daily.test/2026/11/16/what-the-paper-wrote-about",
            "https://daily.test/2026/11/15/what-it-wrote-the-day-before",
            "https://daily.test/about",
            "https://buttons.test/sharer.php?u=the-first-new-story-of-today",
            *(f"https://archive.test/2019/{number}/" for number in range(100)),
        )
    )
    paper.story("/the-first-new-story-of-today", body)
    paper.show("/news/", "/the-first-new-story-of-today")
    watched.crawl(until=fetched(1))
    counted = watched.ask(lambda store: store.suggestions(10))
    assert [(one.host, one.fresh) for one in counted] == [
        ("archive.test", 5.0),  # one page cannot say more of a host
        ("daily.test", 2.0),
        ("buttons.test", 0.0),
    ]
