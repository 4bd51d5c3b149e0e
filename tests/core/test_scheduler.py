"""The door between deciding and fetching: failures, probes, politeness, pages of many sources."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from mayfly.core.events import ClicksCounted, FetchFailed, NewPage, PageFetched, SourceCrawled, SourcesAdded
from mayfly.core.model import DAY, HOUR, Fetch, Wait
from mayfly.core.policies import PAPER_POLICIES, POLICIES
from mayfly.core.scheduler import STARVED

every_policy = pytest.mark.parametrize("policy", POLICIES)


def asked(scheduler: SimpleNamespace, times: np.ndarray) -> list[tuple[float, Fetch]]:
    """All fetches the scheduler wants at these times; crawls find nothing, pages are kept."""
    made = []
    for now in times.tolist():
        fetch = scheduler.next(now)
        if isinstance(fetch, Fetch):
            made.append((now, fetch))
            scheduler.observe(SourceCrawled(now, fetch.id) if fetch.kind == "source" else PageFetched(now, fetch.id))
    return made


# Failures


@every_policy
@pytest.mark.parametrize("delay", [0.0, 30.0])
def test_a_source_that_failed_is_crawled_again_after_its_retry_time_and_not_before(
    web: SimpleNamespace, policy: str, delay: float
) -> None:
    scheduler = web.scheduler_of(policy, delay=delay)
    scheduler.observe(SourcesAdded(0.0, ["a", "b"], ["a", "b"]))
    first = scheduler.next(0.0)
    scheduler.observe(FetchFailed(1.0, first, retry_at=700.0))
    made = asked(scheduler, np.arange(10.0, 5000.0, 10.0))
    times = [now for now, fetch in made if fetch == first]
    assert Fetch("source", 1 - first.id) in [fetch for now, fetch in made if now < 700]  # the other is not held up
    assert min(times) >= 700.0
    assert min(times) <= 760.0 + delay


@every_policy
def test_a_lone_source_that_failed_says_when_to_ask_again(web: SimpleNamespace, policy: str) -> None:
    scheduler = web.scheduler_of(policy)
    scheduler.observe(SourcesAdded(0.0, ["a"], ["a"]))
    fetch = scheduler.next(0.0)
    scheduler.observe(FetchFailed(1.0, fetch, retry_at=700.0))
    answer = scheduler.next(2.0)
    assert isinstance(answer, Wait)
    assert answer.until <= 700.0
    assert scheduler.next(700.0) == fetch


@every_policy
def test_a_source_that_failed_without_a_retry_time_is_wanted_at_once(web: SimpleNamespace, policy: str) -> None:
    scheduler = web.scheduler_of(policy)
    scheduler.observe(SourcesAdded(0.0, ["a"], ["a"]))
    fetch = scheduler.next(0.0)
    scheduler.observe(FetchFailed(1.0, fetch))
    assert scheduler.next(2.0) == fetch


@every_policy
@pytest.mark.parametrize("delay", [0.0, 30.0])
def test_a_page_that_failed_is_offered_again_where_a_retry_time_is_given(
    web: SimpleNamespace, policy: str, delay: float
) -> None:
    made = fetches_of_a_page_that_failed(web, policy, delay, retry_at=700.0)
    assert len(made) == 1


@every_policy
@pytest.mark.parametrize("delay", [0.0, 30.0])
def test_a_page_that_failed_is_left_alone_until_its_retry_time(web: SimpleNamespace, policy: str, delay: float) -> None:
    made = fetches_of_a_page_that_failed(web, policy, delay, retry_at=700.0)
    assert min(made) >= 700.0


@every_policy
@pytest.mark.parametrize("delay", [0.0, 30.0])
def test_a_page_that_failed_for_good_is_given_up(web: SimpleNamespace, policy: str, delay: float) -> None:
    assert fetches_of_a_page_that_failed(web, policy, delay, retry_at=None) == []


def fetches_of_a_page_that_failed(
    web: SimpleNamespace, policy: str, delay: float, retry_at: float | None
) -> list[float]:
    """When page 7, which failed once, was fetched after that. There is another page, so that queues do not run dry."""
    scheduler = web.scheduler_of(policy, delay=delay)
    scheduler.observe(SourcesAdded(0.0, ["a"], ["a"]))
    scheduler.next(0.0)
    scheduler.observe(SourceCrawled(0.0, 0, [NewPage(7, published=0.0)]))
    now, page = 0.0, Fetch("page", 7)
    while (fetch := scheduler.next(now)) != page:
        if isinstance(fetch, Fetch):
            scheduler.observe(SourceCrawled(now, fetch.id))
        now += 10.0
        assert now < 400.0
    scheduler.observe(FetchFailed(now, page, retry_at))
    return [at for at, fetch in asked(scheduler, np.arange(now + 10.0, 5000.0, 10.0)) if fetch == page]


def test_a_page_put_back_is_offered_at_once_though_nothing_else_happens(web: SimpleNamespace) -> None:
    """It must not have to wait for the next replanning to be seen again."""
    scheduler = web.scheduler_of("echo-newpages", replan=100_000.0)
    scheduler.observe(SourcesAdded(0.0, ["a"], ["a"]))
    scheduler.next(0.0)
    scheduler.observe(SourceCrawled(0.0, 0, [NewPage(7)]))
    page = scheduler.next(10.0)
    assert isinstance(scheduler.next(11.0), Fetch)  # the source: the queue of pages was looked at while empty
    scheduler.observe(FetchFailed(12.0, page, retry_at=13.0))
    assert scheduler.next(14.0) == page


# Probes


@pytest.mark.parametrize("policy", [name for name in POLICIES if name not in PAPER_POLICIES])
def test_the_probe_share_reaches_every_source_that_starves(web: SimpleNamespace, policy: str) -> None:
    """With a share of 0.5 every second fetch goes to a source not seen for a day, while there is one."""
    scheduler = web.scheduler_of(policy, budget=1e-3, probe=0.5)
    scheduler.observe(SourcesAdded(0.0, ["a"] * 300, ["a"] * 300))
    seen = Counter(fetch.id for _, fetch in asked(scheduler, np.arange(0.0, 7 * DAY, 1000.0)))
    assert len(seen) == 300


def starving(web: SimpleNamespace, policy: str, **options: object) -> tuple[list[float], int]:
    """Times of the crawls of a silent source beside loved ones that use the whole budget; and how many fetches."""
    days = options.pop("days", 10)
    world, page = web.World(["silent", "loved", "loved"]), 0
    for source in 1, 2:
        for at in np.arange(0.0, days * DAY, DAY / 120).tolist():
            world.links.append(web.Link(source, page, at, at + DAY))
            world.clicks += [(page, at + HOUR * (1 + part), 1.0) for part in range(10)]
            page += 1
    world.links.sort(key=lambda link: link.added)
    world.clicks.sort(key=lambda click: click[1])
    scheduler = web.scheduler_of(policy, budget=0.002, **options)
    scheduler.observe(world.added())
    actions = web.drive(scheduler, world, 0.0, days * DAY, 0.002)
    return [action.start for action in actions if action.fetch == Fetch("source", 0)], len(actions)


def test_without_probes_a_silent_source_may_starve_and_with_them_not(web: SimpleNamespace) -> None:
    alone, fetches = starving(web, "index", probe=0.0)
    probed, _ = starving(web, "index")
    last = lambda times: [at for at in times if at > 5 * DAY]  # noqa: E731
    assert len(last(probed)) > len(last(alone))
    assert max(np.diff([at for at in probed if at > 3 * DAY])) < STARVED + 0.3 * DAY
    assert len(last(probed)) - len(last(alone)) <= 0.02 * fetches


@pytest.mark.parametrize("policy", PAPER_POLICIES)
def test_the_papers_six_make_no_probes(web: SimpleNamespace, policy: str) -> None:
    """They decide as they would with a share of zero, and not as they would with one."""
    own = starving(web, policy, days=7)
    assert own == starving(web, policy, days=7, probe=0.0)
    if policy.startswith("echo-"):  # to the others silence is no reason to stay away
        assert len(starving(web, policy, days=7, probe=0.5)[0]) > len(own[0])


@pytest.mark.parametrize("plenty", [1.5, 2.0, 3.0])
def test_a_source_silent_for_two_weeks_is_back_at_its_interval_within_a_day(
    web: SimpleNamespace, plenty: float
) -> None:
    """It then shows 20 loved links a day, as a twin does that was never silent (DESIGN §3)."""
    ratios = []
    for seed in range(3):  # how much the first twenty pages are clicked is chance, and so is how soon it is believed
        crawls, found_at = awakened(web, plenty, seed)
        sleeper, twin = (np.array(crawls[source]) for source in (1, 0))
        asleep, awake = (np.sum((times > 7 * DAY) & (times < 14 * DAY)) for times in (sleeper, twin))
        assert asleep < 0.2 * awake  # else nothing is shown
        second_day = [times[(times >= found_at + DAY) & (times <= found_at + 2 * DAY)] for times in (sleeper, twin)]
        gaps = [float(np.mean(np.diff(times))) for times in second_day]
        ratios.append(gaps[0] / gaps[1])
    assert np.mean(ratios) <= 1.5


def awakened(web: SimpleNamespace, plenty: float, seed: int) -> tuple[dict[int, list[float]], float]:
    """Crawls of six loved sources, the second of which is silent for two weeks; and the crawl that found it awake.

    The budget is `plenty` times the fetches that all new pages need.
    """
    rng = np.random.default_rng(seed)
    silent, end = 14 * DAY, 18 * DAY
    world, page = web.World([f"host{number}" for number in range(6)]), 0
    for source in range(6):
        begin = silent if source == 1 else 0.0
        for at in np.sort(rng.uniform(begin, end, int(20 * (end - begin) / DAY))).tolist():
            world.links.append(web.Link(source, page, at, at + 2 * DAY))
            for age in rng.exponential(12 * HOUR, rng.poisson(6.0)).tolist():
                world.clicks.append((page, at + age, 1.0))
            page += 1
    world.links.sort(key=lambda link: link.added)
    world.clicks.sort(key=lambda click: click[1])
    budget = plenty * 6 * 20 / DAY
    scheduler = web.scheduler_of("index", budget=budget)
    scheduler.observe(world.added())
    crawls: dict[int, list[float]] = {number: [] for number in range(6)}
    for action in web.drive(scheduler, world, 0.0, end, budget):
        if action.fetch.kind == "source":
            crawls[action.fetch.id].append(action.start)
    first = next(link.added for link in world.links if link.source == 1)
    return crawls, next(at for at in crawls[1] if at >= first)


# Sites


@every_policy
def test_a_site_with_thousands_of_waiting_pages_does_not_starve_the_others(web: SimpleNamespace, policy: str) -> None:
    """Its queue is its own: others get their fetches in the first slots they are free."""
    scheduler = web.scheduler_of(policy, budget=1.0, delay=10.0)
    sites = ["huge"] + [f"small{number}" for number in range(4)]
    scheduler.observe(SourcesAdded(0.0, sites, sites))
    scheduler.next(0.0)
    scheduler.observe(SourceCrawled(0.0, 0, [NewPage(page, published=0.0) for page in range(5000)]))
    for source in range(1, 5):
        scheduler.observe(SourceCrawled(0.5, source, [NewPage(10_000 * source + page) for page in range(20)]))
    for source in range(5):
        scheduler.observe(SourceCrawled(0.6, source))  # the seed rounds are over
    asked_of: Counter[str] = Counter()
    fetched: Counter[str] = Counter()
    for _, fetch in asked(scheduler, np.arange(1.0, 301.0, 1.0)):
        site = sites[fetch.id if fetch.kind == "source" else fetch.id // 10_000]
        asked_of[site] += 1
        fetched[site] += fetch.kind == "page"
    small = [asked_of[f"small{number}"] for number in range(4)]
    assert min(small) >= 20  # of the thirty slots in which it is free; some policies want no more than its 20 pages
    assert 25 <= asked_of["huge"] <= 31
    assert sum(fetched.values()) > 0


def test_pages_of_a_locked_site_are_passed_over_for_those_of_a_free_one(web: SimpleNamespace) -> None:
    scheduler = web.scheduler_of("echo-newpages", budget=1.0, delay=100.0)
    scheduler.observe(SourcesAdded(0.0, ["a"], ["a"]))
    assert scheduler.next(0.0) == Fetch("source", 0)
    scheduler.observe(SourceCrawled(1.0, 0, [NewPage(1), NewPage(2, site="b"), NewPage(3, site="b")]))
    first = scheduler.next(2.0)
    assert first in (Fetch("page", 2), Fetch("page", 3))
    assert scheduler.next(3.0) == Wait(101.0)  # a rests, b is being asked
    scheduler.observe(PageFetched(50.0, first.id))
    assert scheduler.next(51.0) == Wait(101.0)
    assert scheduler.next(101.0) == Fetch("page", 1)
    assert scheduler.next(149.0) == Wait(150.0)
    assert scheduler.next(150.0).kind == "page"


def test_without_a_delay_sites_do_not_matter(web: SimpleNamespace) -> None:
    scheduler = web.scheduler_of("echo-newpages", budget=1.0)
    scheduler.observe(SourcesAdded(0.0, ["a"], ["a"]))
    scheduler.next(0.0)
    scheduler.observe(SourceCrawled(0.0, 0, [NewPage(1), NewPage(2)]))
    assert {scheduler.next(1.0), scheduler.next(1.0)} == {Fetch("page", 1), Fetch("page", 2)}


# What is learned


def test_a_page_of_two_sources_is_known_once_and_its_clicks_are_both_sources(web: SimpleNamespace) -> None:
    scheduler = web.scheduler_of("index", budget=1.0, estimator_options={"hope": 0.0}, replan=10.0)
    scheduler.observe(SourcesAdded(0.0, ["a", "a", "a"], ["a", "b", "c"]))
    scheduler.next(0.0)
    for source in range(3):
        scheduler.observe(SourceCrawled(1.0, source))
    scheduler.observe(SourceCrawled(10.0, 0, [NewPage(1)]))
    scheduler.observe(SourceCrawled(10.0, 1, [], [1]))
    scheduler.observe(SourceCrawled(10.0, 2, [NewPage(2)]))
    assert scheduler.known_pages == 2
    for page in 1, 2:
        scheduler.observe(PageFetched(20.0, page))
    clicks = np.full(40, 1), np.full(40, 1000.0), np.ones(40)
    scheduler.observe(ClicksCounted(HOUR, *clicks))
    scheduler.next(HOUR)
    profit = scheduler.beliefs.page_profit
    assert profit[0] == profit[1] > profit[2]


def test_a_page_told_as_new_twice_waits_once(web: SimpleNamespace) -> None:
    scheduler = web.scheduler_of("bfs")
    scheduler.observe(SourcesAdded(0.0, ["a", "b"], ["a", "b"]))
    scheduler.next(0.0)
    scheduler.observe(SourceCrawled(0.0, 0, [NewPage(1)]))
    scheduler.observe(SourceCrawled(0.0, 1, [NewPage(1)]))
    assert scheduler.known_pages == 1
    pages = [fetch for _, fetch in asked(scheduler, np.arange(1.0, 20.0)) if fetch.kind == "page"]
    assert pages == [Fetch("page", 1)]


def test_clicks_of_unknown_pages_are_passed_over(web: SimpleNamespace) -> None:
    scheduler = web.scheduler_of("index")
    scheduler.observe(SourcesAdded(0.0, ["a"], ["a"]))
    scheduler.next(0.0)
    scheduler.observe(ClicksCounted(10.0, np.array([12345]), np.array([5.0]), np.array([3.0])))
    assert np.isfinite(scheduler.beliefs.page_profit).all()


def test_pages_found_a_month_ago_are_forgotten_and_no_longer_offered(web: SimpleNamespace) -> None:
    scheduler = web.scheduler_of("fixed-quota")
    scheduler.observe(SourcesAdded(0.0, ["a"], ["a"]))
    scheduler.next(0.0)
    scheduler.observe(SourceCrawled(0.0, 0, [NewPage(1), NewPage(2), NewPage(3)]))
    scheduler.observe(SourceCrawled(10 * DAY, 0, [NewPage(4)]))
    scheduler.next(29 * DAY)
    assert not scheduler.dropped
    fetched = {
        fetch.id for _, fetch in asked(scheduler, np.array([31 * DAY + k for k in range(9)])) if fetch.kind == "page"
    }
    assert fetched <= {4}
    assert scheduler.dropped >= {1, 2, 3} - {4}
    assert scheduler.known_pages == 0
