"""The sources a crawl watches: numbered for the scheduler, by id for the store."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from mayfly.core.model import PageId, Seconds, SourceId
from mayfly.fetch.validators import Validators
from mayfly.store.hints import NO_HUB, NamedHub
from mayfly.store.records import Memory, Source, SourceKind
from mayfly.urls import same_page, site_of


@dataclass(slots=True)
class Watched:
    """A source, as far as a crawl needs it at hand."""

    number: int  # the scheduler's
    id: SourceId  # the store's
    url: str
    site: str
    kind: SourceKind
    validators: Validators
    crawls: int
    failures: int
    failure: str
    unchanged: int
    last_new: Seconds | None
    found_at: Seconds
    active: bool
    pinned: Seconds | None
    last_crawl: Seconds | None = None
    moved_to: str = ""  # where its last crawls were led,
    moved_since: Seconds = 0.0  # and since when
    led_away: bool = False  # to a site of another shard, which was told
    named_by: str = ""  # site of the page it was found on; empty: a person named it
    hub: NamedHub = NO_HUB  # that it names, if it is a feed,
    hub_since: Seconds = 0.0  # and since when, if that was in this run
    elsewhere: bool = False  # another shard crawls it; it found pages of ours


@dataclass(slots=True)
class KnownPage:
    """A page that waits for its fetch."""

    url: str
    site: str
    source: int  # number of the first that showed it
    found_at: Seconds
    tries: int = 0
    leads: int = 0  # redirects from shard to shard by which it was found


class Sources:
    """All of them, blocked and retired ones too: their numbers never change while a crawl runs."""

    def __init__(self) -> None:
        self._all: list[Watched] = []
        self._by_id: dict[SourceId, Watched] = {}
        self._urls: dict[str, Watched] = {}
        self._by_site: dict[str, list[Watched]] = {}
        self.revision = 0  # of the latest edit taken in

    def __getitem__(self, number: int) -> Watched:
        return self._all[number]

    def __len__(self) -> int:
        return len(self._all)

    @property
    def urls(self) -> Container[str]:
        """Their addresses."""
        return self._urls

    def __contains__(self, url: object) -> bool:
        """Whether an address is a source."""
        return url in self._urls

    def __iter__(self) -> Iterator[Watched]:
        return iter(self._all)

    def of(self, source: SourceId) -> Watched | None:
        return self._by_id.get(source)

    def exactly(self, url: str) -> Watched | None:
        """The source at an address."""
        return self._urls.get(url)

    def at(self, url: str) -> Watched | None:
        """The source at an address, in whatever spelling."""
        there = self.exactly(url)
        if there is None:
            key = same_page(url)
            there = next((one for one in self._by_site.get(site_of(url), ()) if same_page(one.url) == key), None)
        return there

    def nearest(self, url: str) -> Watched | None:
        """The active source of a page's site that has most of its address in common, the front page before others."""
        near = [one for one in self._by_site.get(site_of(url), ()) if one.active]
        return max(near, key=lambda one: (_alike(one.url, url), one.kind == "front"), default=None)

    def of_another(self, row: Source) -> Watched:
        """Note a source that another shard crawls: it found pages of ours."""
        made = replace(_watched(row, len(self._all)), active=False, pinned=None, elsewhere=True)
        self._all.append(made)
        self._by_id[row.id] = made
        return made

    def take(self, rows: Sequence[Source]) -> tuple[list[Watched], list[Watched]]:
        """Note sources that are new here, and what was edited of the others. Returns both."""
        new: list[Watched] = []
        edited: list[Watched] = []
        for row in rows:
            self.revision = max(self.revision, row.revision)
            known = self._by_id.get(row.id)
            if known is None:
                known = _watched(row, len(self._all))
                self._all.append(known)
                self._by_id[row.id] = self._urls[row.url] = known
                self._by_site.setdefault(row.site, []).append(known)
                new.append(known)
            elif (known.active, known.pinned) != (row.state == "active", row.pinned):
                known.active, known.pinned = row.state == "active", row.pinned
                edited.append(known)
        return new, edited


def _alike(some: str, other: str) -> int:
    """How many steps down the first address leads to the second."""
    steps = zip(some.split("/")[:-1], other.split("/"), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], steps))


def _watched(row: Source, number: int) -> Watched:
    return Watched(
        number=number,
        id=row.id,
        url=row.url,
        site=row.site,
        kind=row.kind,
        validators=Validators(*row.memory),
        crawls=row.crawls,
        failures=row.failures,
        failure=row.failure,
        unchanged=row.unchanged,
        last_new=row.last_new,
        last_crawl=row.last_crawl,
        found_at=row.found_at,
        active=row.state == "active",
        pinned=row.pinned,
        named_by=site_of(row.found_on) if row.found_on else "",
        hub=NamedHub(row.hub, row.topic),
    )


def memory_of(validators: Validators) -> Memory:
    """Validators as the store keeps them."""
    return Memory(
        validators.etag, validators.last_modified, validators.body_hash, validators.unmodified, validators.lie
    )


Pages = dict[PageId, KnownPage]
