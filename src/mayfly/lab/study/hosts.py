"""Hosts by their tendency to show new content: the list the paper's search for sources begins with (section 3.2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from mayfly.core.model import DAY, Seconds
from mayfly.lab.study.visits import NONE, Visits
from mayfly.urls import host_of


def hosts_of(pages: Iterable[str]) -> list[str]:
    """The host of each page, empty if it is no address. What stands before the path is looked at once, as it repeats.

    >>> hosts_of(["https://a.example/x", "https://a.example", "17"])
    ['a.example', 'a.example', '']
    """
    known: dict[str, str] = {}
    found = []
    for page in pages:
        end = page.find("/", len("https://"))
        root = page if end < 0 else page[: end + 1]
        host = known.get(root)
        if host is None:
            host = known[root] = host_of(root)
        found.append(host)
    return found


class HostFacts(NamedTuple):
    """What a log says of a host."""

    host: str
    new: int  # pages first visited once the log had settled
    per_day: float
    pages: int
    visits: float
    visitors: int | None  # None: the log tells of none


def ranked_hosts(visits: Visits, settle: Seconds = 0.0) -> list[HostFacts]:
    """Those with the most new pages a day first; then the most visited; then the first in the log.

    Pages without a host, as numbers of a trace, are left out.
    """
    names: dict[str, int] = {}
    host = np.array([names.setdefault(name, len(names)) for name in hosts_of(visits.pages)], np.int64)
    many = len(names)
    new = np.bincount(host[visits.new_pages(settle)], minlength=many)
    pages = np.bincount(host, minlength=many)
    seen = np.bincount(host[visits.page], visits.count, minlength=many)
    who = _visitors(visits, host, many)
    days = max(visits.days - settle / DAY, 1.0)
    order = np.lexsort((np.arange(many), -seen, -new))
    hosts = list(names)
    return [
        HostFacts(
            hosts[number],
            int(new[number]),
            float(new[number] / days),
            int(pages[number]),
            float(seen[number]),
            None if who is None else int(who[number]),
        )
        for number in order.tolist()
        if hosts[number]
    ]


def _visitors(visits: Visits, host: np.ndarray, many: int) -> np.ndarray | None:
    """Different visitors of each host."""
    told = visits.visitor != NONE if len(visits.visitor) else np.zeros(len(visits), bool)
    if not told.any():
        return None
    pairs = np.unique(visits.visitor[told].astype(np.int64) * many + host[visits.page[told]])
    return np.bincount(pairs % many, minlength=many)
