"""What happens to pages, and whom it teaches: the queue what they are worth, the estimates what can be seen of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat

from mayfly.core.estimates import Estimator, Feedback
from mayfly.core.events import ClicksCounted, NewPage
from mayfly.core.frontier import Frontier
from mayfly.core.knowledge import Knowledge, KnownPage
from mayfly.core.merits import Merits
from mayfly.core.model import PageId, Seconds, SourceId
from mayfly.core.place import next_place


class Pages:
    """Pages from their first link to their last click."""

    def __init__(
        self,
        known: Knowledge,
        frontier: Frontier,
        estimator: Estimator,
        merits: Merits | None,
        feedback: Feedback,
        leads: Callable[[int], None],
    ) -> None:
        """`leads` is told of a site whose first page is another now."""
        self._merits = merits
        self._known, self._frontier, self._estimator = known, frontier, estimator
        self._feedback = feedback
        self._leads = leads

    def found(
        self, new: Sequence[NewPage], source: SourceId, sites: Sequence[int], at: Seconds, since: Seconds | None
    ) -> list[int]:
        """Pages nobody has shown before, and where they are to be fetched; their places."""
        pages = [self._known.add_page(one, source, at, since) for one in new]
        if self._merits is not None and pages:
            self._merits.found(new, pages, source, at)
        for one, page, site in zip(new, pages, sites, strict=True):
            self.wait(one.page, page, site)
            if self._feedback == "all":
                self._estimator.exposed(source, page.place, 1.0, at - page.published, at, True, page.merit)
                self._seen(page, page.published)
        return [page.place for page in pages]

    def wait(self, number: PageId, page: KnownPage, site: int) -> None:
        """A page competes from now on."""
        if self._frontier.add(
            number, site, page.published, page.found_at, page.sources, page.place, page.card, page.merit
        ):
            self._leads(site)

    def shown(self, numbers: Sequence[PageId], ranks: Sequence[float | None], source: SourceId, at: Seconds) -> int:
        """Known pages whose links were not here at the last crawl; how many of them this source never showed before."""
        links = 0
        page_of, shown_again = self._known.pages.get, self.shown_again
        for number, rank in zip(numbers, ranks or repeat(None)):  # noqa: B905 (ranks may not be told)
            page = page_of(number)
            # A link that was here before, left and came back is no new link.
            if page is not None and source not in page.sources:
                links += 1
                shown_again(number, page, source, at, rank)
        return links

    def shown_again(
        self, number: PageId, page: KnownPage, source: SourceId, at: Seconds, rank: float | None = None
    ) -> None:
        """A page other sources showed before is linked here too."""
        page.shown_by(source, at if page.fetched and self._feedback == "fetched" else None)
        if page.fetched or self._feedback == "all":
            self._estimator.exposed(source, page.place, 0.0, at - page.published, at, False, page.merit)
        if page.fetched:
            return
        page.place = next_place(page.place)
        if self._merits is not None:
            self._merits.shown(page, rank)
        if number in self._frontier and self._frontier.show(number, source, page.place, page.merit):
            self._leads(self._frontier.site_of(number))

    def fetched(self, number: PageId, at: Seconds) -> None:
        """Its clicks can be seen from now on; said twice it counts once."""
        page = self._known.pages.get(number)
        if page is None or page.fetched:  # forgotten while it was under way; or told by another as well
            return
        page.fetched = True
        if self._feedback == "fetched":
            self._seen(page, at)
            age = max(at - page.published, 0.0)
            share = 1 / len(page.sources)
            for order, source in enumerate(page.sources):
                self._estimator.exposed(source, page.place, share, age, at, order == 0, page.merit)

    def rejected(self, number: PageId) -> None:
        """It was not what its link promised."""
        page = self._known.pages.pop(number, None)
        if page is not None:
            self._estimator.rejected(page.sources[0])
            if self._merits is not None:
                self._merits.gone(page)

    def given_up(self, number: PageId) -> None:
        """It will not be fetched."""
        page = self._known.pages.get(number)
        if page is not None and self._merits is not None and not page.fetched:
            self._merits.gone(page)

    def forget(self, now: Seconds) -> list[PageId]:
        """Those found too long ago to matter."""
        old = self._known.forget(now)
        if self._merits is not None:
            for page in old.values():
                if not page.fetched:  # the card of a fetched one is taken back when its time to teach has come
                    self._merits.gone(page)
        return list(old)

    def clicked(self, clicks: ClicksCounted) -> None:
        """A push of the log."""
        self._estimator.counted(clicks.at, self._known.credit(clicks))
        if self._merits is not None:
            # Not the beliefs of the last plan: while the past is told again nobody plans, and it must teach the same.
            self._merits.counted(clicks, self._known.pages.get, self._estimator.beliefs(clicks.at))

    def _seen(self, page: KnownPage, since: Seconds) -> None:
        """From then on its clicks are told."""
        if self._merits is not None:
            self._merits.seen(page, since)
