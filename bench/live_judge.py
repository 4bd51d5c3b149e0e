"""What a crawl did, judged from outside: by the requests the test web noted and by its own trace."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from mayfly.lab.trace import Trace, read_trace
from mayfly.urls import site_of

TOLERANCE = 0.005
DISALLOWED = ("/login", "/search")  # by the newspapers' robots.txt
FORBIDDEN_HOSTS = {  # whose robots.txt forbids all, or cannot be had
    "robots-forbids.test", "robots-500.test", "robots-429.test", "robots-silent.test",
}  # fmt: skip


@dataclass(slots=True)
class Visit:
    """A request, as the web saw it."""

    at: float
    ended: float
    host: str
    target: str
    status: int

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]


def read_journal(path: Path, since: float = 0.0) -> list[Visit]:
    """All requests from then on, by their start."""
    rows = []
    with path.open() as file:
        for line in file:
            if line.endswith("}\n"):
                row = json.loads(line)
                if row["at"] >= since:
                    rows.append(Visit(row["at"], row["ended"], row["host"], row["target"], row["status"]))
    return sorted(rows, key=lambda visit: visit.at)


class Table:
    """Figures beside their limits; `ok` as long as none is missed."""

    def __init__(self, title: str) -> None:
        self.ok = True
        print(f"\n{title}", flush=True)

    def say(self, what: str, figure: object) -> None:
        """A figure without a limit."""
        print(f"  {what:58} {_shown(figure):>12}", flush=True)

    def most(self, what: str, figure: float, limit: float) -> None:
        self._line(what, figure, f"<= {_shown(limit)}", figure <= limit)

    def least(self, what: str, figure: float, limit: float) -> None:
        self._line(what, figure, f">= {_shown(limit)}", figure >= limit)

    def _line(self, what: str, figure: object, limit: str, good: bool) -> None:
        good = bool(good)
        self.ok &= good
        print(f"  {what:58} {_shown(figure):>12}   {limit:14} {'ok' if good else 'MISSED'}", flush=True)


def _shown(value: object) -> str:
    return f"{value:,.4g}" if isinstance(value, float) and abs(value) < 1000 else f"{value:,.0f}" if isinstance(
        value, float) else f"{value:,}" if isinstance(value, int) else str(value)  # fmt: skip


def courtesy(table: Table, visits: list[Visit], delay: float, budget: float, paced: dict[str, float] | None = None,
             unsure: frozenset[str] = frozenset()) -> None:  # fmt: skip
    """What every run must keep: pauses, robots.txt, the budget. Sites in `unsure` end requests the web notes late."""
    table.most(
        "pauses between two requests to a site that were too short", len(too_short(visits, delay, paced, unsure)), 0
    )
    table.say("  the shortest pause of all, seconds", shortest_pause(visits, unsure))
    table.most("requests for disallowed paths", len(disallowed(visits)), 0)
    table.most("most requests in any 60 s", most_within(visits, 60.0), int(1.02 * 60 * budget + 1))


def pauses(visits: list[Visit], unsure: frozenset[str] = frozenset()):
    """(site, seconds from the end of a request to the start of the next, whether that was for robots.txt)."""
    last: dict[str, Visit] = {}
    for visit in visits:
        site = site_of(visit.host)
        before = last.get(site)
        if before is not None and site not in unsure:
            yield site, visit.at - before.ended, before.path == "/robots.txt"
        if before is None or visit.ended >= before.ended:
            last[site] = visit


def too_short(
    visits: list[Visit], delay: float, paced: dict[str, float] | None = None, unsure: frozenset[str] = frozenset()
) -> list[tuple[str, float]]:
    """A Crawl-delay (`paced`) counts from the first request after the robots.txt that asks for it."""
    return [
        (site, pause)
        for site, pause, after_robots in pauses(visits, unsure)
        if pause < (delay if after_robots else (paced or {}).get(site, delay)) - TOLERANCE
    ]


def shortest_pause(visits: list[Visit], unsure: frozenset[str] = frozenset()) -> float:
    return min((pause for _, pause, _ in pauses(visits, unsure)), default=float("nan"))


def disallowed(visits: list[Visit]) -> list[Visit]:
    return [
        visit
        for visit in visits
        if (visit.host.startswith("site-") and visit.path.startswith(DISALLOWED))
        or (visit.host in FORBIDDEN_HOSTS and visit.path != "/robots.txt")
    ]


def most_within(visits: list[Visit], seconds: float) -> int:
    at = np.array([visit.at for visit in visits])
    return int((np.searchsorted(at, at + seconds, side="left") - np.arange(len(at))).max()) if len(at) else 0


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
        path = visit.path.removeprefix("/amp") if visit.path.startswith("/amp/") else visit.path
        return self._number.get(visit.host + (path[:-1] if path.endswith("/") else path))

    @property
    def host_of(self) -> list[str]:
        return [urlsplit(url).hostname or "" for url in self.trace.page_urls]

    def baselines(self) -> dict[str, float]:
        """When the last of a host's sources was read for the first time."""
        read: dict[str, float] = {}
        for source, crawls in self.crawls.items():
            host = self.trace.hosts[source]
            read[host] = max(read.get(host, 0.0), crawls[0].ended)
        return read

    def fetched_at(self) -> np.ndarray:
        """When each page was first fetched; inf: never."""
        at = np.full(len(self.trace.page_ids), np.inf)
        for page, visits in self.fetches.items():
            at[page] = visits[0].ended
        return at

    def twice_by_page(self) -> list[int]:
        return [page for page, visits in self.fetches.items() if len(visits) > 1]

    def twice_by_url(self) -> list[str]:
        return [
            visits[0].host + target
            for visits in self.fetches.values()
            for target in {visit.target for visit in visits}
            if sum(visit.target == target for visit in visits) > 1
        ]


def _key(url: str) -> str:
    return url.removeprefix("http://")
