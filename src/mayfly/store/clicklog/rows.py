"""What all click logs share: rows, what is wrong with them, and how addresses, times and numbers are read."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Any, NamedTuple, TypeAlias, TypeVar

from mayfly.core.model import DAY, Seconds
from mayfly.store.records import ClickKind, ClickRow
from mayfly.urls import canonical

LONGEST_LINE = 65536  # bytes; a longer one is no row of ours
_MILLISECONDS = 1e11  # seconds in the year 5138: nobody means that
_MOST_REMEMBERED = 200_000
_KINDS: dict[str, ClickKind] = {
    "click": "click", "clicks": "click", "view": "click", "views": "click", "visit": "click",
    "show": "show", "shows": "show", "impression": "show", "impressions": "show",
}  # fmt: skip
_T = TypeVar("_T")


class BadRow(NamedTuple):
    """A line that says nothing we can keep, and why."""

    line: int  # from 1
    reason: str
    zoneless: bool = False  # nothing is wrong but that nobody said in which zone its time is


class Dropped(NamedTuple):
    """A line that is sound, and no interest of a reader."""

    line: int
    reason: str  # a word or two, as in "12 by bots"


Read: TypeAlias = ClickRow | BadRow | Dropped


class NoZone(ValueError):
    """A time that could be any of 26 hours."""


class NoInterest(ValueError):
    """Why a sound row does not count, as in `Dropped`."""


class Memo(dict[Any, _T]):
    """Remembers what a function said: logs repeat themselves. Of very many it begins anew."""

    def __init__(self, ask: Callable[[Any], _T]) -> None:
        super().__init__()
        self._ask = ask

    def __missing__(self, given: Hashable) -> _T:
        if len(self) >= _MOST_REMEMBERED:
            self.clear()
        answer = self[given] = self._ask(given)
        return answer


class Reading:
    """How a log is read. All raise `ValueError` with what is wrong."""

    def __init__(
        self,
        now: Seconds,
        *,
        oldest: Seconds = 0.0,  # rows from before are not kept
        zone: tzinfo | None = None,  # of times that have none
        host: str | None = None,  # the address of the site, for lines that say the path only
        day: date | None = None,  # of rows that have no time
    ) -> None:
        self.now, self.oldest, self.zone, self.host, self.day = now, oldest, zone, host, day
        self.time_name = "at"  # as the log calls it
        self.urls = Memo(_url)
        self.moments = Memo(self.moment)
        self.counts = Memo(count)
        self.positions = Memo(position)

    def moment(self, given: Any) -> tuple[Seconds, Seconds | None]:
        """When it was, or when it began and how long it lasted."""
        span: Seconds | None = None
        if isinstance(given, str):
            at, span = self._text(given.strip())
        elif isinstance(given, datetime):
            at = self._stamp(given, given.isoformat())
        elif isinstance(given, date):
            at, span = self._day(given)
        elif is_number(given):
            at = as_float(given)
        else:
            raise ValueError(f"{self.time_name} must be seconds since 1970 or a time with its zone, not {short(given)}")
        if not 0 <= at < _MILLISECONDS:
            hint = "; are these milliseconds?" if _MILLISECONDS <= at < 1000 * _MILLISECONDS else ""
            raise ValueError(f"{self.time_name} must be seconds since 1970, not {short(given)}{hint}")
        if at > self.now + DAY:
            raise ValueError(f"{self.time_name} lies in the future: {short(given)}")
        if at < self.oldest:
            raise NoInterest("too old")
        return at, span

    def whole_day(self) -> tuple[Seconds, Seconds | None]:
        """Of rows that have no time: the day they are of."""
        if self.day is None:
            raise ValueError("there is no time, and nobody said of which day it is")
        return self.moment(self.day)

    def _text(self, text: str) -> tuple[Seconds, Seconds | None]:
        try:
            if len(text) in (8, 10) and "T" not in text and (len(text) == 8 or not text.isdigit()):
                return self._day(date.fromisoformat(text))  # 20260131 are no seconds: nobody clicked in 1970
            if text[:4].isdigit() and text[4:5] == "-":
                return self._stamp(datetime.fromisoformat(text), text), None
            return float(text), None
        except NoZone:
            raise
        except ValueError:
            raise ValueError(
                f"{self.time_name} must be a time such as 2026-01-31T10:00:00Z, not {short(text)}"
            ) from None

    def _stamp(self, moment: datetime, text: str) -> Seconds:
        if moment.tzinfo is None:
            if self.zone is None:
                raise NoZone(f"{self.time_name} has no zone: {short(text)}; write Z or +02:00 behind it")
            moment = moment.replace(tzinfo=self.zone)
        try:
            return moment.timestamp()
        except (OverflowError, ValueError):
            raise ValueError(f"{self.time_name} must be a time after 1970, not {short(text)}") from None

    def _day(self, day: date) -> tuple[Seconds, Seconds | None]:
        """From midnight to midnight where the log was written: 23 to 25 hours."""
        if self.zone is None:
            raise NoZone(f"{self.time_name} is a day in no zone: {day.isoformat()}")
        begin = self._stamp(datetime.combine(day, time(), self.zone), day.isoformat())
        try:
            end = self._stamp(datetime.combine(day + timedelta(days=1), time(), self.zone), day.isoformat())
        except OverflowError:
            end = begin + DAY
        return begin, end - begin


def count(given: Any) -> float:
    """A number that is not below 0; of text also 1,234."""
    if isinstance(given, str):
        text = given.strip()
        head, *groups = text.split(",")
        if groups and head.isdigit() and all(len(group) == 3 and group.isdigit() for group in groups):
            text = text.replace(",", "")
        try:
            number = float(text)
        except ValueError:
            number = -1.0
    else:
        number = as_float(given) if is_number(given) else -1.0
    if not 0 <= number < math.inf:
        raise ValueError(f"count must be a number above 0, not {short(given)}")
    return number


def position(given: Any) -> int:
    """1 for the top, 0 where it is not known; the mean of several is rounded."""
    try:
        number = 0.0 if given is None or given == "" else float(given)
    except (TypeError, ValueError, OverflowError):
        number = -1.0
    if isinstance(given, bool) or not 0 <= number < 2**31:
        raise ValueError(f"position must be a whole number, 1 for the top, not {short(given)}")
    return round(number)


def kind(given: Any) -> ClickKind:
    """Of text; views are clicks."""
    found = _KINDS.get(str(given).strip().lower() or "click")
    if found is None:
        raise ValueError(f"kind must be click or show, not {short(given)}")
    return found


def is_number(given: Any) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool)


def as_float(given: Any) -> float:
    try:
        return float(given)
    except OverflowError:
        return math.inf


def short(given: Any) -> str:
    """What was given, in few letters."""
    text = json.dumps(given, ensure_ascii=False, default=str).encode(errors="replace").decode()
    return text if len(text) <= 60 else text[:59] + "…"


def why_bad(line: int, wrong: ValueError) -> BadRow | Dropped:
    """What became of a row that could not be read."""
    if isinstance(wrong, NoInterest):
        return Dropped(line, str(wrong))
    return BadRow(line, str(wrong), isinstance(wrong, NoZone))


def _url(given: Any) -> str:
    url = canonical(given) if isinstance(given, str) else None
    if url is None:
        raise ValueError(f"url must be a web address, not {short(given)}")
    return url
