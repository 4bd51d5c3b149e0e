"""What people ask for now, from a file its owner keeps fresh: a term and its weight a line, `storm,12.5`."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

_MOST_TERMS = 10_000
_MOST_BYTES = 5_000_000
log = logging.getLogger("mayfly")


class Trends:
    """A file that may change, or not be there."""

    def __init__(self, path: str) -> None:
        self._path = Path(path) if path else None
        self._seen: tuple[float, int] | None = None

    def changed(self) -> dict[str, float] | None:
        """The terms and their weights, if the file is another than last time; none of a file that is gone."""
        if self._path is None:
            return None
        try:
            there = self._path.stat()
            now = (there.st_mtime, there.st_size)
            if now == self._seen:
                return None
            with self._path.open(encoding="utf-8", errors="replace") as file:
                terms = read_terms(file.read(_MOST_BYTES).splitlines())
        except OSError as error:
            if self._seen != (0.0, -1):
                log.warning("trends: %s cannot be read: %s", self._path, error.strerror)
            before, self._seen = self._seen, (0.0, -1)
            return {} if before is not None and before != (0.0, -1) else None
        self._seen = now
        return terms


def read_terms(lines: Iterable[str]) -> dict[str, float]:
    """Terms and weights; comma or tab between them, 1 where there is no weight, the larger where a term comes twice.

    >>> read_terms(["storm, 12.5", "# a remark", "election", "storm,3", "odd,weight", "none,0"])
    {'storm': 12.5, 'election': 1.0}
    """
    terms: dict[str, float] = {}
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        term, apart, told = line.rpartition("\t" if "\t" in line else ",")
        try:
            weight = float(told) if apart else 1.0
        except ValueError:
            continue
        term = (term if apart else line).strip()
        if term and 0 < weight < float("inf"):
            terms[term] = max(weight, terms.get(term, 0.0))
        if len(terms) >= _MOST_TERMS:
            break
    return terms
