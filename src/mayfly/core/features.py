"""What is known of a page before it is fetched, as the numbers of features (MATH §4.6).

Every feature has a name ("section a.test/sport", "rank 3", "word storm"); a name is hashed to a slot of the table of
weights, so that the table has one size whatever the web says. Words have a half of the table for themselves: there are
many, each says little, and the model trusts them later. A page has a row of `WIDTH` slots; 0 stands for no feature. The
first `MOVING` of them change when another source shows the page, the others never.

Addresses are read as they are: host, sections (the path without its last part) and slug. No word and no host is known
beforehand.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Mapping, Sequence

from mayfly.core.model import HOUR, Seconds

WIDTH = 32
MOVING = 3
TABLE = 1 << 18  # slots
WORDS = TABLE // 2  # slots from here on are of words

_MOST_WORDS = 10
_MOST_SECTIONS = 4
_MOST_REMEMBERED = 200_000
_WORD = re.compile(r"[^\W\d_]{3,}")
_DIGIT = re.compile(r"\d")
_DAY_HOURS = 3  # hours of the day that count as one


class Features:
    """Names and slots, with a memory of those that come often."""

    def __init__(self) -> None:
        self.trends: dict[str, float] = {}  # word → share of the heaviest
        self._slots: dict[str, int] = {}
        self._sections: dict[str, list[str]] = {}
        self._titles: dict[int, int] = {}  # how many pages had a title of these words

    def follow(self, trends: Mapping[str, float]) -> None:
        """Take what people ask for now: terms and their weights. Words of a term share its weight."""
        most = max(trends.values(), default=1.0)
        self.trends = {}
        for term, weight in trends.items():
            for word in _WORD.findall(term.lower()):
                self.trends[word] = max(self.trends.get(word, 0.0), weight / most)

    def slot(self, name: str) -> int:
        """Where the weight of a feature stands."""
        return self._slots.get(name) or self._slot(name)

    def slots(self, names: Sequence[str], words: Sequence[str] = ()) -> list[int]:
        """The slots of features and of words."""
        known = self._slots
        found = [known.get(name) or self._slot(name) for name in names]
        return found + [known.get(word) or self._slot(word) for word in words]

    def moving(self, sources: int, fronts: int, rank: float | None, host: int) -> list[str]:
        """By how many sources, how many front pages among them, and how high on the best of them it is shown."""
        step = "?" if rank is None else int(2 * math.log2(max(rank, 1.0)))
        return [f"sources {min(sources, 5)} of host {host}", f"fronts {min(fronts, 3)}", f"rank {step}"]

    def standing(self, url: str, title: str, first: int, at: Seconds) -> tuple[list[str], list[str]]:
        """All else, names of features and of words, of a page with this address and anchor text.

        `first` is the source that showed it before all others, at `at`.
        """
        path = url.partition("?")[0].rstrip("/")
        cut = path.rfind("/") + 1
        slug = path[cut:]
        names = self._sections.get(path[:cut]) or self._read_sections(path[:cut])
        day, hour = divmod(int(at // HOUR), 24)
        words = _WORD.findall(f"{slug} {title}".lower() if title else slug.lower())[: 2 * _MOST_WORDS]
        distinct = list(dict.fromkeys(words))[:_MOST_WORDS]
        names = [
            *names,
            f"first on {first}",
            f"digits {min(len(_DIGIT.findall(slug)), 12)}",
            f"length {min(len(slug) // 12, 10)}",
            f"words {min(len(words), 12)}",
            f"hour {hour // _DAY_HOURS}",
            f"weekday {day % 7}",
        ]
        if len(distinct) > 3:
            names.append(f"titles like it {self._alike(distinct)}")
        if self.trends:
            asked = max((self.trends.get(word, 0.0) for word in distinct), default=0.0)
            names.append(f"asked for {math.ceil(4 * asked)}")
        return names, [f"word {word}" for word in distinct]

    def _read_sections(self, path: str) -> list[str]:
        """Features of the host and the path before the slug; pages share them, so they are remembered."""
        host, *sections = [part for part in path.partition("://")[2].split("/") if part] or [""]
        sections = [part for part in sections if not part.isdigit()]
        names = [f"depth {min(path.count('/'), 8)}", f"section {'/'.join([host, *sections[:1]])}"]
        if len(sections) > 1:
            names.append(f"section {'/'.join([host, *sections[:2]])}")
        names += [f"in {part}" for part in sections[:_MOST_SECTIONS]]
        if len(self._sections) >= _MOST_REMEMBERED // 10:
            self._sections.clear()
        self._sections[path] = names
        return names

    def _alike(self, words: Sequence[str]) -> int:
        """How many pages before had a title of the same words; up to three."""
        title = zlib.crc32(" ".join(sorted(words)).encode())
        seen = self._titles.pop(title, 0)
        if len(self._titles) >= _MOST_REMEMBERED:
            del self._titles[next(iter(self._titles))]
        self._titles[title] = seen + 1
        return min(seen, 3)

    def _slot(self, name: str) -> int:
        if len(self._slots) >= _MOST_REMEMBERED:
            self._slots.clear()
        first, size = (WORDS, TABLE - WORDS) if name.startswith("word ") else (1, WORDS - 1)
        slot = self._slots[name] = first + zlib.crc32(name.encode()) % size
        return slot
