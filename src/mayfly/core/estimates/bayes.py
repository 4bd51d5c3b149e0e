"""The default estimator: every number leans on its host, every host on all hosts.

λ, δ  from what crawls find and no longer find (`links.py`); links new to the crawler are counted apart from links new
      to the source: the first are what a crawl brings, the second keep twins from starving each other.
P     clicks by exposure (`yields.py`). An unknown source is held to be like its host, an unknown host like all; and of
      what is little known the better is hoped, by a share of the standard error. Without hope a host that had a bad
      first day would never be fetched from again, nor be known better.
      What a crawl brings are pages no other source had shown, often the lesser ones: an archive links the great stories
      too, but late. So P is learned twice, of all pages a source links and of those it was the first to show. Few
      pages are first seen on an archive, so the second leans on the first times a ratio, learned for the sources of a
      host whose links are as rarely new.
μ     pooled by host (`decay.py`).
Worth of a place: clicks by what the page's sources let expect (`place.py`).

Pages wait in a list until the next push of the log, for nothing can be learned of them before.
"""

from __future__ import annotations

import numpy as np

from mayfly.core.estimates.decay import FIRST_GUESS, Decay
from mayfly.core.estimates.links import Links
from mayfly.core.estimates.yields import Yields
from mayfly.core.model import (
    DAY,
    NO_EVIDENCE,
    PLACES,
    Beliefs,
    Credited,
    Evidence,
    FloatArray,
    Found,
    IntArray,
    Seconds,
    SourceId,
)

_FIRST_PROFIT = 1.0  # clicks a page brings before any was seen; all get the same, so it only sets a scale
_CROWD = 10.0  # variance by mean of the clicks of a page: they come in crowds
_NEXT_TO_NONE = 1e-9  # clicks: where fewer are expected, nothing is to be seen anew
_CHOICE = 1.5  # times: pages that were fetched are not better or worse than those found by more, taken all together
_FAR = 5.0  # times: beliefs that were off by more are no measure of a place
_CLASS_TRUST = 50.0  # clicks' worth of belief that a class of pages is worth the mean
_NOVELTIES = (0.1, 0.25, 0.5, 0.75)  # steps of the share of a source's links that it is the first to show


class Bayes:
    """Columns by source, and small tables by host and by place."""

    def __init__(
        self,
        feedback: str = "fetched",
        rate_half_life: Seconds = 3 * DAY,
        rate_trust: float = 0.05,  # links' worth of belief in the host's mean rate
        twin_share: float = 0.003,  # what a link counts that another source had shown before
        profit_half_life: Seconds = 20 * DAY,
        profit_trust: float = 5.0,  # pages' worth of belief in what a profit leans on
        hope: float = 1.0,  # standard errors
        rhythm: bool = True,
        places: bool = True,
        firsts: bool = True,  # False: a crawl is held to bring what all pages of the source are worth
    ) -> None:
        self._feedback = feedback
        self._profit_half_life = profit_half_life
        self._profit_trust = profit_trust
        self._hope = hope
        self._use_places = places
        self._use_firsts = firsts
        self._links = Links(rate_half_life, rate_trust, twin_share, rhythm)
        self._hosts = 0
        self._by_source = Yields()
        self._by_finder = Yields()  # of pages the source was the first to show
        self._by_place = Yields()
        self._by_place.grow(PLACES)
        self._found_at = np.zeros(PLACES)  # pages found, by place
        self._place_worth: FloatArray = np.ones(PLACES)
        self._places_elsewhere: FloatArray = np.zeros((3, PLACES))  # what others saw, as `evidence` says it
        self._decay = Decay()
        self._decay_of: FloatArray = np.zeros(0)  # by host
        self._profit: FloatArray = np.zeros(0)  # as last believed
        self._off: FloatArray = np.ones(2)  # what all pages let expect now by what was held, shown and still to show
        self._counted_until: Seconds | None = None
        self._pending: list[tuple[SourceId, int, float, Seconds, Seconds, bool, float]] = []
        self._others = NO_EVIDENCE

    def added(self, host: IntArray) -> None:
        self._links.grow(host)
        self._by_source.grow(len(self._links.host))
        self._by_finder.grow(len(self._links.host))
        self._profit = np.append(self._profit, np.full(len(self._links.host) - len(self._profit), _FIRST_PROFIT))
        self._hosts = max(self._hosts, int(host.max(initial=-1)) + 1)
        self._decay.grow(self._hosts)
        self._decay_of = np.append(self._decay_of, np.full(self._hosts - len(self._decay_of), FIRST_GUESS))

    def crawled(self, source: SourceId, at: Seconds, since: Seconds | None, found: Found) -> None:
        for place in found.places:
            self._found_at[place] += 1
        if since is not None and at > since:
            self._links.crawled(source, since, at, found)

    def rejected(self, source: SourceId) -> None:
        self._links.reject(source)

    def exposed(
        self, source: SourceId, place: int, share: float, age: Seconds, at: Seconds, first: bool, merit: float = 1.0
    ) -> None:
        if self._feedback != "none":
            self._pending.append((source, place, share, age, at, first, merit))

    def counted(self, at: Seconds, clicks: Credited) -> None:
        self._links.take_stock()
        host = self._links.host
        if self._counted_until is not None:
            self._advance(max(at - self._counted_until, 0.0), host)  # less than none, where the clock was set back
        self._counted_until = at
        self._expose_pending(at, host)
        self._by_source.count(clicks.source, clicks.number)
        self._by_finder.count(clicks.source[clicks.first], clicks.number[clicks.first])
        self._by_place.count(clicks.place, clicks.number * clicks.share)
        timed = slice(None) if clicks.timed is None else clicks.timed  # a day's sum says what, not how fast it fades
        self._decay.count(host[clicks.source[timed]], clicks.age[timed], clicks.number[timed])
        self._believe_decay(self._decay.fit(), host)
        if self._use_places:
            self._place_worth = self._worth_of_places()
        self._believe_profits(host)  # not at plans alone: nobody plans while the past is told again

    def beliefs(self, now: Seconds) -> Beliefs:
        links, host = self._links, self._links.host
        found_profit = self._believe_profits(host)
        return Beliefs(
            link_rate=links.rates(),
            page_profit=self._profit,
            found_profit=found_profit if self._use_firsts else self._profit,
            profit_decay=self._decay_of[host],
            link_loss=links.losses(),
            rhythm=links.rhythm(now),
            value_spread=np.zeros(len(host)),
            place_worth=self._place_worth,
        )

    def evidence(self) -> Evidence:
        links, watched = self._links.totals()
        clicks, exposure = float(self._by_finder.clicks.sum()), float(self._by_finder.exposure.sum())
        places = np.concatenate(self._seen_at_places())
        return Evidence(links, watched, clicks, exposure, self._decay.told(), tuple(places.tolist()))

    def lean_on(self, others: Evidence) -> None:
        self._others = others
        self._links.lean_on(others.links, others.watched)
        self._decay.lean_on(others.fading)
        if len(others.places) == self._places_elsewhere.size:  # else of others who have other places
            self._places_elsewhere = np.array(others.places).reshape(3, PLACES)

    def _believe_profits(self, host: IntArray) -> FloatArray:
        """Look again at P of all sources; that of pages they are the first to show."""
        before = self._profit
        self._profit, found_profit = self._lean_profits(host)
        self._restate_places(before, self._by_source.exposure, self._by_source.live)
        return found_profit

    def _lean_profits(self, host: IntArray) -> tuple[FloatArray, FloatArray]:
        """P of each source, of all its pages and of those it was the first to show, with some hope for both."""
        # For hosts a page counts once, on its first source.
        clicks, exposure, trust = self._by_finder.clicks, self._by_finder.exposure, self._profit_trust
        mean = (float(clicks.sum()) + self._others.clicks + _FIRST_PROFIT) / (
            float(exposure.sum()) + self._others.exposure + 1.0
        )
        of_host = (np.bincount(host, clicks, self._hosts) + trust * mean) / (
            np.bincount(host, exposure, self._hosts) + trust
        )
        of_all = self._by_source.lean(of_host[host], trust)
        of_found = self._by_finder.lean(of_all * self._worth_of_firsts(of_all, host), trust)
        return self._hoped(of_all, self._by_source.exposure), self._hoped(of_found, exposure)

    def _worth_of_firsts(self, profit: FloatArray, host: IntArray) -> FloatArray:
        """What pages a source shows first are worth against all its pages, by how many of its links are firsts.

        Learned over the sources of a host that are alike in this; leaning on all hosts.
        """
        kinds, clicks, expected = len(_NOVELTIES) + 1, self._by_finder.clicks, self._by_finder.exposure * profit
        kind = np.searchsorted(_NOVELTIES, self._links.novelty())
        of_all = (np.bincount(kind, clicks, kinds) + _CLASS_TRUST) / (np.bincount(kind, expected, kinds) + _CLASS_TRUST)
        cell, cells = host * kinds + kind, self._hosts * kinds
        return np.asarray(
            (np.bincount(cell, clicks, cells)[cell] + _CLASS_TRUST * of_all[kind])
            / (np.bincount(cell, expected, cells)[cell] + _CLASS_TRUST)
        )

    def _hoped(self, profit: FloatArray, exposure: FloatArray) -> FloatArray:
        return np.asarray(profit + self._hope * np.sqrt(_CROWD * profit / (exposure + self._profit_trust)))

    def _believe_decay(self, decay: FloatArray, host: IntArray) -> None:
        """Take a new belief in how fast interest fades, and see in its light what pages have shown so far.

        A first day's belief may be off by ten times, and a source that looks too poor by it to be tried again would pay
        for it for weeks.
        """
        shown, left = self._decay.restated(self._decay_of, decay)
        before = self._by_source.exposure.copy(), self._by_source.live.copy()
        for yields in self._by_source, self._by_finder:
            yields.restate(shown[host], left[host])
        self._decay_of = decay
        self._restate_places(self._profit, *before)

    def _restate_places(self, profit: FloatArray, exposure: FloatArray, live: FloatArray) -> None:
        """What pages let expect was another sum when their sources were held to be worth this, and to have shown that.

        By place it is kept as a sum over all sources, so it is seen anew by what became of the sum, once that is far
        off: first guesses may be off by a hundred times, and the places seen in that hour would be ruined for weeks.
        """
        for number, (now, then) in enumerate(((self._by_source.exposure, exposure), (self._by_source.live, live))):
            self._off[number] *= (self._profit @ now + _NEXT_TO_NONE) / (profit @ then + _NEXT_TO_NONE)
        if (np.maximum(self._off, 1 / self._off) > _FAR).any():
            shown, left = self._off
            self._by_place.restate(np.full(PLACES, shown), np.full(PLACES, left))
            self._off[:] = 1.0

    def _worth_of_places(self) -> FloatArray:
        """Clicks seen at each place by clicks expected there, with one for the mean page found.

        What others saw counts alike. P is a multiple of this scale, and those who share a budget must have one: or the
        same page would seem to be worth more here than there.
        """
        clicks, expected, found_at = self._seen_at_places() + self._places_elsewhere
        found = float(found_at.sum())
        worth = (clicks + _CLASS_TRUST) / (expected + _CLASS_TRUST)
        # Pages fetched late were shown by more sources since; of the places they were found at nothing may be known.
        # Were those held to be worth what was expected, they alone would set the scale: so they are like the mean page.
        mean = (float(clicks.sum()) + 1.0) / (float(expected.sum()) + 1.0)
        usual = (clicks + _CLASS_TRUST) / (expected + _CLASS_TRUST / mean)
        worth = worth / (float(found_at @ usual) / found if found else 1.0)
        fetched = float(worth @ expected) / (float(expected.sum()) or 1.0)  # the mean page of those
        return np.asarray(worth * (np.clip(fetched, 1 / _CHOICE, _CHOICE) / fetched if fetched else 1.0))

    def _seen_at_places(self) -> FloatArray:
        """Clicks, clicks expected, pages found: a column a place. Those of several add up."""
        return np.stack([self._by_place.clicks, self._by_place.exposure, self._found_at])

    def _advance(self, seconds: Seconds, host: IntArray) -> None:
        forget = 2.0 ** (-seconds / self._profit_half_life)
        self._by_source.advance(seconds, self._decay_of[host], forget)
        self._by_finder.advance(seconds, self._decay_of[host], forget)
        mean_decay = self._decay_of.mean() if self._hosts else FIRST_GUESS
        self._by_place.advance(seconds, np.full(PLACES, mean_decay), forget)
        self._found_at *= forget
        self._decay.advance(seconds, forget)

    def _expose_pending(self, until: Seconds, host: IntArray) -> None:
        if not self._pending:
            return
        source, place, share, age, at, first, merit = (np.array(column) for column in zip(*self._pending, strict=True))
        self._pending.clear()
        seen_from = np.zeros_like(age) if self._feedback == "all" else age
        age = age + np.maximum(until - at, 0.0)
        decay = self._decay_of[host[source]]
        left = np.exp(-decay * age)
        seen = np.exp(-decay * seen_from) - left
        worth = self._place_worth[place] * merit
        self._by_source.expose(source, worth * seen, worth * left)
        self._by_finder.expose(source[first], (worth * seen)[first], (worth * left)[first])
        expected = share * merit * self._profit[source]
        self._by_place.expose(place, expected * seen, expected * left)
        self._decay.expose(host[source], seen_from, age)
