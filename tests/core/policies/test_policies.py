"""One battery for every policy, on a small random web."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from mayfly.core.events import ClicksCounted, NewPage, SourceCrawled, SourcesAdded
from mayfly.core.model import HOUR, Fetch, Wait
from mayfly.core.policies import PAPER_POLICIES, PEER_POLICIES, POLICIES

every_policy = pytest.mark.parametrize("policy", POLICIES)
BUDGET = 0.02
END = 10 * HOUR
A_DAY_OR_SO = 20 * HOUR  # for what comes seldom


def uneven(count: int) -> float:
    """Seconds the n-th fetch takes: mostly one or two slots, sometimes ten."""
    return 500.0 if count % 7 == 3 else 30.0 + 40.0 * (count % 3)


@every_policy
@pytest.mark.parametrize("estimator", ["bayes", "paper"])
@pytest.mark.parametrize("feedback", ["fetched", "none"])
def test_pages_are_fetched_after_they_were_shown_and_only_once(
    web: SimpleNamespace, policy: str, estimator: str, feedback: str
) -> None:
    """The world refuses anything else; both kinds are fetched, and all slots that can be used are."""
    world = web.random_world(seed=1)
    options = {"feedback": feedback} | ({"bin_width": 7200.0} if estimator == "paper" else {})
    scheduler = web.scheduler_of(policy, estimator, BUDGET, feedback=feedback, estimator_options=options)
    scheduler.observe(world.added())
    actions = web.drive(scheduler, world, 0.0, END, BUDGET, push=5 * HOUR if feedback != "none" else np.inf)
    kinds = [action.fetch.kind for action in actions]
    assert kinds.count("source") > 20
    assert kinds.count("page") > 20
    if policy != "fixed-interval":
        assert len(actions) == END * BUDGET
    assert {action.fetch.id for action in actions if action.fetch.kind == "source"} == set(range(6))


@every_policy
@pytest.mark.parametrize("delay", [0.0, 130.0])
@pytest.mark.parametrize("seed", range(2))
def test_nothing_is_asked_for_while_it_is_in_flight(web: SimpleNamespace, policy: str, delay: float, seed: int) -> None:
    """The driver refuses it; fetches overlap here, and end in another order than they began."""
    world = web.random_world(seed)
    scheduler = web.scheduler_of(policy, "bayes", BUDGET, delay, seed=seed)
    scheduler.observe(world.added())
    actions = web.drive(scheduler, world, 0.0, END, BUDGET, took=uneven)
    assert any(second.start < first.end for first, second in pairwise(actions))
    assert len(actions) > 100


@every_policy
@pytest.mark.parametrize("took", [lambda count: 0.0, uneven])
def test_a_site_is_asked_once_at_a_time_and_rests_after_the_end(web: SimpleNamespace, policy: str, took) -> None:
    world, delay = web.random_world(seed=2), 170.0
    scheduler = web.scheduler_of(policy, "bayes", BUDGET, delay)
    scheduler.observe(world.added())
    actions = web.drive(scheduler, world, 0.0, END, BUDGET, took=took)
    by_site = defaultdict(list)
    for action in actions:
        by_site[world.site_of(action.fetch)].append(action)
    assert len(by_site) == 5  # three of sources, two of pages alone
    for of_site in by_site.values():
        assert all(second.start >= first.end + delay for first, second in pairwise(of_site))
    assert len(actions) > 100


@every_policy
@pytest.mark.parametrize("estimator", ["bayes", "paper"])
def test_an_empty_world_is_waited_for(web: SimpleNamespace, policy: str, estimator: str) -> None:
    scheduler = web.scheduler_of(policy, estimator)
    assert scheduler.ranking(0.0, 5) == []
    assert isinstance(scheduler.next(0.0), Wait)
    none = np.zeros(0, np.int64)
    for push in 1, 2:
        scheduler.observe(ClicksCounted(push * HOUR, none, np.zeros(0), np.zeros(0)))
        assert isinstance(scheduler.next(push * HOUR), Wait)
    assert scheduler.ranking(3 * HOUR, 5) == []


@every_policy
def test_a_world_that_begins_empty_is_crawled_when_sources_come(web: SimpleNamespace, policy: str) -> None:
    scheduler = web.scheduler_of(policy)
    scheduler.next(0.0)
    scheduler.observe(SourcesAdded(100.0, ["a", "b"], ["a", "b"]))
    first = scheduler.next(100.0)
    scheduler.observe(SourceCrawled(100.0, first.id, [NewPage(1)]))
    fetches = []
    for now in range(200, 9000, 50):
        fetch = scheduler.next(float(now))
        if isinstance(fetch, Fetch):
            fetches.append(fetch)
            if fetch.kind == "source":
                scheduler.observe(SourceCrawled(float(now), fetch.id))
    assert Fetch("page", 1) in fetches
    assert Fetch("source", 1 - first.id) in fetches
    assert scheduler.price is None or np.isfinite(scheduler.price)


@every_policy
def test_a_world_with_one_source(web: SimpleNamespace, policy: str) -> None:
    world = web.World(["a"], [web.Link(0, page, page * HOUR + 1.0) for page in range(19)])
    scheduler = web.scheduler_of(policy)
    scheduler.observe(world.added())
    web.drive(scheduler, world, 0.0, A_DAY_OR_SO, BUDGET)
    assert len(world.fetched) >= 18


@every_policy
@pytest.mark.parametrize("delay", [0.0, 130.0])
def test_sources_without_links_are_crawled_in_peace(web: SimpleNamespace, policy: str, delay: float) -> None:
    world = web.World(["a", "b", "b"])
    scheduler = web.scheduler_of(policy, delay=delay)
    scheduler.observe(world.added())
    actions = web.drive(scheduler, world, 0.0, A_DAY_OR_SO, BUDGET)
    crawls = [action.fetch.id for action in actions]
    assert min(crawls.count(source) for source in range(3)) >= 15


@every_policy
def test_asking_for_the_ranking_changes_nothing(web: SimpleNamespace, policy: str) -> None:
    runs = []
    for look in False, True:
        world = web.random_world(seed=3)
        scheduler = web.scheduler_of(policy, "bayes", BUDGET, delay=60.0)
        scheduler.observe(world.added())
        looks = (lambda now, it=scheduler: it.ranking(now, 7)) if look else (lambda now: None)
        runs.append(web.drive(scheduler, world, 0.0, END, BUDGET, took=uneven, before=looks))
    assert runs[0] == runs[1]


@every_policy
def test_ranking_names_what_waits_each_kind_in_the_order_of_its_turns(web: SimpleNamespace, policy: str) -> None:
    world = web.random_world(seed=3)
    scheduler = web.scheduler_of(policy, "bayes", BUDGET)
    scheduler.observe(world.added())
    web.drive(scheduler, world, 0.0, 5 * HOUR, BUDGET)
    everything = scheduler.ranking(5 * HOUR, 1000)
    sources = [ranked.key for ranked in everything if ranked.fetch.kind == "source"]
    assert sources == sorted(sources, reverse=True)
    pages = {ranked.fetch.id for ranked in everything if ranked.fetch.kind == "page"}
    assert pages <= set(world.shown) - set(world.fetched)
    assert len(pages) == scheduler.known_pages
    assert scheduler.ranking(5 * HOUR, 3) == everything[:3]


@every_policy
@pytest.mark.parametrize("kind", ["page", "source"])
def test_the_first_page_and_the_first_source_of_the_ranking_are_those_fetched_next(
    web: SimpleNamespace, policy: str, kind: str
) -> None:
    world = web.random_world(seed=3)
    scheduler = web.scheduler_of(policy, "bayes", 0.01, probe=0.0)
    scheduler.observe(world.added())
    firsts: list[list[Fetch]] = []

    def look(now: float) -> None:
        firsts.append([ranked.fetch for ranked in scheduler.ranking(now, 1000) if ranked.fetch.kind == kind][:1])

    compared = 0
    for start in np.arange(0.0, 10 * HOUR, 100.0).tolist():
        firsts.clear()
        for action in web.drive(scheduler, world, start, start + 100.0, 0.01, push=np.inf, before=look):
            if action.fetch.kind == kind and start % 1800.0 > 0:  # at a replanning the ranking is of the last plan
                assert firsts == [[action.fetch]]
                compared += 1
    assert compared > 20


@every_policy
def test_the_ranking_can_be_asked_for_after_sources_were_added(web: SimpleNamespace, policy: str) -> None:
    scheduler = web.scheduler_of(policy)
    scheduler.observe(SourcesAdded(0.0, ["a", "b"], ["a", "b"]))
    first = scheduler.next(0.0)
    scheduler.observe(SourceCrawled(0.0, first.id))
    scheduler.observe(SourcesAdded(10.0, ["c", "d", "e"], ["c", "d", "e"]))
    assert scheduler.ranking(10.0, 10)


@every_policy
def test_the_same_seed_gives_the_same_decisions(web: SimpleNamespace, policy: str) -> None:
    runs = []
    for seed in 5, 5, 6:
        world = web.random_world(seed=4)
        scheduler = web.scheduler_of(policy, "bayes", BUDGET, seed=seed)
        scheduler.observe(world.added())
        runs.append(web.drive(scheduler, world, 0.0, END, BUDGET))
    assert runs[0] == runs[1]
    if policy != "index":  # to which all new sources are worth the same
        assert runs[0] != runs[2]  # sources are first crawled in a random order


@every_policy
def test_fetches_that_end_together_may_be_told_in_any_order(web: SimpleNamespace, policy: str) -> None:
    for last_first in False, True:
        world = web.random_world(seed=5)
        scheduler = web.scheduler_of(policy, "bayes", BUDGET, delay=100.0)
        scheduler.observe(world.added())
        together = lambda count: 50.0 * (4 - count % 4)  # noqa: E731
        actions = web.drive(scheduler, world, 0.0, A_DAY_OR_SO, BUDGET, took=together, last_first=last_first)
        assert len(world.fetched) > 50
        assert len(actions) > 150


@every_policy
def test_sources_may_be_added_at_any_time(web: SimpleNamespace, policy: str) -> None:
    world = web.random_world(seed=6)
    scheduler = web.scheduler_of(policy, "bayes", BUDGET, delay=60.0)
    actions = []
    for number, site in enumerate(world.sites):
        scheduler.observe(SourcesAdded(number * HOUR, [site], [site]))
        actions += web.drive(scheduler, world, number * HOUR, (number + 1) * HOUR, BUDGET)
    actions += web.drive(scheduler, world, 6 * HOUR, END, BUDGET)
    since = 0.0 if policy in PEER_POLICIES else 6 * HOUR  # their sources may wait for a day
    crawled = {action.fetch.id for action in actions if action.fetch.kind == "source" and action.start >= since}
    assert crawled == set(range(6))


def test_the_papers_six_come_first_and_keep_no_share_for_probes() -> None:
    assert PAPER_POLICIES == ("bfs", "fixed-quota", "frequency", "echo-greedy", "echo-schedule", "echo-newpages")
    assert [POLICIES[name]().probe for name in PAPER_POLICIES] == [0.0] * 6
    assert POLICIES["index"]().probe == 0.02


def test_the_rules_of_other_crawlers_ask_nothing_of_an_estimator() -> None:
    assert PEER_POLICIES == ("nutch", "stormcrawler", "news-crawl", "miniflux", "commafeed", "media-cloud")
    assert not any(POLICIES[name].uses_beliefs for name in PEER_POLICIES)
