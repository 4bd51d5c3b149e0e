"""What only happens to a live crawler: sources come and go, sites ask for patience, the clock is set."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayfly.core.agenda import asked
from mayfly.core.demand import GRID
from mayfly.core.events import (
    ClicksCounted,
    ClockStepped,
    FetchFailed,
    NewPage,
    PageFetched,
    PageRejected,
    PagesHanded,
    SitePaced,
    SourceCrawled,
    SourcesAdded,
    SourcesPinned,
    SourcesRetired,
)
from mayfly.core.intervals import exact_plan
from mayfly.core.model import DAY, HOUR, Fetch, Wait, beliefs
from mayfly.core.policies import POLICIES
from mayfly.core.polite import polite_plan
from mayfly.core.politeness import Bucket, Gate


def started(web, policy, sources=3, **options):
    scheduler = web.scheduler_of(policy, delay=1.0, budget=1.0, **options)
    scheduler.observe(SourcesAdded(0.0, ["h"] * sources, [f"s{number}" for number in range(sources)]))
    return scheduler


def crawled(scheduler, now, seconds=100):
    """Crawl whatever is asked for, every second, and say what it was."""
    asked = []
    for _ in range(seconds):
        fetch = scheduler.next(now)
        if isinstance(fetch, Fetch):
            asked.append((now, fetch.id))
            scheduler.observe(SourceCrawled(now, fetch.id))
        now += 1.0
    return asked


@pytest.mark.parametrize("policy", POLICIES)
def test_a_retired_source_is_left_alone_until_it_is_restored(web, policy):
    scheduler = started(web, policy)
    assert {number for _, number in crawled(scheduler, 0.0)} == {0, 1, 2}
    scheduler.observe(SourcesRetired(100.0, [1]))
    assert 1 not in {number for _, number in crawled(scheduler, 100.0, 4000)}
    scheduler.observe(SourcesRetired(4200.0, [1], retired=False))
    assert 1 in {number for _, number in crawled(scheduler, 4200.0, 4000)}


def test_pages_that_another_crawler_found_wait_and_their_source_was_not_looked_at(web):
    scheduler = started(web, "index")
    crawled(scheduler, 0.0, 10)
    while not isinstance(fetch := scheduler.next(4000.0), Fetch):
        pass
    before = scheduler.outlook(4000.0).seen.tolist()
    scheduler.observe(PagesHanded(4000.0, fetch.id, [NewPage(7, "elsewhere", 3990.0), NewPage(8, "elsewhere")]))
    assert scheduler.outlook(4000.0).seen.tolist() == before
    assert sorted(scheduler.waiting()) == [7, 8]
    assert scheduler.next(4000.0) != fetch  # it is still under way
    scheduler.observe(PagesHanded(4001.0, 1, [NewPage(7, "elsewhere")]))
    assert len(scheduler.waiting()) == 1  # one is under way, and known


@pytest.mark.parametrize("policy", POLICIES)
def test_pages_that_were_fetched_in_an_earlier_run_wait_no_more_and_take_no_room(web, policy):
    scheduler, many = started(web, policy), 5000
    for page in range(many):
        scheduler.observe(SourceCrawled(10.0 * page, page % 3, [NewPage(page)]))
        scheduler.observe((PageFetched, PageRejected)[page % 2](10.0 * page + 5.0, page))
        if page % 1000 == 999:
            scheduler.forget(10.0 * page)
    assert scheduler.waiting() == []
    assert scheduler._frontier._rows < many / 2


def test_a_page_that_is_said_to_be_fetched_twice_is_learned_from_once(web):
    evidence = []
    for times in (1, 3):
        scheduler = started(web, "index")
        scheduler.observe(SourceCrawled(10.0, 0, [NewPage(7)]))
        scheduler.observe(SourceCrawled(20.0, 0, [NewPage(8)]))
        for _ in range(times):
            scheduler.observe(PageFetched(30.0, 7))
        for at in (HOUR, DAY):
            scheduler.observe(ClicksCounted(at, np.array([7]), np.array([at - 10.0]), np.ones(1)))
        evidence.append(scheduler.evidence())
    assert evidence[0] == evidence[1]


@pytest.mark.parametrize("policy", ["index", "bfs", "echo-greedy"])
def test_at_the_lowest_price_a_shard_asks_for_what_the_sites_take_that_have_something(web, policy):
    scheduler = started(web, policy, replan=1e9)
    assert scheduler.agenda(0.0, 60.0) is None  # nothing was planned yet

    def most() -> float:
        return asked(scheduler.agenda(200.0, 2 * DAY), GRID)[0]

    crawled(scheduler, 0.0, 100)
    scheduler.observe(SitePaced(100.0, "s2", delay=4.0))
    assert most() == pytest.approx(0.9 * 2.25)  # a request takes time, too
    scheduler.observe(SourcesRetired(100.0, [1]))
    assert most() == pytest.approx(0.9 * 1.25)
    scheduler.observe(SourceCrawled(101.0, 0, [NewPage(7, "far")]))
    scheduler.observe(SitePaced(101.0, "far", delay=2.0))
    assert most() == pytest.approx(0.9 * 1.75)  # a page waits there


def test_an_agenda_has_the_pages_that_wait_and_the_sources_whose_turn_comes_with_what_they_bring(web):
    scheduler = started(web, "index", sources=2, replan=10.0)
    for now in (0.0, 1000.0, 2000.0):
        for source in (0, 1):
            new = [NewPage(int(now) + page) for page in range(10)] if source and now else []
            scheduler.observe(SourceCrawled(now, source, new))
    assert scheduler.next(2001.0).kind == "page"
    soon, later = (scheduler.agenda(2010.0, ahead) for ahead in (1.0, 990.0))
    assert len(later.worth) == 2 + 19 and later.site.tolist() == [0] + [1] * 20
    assert later.rate[2:] == pytest.approx(1 / 990) and soon.rate[2:] == pytest.approx(1.0)
    assert 990 * later.rate[1] == pytest.approx(1 + 10, rel=0.3)  # as many pages as it showed in such a time
    assert 990 * later.rate[0] < 3 and (later.worth[:2] > soon.worth[:2]).all()
    assert soon.rate[1] == pytest.approx((1 + 10 * 12.5 / 1000) / 2.5, rel=0.1)  # it has waited for ten seconds


def test_who_can_wait_is_told_of_a_site_that_is_soon_free_and_has_something_better(web):
    """Pages of `s1` are loved, some of `s0` are there: a token that is kept for some moments is spent better."""
    scheduler = started(web, "index", sources=2, probe=0.0, replan=1.0)
    loved = {11, 12, 13}
    scheduler.observe(SourceCrawled(0.0, 0, [NewPage(page) for page in range(1, 9)]))
    scheduler.observe(SourceCrawled(0.0, 1, [NewPage(page) for page in loved]))
    now = 1.0
    while loved == {11, 12, 13}:
        fetch = scheduler.next(now)
        if isinstance(fetch, Fetch):
            scheduler.observe(PageFetched(now, fetch.id))
            loved -= {fetch.id}
        now += 1.0
    scheduler.observe(ClicksCounted(now, np.array([fetch.id]), np.array([now - 0.5]), np.array([100.0])))
    first = scheduler.next(now + 10.0, patience=0.9)  # both sites are free
    assert first.kind == "page" and first.id in loved
    scheduler.observe(PageFetched(now + 11.0, first.id))  # now its site rests until 12
    assert scheduler.next(now + 11.5, patience=0.6) == Wait(now + 12.0, better=True)
    assert scheduler.next(now + 11.5, patience=0.4).id not in loved
    assert scheduler.next(now + 12.0, patience=0.6) == Fetch("page", (loved - {first.id}).pop())


@pytest.mark.parametrize("policy", POLICIES)
def test_patience_costs_no_page(web, policy):
    """Whatever the policy: nobody waits longer than he can, and what is fetched is the same in the end."""
    many = np.random.default_rng(1).integers(1, 9, 6).tolist()
    left = []
    for patience in (0.0, 0.4):
        scheduler, now = started(web, policy, sources=6), 0.0
        pages = {100 * source + page for source in range(6) for page in range(many[source])}
        for source in range(6):
            scheduler.observe(SourceCrawled(0.0, source, [NewPage(page) for page in pages if page // 100 == source]))
        for _ in range(2000):
            fetch = scheduler.next(now, patience)
            if isinstance(fetch, Wait):
                assert fetch.until > now and (not fetch.better or fetch.until <= now + patience)
                now = min(fetch.until, now + 10.0)
                continue
            now += 0.1
            if fetch.kind == "page":
                pages.remove(fetch.id)
            scheduler.observe((SourceCrawled if fetch.kind == "source" else PageFetched)(now, fetch.id))
        left.append(len(pages))
    assert left[1] <= left[0]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_pinned_source_is_crawled_as_often_as_promised(web, policy):
    scheduler = started(web, policy, sources=20)
    crawled(scheduler, 0.0, 60)
    scheduler.observe(SourcesPinned(100.0, [7], 30.0))
    times = [at for at, number in crawled(scheduler, 100.0, 400) if number == 7]
    assert len(times) >= 12
    assert max(np.diff(times)) <= 33.0


def test_a_pinned_source_says_nothing_of_the_price(web):
    scheduler = started(web, "index", sources=20, replan=50.0)
    crawled(scheduler, 0.0, 60)
    scheduler.observe(SourcesPinned(60.0, [7], 5.0))
    crawled(scheduler, 60.0, 200)
    assert scheduler.price < 1e6
    scheduler.observe(SourceCrawled(261.0, 3, [NewPage(1)]))
    asked = [scheduler.next(at) for at in np.arange(320.0, 330.0)]  # after a new plan, which values what waits
    assert Fetch("page", 1) in asked


def test_a_page_that_failed_in_an_earlier_run_is_still_of_its_own_site(web):
    scheduler = started(web, "bfs")
    crawled(scheduler, 0.0, 10)
    scheduler.observe(SourceCrawled(11.0, 2, [NewPage(1)]))
    scheduler.observe(FetchFailed(12.0, Fetch("page", 1), 20.0))  # told anew, for it was never given out here
    scheduler.observe(SitePaced(13.0, "s2", rests_until=500.0))
    asked = [scheduler.next(at) for at in np.arange(20.0, 60.0)]
    assert Fetch("page", 1) not in asked


def test_a_site_may_ask_for_a_longer_pause_and_for_rest(web):
    scheduler = started(web, "bfs")
    scheduler.observe(SitePaced(0.0, "s0", delay=20.0))
    times = [at for at, number in crawled(scheduler, 0.0, 200) if number == 0]
    assert min(np.diff(times)) >= 20.0
    scheduler.observe(SitePaced(200.0, "s1", rests_until=300.0))
    asked = crawled(scheduler, 200.0, 150)
    assert not [at for at, number in asked if number == 1 and at < 300.0]
    assert [at for at, number in asked if number == 1]


@given(st.lists(st.tuples(st.floats(0, 50), st.booleans(), st.floats(0, 60)), min_size=1, max_size=30))
def test_a_resting_site_is_never_freed_early(steps):
    gate = Gate(5.0)
    gate.grow(1)
    now, not_before = 0.0, 0.0
    for gap, rest, long in steps:
        now += gap
        gate.freed(now)
        if gate.free[0]:
            assert now >= not_before
            gate.lock(0)
            gate.release(0, now)
            not_before = now + 5.0
        if rest:
            gate.rest(0, now + long)
            not_before = max(not_before, now + long)


@pytest.mark.parametrize("by", [-HOUR, HOUR])
def test_a_step_of_the_clock_makes_nothing_due_and_teaches_nothing(web, by):
    plain, stepped = started(web, "index"), started(web, "index")
    for scheduler in (plain, stepped):
        for number in range(3):
            scheduler.observe(SourceCrawled(0.0, number))
            scheduler.observe(SourceCrawled(1000.0, number, [NewPage(number)]))
        scheduler.next(1001.0)
    stepped.observe(ClockStepped(1100.0 + by, by))
    for scheduler, shift in ((plain, 0.0), (stepped, by)):
        for number in range(3):
            scheduler.observe(SourceCrawled(1200.0 + shift, number))
        scheduler.next(4000.0 + shift)
    assert stepped.beliefs.link_rate == pytest.approx(plain.beliefs.link_rate, rel=0.05)
    assert stepped.beliefs.link_rate.sum() > 0


@pytest.mark.parametrize("pushed", [True, False])
def test_after_a_step_back_profits_are_none_less_than_nothing(web, pushed):
    scheduler, by = started(web, "index"), -20 * DAY
    scheduler.observe(SourceCrawled(0.0, 0))
    scheduler.observe(SourceCrawled(1000.0, 0, [NewPage(0)]))
    scheduler.observe(PageFetched(1000.0, 0))
    if pushed:
        scheduler.observe(told_of_a_click(2000.0))
    scheduler.observe(ClockStepped(3000.0 + by, by))
    scheduler.observe(told_of_a_click(4000.0 + by))
    scheduler.next(5000.0 + by)
    assert np.all(scheduler.beliefs.page_profit > 0)


def told_of_a_click(at):
    return ClicksCounted(at, np.array([0]), np.array([at - 1.0]), np.array([1.0]))


def test_a_rejected_page_is_taken_back(web):
    honest, lying = started(web, "index"), started(web, "index")
    for scheduler in (honest, lying):
        scheduler.observe(SourceCrawled(0.0, 0))
        scheduler.observe(SourceCrawled(DAY, 0, [NewPage(number) for number in range(20)]))
    for number in range(20):
        lying.observe(PageRejected(DAY + 1, number))
    honest.next(DAY + 10)
    lying.next(DAY + 10)
    assert lying.beliefs.link_rate[0] < honest.beliefs.link_rate[0] / 5
    assert set(range(20)) <= set(honest.waiting())


def test_dates_of_a_first_crawl_tell_of_the_rate(web):
    scheduler = started(web, "index")
    scheduler.observe(SourceCrawled(10 * DAY, 0, dated=200, dated_since=0.0))
    for number in (1, 2):
        scheduler.observe(SourceCrawled(10 * DAY, number))
    scheduler.next(10 * DAY + 1)
    assert scheduler.beliefs.link_rate[0] * DAY == pytest.approx(20, rel=0.5)


def test_a_waiting_page_that_failed_elsewhere_is_not_asked_for_before_its_time(web):
    scheduler = started(web, "index", sources=1)
    scheduler.observe(SourceCrawled(0.0, 0, [NewPage(5, "s0")]))
    scheduler.observe(FetchFailed(0.0, Fetch("page", 5), retry_at=500.0))
    assert 5 not in scheduler.waiting()
    now, pages = 1.0, []
    while now < 600.0:
        fetch = scheduler.next(now)
        if isinstance(fetch, Wait):
            now += 1.0
            continue
        if fetch.kind == "page":
            pages.append((now, fetch.id))
            scheduler.observe(FetchFailed(now, fetch))
        else:
            scheduler.observe(SourceCrawled(now, fetch.id))
        now += 1.0
    assert [page for _, page in pages] == [5]
    assert pages[0][0] >= 500.0


@given(
    st.lists(st.tuples(st.floats(1e-6, 1e-2), st.floats(0.01, 100), st.floats(1e-6, 1e-3)), min_size=1, max_size=12),
    st.floats(0.01, 5),
    st.floats(0.001, 1),
)
def test_the_polite_plan_keeps_all_limits_and_wastes_nothing(rows, budget, most):
    rate, profit, decay = (np.array(column) for column in zip(*rows, strict=True))
    believed = beliefs(rate, profit, decay)
    site = np.arange(len(rows)) % 3
    polite = polite_plan(believed, budget, site, np.full(3, most))
    plan = polite.plan
    asked = np.bincount(site, plan.taken * (rate + 1 / plan.interval), 3)
    assert asked.max() <= most * (1 + 1e-6)
    assert plan.spend <= budget * (1 + 1e-6)
    free = exact_plan(believed, budget)
    assert plan.quality <= free.quality * (1 + 1e-6)
    if not polite.limited.any():
        assert plan.quality == pytest.approx(free.quality, rel=1e-6)


def test_what_a_full_site_cannot_take_goes_to_the_others():
    believed = beliefs(np.full(4, 1e-3), np.array([100.0, 100.0, 1.0, 1.0]), np.full(4, 1e-4))
    site = np.array([0, 0, 1, 1])
    free, polite = exact_plan(believed, 0.1), polite_plan(believed, 0.1, site, np.array([0.01, np.inf]))
    assert polite.limited.tolist() == [True, True, False, False]
    assert polite.plan.price < free.price
    assert np.all(polite.plan.interval[2:] < free.interval[2:])
    assert polite.plan.spend == pytest.approx(0.1, rel=1e-6)


@given(st.floats(0.05, 300), st.lists(st.floats(0, 2), min_size=1, max_size=200))
def test_the_bucket_never_gives_more_than_the_promise(rate, gaps):
    bucket, now, taken = Bucket(rate, 0.0), 0.0, []
    for gap in gaps:
        now += gap
        while len(taken) < 2000 and bucket.take(now):
            taken.append(now)
    for first, at in enumerate(taken):
        within = np.searchsorted(taken, at + 60.0, side="left") - first
        assert within <= 1.02 * 60 * rate + 1
    assert bucket.next_token(now) >= now
