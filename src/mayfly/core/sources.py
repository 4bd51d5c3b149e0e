"""Which links of a front page are content sources (paper, section 3.2): those that were there some days ago.

Front and section pages stay where they are while what they show changes; a page that is itself new is almost never a
source. Where there is no history yet, the shape of an address must do: articles have dates, numbers or long names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from mayfly.core.model import Seconds

_DATE = re.compile(r"/(?:19|20)\d\d[/\-_.]?(?:0[1-9]|1[0-2])(?:[/\-_.]|\d\d\b|$)|/(?:19|20)\d\d/")
_NUMBER = re.compile(r"\d{5,}|[a-f0-9]{12,}")
_WORDS = re.compile(r"[^\W\d_]+", re.UNICODE)
_MANY_WORDS = 4
_DEEP = 4


def is_dated(path: str) -> bool:
    """Whether a path holds a date.

    >>> is_dated("/2026/11/16/river-rises"), is_dated("/politics/"), is_dated("/video/20261116-news")
    (True, False, True)
    """
    return _DATE.search(path) is not None


def looks_like_article(path: str) -> bool:
    """Whether a path has the shape of an article's.

    >>> looks_like_article("/a/the-river-rises-again-today"), looks_like_article("/world/europe/")
    (True, False)
    >>> looks_like_article("/story/1234567"), looks_like_article("/news/local-sport")
    (True, False)
    """
    if is_dated(path):
        return True
    segments = [segment for segment in path.split("/") if segment]
    last = segments[-1] if segments else ""
    return len(segments) > _DEEP or _NUMBER.search(last) is not None or len(_WORDS.findall(last)) > _MANY_WORDS


def select(
    paths: Mapping[str, str], first_seen: Mapping[str, Seconds], now: Seconds, older_than: Seconds, first_look: bool
) -> list[str]:
    """The addresses (with their paths) that are sources, of those a front page links now.

    `first_seen` is our own history. At the first look at a host, all that is not shaped as an article is taken.
    """
    return list(_selected(paths, first_seen, now - older_than, first_look))


def _selected(
    paths: Mapping[str, str], first_seen: Mapping[str, Seconds], since: Seconds, first_look: bool
) -> Iterable[str]:
    for url, path in paths.items():
        if is_dated(path):
            continue
        if first_seen.get(url, since + 1) <= since or (first_look and not looks_like_article(path)):
            yield url
