"""Whose turn it is, and what the paper's policies have in common."""

from __future__ import annotations

from enum import Enum

from mayfly.core.events import SourceCrawled
from mayfly.core.frontier import PageOrder
from mayfly.core.model import Seconds


class Turn(Enum):
    """What the next fetch is of."""

    PAGE = "page"
    SOURCE = "source"
    NOBODY = "nobody"


def pages_first(page: float | None) -> Turn:
    """A known page if there is one, else a source."""
    return Turn.SOURCE if page is None else Turn.PAGE


class PaperPolicy:
    """What none of the paper's six policies has: a value for each page, a price for each fetch, a probe share."""

    page_order: PageOrder = "newest"
    pages_first = False
    seed_rounds = 2  # sources are "seed pages" (section 5.3.1), and one crawl says nothing of a rate
    probe = 0.0
    fits_profit = True
    uses_beliefs = True
    price: float | None = None

    def crawled(self, key: float) -> None:
        """Keys need no tracking."""

    def saw(self, crawl: SourceCrawled, links: int) -> None:
        """All that is known comes with the beliefs."""

    def stepped(self, by: Seconds) -> None:
        """No time is kept here."""

    def limits(self, now: Seconds) -> tuple[float, float]:
        """No page is ever dropped."""
        return float("-inf"), float("-inf")
