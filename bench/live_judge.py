"""What a crawl did, judged from outside: by the requests the test web noted and by its own trace."""

from __future__ import annotations

from typing import IO

import numpy as np

from mayfly.testing.witness import Visit
from mayfly.urls import site_of

TOLERANCE = 0.005
DISALLOWED = ("/login", "/search")  # by the newspapers' robots.txt
FORBIDDEN_HOSTS = {  # whose robots.txt forbids all, or cannot be had
    "robots-forbids.test", "robots-500.test", "robots-429.test", "robots-silent.test",
}  # fmt: skip


class Table:
    """Figures beside their limits; `ok` as long as none is missed."""

    def __init__(self, title: str, file: IO[str] | None = None) -> None:
        self.ok = True
        self._file = file  # None: what is standard output now
        self.note(f"\n{title}")

    def note(self, text: object) -> None:
        """A line of its own."""
        print(text, file=self._file, flush=True)

    def say(self, what: str, figure: object) -> None:
        """A figure without a limit."""
        self.note(f"  {what:58} {_shown(figure):>12}")

    def most(self, what: str, figure: float, limit: float) -> None:
        self._line(what, figure, f"<= {_shown(limit)}", figure <= limit)

    def least(self, what: str, figure: float, limit: float) -> None:
        self._line(what, figure, f">= {_shown(limit)}", figure >= limit)

    def _line(self, what: str, figure: object, limit: str, good: bool) -> None:
        good = bool(good)
        self.ok &= good
        self.note(f"  {what:58} {_shown(figure):>12}   {limit:14} {'ok' if good else 'MISSED'}")


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
