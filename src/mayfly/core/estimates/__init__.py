"""What is learned of each source: link rate λ, page profit P, profit decay μ.

An estimator holds columns, not objects. It is told, source by source, what a crawl found, from when on a page's clicks
can be seen, and which clicks were; it can be asked for its beliefs at any time. To add one: a file here, a line below.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeAlias

from mayfly.core.estimates.bayes import Bayes
from mayfly.core.estimates.paper import Paper
from mayfly.core.model import Beliefs, Credited, Evidence, Found, IntArray, Seconds, SourceId

Feedback: TypeAlias = Literal["fetched", "all", "none"]


class Estimator(Protocol):
    """Learns the columns of `Beliefs` from what happens. Cheap to update, safe to read at any time."""

    def added(self, host: IntArray) -> None:
        """More sources exist from now on, one for each of these host numbers."""

    def crawled(self, source: SourceId, at: Seconds, since: Seconds | None, found: Found) -> None:
        """What a crawl found that was not there at `since`, the last one.

        `since` is None at the first crawl: what it shows may be of any age and says nothing of the rate.
        """

    def rejected(self, source: SourceId) -> None:
        """A page this source was first to show is none: take the link back."""

    def exposed(
        self, source: SourceId, place: int, share: float, age: Seconds, at: Seconds, first: bool, merit: float = 1.0
    ) -> None:
        """From `at` on, when it is `age` old, the clicks of one more page of this source can be seen.

        A page of three sources is told three times, each with a share of a third; with none where it was fetched
        before this source showed it. `first` of them is the one that showed it before all others. `merit` is what it
        was held to be worth against the mean page at its place.
        """

    def counted(self, at: Seconds, clicks: Credited) -> None:
        """All clicks before `at` that were not told yet."""

    def beliefs(self, now: Seconds) -> Beliefs:
        """The best guess so far; the running mean of all sources where nothing else is known."""

    def evidence(self) -> Evidence:
        """What that mean is made of, as far as it was learned here."""

    def lean_on(self, others: Evidence) -> None:
        """The mean is of those sources, too, which others crawl."""


ESTIMATORS: dict[str, Callable[..., Any]] = {"bayes": Bayes, "paper": Paper}
