"""Dynamic quality while it is not known yet: what was seen so far, and what is still expected (paper, section 2).

The profit of a page is known only when nobody clicks on it any more. Until then it is taken as the clicks that came
since its fetch, and for the time nobody has told us of yet the rest that is believed to come: P·e^(-μa) at age a.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mayfly.core.model import WEEK, BoolArray, FloatArray, Seconds
from mayfly.core.quality import dynamic_quality

SETTLED: Seconds = WEEK  # a page of this age has had its clicks


class Profits(NamedTuple):
    """Columns by page. What a page brings is `seen + rest`."""

    fetched: FloatArray
    seen: FloatArray
    rest: FloatArray


class Dynamic(NamedTuple):
    """Q_T(t) for each t, per second."""

    at: FloatArray
    seen: FloatArray  # by what came so far
    whole: FloatArray  # with the expected rest
    provisional: BoolArray  # some of its pages may be younger than a week


def expected_rest(
    published: FloatArray, fetched: FloatArray, profit: FloatArray, decay: FloatArray, known_until: Seconds
) -> FloatArray:
    """Clicks still to come of each page after `known_until`, the time up to which clicks are known, or its fetch.

    >>> day = 86400.0
    >>> page = np.array([0.0]), np.array([3600.0]), np.array([8.0]), np.array([np.log(2) / day])
    >>> expected_rest(*page, known_until=-np.inf).round(3), expected_rest(*page, known_until=3 * day)
    (array([7.772]), array([1.]))
    """
    age = np.maximum(np.maximum(fetched, known_until) - published, 0.0)
    return profit * np.exp(-decay * age)


def dynamic(profits: Profits, times: FloatArray, width: Seconds, now: Seconds) -> Dynamic:
    """Q_T at each of the times, T = `width`."""
    seen = dynamic_quality(profits.seen, profits.fetched, times, width)
    rest = dynamic_quality(profits.rest, profits.fetched, times, width)
    return Dynamic(times, seen, seen + rest, times > now - SETTLED)
