"""The one door between what decides and what fetches: tell it what happened, ask it what to fetch.

Theory of operation. `observe` folds events into what is known and into the estimates. Every `replan` seconds the
estimates are read once into beliefs, and the policy plans with them. `next` compares two candidates only: the best
known page and the best source among the sites that are free; the policy says whose turn it is (`contest.py`). The site
is then locked until the outcome is observed, and rests for the delay after it (`politeness.py`). Every so often, as the
probe share says, the source longest unseen goes before both, or a page of the host longest untried (`samples.py`), so
that nothing starves for good.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from functools import partial

import numpy as np

from mayfly.core import events
from mayfly.core.agenda import Agenda, agenda, terms
from mayfly.core.contest import Contest
from mayfly.core.estimates import Estimator, Feedback
from mayfly.core.frontier import Frontier
from mayfly.core.knowledge import Knowledge
from mayfly.core.merits import Merits
from mayfly.core.model import (
    DAY,
    Beliefs,
    Fetch,
    FloatArray,
    Found,
    Moments,
    PageId,
    PerSecond,
    Seconds,
    SourceId,
    Wait,
)
from mayfly.core.outlook import Outlook, Ranked, outlook, ranked
from mayfly.core.pages import Pages
from mayfly.core.policies import Policy
from mayfly.core.politeness import Gate
from mayfly.core.samples import Samples
from mayfly.core.timetable import Timetable
from mayfly.core.wants import PINNED, Wants

STARVED: Seconds = 3 * DAY  # a source seen later than this needs no probe
_NO_SITE = "*"  # all pages and sources share one queue while the gate stands open


class Scheduler:
    """All a driver talks to."""

    def __init__(
        self,
        policy: Policy,
        estimator: Estimator,
        budget: PerSecond,
        gate: Gate | None = None,
        *,
        replan: Seconds = 1800.0,
        probe: float | None = None,
        feedback: Feedback = "fetched",
        seed: int = 0,
        shortest_round: Seconds = 0.0,
        merits: Merits | None = None,
    ) -> None:
        """`shortest_round`: keys of sources are not computed more often than this, however many fetches there are.
        `merits`: without them a page is worth what its sources and its place say.
        """
        self.merits = merits
        self._policy = policy
        self._estimator = estimator
        self.budget = budget
        self._gate = gate or Gate(0.0)
        self._probe = policy.probe if probe is None else probe
        self._known = Knowledge(np.random.default_rng(seed))
        self._frontier = Frontier(policy.page_order)
        self._contest = Contest(policy, self._frontier, self._gate)
        self._pages = Pages(self._known, self._frontier, estimator, merits, feedback, self._contest.offer_page)
        self._wants = Wants(policy, self._known)
        self.evidence = estimator.evidence  # what the means of its beliefs are made of
        self.believes = self._wants.hints.believes  # whether a page of a source is fetched because a hint names it
        self._in_flight: dict[Fetch, int] = {}  # with the site
        self._retries: list[tuple[Seconds, Fetch, int]] = []  # failed fetches, with their sites
        self._times = Timetable(replan, shortest_round)
        self._probes = 0.0
        self._samples = Samples()
        self._sites = 0
        self.dropped: set[PageId] = set()
        self.beliefs: Beliefs | None = None
        self._observers = {
            events.SourcesAdded: self._sources_added,
            events.SourcesRetired: self._sources_retired,
            events.SourcesPinned: self._sources_pinned,
            events.PagesHanded: lambda handed: self._found(handed.pages, handed.source, handed.at, None),
            events.SourceHinted: self._source_hinted,
            events.SitePaced: self._site_paced,
            events.PageRejected: self._page_rejected,
            events.ClockStepped: self._clock_stepped,
            events.SourceCrawled: self._source_crawled,
            events.PageFetched: self._page_fetched,
            events.FetchFailed: self._fetch_failed,
            events.ClicksCounted: self._pages.clicked,
            events.TrendsTold: self._trends_told,
            events.OthersTold: lambda told: estimator.lean_on(told.evidence),
        }

    @property
    def price(self) -> float | None:
        """ω, where the policy has one."""
        return self._policy.price

    @property
    def known_pages(self) -> int:
        """Pages that wait for a fetch."""
        return len(self._frontier)

    def observe(self, event: events.Event) -> None:
        """The only way in: fold `event` into what is known, whatever its origin."""
        self._observers[type(event)](event)  # type: ignore[operator]

    def next(self, now: Seconds, patience: Seconds = 0.0) -> Fetch | Wait:
        """The only way out: the best allowed fetch, or the time to ask again.

        `patience`: who asks can wait so long for something better, and loses nothing by it.
        """
        if self._times.plan_is_due(now):
            self._replan(now)
        for site in self._gate.freed(now):
            self._contest.offer(site)
        if self._retries and self._retries[0][0] <= now:
            self._retry(now)
        if self._times.round_is_over(now):
            self._begin_round(now)
        fetch = self._due_probe(now) or self._choose(now, patience)
        if isinstance(fetch, Fetch):
            self._times.fetches += 1
        elif fetch.better:
            self._probes -= self._probe  # the question will be asked again
        return fetch

    def forget(self, now: Seconds) -> None:
        """Forget pages that were found too long ago to matter; at plans, and now and then while the past is told."""
        self._drop([page for page in self._pages.forget(now) if page in self._frontier])
        self._frontier.tidy()

    def ranking(self, now: Seconds, first: int) -> list[Ranked]:
        """What would come next, were all sites free and nothing to happen: slow and pure, for people."""
        if self.beliefs is None:
            return []
        return ranked(self._keys(now), self._frontier.best(now, first), self._policy, self._times.fetches, first)

    def waiting(self) -> list[PageId]:
        """The known pages that wait for a fetch."""
        return self._frontier.waiting()

    def outlook(self, now: Seconds) -> Outlook | None:
        """What is believed of all sources and planned for them; slow, for reports. None before the first plan."""
        if self.beliefs is None:
            return None
        planned = len(self.beliefs.link_rate)
        return outlook(self.beliefs, self.budget, self._known.source, self._most(), self._wants.keys(planned, now))

    def agenda(self, now: Seconds, ahead: Seconds) -> Agenda | None:
        """What there is to fetch soon, for whoever shares a budget among many. None before the first plan."""
        if self.beliefs is None:
            return None
        within = terms(self._known.source, len(self.beliefs.link_rate), now, ahead)
        keys = self._keys(now + within)
        pages = self._frontier.worths()
        return agenda(self.beliefs, self._known.source, keys, now, within, *pages, ahead, self._most())

    def _keys(self, now: Moments) -> FloatArray:
        """Of the sources planned for (those added since have none yet); `-inf` of those not to be had."""
        row, planned = self._known.source, 0 if self.beliefs is None else len(self.beliefs.link_rate)
        return np.where((row.busy | row.retired)[:planned], -np.inf, self._wants.keys(planned, now))

    def _most(self) -> FloatArray:
        """What a site can take, per second."""
        return np.full(self._sites, np.inf) if self._gate.stands_open else 1 / self._gate.delays

    # What happened

    def _sources_added(self, event: events.SourcesAdded) -> None:
        sites = [_NO_SITE] * len(event.sites) if self._gate.stands_open else event.sites
        hosts = self._known.add_sources(event.hosts, sites, event.at)
        self._estimator.added(hosts)
        self._samples.grow(int(hosts.max(initial=-1)) + 1, event.at)
        if self.merits is not None:
            self.merits.added(hosts, event.kinds, event.ids)
        self._grow_sites()
        self._times.plan_soon()  # they have no keys yet

    def _sources_retired(self, event: events.SourcesRetired) -> None:
        self._known.source.retired[list(event.sources)] = event.retired
        self._times.plan_soon()  # what they would have cost goes to the others

    def _sources_pinned(self, event: events.SourcesPinned) -> None:
        self._known.source.every[list(event.sources)] = event.every

    def _source_hinted(self, event: events.SourceHinted) -> None:
        at, source, pages, calls = event
        hints = self._wants.hints_of_all()
        if not pages:
            hints.hint(source, calls)
            self._times.end_round()  # its key is another now
        for new in pages:
            if new.page not in self._known.pages:
                hints.name(new.page, source)
        self._found(pages, source, at, None)

    def _site_paced(self, event: events.SitePaced) -> None:
        if self._gate.stands_open:
            return
        site = self._known.site(event.site)
        self._grow_sites()
        if event.delay is not None:
            self._gate.delays[site] = event.delay
        if event.rests_until is not None:
            self._gate.rest(site, event.rests_until)

    def _clock_stepped(self, event: events.ClockStepped) -> None:
        """Nothing becomes due by it, and no time without a look is counted for it."""
        by = event.by
        self._known.source.seen[:] += by
        self._gate.stepped(by)
        self._policy.stepped(by)
        self._samples.stepped(by)
        self._retries = [(at + by, fetch, site) for at, fetch, site in self._retries]
        self._times.stepped(by)

    def _source_crawled(self, event: events.SourceCrawled) -> None:
        at, source, new_pages, known_pages, stayed, gone, dated, dated_since, ranks = event
        known = self._known
        since = known.last_crawl(source)
        places = self._found(new_pages, source, at, since)
        links = len(new_pages) + self._pages.shown(known_pages, ranks, source, at)
        if since is None and dated_since is not None:
            self._estimator.crawled(source, at, dated_since, Found(dated, dated, 0, 0, places, whole=True))
        else:
            self._estimator.crawled(source, at, since, Found(len(new_pages), links, stayed, gone, places))
        self._wants.crawled(event, links)
        known.crawled(source, at)
        self._landed(Fetch("source", source), at)

    def _found(
        self, pages: Sequence[events.NewPage], source: SourceId, at: Seconds, since: Seconds | None
    ) -> list[int]:
        """Those nobody has shown before wait from now on; their places."""
        new = list({page.page: page for page in pages if page.page not in self._known.pages}.values())
        return self._pages.found(new, source, [self._site_of(page.site, source) for page in new], at, since)

    def _page_fetched(self, event: events.PageFetched) -> None:
        at, number = event
        self._end_wait(number)
        self._wants.hints.proved(number, right=True)
        page = self._known.pages.get(number)
        if page is not None:
            self._samples.fetched(int(self._known.source.host[page.sources[0]]), at)
        self._pages.fetched(number, at)
        self._landed(Fetch("page", number), at)

    def _page_rejected(self, event: events.PageRejected) -> None:
        at, number = event
        self._end_wait(number)
        self._wants.hints.proved(number, right=False)
        self._pages.rejected(number)
        self._landed(Fetch("page", number), at)

    def _fetch_failed(self, event: events.FetchFailed) -> None:
        at, fetch, retry_at = event
        site = self._in_flight.get(fetch, 0)
        if fetch.kind == "page":
            site = self._end_wait(fetch.id, site)
        if fetch.kind == "source":  # it was not seen, so it is as wanted as before; it is only left alone for now
            self._known.source.busy[fetch.id] = True
            retry_at = at if retry_at is None else retry_at
        if retry_at is None:
            self._wants.hints.proved(fetch.id, right=False)
            self._pages.given_up(fetch.id)
        elif retry_at < np.inf:  # never: another fetches it
            heapq.heappush(self._retries, (retry_at, fetch, site))
        self._landed(fetch, at)

    def _end_wait(self, page: PageId, site: int = 0) -> int:
        """It was fetched in an earlier run, or by another, so that it still waits here; the site where it is."""
        return self._frontier.take(page) if page in self._frontier else site

    def _trends_told(self, event: events.TrendsTold) -> None:
        if self.merits is not None:
            self.merits.features.follow(event.terms)

    def _landed(self, fetch: Fetch, at: Seconds) -> None:
        """A fetch is over, well or not: its site rests from now."""
        site = self._in_flight.pop(fetch, None)
        if site is not None and not self._gate.stands_open:
            self._gate.release(site, at)

    # What to fetch

    def _choose(self, now: Seconds, patience: Seconds) -> Fetch | Wait:
        won = self._contest.winner(now, self._times.fetches, patience)
        if isinstance(won, Wait):
            until = won.until if won.until > now else now + 1 / self.budget  # it is nobody's turn: a slot later
            return won if won.better else Wait(min(self._next_chance(), until))
        fetch, key = won
        if fetch.kind == "page":
            return self._take_page(fetch.id)
        if key is not None and key < PINNED and self._known.source.crawls[fetch.id]:  # else its key tells of no price
            self._policy.crawled(key)
        return self._take_source(fetch.id)

    def _due_probe(self, now: Seconds) -> Fetch | None:
        """If the probe share has earned it: the source longest unseen, or a page of the host longest untried."""
        self._probes += self._probe
        if self._probes < 1:
            return None
        self._probes -= 1
        source = self._known.longest_unseen(self._gate.free, before=now - STARVED)
        if source is not None:
            return self._take_source(source)
        page = self._samples.take(self._frontier, self._gate.free)
        return None if page is None else self._take_page(page)

    def _take_page(self, page: PageId) -> Fetch:
        return self._send(Fetch("page", page), self._frontier.take(page))

    def _take_source(self, source: SourceId) -> Fetch:
        self._known.source.busy[source] = True
        self._contest.take(source)
        return self._send(Fetch("source", source), int(self._known.source.site[source]))

    def _send(self, fetch: Fetch, site: int) -> Fetch:
        self._in_flight[fetch] = site
        if not self._gate.stands_open:
            self._gate.lock(site)
        return fetch

    def _next_chance(self) -> Seconds:
        """When a resting site is free, or a failed fetch may be tried again."""
        return min(self._gate.next_free, self._retries[0][0] if self._retries else np.inf)

    def _retry(self, now: Seconds) -> None:
        """Failed fetches whose time has come compete again."""
        while self._retries and self._retries[0][0] <= now:
            _, (kind, number), site = heapq.heappop(self._retries)
            if kind == "source":
                self._known.source.busy[number] = False
                self._times.end_round()  # it has no key in this round
            elif (page := self._known.pages.get(number)) is not None:
                self._pages.wait(number, page, site)

    def _site_of(self, name: str | None, source: SourceId) -> int:
        if name is None or self._gate.stands_open:
            return int(self._known.source.site[source])
        site = self._known.site(name)
        if site >= self._sites:
            self._grow_sites()
        return site

    # When things are looked at again

    def _replan(self, now: Seconds) -> None:
        """Read the estimates into beliefs and plan with them."""
        self._times.planned(now)
        self._grow_sites()
        row = self._known.source
        self._contest.arrange(row.site, self._sites)
        beliefs = self._estimator.beliefs(now)
        if self.merits is not None:
            beliefs = self.merits.refine(beliefs)
        self.beliefs = beliefs
        self._wants.plan(beliefs, self.budget, now)
        merits = None if self.merits is None else self.merits.of
        spared = partial(self._samples.choose, self._frontier, row.host, beliefs.profit_decay, now)
        dropped = self._frontier.revalue(beliefs, now, *self._policy.limits(now), merits, spared)
        for page in dropped:
            self._pages.given_up(page)
        self._drop(dropped)
        self.forget(now)
        self._contest.revalued()
        self._begin_round(now)

    def _drop(self, pages: Sequence[PageId]) -> None:
        for page in pages:
            self._end_wait(page)
            self._wants.hints.proved(page, right=False)
        self.dropped.update(pages)

    def _begin_round(self, now: Seconds) -> None:
        """Compute the keys of all sources."""
        self._times.begun(now, self._contest.round, self.budget)
        row = self._known.source
        self._contest.begin_round(np.where(row.busy | row.retired, -np.inf, self._wants.keys(row.size, now)))

    def _grow_sites(self) -> None:
        self._sites = self._known.sites
        self._frontier.grow(self._sites)
        self._gate.grow(self._sites)
