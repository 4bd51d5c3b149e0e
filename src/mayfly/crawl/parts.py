"""What a crawl is made of, for those who work on it."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Protocol

from mayfly.core.model import Seconds
from mayfly.core.scheduler import Scheduler
from mayfly.crawl.candidates import Patterns
from mayfly.crawl.clock import Clock
from mayfly.crawl.doorman import Doorman
from mayfly.crawl.interest import Interest
from mayfly.crawl.settings import Settings
from mayfly.crawl.tally import Tally
from mayfly.crawl.visits import Visitor
from mayfly.crawl.watched import Pages, Sources
from mayfly.fetch.answers import Response
from mayfly.store.store import Store


class Archive(Protocol):
    """Where raw answers are kept (`store.warc`)."""

    def write(self, response: Response) -> str:
        """Keep an answer; says where."""

    def prune(self, now: Seconds, keep_seconds: Seconds, max_total_bytes: int) -> int:
        """Forget the oldest; says how many files."""


@dataclass(slots=True)
class Parts:
    """All of them; none knows of another but through here."""

    settings: Settings
    store: Store
    clock: Clock
    scheduler: Scheduler
    door: Doorman
    visitor: Visitor
    archive: Archive | None
    patterns: Patterns
    luck: random.Random
    sources: Sources = field(default_factory=Sources)
    pages: Pages = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)
    interest: Interest = field(init=False)

    def __post_init__(self) -> None:
        self.interest = Interest(self.settings)
