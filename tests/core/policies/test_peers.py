"""Rules of other crawlers: their waits after given histories, worked out by hand from what each has published."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from mayfly.core.events import NewPage, SourceCrawled
from mayfly.core.model import DAY, HOUR, MINUTE
from mayfly.core.policies import PEER_POLICIES, POLICIES
from mayfly.core.policies.turns import Turn

every_peer = pytest.mark.parametrize("policy", PEER_POLICIES)


class History:
    """One source under a rule: crawl it, and ask how long it waits then."""

    def __init__(self, policy: str, **options: object) -> None:
        self.rule = POLICIES[policy](**options)
        self.at = 0.0
        self.crawled = 0

    def crawl(self, after: float, new: int = 0, elsewhere: int = 0, stayed: int = 0, dates: tuple = ()) -> float:
        """So many links came; those `elsewhere` were known from other sources. Returns the wait that follows."""
        self.at += after
        pages = [NewPage(number) for number in range(new)] + [NewPage(-1, published=self.at + date) for date in dates]
        known = list(range(100, 100 + elsewhere))
        self.rule.saw(SourceCrawled(self.at, 0, pages, known, stayed), len(pages) + elsewhere)
        return -float(self.rule.keys(np.array([self.at]), self.at)[0])


def after_minutes(history: History, *crawls: int) -> list[float]:
    """Waits in minutes when every crawl came on time and found so many new links."""
    waits, wait = [], 0.0
    for new in crawls:
        wait = history.crawl(wait, new)
        waits.append(wait / MINUTE)
    return waits


def test_stormcrawler_goes_halfway_to_an_hour_after_a_change_and_half_as_long_again_after_none() -> None:
    assert after_minutes(History("stormcrawler"), 9, 1, 40, 0, 0) == [1440, 750, 405, 607, 910]  # whole minutes
    assert after_minutes(History("stormcrawler"), *[0] * 20)[-1] == 20160
    assert after_minutes(History("stormcrawler"), *[1] * 40)[-1] == 60


def test_news_crawl_begins_at_half_a_day_and_comes_down_to_ninety_minutes() -> None:
    assert after_minutes(History("news-crawl"), 9, 1, 40, 0) == [720, 594, 493, 739]
    assert after_minutes(History("news-crawl"), *[0] * 30)[-1] == 129600
    waits = after_minutes(History("news-crawl"), *[1] * 60)
    assert waits[-1] < 95
    assert sum(wait > 99 for wait in waits) == 18  # within a tenth of the floor after 19 fetches


def test_a_link_known_from_elsewhere_is_a_change_too() -> None:
    history = History("stormcrawler")
    history.crawl(0.0, new=3)
    assert history.crawl(DAY, elsewhere=1, stayed=3) == 750 * MINUTE


def test_nutch_takes_a_fifth_off_or_adds_two_fifths() -> None:
    history = History("nutch")
    assert history.crawl(0.0, new=5) == 30 * DAY
    assert history.crawl(30 * DAY, new=1) == pytest.approx(24 * DAY)
    assert history.crawl(24 * DAY, new=9) == pytest.approx(19.2 * DAY)
    # Unchanged for 20 days: 19.2 · 1.4 = 26.88, and back by 0.3 · 20.
    assert history.crawl(20 * DAY) == pytest.approx(20.88 * DAY)
    # Unchanged for 50 days, longer than 26.88 · 1.4 = 37.632: that is the interval now, and back by 0.3 · 50.
    assert history.crawl(30 * DAY) == pytest.approx(35 * DAY)
    assert history.crawl(35 * DAY, new=1) == pytest.approx(40 * DAY)


def test_nutch_may_begin_elsewhere_and_stops_at_a_minute() -> None:
    history = History("nutch", first=100.0)
    assert [history.crawl(HOUR, new=1) for _ in range(4)] == pytest.approx([100, 80, 64, 60])


def test_media_cloud_steps_by_the_share_of_links_the_whole_system_knew() -> None:
    history = History("media-cloud")
    assert history.crawl(0.0, new=30) == 360 * MINUTE
    assert history.crawl(360 * MINUTE, new=8, stayed=2) == 300 * MINUTE  # a fifth known
    assert history.crawl(300 * MINUTE, new=5, stayed=5) == 300 * MINUTE  # half
    assert history.crawl(300 * MINUTE, new=1, stayed=9) == 310 * MINUTE  # nine tenths
    assert history.crawl(310 * MINUTE, elsewhere=10) == 320 * MINUTE  # all
    assert history.crawl(320 * MINUTE) == 330 * MINUTE  # nothing shown


def test_media_cloud_learns_nothing_from_polls_at_the_wrong_time() -> None:
    history = History("media-cloud")
    history.crawl(0.0, new=30)
    assert history.crawl(381 * MINUTE, new=10) == 360 * MINUTE  # late: no wonder all is new
    assert history.crawl(380 * MINUTE, new=10) == 300 * MINUTE
    assert history.crawl(279 * MINUTE, stayed=10) == 300 * MINUTE  # early: no wonder nothing is
    assert history.crawl(900 * MINUTE, stayed=10) == 310 * MINUTE


def test_media_cloud_keeps_between_ten_minutes_and_a_day() -> None:
    history = History("media-cloud")
    waits = [history.crawl(0.0 if not history.at else wait, new=10) for wait in [0.0, *[10 * MINUTE] * 12]]
    assert waits[-1] == 10 * MINUTE
    for _ in range(40):
        wait = history.crawl(DAY, stayed=10)
    assert wait == (10 + 31 * 10 + 9 * 60) * MINUTE  # ten minutes at a time in the first month, then an hour
    for _ in range(31):
        wait = history.crawl(DAY, stayed=10)
    assert wait == DAY
    assert history.crawl(DAY, new=10) == 360 * MINUTE  # at once, from far away


def test_miniflux_comes_as_often_as_entries_do() -> None:
    history = History("miniflux")
    assert history.crawl(0.0, new=50) == DAY  # of no known date
    assert history.crawl(DAY, new=4) == 6 * HOUR  # 28 a week
    assert history.crawl(6 * HOUR) == 6 * HOUR
    assert history.crawl(6 * DAY) == 6 * HOUR  # of the four, three are of this week: the mean gap is the same
    assert history.crawl(7 * DAY) == DAY
    assert history.crawl(DAY, new=1000) == 5 * MINUTE


def test_miniflux_counts_entries_of_a_week_in_whole_numbers_and_by_their_dates() -> None:
    history = History("miniflux")
    dates = (-8 * DAY, *(-5 * HOUR * number for number in range(1, 10)))
    assert history.crawl(0.0, dates=dates) == pytest.approx(7 * DAY / 34)  # 33.6 a week


def test_commafeed_comes_twice_for_every_entry_and_less_often_when_idle() -> None:
    history = History("commafeed")
    assert history.crawl(0.0, new=50) == 4 * HOUR
    assert history.crawl(DAY, new=48, stayed=2) == 15 * MINUTE
    assert history.crawl(15 * MINUTE, stayed=50) == 15 * MINUTE
    assert history.crawl(HOUR, new=100, stayed=0) == 5 * MINUTE
    assert history.crawl(DAY, stayed=2) == 5 * MINUTE
    assert history.crawl(6 * DAY + HOUR, stayed=2) == HOUR
    assert history.crawl(7 * DAY, stayed=2) == 2 * HOUR
    assert history.crawl(16 * DAY, stayed=2) == 4 * HOUR
    assert history.crawl(DAY, new=4) == HOUR  # half the gap would be three


def test_commafeed_looks_at_the_entries_that_are_shown() -> None:
    history = History("commafeed")
    history.crawl(0.0)
    history.crawl(DAY, new=4)
    assert history.crawl(2 * HOUR, new=4, stayed=0) == 15 * MINUTE


@every_peer
def test_a_step_of_the_clock_changes_no_wait(policy: str) -> None:
    straight, stepped = History(policy), History(policy)
    for history in straight, stepped:
        history.crawl(0.0, new=3)
        history.crawl(DAY, new=5, stayed=3)
        if history is stepped:
            history.rule.stepped(100 * DAY)
            history.at += 100 * DAY
    assert straight.crawl(8 * DAY, stayed=8) == pytest.approx(stepped.crawl(8 * DAY, stayed=8))


@every_peer
def test_whose_turn_it_is(policy: str) -> None:
    pages, sources, early = (
        POLICIES[policy](**{name: True} if name else {}) for name in ("", "sources_first", "early")
    )
    assert pages.pages_first and not sources.pages_first
    assert [rule.turn(5.0, 1.0, 0) for rule in (pages, sources)] == [Turn.PAGE, Turn.SOURCE]
    assert [rule.turn(5.0, -1.0, 0) for rule in (pages, sources)] == [Turn.PAGE, Turn.PAGE]
    assert [rule.turn(None, 1.0, 0) for rule in (pages, sources)] == [Turn.SOURCE, Turn.SOURCE]
    assert [rule.turn(None, -1.0, 0) for rule in (pages, sources, early)] == [Turn.NOBODY, Turn.NOBODY, Turn.SOURCE]
    assert early.turn(None, None, 0) is Turn.NOBODY


def test_a_source_is_crawled_when_its_rule_says_and_not_before(web: SimpleNamespace) -> None:
    world = web.World(["a"], [web.Link(0, page, page * 10 * MINUTE) for page in range(600)])
    scheduler = web.scheduler_of("stormcrawler", budget=0.02, policy_options={})
    scheduler.observe(world.added())
    actions = web.drive(scheduler, world, 0.0, 3 * DAY, 0.02)
    crawls = [action.start / MINUTE for action in actions if action.fetch.kind == "source"]
    assert crawls[:5] == pytest.approx([0, 1440, 1440 + 750, 2190 + 405, 2595 + 232], abs=5)
    assert len(actions) < 0.5 * 0.02 * 3 * DAY


@every_peer
def test_what_cannot_be_fetched_in_time_waits_and_the_longest_overdue_goes_first(web, policy: str) -> None:
    scheduler = web.scheduler_of(policy, budget=1.0, policy_options={})
    world = web.World(["a", "b", "c"])
    scheduler.observe(world.added())
    order = [action.fetch.id for action in web.drive(scheduler, world, 0.0, 3.0, 1.0)]
    far = 400 * DAY  # all of them are overdue
    assert [action.fetch.id for action in web.drive(scheduler, world, far, far + 3.0, 1.0)] == order


def test_found_pages_come_first_in_first_out(web: SimpleNamespace) -> None:
    links = [web.Link(0, page, 0.0) for page in range(3)] + [web.Link(0, page, 100.0) for page in (7, 5)]
    world = web.World(["a"], links)
    scheduler = web.scheduler_of("commafeed", budget=0.01, policy_options={})
    scheduler.observe(world.added())
    web.drive(scheduler, world, 0.0, DAY, 0.01)
    assert list(world.fetched) == [0, 1, 2, 7, 5]
