"""The words of the crawler as plain values, with their units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Seconds: TypeAlias = float  # instants (Unix time) and durations
PerSecond: TypeAlias = float
SourceId: TypeAlias = int  # sources are numbered 0, 1, 2, … in the order they were added
PageId: TypeAlias = int
FloatArray: TypeAlias = NDArray[np.floating[Any]]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
Moments: TypeAlias = Seconds | FloatArray  # one for all, or one for each

PLACES = 24  # classes of places a link may have, see `place.py`
DAY: Seconds = 86400.0
MINUTE: Seconds = 60.0
HOUR: Seconds = 3600.0
WEEK: Seconds = 7 * DAY


class Fetch(NamedTuple):
    """One request, of a source (a crawl) or of a page. The budget counts these."""

    kind: Literal["source", "page"]
    id: int


class Wait(NamedTuple):
    """Nothing may be fetched now; ask again at `until` (`inf`: only after something happened).

    `better`: something could be, but what can be fetched then is worth more.
    """

    until: Seconds
    better: bool = False


class Beliefs(NamedTuple):
    """What we believe about the sources: columns by source number, all that a plan reads."""

    link_rate: FloatArray  # λ: links to new pages that appear, per second, over a whole week
    page_profit: FloatArray  # P: clicks a new page gathers in its life
    found_profit: FloatArray  # the same, of the pages no other source showed before: what a crawl of it brings
    profit_decay: FloatArray  # μ: how fast that profit fades with age, per second
    link_loss: FloatArray  # δ: how fast links leave the source, per second; one we did not see in time is lost
    rhythm: FloatArray  # link rate in the hour ahead, as a multiple of `link_rate`
    value_spread: FloatArray  # standard deviation of ln(value) of the pages it is first to show, as far as foreseen
    place_worth: FloatArray  # by place (`place.py`), not by source: worth of a page there, as a multiple of P


class Credited(NamedTuple):
    """Clicks by source; those of a page of three sources stand there three times. Parallel columns."""

    source: IntArray
    place: IntArray  # where the page stood when it was fetched
    share: FloatArray  # one by the number of sources that showed it before its fetch; none of those that did later
    age: FloatArray  # of the page when it was clicked
    number: FloatArray
    first: BoolArray  # whether this source was the first to show the page
    timed: BoolArray | None = None  # whether the age is known well enough to tell how interest fades; None: all are


class Found(NamedTuple):
    """What a crawl of a source found, in numbers."""

    new: int  # links to pages no source had shown
    links: int  # links that were not there at the last crawl
    stayed: int  # links of the last crawl that are still there
    gone: int  # links of the last crawl that are not
    places: Sequence[int] = ()  # of the new pages
    whole: bool = False  # nothing can have come and gone unseen: the links are counted by the dates they carry


class Evidence(NamedTuple):
    """What a mean over all sources is made of, so that those who each know a part of them may share it."""

    links: float = 0.0  # found,
    watched: Seconds = 0.0  # in so much time
    clicks: float = 0.0  # seen,
    exposure: float = 0.0  # of so many pages
    fading: tuple[float, ...] = ()  # how old pages were when they were clicked: columns that add up, see `decay.py`
    places: tuple[float, ...] = ()  # clicks, clicks expected and pages found by place, one after the other


NO_EVIDENCE = Evidence()


def beliefs(link_rate: FloatArray, page_profit: FloatArray, profit_decay: FloatArray) -> Beliefs:
    """Beliefs in links that stay, come at an even rate, and are worth the same wherever they stand."""
    flat = np.ones_like(link_rate)
    none = np.zeros_like(link_rate)
    return Beliefs(link_rate, page_profit, page_profit, profit_decay, none, flat, none, np.ones(PLACES))
