"""What a reader asks for, as it stands in the address. Nothing is refused: what makes no sense is left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlencode

from mayfly.core.model import DAY, HOUR, WEEK, Seconds, SourceId
from mayfly.store.sights import Only

AGES: dict[str, tuple[str, Seconds | None]] = {
    "all": ("Any time", None),
    "hour": ("Past hour", HOUR),
    "day": ("Past day", DAY),
    "week": ("Past week", WEEK),
}
_LONGEST = 200  # characters of a query
_LARGEST = 1 << 53
_MOST_PAGES = 300


class Asked(NamedTuple):
    """Words and filters, and where in the list: `after` so many by rank, up to the landing `upto`."""

    q: str = ""
    host: str = ""
    source: SourceId | None = None
    age: str = "all"
    page: int = 1
    after: int = 0
    upto: int | None = None

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Asked:
        """As it was given."""
        age = given.get("age", "all")
        return cls(
            " ".join(given.get("q", "")[:_LONGEST].split()),
            given.get("host", "").strip().lower()[:_LONGEST],
            _number(given.get("source", "")),
            age if age in AGES else "all",
            min(max(_number(given.get("page", "")) or 1, 1), _MOST_PAGES),
            _number(given.get("after", "")) or 0,
            _number(given.get("upto", "")),
        )

    def only(self, now: Seconds) -> Only:
        """For the store."""
        span = AGES[self.age][1]
        return Only(self.host or None, self.source, None if span is None else now - span, self.upto)

    def link(self, path: str = "/", **changed: str) -> str:
        """The address of the same from its first page on, with some of it changed.

        >>> Asked("a b", "x.example", 3, "day", 2).link(source="")
        '/?q=a+b&host=x.example&age=day'
        """
        said = {
            "q": self.q,
            "host": self.host,
            "source": "" if self.source is None else str(self.source),
            "age": "" if self.age == "all" else self.age,
        }
        given = urlencode({name: value for name, value in (said | changed).items() if value})
        return f"{path}?{given}" if given else path

    @property
    def filtered(self) -> bool:
        return bool(self.host or self.source is not None or self.age != "all")


def _number(said: str) -> int | None:
    """A whole number, if it is one that may be.

    >>> _number("12"), _number("-1"), _number("٣"), _number("9" * 30)
    (12, None, None, None)
    """
    if not said.isascii() or not said.isdecimal() or len(said) > 16:
        return None
    return min(int(said), _LARGEST)
