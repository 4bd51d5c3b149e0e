"""What is known of a page before it is fetched, as the numbers of features.

Every feature has a name ("section a.test/sport", "rank 3", "word storm"); a name is hashed to a slot of the table of
weights, so that the table has one size whatever the web says. Words have a half of the table for themselves: there are
many, each says little, and the model trusts them later. A page has a row of at most `WIDTH` slots; 0 stands for no
feature. The first `MOVING` of them change when another source shows the page, the others never.

Addresses are read as they are: host, sections (the path without its last part) and slug. No word and no host is known
beforehand.

Slots are asked for with every page found, names only when someone asks why. So slots are looked up: those of counts in
tables, those of sections, sources and words by what they are made of, without a name to be spelled.
"""

from __future__ import annotations

import math
import re
import zlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypeVar

from mayfly.core.model import HOUR, Seconds, SourceId

WIDTH = 32
MOVING = 3
TABLE = 1 << 18  # slots
WORDS = TABLE // 2  # slots from here on are of words

_MOST_WORDS = 10  # of the slug and the link,
_MOST_ALL_WORDS = 14  # and of the text around it, so far as there is room
_MOST_SECTIONS = 4
_MOST_SOURCES = 5
_MOST_REMEMBERED = 200_000
_WORD = re.compile(r"[^\W\d_]{3,}")
_LONG_WORD = re.compile(r"[^\W\d_]{5,}")  # of a text: the short ones are mostly those that every text has
_DIGIT = re.compile(r"\d")
_DIGITS = b"0123456789"
_DAY_HOURS = 3  # hours of the day that count as one
_Key = TypeVar("_Key")

# A link, read: the address before the slug; digits, length and words, counted; how many titles were like it and how
# much it is asked for, where that can be told; its words; those around it.
_Link: TypeAlias = tuple[str, int, int, int, int | None, int | None, list[str], list[str]]


def slot_of(name: str) -> int:
    """Where the weight of a feature stands."""
    first, size = (WORDS, TABLE - WORDS) if name.startswith(("word ", "near ")) else (1, WORDS - 1)
    return first + zlib.crc32(name.encode(errors="surrogatepass")) % size


def _steps(kind: str, most: int) -> list[int]:
    """Slots of a feature that counts, 0 … most."""
    return [slot_of(f"{kind} {count}") for count in range(most + 1)]


_FRONTS, _RANK, _NO_RANK = _steps("fronts", 3), _steps("rank", 127), slot_of("rank ?")
_ALONE_ON = slot_of("fronts False"), slot_of("fronts True")  # what only one source shows is a class of its own
_HOUR, _WEEKDAY = _steps("hour", 24 // _DAY_HOURS - 1), _steps("weekday", 6)
_DIGIT_COUNT, _LENGTH, _WORD_COUNT = _steps("digits", 12), _steps("length", 10), _steps("words", 12)
_ALIKE, _ASKED = _steps("titles like it", 3), _steps("asked for", 4)


class Features:
    """Names and slots, with a memory of those that come often."""

    def __init__(self) -> None:
        self.trends: dict[str, float] = {}  # word → share of the heaviest
        self._sections: dict[str, list[int]] = {}
        self._sources: dict[int, int] = {}  # slots of "first on"
        self._hosts: dict[tuple[int, int], int] = {}  # slots of "sources of host"
        self._words: dict[str, int] = {}
        self._near: dict[str, int] = {}
        # How many pages had a title of these words. A dict would take ever longer to find its first.
        self._titles: OrderedDict[int, int] = OrderedDict()

    def follow(self, trends: Mapping[str, float]) -> None:
        """Take what people ask for now: terms and their weights. Words of a term share its weight."""
        most = max(trends.values(), default=1.0)
        self.trends = {}
        for term, weight in trends.items():
            for word in _WORD.findall(term.lower()):
                self.trends[word] = max(self.trends.get(word, 0.0), weight / most)

    # As slots

    def moving(self, sources: int, fronts: int, rank: float | None, host: int) -> list[int]:
        """By how many sources, how many front pages among them, and how high on the best of them it is shown."""
        key = host, min(sources, _MOST_SOURCES)
        of_host = self._hosts.get(key) or _remember(self._hosts, key, slot_of(f"sources {key[1]} of host {host}"))
        on = _FRONTS[min(fronts, 3)] if sources > 1 else _ALONE_ON[fronts]
        return [of_host, on, _NO_RANK if rank is None else _RANK[_rank_step(rank)]]

    def of_crawl(self, first: SourceId, at: Seconds) -> list[int]:
        """What the pages have in common that a source is the first to show, at `at`."""
        hour, weekday = _when(at)
        on = self._sources.get(first) or _remember(self._sources, first, slot_of(f"first on {first}"))
        return [on, _HOUR[hour], _WEEKDAY[weekday]]

    def of_link(self, url: str, title: str = "", context: str = "") -> list[int]:
        """Of an address, the text of the link to it and the text around that."""
        folder, digits, length, many, alike, asked, words, near = self._read(url, title, context)
        slots = [_DIGIT_COUNT[digits], _LENGTH[length], _WORD_COUNT[many]]
        slots += self._sections.get(folder) or self._remember_sections(folder)
        if alike is not None:
            slots.append(_ALIKE[alike])
        if asked is not None:
            slots.append(_ASKED[asked])
        known = self._words
        slots += [known.get(word) or _remember(known, word, slot_of(f"word {word}")) for word in words]
        if near:
            known = self._near
            slots += [known.get(word) or _remember(known, word, slot_of(f"near {word}")) for word in near]
        return slots

    # As names, in the same order

    def names(
        self, url: str, title: str, context: str, first: SourceId, at: Seconds, rank: float | None = None
    ) -> list[str]:
        """Of a page: all but by how many it is shown."""
        folder, digits, length, many, alike, asked, words, near = self._read(url, title, context)
        hour, weekday = _when(at)
        names = [f"rank {'?' if rank is None else _rank_step(rank)}", f"first on {first}"]
        names += [f"hour {hour}", f"weekday {weekday}"]
        names += [f"digits {digits}", f"length {length}", f"words {many}", *_sections(folder)]
        if alike is not None:
            names.append(f"titles like it {alike}")
        if asked is not None:
            names.append(f"asked for {asked}")
        return names + [f"word {word}" for word in words] + [f"near {word}" for word in near]

    def _read(self, url: str, title: str, context: str) -> _Link:
        path = url.partition("?")[0].rstrip("/")
        cut = path.rfind("/") + 1
        slug = path[cut:]
        if not (title or context or self.trends) and slug.isdecimal():  # a number has nothing else to be read
            size = len(slug)
            return path[:cut], min(size, 12), min(size // 12, 10), 0, None, None, [], []
        words = _WORD.findall(f"{slug} {title}".lower() if title else slug.lower())
        distinct = list(dict.fromkeys(words[: 2 * _MOST_WORDS]))[:_MOST_WORDS] if words else words
        alike = self._alike(distinct) if len(distinct) > 3 else None
        asked = None
        if self.trends:
            asked = math.ceil(4 * max((self.trends.get(word, 0.0) for word in distinct), default=0.0))
        near: list[str] = []
        if context:
            others = dict.fromkeys(word for word in _LONG_WORD.findall(context.lower()) if word not in distinct)
            near = list(others)[: _MOST_ALL_WORDS - len(distinct)]
        size = len(slug)
        # Bytes know how to leave some out, five times as quickly as digits can be found.
        digits = size - len(slug.encode().translate(None, _DIGITS)) if slug.isascii() else len(_DIGIT.findall(slug))
        return path[:cut], min(digits, 12), min(size // 12, 10), min(len(words), 12), alike, asked, distinct, near

    def _alike(self, words: Sequence[str]) -> int:
        """How many pages before had a title of the same words; up to three."""
        title = zlib.crc32(" ".join(sorted(words)).encode())
        seen = self._titles.pop(title, 0)
        if len(self._titles) >= _MOST_REMEMBERED:
            self._titles.popitem(last=False)
        self._titles[title] = seen + 1
        return min(seen, 3)

    def _remember_sections(self, folder: str) -> list[int]:
        if len(self._sections) >= _MOST_REMEMBERED // 10:
            self._sections.clear()
        slots = self._sections[folder] = [slot_of(name) for name in _sections(folder)]
        return slots


def _remember(known: dict[_Key, int], key: _Key, slot: int) -> int:
    if len(known) >= _MOST_REMEMBERED:
        known.clear()
    known[key] = slot
    return slot


def _sections(folder: str) -> list[str]:
    """Features of the host and the path before the slug, which many pages share."""
    host, *sections = [part for part in folder.partition("://")[2].split("/") if part] or [""]
    sections = [part for part in sections if not part.isdigit()]
    names = [f"depth {min(folder.count('/'), 8)}", f"section {'/'.join([host, *sections[:1]])}"]
    if len(sections) > 1:
        names.append(f"section {'/'.join([host, *sections[:2]])}")
    return names + [f"in {part}" for part in sections[:_MOST_SECTIONS]]


def _rank_step(rank: float) -> int:
    return min(int(2 * math.log2(max(rank, 1.0))), len(_RANK) - 1)


def _when(at: Seconds) -> tuple[int, int]:
    """The part of the day and the day of the week."""
    day, hour = divmod(int(at // HOUR), 24)
    return hour // _DAY_HOURS, day % 7
