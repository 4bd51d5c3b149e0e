"""What a crawl did, told from outside: by the requests the web noted and by its own trace."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from mayfly.core.model import FloatArray, Seconds
from mayfly.lab.trace import Trace, read_trace


@dataclass(slots=True)
class Visit:
    """A request, as the web saw it."""

    at: Seconds
    ended: Seconds
    host: str
    target: str
    status: int

    @property
    def path(self) -> str:
        """Without what was asked of it."""
        return self.target.partition("?")[0]


def read_journal(path: Path, since: Seconds = 0.0) -> list[Visit]:
    """All requests from then on, by their start."""
    rows = []
    with path.open() as file:
        for line in file:
            if line.endswith("}\n"):
                row = json.loads(line)
                if row["at"] >= since:
                    rows.append(Visit(row["at"], row["ended"], row["host"], row["target"], row["status"]))
    return sorted(rows, key=lambda visit: visit.at)


class Pages:
    """Which requests were for which pages and sources of the web's trace."""

    def __init__(self, trace: Path | Trace, visits: list[Visit]) -> None:
        self.trace = read_trace(trace) if isinstance(trace, Path) else trace
        self._number = {_key(url): page for page, url in enumerate(self.trace.page_urls)}
        self._source = {url.removeprefix("http://"): number for number, url in enumerate(self.trace.source_urls)}
        self.fetches: dict[int, list[Visit]] = defaultdict(list)  # answered well, by page
        self.crawls: dict[int, list[Visit]] = defaultdict(list)  # by source
        for visit in visits:
            page = self.page_of(visit)
            source = self._source.get(visit.host + visit.path)
            if page is not None and visit.status == 200:
                self.fetches[page].append(visit)
            if source is not None and visit.status in (200, 304):
                self.crawls[source].append(visit)

    def page_of(self, visit: Visit) -> int | None:
        """The page a request was for, under any of its addresses."""
        path = visit.path.removeprefix("/amp") if visit.path.startswith("/amp/") else visit.path
        return self._number.get(visit.host + (path[:-1] if path.endswith("/") else path))

    @property
    def host_of(self) -> list[str]:
        """By page."""
        return [urlsplit(url).hostname or "" for url in self.trace.page_urls]

    def baselines(self) -> dict[str, Seconds]:
        """When the last of a host's sources was read for the first time."""
        read: dict[str, Seconds] = {}
        for source, crawls in self.crawls.items():
            host = self.trace.hosts[source]
            read[host] = max(read.get(host, 0.0), crawls[0].ended)
        return read

    def fetched_at(self) -> FloatArray:
        """When each page was first fetched; inf: never."""
        at = np.full(len(self.trace.page_ids), np.inf)
        for page, visits in self.fetches.items():
            at[page] = visits[0].ended
        return at

    def twice_by_page(self) -> list[int]:
        """Pages fetched more than once, under whatever address."""
        return [page for page, visits in self.fetches.items() if len(visits) > 1]

    def twice_by_url(self) -> list[str]:
        """Addresses fetched more than once."""
        return [
            visits[0].host + target
            for visits in self.fetches.values()
            for target in {visit.target for visit in visits}
            if sum(visit.target == target for visit in visits) > 1
        ]


def _key(url: str) -> str:
    return url.removeprefix("http://")
