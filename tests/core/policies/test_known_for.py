"""What each policy is known for."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace

import numpy as np
import pytest

from mayfly.core.events import NewPage, SourceCrawled, SourcesAdded
from mayfly.core.model import DAY, HOUR, Fetch, Wait

BUDGET = 0.02
END = 20 * HOUR


def crawls_of(actions: list) -> list[int]:
    return [action.fetch.id for action in actions if action.fetch.kind == "source"]


def test_bfs_goes_round_in_one_order(web: SimpleNamespace) -> None:
    world = web.random_world(seed=7)
    scheduler = web.scheduler_of("bfs")
    scheduler.observe(world.added())
    crawls = crawls_of(web.drive(scheduler, world, 0.0, END, BUDGET))
    assert len(crawls) > 60
    assert sorted(crawls[:6]) == list(range(6))
    assert all(crawls[at] == crawls[at % 6] for at in range(len(crawls)))


def test_bfs_fetches_all_new_pages_before_the_next_source(web: SimpleNamespace) -> None:
    world = web.World(["a", "b"], [web.Link(source, 10 * source + page, 0.0) for source in (0, 1) for page in range(5)])
    scheduler = web.scheduler_of("bfs")
    scheduler.observe(world.added())
    kinds = [action.fetch.kind for action in web.drive(scheduler, world, 0.0, 700.0, BUDGET)]
    assert kinds[:12] == (["source"] + ["page"] * 5) * 2


@pytest.mark.parametrize("policy", ["bfs", "fixed-quota", "frequency", "echo-greedy", "echo-schedule", "echo-newpages"])
def test_the_papers_policies_fetch_the_newest_page_first(web: SimpleNamespace, policy: str) -> None:
    scheduler = web.scheduler_of(policy)
    scheduler.observe(SourcesAdded(0.0, ["a"], ["a"]))
    for now, page in (0.0, 1), (10.0, 2), (20.0, 3):
        scheduler.observe(SourceCrawled(now, 0, [NewPage(page)]))
    pages = []
    for now in range(30, 40):
        fetch = scheduler.next(float(now))
        if isinstance(fetch, Fetch) and fetch.kind == "page":
            pages.append(fetch.id)
    assert pages == [3, 2, 1]


@pytest.mark.parametrize("policy", ["bfs", "echo-greedy", "echo-newpages"])
def test_pages_go_before_any_source(web: SimpleNamespace, policy: str) -> None:
    world = web.random_world(seed=8)
    scheduler = web.scheduler_of(policy)
    scheduler.observe(world.added())
    waiting: list[int] = []
    actions = web.drive(scheduler, world, 0.0, END, BUDGET, before=lambda now: waiting.append(scheduler.known_pages))
    for known, action in zip(waiting, actions, strict=True):
        assert (action.fetch.kind == "page") == (known > 0)


def test_fixed_quota_takes_turns_while_there_are_both(web: SimpleNamespace) -> None:
    world = web.random_world(seed=8, sources=8)
    scheduler = web.scheduler_of("fixed-quota", budget=0.01)
    scheduler.observe(world.added())
    waiting: list[int] = []
    actions = web.drive(scheduler, world, 0.0, END, 0.01, before=lambda now: waiting.append(scheduler.known_pages))
    assert actions[0].fetch.kind == "source"  # odd slots are the sources'
    assert sum(known > 0 for known in waiting) > 100
    for slot, (known, action) in enumerate(zip(waiting, actions, strict=True)):
        assert action.fetch.kind == ("source" if slot % 2 == 0 or known == 0 else "page")


def test_fixed_quota_may_be_another_share(web: SimpleNamespace) -> None:
    world = web.World(["a"], [web.Link(0, page, 0.0) for page in range(300)])
    scheduler = web.scheduler_of("fixed-quota", budget=0.01, policy_options={"quota": 0.25})
    scheduler.observe(world.added())
    actions = web.drive(scheduler, world, 0.0, 20_000.0, 0.01)
    assert abs(len(crawls_of(actions)) - 50) <= 2


def test_echo_schedule_keeps_sources_to_their_intervals_and_gives_the_rest_to_pages(web: SimpleNamespace) -> None:
    """A known page never waits while no source is due."""
    world = web.random_world(seed=9)
    scheduler = web.scheduler_of("echo-schedule", budget=0.01)
    scheduler.observe(world.added())
    lags: list[tuple[float, int]] = []

    def look(now: float) -> None:
        sources = [ranked.key for ranked in scheduler.ranking(now, 1000) if ranked.fetch.kind == "source"]
        lags.append((max(sources, default=-np.inf), scheduler.known_pages))

    actions = web.drive(scheduler, world, 0.0, END, 0.01, before=look)
    pairs = [(lag, known, action) for (lag, known), action in zip(lags, actions, strict=True) if known]
    assert len({action.fetch.kind for *_, action in pairs[20:]}) == 2
    replans = {round(k * 1800.0) for k in range(100)}
    for lag, _, action in pairs:
        if round(action.start) not in replans:  # there the ranking was still of the last plan
            assert (action.fetch.kind == "source") == (lag >= 1)


def test_frequency_does_not_care_for_clicks(web: SimpleNamespace) -> None:
    runs = []
    for clicked in False, True:
        world = web.random_world(seed=10)
        if not clicked:
            world.clicks.clear()
        scheduler = web.scheduler_of("frequency", estimator_options={"places": False})
        scheduler.observe(world.added())
        runs.append(web.drive(scheduler, world, 0.0, END, BUDGET))
    assert runs[0] == runs[1]


def test_echo_greedy_goes_to_the_highest_expected_profit(web: SimpleNamespace) -> None:
    """λ·P·I': of two sources of the same pace the loved one is crawled more often."""
    loved, ignored = crawls_of_loved_and_ignored(web, "echo-greedy")
    assert loved > 2 * ignored > 0


def two_sources(
    web: SimpleNamespace, days: int, loved_a_day: int = 24, ignored_a_day: int = 24, loved: int = 1
) -> SimpleNamespace:
    """The first source (or several) shows pages people love, the last one pages nobody wants."""
    world, page = web.World([f"loved{number}" for number in range(loved)] + ["ignored"]), 0
    for source in range(loved + 1):
        for at in np.arange(0.0, days * DAY, DAY / (ignored_a_day if source == loved else loved_a_day)).tolist():
            world.links.append(web.Link(source, page, at))
            if source < loved:
                world.clicks += [(page, at + 3 * HOUR * (1 + part), 1.0) for part in range(8)]
            page += 1
    world.links.sort(key=lambda link: link.added)
    world.clicks.sort(key=lambda click: click[1])
    return world


def crawls_of_loved_and_ignored(web: SimpleNamespace, policy: str, **options: object) -> tuple[int, int]:
    world = two_sources(web, days=4, **options.pop("pace", {}))
    scheduler = web.scheduler_of(policy, budget=0.0015, **options)
    scheduler.observe(world.added())
    crawls = crawls_of(web.drive(scheduler, world, 0.0, 4 * DAY, 0.0015))
    return crawls.count(0), crawls.count(1)


@pytest.mark.parametrize("policy", ["echo-newpages", "echo-schedule", "index"])
def test_loved_sources_are_crawled_more_often_than_ignored_ones(web: SimpleNamespace, policy: str) -> None:
    loved, ignored = crawls_of_loved_and_ignored(web, policy)
    assert loved > 1.2 * ignored


@pytest.mark.parametrize("interval", [HOUR, 1000.0])
def test_fixed_interval_crawls_each_source_at_its_interval(web: SimpleNamespace, interval: float) -> None:
    """Never earlier; and with budget to spare, not much later."""
    world = web.random_world(seed=11)
    scheduler = web.scheduler_of("fixed-interval", budget=0.1, policy_options={"interval": interval})
    scheduler.observe(world.added())
    actions = web.drive(scheduler, world, 0.0, 10 * HOUR, 0.1)
    crawled = defaultdict(list)
    for action in actions:
        if action.fetch.kind == "source":
            crawled[action.fetch.id].append(action.start)
    assert len(crawled) == 6
    for times in crawled.values():
        assert min(np.diff(times)) >= interval
        assert max(np.diff(times)) <= interval + 60 * 10  # a busy minute


def test_fixed_interval_tells_when_the_next_source_is_due(web: SimpleNamespace) -> None:
    scheduler = web.scheduler_of("fixed-interval", policy_options={"interval": 1000.0})
    scheduler.observe(SourcesAdded(0.0, ["a"], ["a"]))
    assert scheduler.next(0.0) == Fetch("source", 0)
    scheduler.observe(SourceCrawled(0.0, 0))
    assert scheduler.next(1.0) == Wait(1000.0)
    assert scheduler.next(600.0) == Wait(1000.0)
    assert scheduler.next(1000.0) == Fetch("source", 0)


def test_fixed_interval_fetches_the_oldest_page_first(web: SimpleNamespace) -> None:
    scheduler = web.scheduler_of("fixed-interval")
    scheduler.observe(SourcesAdded(0.0, ["a"], ["a"]))
    for now, page in (0.0, 1), (10.0, 2), (20.0, 3):
        scheduler.observe(SourceCrawled(now, 0, [NewPage(page)]))
    assert [scheduler.next(float(now)).id for now in (30, 31, 32)] == [1, 2, 3]


def learned_index(web: SimpleNamespace, **options: object) -> tuple[SimpleNamespace, SimpleNamespace]:
    """An index that has seen two days of a loved and an ignored source."""
    world = two_sources(web, days=2)
    scheduler = web.scheduler_of("index", budget=0.002, **options)
    scheduler.observe(world.added())
    web.drive(scheduler, world, 0.0, 2 * DAY, 0.002)
    return scheduler, world


def test_index_prefers_the_more_valuable_of_two_pages(web: SimpleNamespace) -> None:
    for order in (0, 1), (1, 0):
        scheduler, _ = learned_index(web, probe=0.0)
        now = 2 * DAY
        for source in order:
            scheduler.observe(SourceCrawled(now, source, [NewPage(1000 + source, published=now, rank=1)]))
        pages = []
        for step in range(200):
            fetch = scheduler.next(now + step)
            if isinstance(fetch, Fetch) and fetch.kind == "page" and fetch.id >= 1000:
                pages.append(fetch.id)
            elif isinstance(fetch, Fetch) and fetch.kind == "source":
                scheduler.observe(SourceCrawled(now + step, fetch.id))
        assert pages[0] == 1000


def test_index_fetches_whichever_of_page_and_source_is_worth_more(web: SimpleNamespace) -> None:
    """One queue: a source goes first exactly when its key exceeds the best page's worth."""
    world = two_sources(web, days=2)
    scheduler = web.scheduler_of("index", budget=0.001, probe=0.0, policy_options={"hopeful": 0.0, "hopeless": 0.0})
    scheduler.observe(world.added())
    best: list[dict[str, float]] = []

    def look(now: float) -> None:
        keys = {"source": -np.inf, "page": -np.inf}
        for ranked in scheduler.ranking(now, 1000):
            keys[ranked.fetch.kind] = max(keys[ranked.fetch.kind], ranked.key)
        best.append(keys)

    actions = web.drive(scheduler, world, 0.0, 2 * DAY, 0.001, before=look)
    both = 0
    for keys, action in zip(best, actions, strict=True):
        if action.start % 1800.0 == 0.0 or min(keys.values()) == -np.inf:
            continue  # at a replanning the ranking is still of the last plan
        both += 1
        assert (action.fetch.kind == "source") == (keys["source"] > keys["page"])
    assert both > 50
    assert {action.fetch.kind for action in actions[-60:]} == {"source", "page"}


def test_index_drops_hopeless_pages_but_not_before_it_has_seen_a_whole_day(web: SimpleNamespace) -> None:
    """A page that was almost a year old when it was found is worth nothing from the start."""
    world = two_sources(web, days=2)
    scheduler = web.scheduler_of("index", budget=0.001)
    scheduler.observe(world.added())
    web.drive(scheduler, world, 0.0, HOUR, 0.001)
    scheduler.observe(SourceCrawled(HOUR, 0, [NewPage(999, published=-300 * DAY)]))
    world.shown[999] = HOUR
    web.drive(scheduler, world, HOUR, 0.85 * DAY, 0.001)
    assert Fetch("page", 999) in [ranked.fetch for ranked in scheduler.ranking(0.85 * DAY, 1000)]
    assert not scheduler.dropped
    web.drive(scheduler, world, 0.85 * DAY, 1.2 * DAY, 0.001)
    assert 999 in scheduler.dropped
    assert 999 not in world.fetched
    assert Fetch("page", 999) not in [ranked.fetch for ranked in scheduler.ranking(1.2 * DAY, 1000)]
    fresh = {link.page for link in world.links if 0.3 * DAY < link.added < DAY and link.source == 0}
    assert not scheduler.dropped & fresh


def test_index_never_drops_what_it_fetched(web: SimpleNamespace) -> None:
    world = two_sources(web, days=4, ignored_a_day=100)
    scheduler = web.scheduler_of("index", budget=0.001, policy_options={"hopeless": 0.5})
    scheduler.observe(world.added())
    web.drive(scheduler, world, 0.0, 4 * DAY, 0.001)
    assert scheduler.dropped
    assert not scheduler.dropped & set(world.fetched)
    ignored = {link.page for link in world.links if link.source == 1}
    assert len(scheduler.dropped & ignored) > 0.9 * len(scheduler.dropped)


def test_without_its_cap_index_crawls_a_prolific_worthless_source_more_often(web: SimpleNamespace) -> None:
    crawls = {}
    for cap in True, False:
        world = two_sources(web, days=4, loved_a_day=12, ignored_a_day=400, loved=6)
        scheduler = web.scheduler_of(
            "index", budget=0.0015, probe=0.0, policy_options={"cap": cap}, estimator_options={"hope": 0.0}
        )
        scheduler.observe(world.added())
        actions = web.drive(scheduler, world, 0.0, 4 * DAY, 0.0015)
        crawls[cap] = crawls_of([action for action in actions if action.start > 2 * DAY]).count(6)
    assert crawls[False] > 5 + crawls[True]


def test_the_price_of_index_falls_when_the_budget_rises(web: SimpleNamespace) -> None:
    prices = []
    for budget in 0.001, 0.01:
        world = two_sources(web, days=2)
        scheduler = web.scheduler_of("index", budget=budget)
        scheduler.observe(world.added())
        web.drive(scheduler, world, 0.0, 2 * DAY, budget)
        prices.append(scheduler.price)
    assert prices[0] > 2 * prices[1] > 0
