"""What the server was asked, in order, for tests that must know: the last so many requests, and no more.

With a file all of them are written down, each as a row of JSON when it is over, in the order they ended.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import IO, Any

from mayfly.core.model import Seconds


@dataclass(slots=True)
class Visit:
    """One request. `status`, `bytes` and `ended` are filled in as the answer goes out."""

    at: Seconds  # wall time
    host: str
    target: str
    method: str
    address: str  # ours, where it came in
    connection: int  # connections are numbered from 1
    user_agent: str = ""
    client: str = ""  # the address it came from
    if_none_match: str = ""
    if_modified_since: str = ""
    status: int = 0
    bytes: int = 0  # of the answer, head and all
    ended: Seconds | None = None  # the last byte was handed over; None: not yet

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]


class Journal:
    """Bounded: the oldest visits are forgotten first, but `total` counts them all."""

    def __init__(self, most: int = 100_000, file: IO[str] | None = None) -> None:
        self._visits: deque[Visit] = deque(maxlen=most)
        self._file = file
        self.total = 0

    def add(self, visit: Visit) -> None:
        self._visits.append(visit)
        self.total += 1

    def over(self, visit: Visit) -> None:
        """The answer is out: nothing of the visit will change any more."""
        if self._file is not None:
            self._file.write(json.dumps(asdict(visit)) + "\n")

    def visits(self, host: str | None = None, path: str | None = None) -> list[Visit]:
        """The visits kept, oldest first; of one host, of one path.

        >>> journal = Journal(most=2)
        >>> for target in ("/a", "/b?c=1", "/d"):
        ...     journal.add(Visit(0.0, "x.test", target, "GET", "127.0.0.1", 1))
        >>> [visit.path for visit in journal.visits()], journal.total, len(journal.visits(path="/b"))
        (['/b', '/d'], 3, 1)
        """
        return [
            visit
            for visit in list(self._visits)
            if (host is None or visit.host == host) and (path is None or visit.path == path)
        ]

    def since(self, number: int) -> Iterator[dict[str, Any]]:
        """Visits from this number on (the first ever is 0), each with its `number`, as far as they are kept."""
        kept = list(self._visits)
        first = self.total - len(kept)
        for at, visit in enumerate(kept[max(0, number - first) :], start=max(first, number)):
            yield {"number": at, **asdict(visit)}

    def clear(self) -> None:
        self._visits.clear()
        self.total = 0
