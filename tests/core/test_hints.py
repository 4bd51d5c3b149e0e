"""Hints: a true one is followed at once, a liar's soon not at all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayfly.core.events import NewPage, PageFetched, PageRejected, SourceCrawled, SourceHinted, SourcesAdded
from mayfly.core.hints import Hints
from mayfly.core.model import DAY, HOUR, MINUTE, Fetch

SOURCES = 12


def live(web, honest, seconds=3 * DAY, budget=0.01):
    """Source 0 shows a page every two hours; it is hinted when it does (honest), or for nothing all the time."""
    rng = np.random.default_rng(5)
    scheduler = web.scheduler_of("index", budget=budget, delay=1.0)
    scheduler.observe(SourcesAdded(0.0, [f"h{number}" for number in range(SOURCES)], [f"s{n}" for n in range(SOURCES)]))
    appear = {n: np.sort(rng.uniform(0, seconds, int(seconds / (2 * HOUR)))).tolist() for n in range(SOURCES)}
    hints = appear[0] if honest is True else [] if honest is None else np.arange(0, seconds, 20 * MINUTE).tolist()
    shown, page, crawls, hint = dict.fromkeys(range(SOURCES), 0), 0, [], 0
    for now in np.arange(0, seconds, 1 / budget).tolist():
        while hint < len(hints) and hints[hint] <= now:
            scheduler.observe(SourceHinted(now, 0))
            hint += 1
        fetch = scheduler.next(now)
        if not isinstance(fetch, Fetch):
            continue
        if fetch.kind == "page":
            scheduler.observe(PageFetched(now, fetch.id))
            continue
        number = fetch.id
        due = int(np.searchsorted(appear[number], now, side="right"))
        new = [NewPage(page + k) for k in range(due - shown[number])] if shown[number] or due else []
        page += len(new)
        shown[number] = due
        scheduler.observe(SourceCrawled(now, number, new))
        if number == 0:
            crawls.append((now, len(new)))
    late = [at for at in crawls if at[0] > seconds / 2]
    return late, appear[0]


def test_a_true_hint_is_followed_at_once_and_silence_is_believed(web):
    hinted, appear = live(web, honest=True)
    plain, _ = live(web, honest=None)
    waits = [min((at - page for at, _ in hinted if at >= page), default=DAY) for page in appear if page > 1.6 * DAY][
        :-1
    ]
    assert np.median(waits) <= 10 * MINUTE
    assert len(hinted) < 0.8 * len(plain)
    share, usual = (sum(new > 0 for _, new in crawls) / len(crawls) for crawls in (hinted, plain))
    assert share > 1.3 * usual


def test_false_hints_lose_their_trust(web):
    lied_to, _ = live(web, honest=False)
    plain, _ = live(web, honest=None)
    assert len(lied_to) < 1.5 * len(plain) + 5


def test_trust_is_learned_by_source():
    hints = Hints()
    hints.grow(2)
    for _ in range(10):
        hints.hint(0)
        hints.hint(1)
        hints.crawled(0, new=2)
        hints.crawled(1, new=0)
    assert hints.trust()[0] > 0.9
    assert hints.trust()[1] < 0.1
    assert hints.unannounced()[0] < 0.4
    assert hints.unannounced()[1] == pytest.approx(1.0)


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.integers(0, 5)), max_size=200))
def test_trust_and_shares_stay_between_nothing_and_all(steps):
    hints = Hints()
    hints.grow(4)
    for source, called, new in steps:
        if called:
            hints.hint(source)
        hints.crawled(source, new)
    assert np.all((hints.trust() > 0) & (hints.trust() < 1))
    assert np.all((hints.unannounced() >= 0) & (hints.unannounced() <= 1))
    assert np.all(hints.promised(np.zeros(4)) == 0)


def test_what_was_only_read_promises_no_more_than_is_expected():
    hints = Hints()
    hints.grow(2)
    hints.hint(0, calls=False)
    assert hints.promised(np.array([0.1, 0.1])).tolist() == pytest.approx([0.05, 0.0])
    hints.crawled(0, new=1)
    assert hints.unannounced().tolist() == [1.0, 1.0]


def test_pages_a_hint_names_are_fetched_until_they_turn_out_to_be_nothing(web):
    scheduler = web.scheduler_of("index", budget=1.0, delay=0.0)
    scheduler.observe(SourcesAdded(0.0, ["h"], ["s"]))
    scheduler.observe(SourceCrawled(0.0, 0, []))
    for number in range(10):
        now = 100.0 * number + 1
        if not scheduler.believes(0):
            break
        scheduler.observe(SourceHinted(now, 0, [NewPage(number)]))
        fetch = next(one for one in (scheduler.next(now + k) for k in range(50)) if one == Fetch("page", number))
        scheduler.observe(PageRejected(now, fetch.id))
    assert 2 <= number < 9
