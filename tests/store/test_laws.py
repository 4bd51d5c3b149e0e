"""Laws: whatever sources show, in whatever order, the store says the same as a few dicts."""

from dataclasses import dataclass, field

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mayfly.store.past import PastCrawl, PastFetch
from mayfly.store.records import FetchFailure

SOURCES = 3
links = st.lists(st.integers(0, 9), max_size=8)
crawls = st.tuples(st.just("crawl"), st.integers(0, SOURCES - 1), st.none() | links, st.booleans())
outcomes = st.sampled_from(["fetched", "fetched", "old", "log-in"])
fetches = st.tuples(st.just("fetch"), st.integers(0, 12), outcomes, st.none() | st.integers(0, 9))
failures = st.tuples(st.sampled_from(["fail", "retry", "drop"]), st.integers(0, 12), st.just(0), st.just(0))


@dataclass
class Model:
    """What a store must say, in the simplest words."""

    pages: list[int] = field(default_factory=list)  # addresses, in the order they were found
    seen: dict[int, int] = field(default_factory=dict)  # address → page, or 0
    shows: dict[int, set[int]] = field(default_factory=dict)
    linked: set[tuple[int, int]] = field(default_factory=set)  # source, page
    outcome: dict[int, str] = field(default_factory=dict)
    landed: list[int] = field(default_factory=list)

    def crawl(self, source: int, shown: list[int], wanted: bool) -> tuple[list[int], list[int], int, int]:
        last, now = self.shows.get(source, set()), set(shown)
        new, known = [], []
        for address in dict.fromkeys(shown):
            if address in last:
                continue
            if address not in self.seen:
                self.seen[address] = 0
                if wanted:
                    self.pages.append(address)
                    self.seen[address] = len(self.pages)
                    new.append(len(self.pages))
            elif self.seen[address] and (source, self.seen[address]) not in self.linked:
                known.append(self.seen[address])
            self.linked.add((source, self.seen[address]))
        self.shows[source] = now
        return new, known, len(last & now), len(last - now)

    def settle(self, page: int, outcome: str, lives_at: int | None = None) -> str:
        if page in self.outcome:
            return self.outcome[page]
        other = self.seen.get(lives_at, 0) if lives_at is not None else 0
        if outcome == "fetched" and other not in (0, page) and self.outcome.get(other) == "fetched":
            outcome = "duplicate"
        else:
            other = page
        if lives_at is not None:
            self.seen.setdefault(lives_at, other)
        self.outcome[page] = outcome
        self.landed.append(page)
        return outcome


@given(steps=st.lists(st.one_of(crawls, crawls, fetches, failures), max_size=30))
@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
def test_a_store_agrees_with_a_few_dicts(fresh, make, steps) -> None:
    model, told = Model(), []
    with fresh() as store:
        store.add_sources(1.0, [make.source(number) for number in range(SOURCES)])
        for at, (kind, number, what, wanted) in enumerate(steps, 100):
            if kind == "crawl":
                if what is None:
                    landed = store.commit(make.unchanged(number, at))
                    expected = [], [], len(model.shows.get(number, ())), 0
                else:
                    landed = store.commit(make.crawl(number, at, *what, wanted=wanted))
                    expected = model.crawl(number, what, wanted)
                assert ([new.page for new in landed.new], list(landed.known), landed.stayed, landed.gone) == expected
                told.append(expected)
            elif number in range(1, len(model.pages) + 1):
                settled = number in model.outcome
                if kind == "fetch":
                    canonical = "" if wanted is None else make.url(wanted)
                    landed = store.commit(make.fetched(number, at, what, canonical=canonical))
                    assert landed.outcome == model.settle(number, what, wanted)
                elif kind == "drop":
                    store.drop([number], at)
                    model.settle(number, "dropped")
                else:
                    store.commit(
                        FetchFailure("page", number, at, "dns", retry_at=at + 9.0 if kind == "retry" else None)
                    )
                    if kind == "fail":
                        model.settle(number, "failed")
                if kind != "retry" and not settled:
                    told.append((number, model.outcome[number]))
        assert_same(store, make, model, told)


def assert_same(store, make, model: Model, told: list) -> None:
    """No page is lost, none is new twice, and the past is what was told when it was present."""
    waiting = [page for page in range(1, len(model.pages) + 1) if page not in model.outcome]
    assert [page.page for page in store.waiting()] == waiting
    assert [page.url for page in store.waiting()] == [make.url(model.pages[page - 1]) for page in waiting]
    assert [(page.id, page.outcome) for page in store.pages()] == [(page, model.outcome[page]) for page in model.landed]
    assert store.unseen([make.url(address) for address in range(10)]) == [
        make.url(address) for address in range(10) if address not in model.seen
    ]
    past = [
        ([page for page, *_ in each.new], list(each.known), each.stayed, each.gone)
        if isinstance(each, PastCrawl)
        else (each.page, each.outcome)
        for each in store.past(0.0)
        if isinstance(each, PastCrawl | PastFetch)
    ]
    assert past == told
    open_links = {(span.source, span.page) for span in store.links() if span.removed is None}
    shown = {(source, model.seen[address]) for source, now in model.shows.items() for address in now}
    assert open_links == {(source, page) for source, page in shown if page}
    assert store.check() == []


@given(
    turns=st.lists(st.lists(st.tuples(st.integers(0, SOURCES - 1), links), min_size=2, max_size=20), max_size=4),
)
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_commits_together_are_the_same_as_one_after_the_other(fresh, make, turns) -> None:
    model = Model()
    with fresh() as store:
        store.add_sources(1.0, [make.source(number) for number in range(SOURCES)])
        for at, turn in enumerate(turns, 100):
            results = store.together(*(("commit", make.crawl(source, at, *shown)) for source, shown in turn))
            for (source, shown), landed in zip(turn, results, strict=True):
                expected = model.crawl(source, shown, True)
                assert ([new.page for new in landed.new], landed.known, landed.stayed, landed.gone) == expected
