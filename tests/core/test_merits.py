"""Cards of pages: features in, clicks back, and what is foreseen of a source's pages."""

from __future__ import annotations

import numpy as np
import pytest

from mayfly.core.estimates import ESTIMATORS
from mayfly.core.events import ClicksCounted, NewPage, SourceCrawled, SourcesAdded
from mayfly.core.knowledge import KnownPage
from mayfly.core.merits import Merits
from mayfly.core.model import DAY, HOUR, beliefs
from mayfly.core.policies import POLICIES
from mayfly.core.scheduler import Scheduler

BELIEFS = beliefs(np.full(2, 1e-3), np.full(2, 4.0), np.full(2, 1 / DAY))


class Told:
    """A crawler that finds a page in each of two sections every hour, fetches both, and hears of their clicks."""

    def __init__(self, seed: int = 0, **options: float) -> None:
        self.merits = Merits(**options)
        self.merits.added(np.zeros(2, np.int64), ["front", "category"])
        self.pages: dict[int, KnownPage] = {}
        self.rng = np.random.default_rng(seed)

    def find(self, section: str, source: int, at: float, rank: float | None = 1.0) -> KnownPage:
        number = len(self.pages)
        page = self.pages[number] = KnownPage(at, at, (source,), 0)
        self.merits.found([NewPage(number, rank=rank, url=f"https://a.test/{section}/{number}")], [page], source, at)
        return page

    def live(self, hours: int, clicks: dict[str, float], source_of: dict[str, int], fetch: bool = True) -> None:
        for hour in range(hours):
            at = hour * HOUR
            told = []
            for section, mean in clicks.items():
                page = self.find(section, source_of[section], at)
                if fetch:
                    page.fetched = True
                    self.merits.seen(page, at)
                told += [len(self.pages) - 1] * int(self.rng.poisson(mean))
            number = np.array(told, np.int64)
            push = ClicksCounted(at + HOUR, number, np.full(len(told), at + 60.0), np.ones(len(told)))
            self.merits.counted(push, self.pages.get, BELIEFS)


def test_a_section_that_is_clicked_more_makes_its_next_pages_worth_more() -> None:
    told = Told()
    told.live(300, {"great": 8.0, "small": 0.5}, {"great": 0, "small": 0})
    great, small = told.find("great", 0, 301 * HOUR), told.find("small", 0, 301 * HOUR)
    assert great.merit > 3 * small.merit


def test_the_mean_page_found_is_worth_one() -> None:
    told = Told()
    told.live(300, {"great": 8.0, "small": 0.5}, {"great": 0, "small": 0})
    late = [page.merit for page in list(told.pages.values())[-100:]]
    assert np.mean(late) == pytest.approx(1.0, abs=0.15)


def test_pages_that_were_never_seen_teach_nothing() -> None:
    told = Told()
    told.live(200, {"great": 8.0, "small": 0.5}, {"great": 0, "small": 0}, fetch=False)
    assert not told.merits.value.weight.any()


def test_a_source_is_worth_what_its_pages_are_foreseen_to_be() -> None:
    told = Told()
    told.live(300, {"great": 8.0, "small": 0.5}, {"great": 0, "small": 1})
    refined = told.merits.refine(BELIEFS)
    assert refined.found_profit[0] > 2 * refined.found_profit[1]
    assert (refined.page_profit == BELIEFS.page_profit).all()


def test_a_source_with_rare_great_pages_has_the_wider_spread() -> None:
    told = Told()
    told.live(400, {"great": 8.0, "small": 0.5, "even": 2.0}, {"great": 0, "small": 0, "even": 1})
    spread = told.merits.refine(BELIEFS).value_spread
    assert spread[0] > 1.5 * spread[1]


def test_without_any_page_found_sources_are_as_they_were() -> None:
    told = Told()
    refined = told.merits.refine(BELIEFS)
    assert np.array_equal(refined.found_profit, BELIEFS.found_profit)
    assert not refined.value_spread.any()


def test_another_source_makes_a_page_another() -> None:
    told = Told()
    page = told.find("news", 1, 0.0, rank=30.0)
    before = told.merits._slots[page.card].copy()
    page.shown_by(0, None)
    told.merits.shown(page, rank=2.0)
    after = told.merits._slots[page.card]
    assert (before != after).sum() == 3  # how many sources, a front page among them, and higher up
    assert told.merits.of(np.array([page.card])) == pytest.approx([page.merit])


def test_pages_found_together_are_what_they_are_one_by_one() -> None:
    together, apart = Told(), Told()
    for told in together, apart:
        told.live(100, {"great": 8.0, "small": 0.5}, {"great": 0, "small": 0})
    new = [NewPage(900 + n, rank=n + 1.0, url=f"https://a.test/{'great' if n % 2 else 'small'}/{n}") for n in range(6)]
    pages = [[KnownPage(0.0, 0.0, (0,), 0) for _ in new] for _ in range(2)]
    together.merits.found(new, pages[0], 0, 101 * HOUR)
    for one, page in zip(new, pages[1], strict=True):
        apart.merits.found([one], [page], 0, 101 * HOUR)
    cards = [np.array([page.card for page in those]) for those in pages]
    merits = together.merits.of(cards[0]), apart.merits.of(cards[1])
    assert merits[0] == pytest.approx(merits[1])
    assert merits[0] == pytest.approx([page.merit for page in pages[0]])
    assert together.merits.refine(BELIEFS).found_profit == pytest.approx(
        apart.merits.refine(BELIEFS).found_profit, 1e-3
    )


def test_cards_are_given_again_when_nothing_is_left_to_learn() -> None:
    told = Told()
    told.live(24 * 30, {"news": 2.0}, {"news": 0})
    assert told.merits._card.size < 24 * 8  # a page teaches for four days at most
    kept = [page.card for page in told.pages.values() if page.card]
    assert len(kept) == len(set(kept))


def test_a_page_that_was_given_up_takes_no_part() -> None:
    told = Told()
    page = told.find("news", 0, 0.0)
    told.merits.gone(page)
    assert page.card == 0
    told.merits.shown(page, 1.0)
    told.merits.seen(page, 1.0)
    told.merits.gone(page)
    other, third = told.find("news", 0, 2.0), told.find("news", 0, 2.0)
    assert other.card != third.card


def test_a_page_forgotten_while_it_waits_leaves_its_card() -> None:
    merits = Merits()
    scheduler = Scheduler(POLICIES["bfs"](), ESTIMATORS["bayes"](), 1 / HOUR, merits=merits)
    scheduler.observe(SourcesAdded(0.0, ["a"], ["a"]))
    for day in range(120):
        new = [NewPage(100 * day + number, url=f"https://a.test/{number}") for number in range(100)]
        scheduler.next(day * DAY)
        scheduler.observe(SourceCrawled(day * DAY, 0, new))
    assert merits._card.size < 100 * 60


def test_a_pause_in_the_log_is_made_up_for() -> None:
    """Weeks of pages told at once teach like pages told hour by hour, or nearly."""
    told, late = Told(), Told()
    told.live(400, {"great": 8.0, "small": 0.5}, {"great": 0, "small": 0})
    clicks = []
    for hour in range(400):
        for section, mean in ("great", 8.0), ("small", 0.5):
            page = late.find(section, 0, hour * HOUR)
            late.merits.seen(page, hour * HOUR)
            clicks += [len(late.pages) - 1] * int(late.rng.poisson(mean))
    push = ClicksCounted(500 * HOUR, np.array(clicks), np.zeros(len(clicks)), np.ones(len(clicks)))
    late.merits.counted(push, late.pages.get, BELIEFS)
    ratios = []
    for one in told, late:
        great, small = one.find("great", 0, 501 * HOUR), one.find("small", 0, 501 * HOUR)
        ratios.append(np.log(great.merit / small.merit))
    assert ratios[1] > 0.4 * ratios[0] > 0
