"""How much of a page a parser can take, looked at before it is parsed.

A parser of HTML walks through the open elements at many a tag, repeats formatting elements left open (<b>, <font>) in
every block that follows, and compares the attributes of a tag with each other. So a page of one megabyte can be made to
cost minutes or gigabytes. Browsers stop at 512 levels, and so do we: the page is cut where it goes deeper. A page with
few tags, each of them short, needs no closer look, whatever is in it; of the others nearly all pass by a bound: no page
is deeper than the sum, over the names of elements, of how many of that name are open at most.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
from numpy.typing import NDArray

DEEPEST = 512
_FEW = 5_000  # signs "<" that cannot do much harm, however they nest
_SMALL = 50_000  # bytes; the attributes that fit in cannot do harm either
_MOST_REPEATED = 1_000_000  # elements a parser may have to add to what is written
_MOST_ATTRIBUTES = 2_000
_BLOCK = 2_000  # bytes; a tag that long would leave one without a ">"
_TAG = re.compile(rb"<(/?)([a-zA-Z][a-zA-Z0-9:-]*)(?=[\s/>])")
_FORMATTING = {b"b", b"big", b"code", b"em", b"font", b"i", b"s", b"small", b"strike", b"strong", b"tt", b"u"}
_ALONE = {
    *b"area base br col embed frame hr img input link meta param source track wbr html head body".split(),
    *b"p li dt dd tr td th thead tbody tfoot option optgroup a nobr rt rp".split(),
}  # hold nothing, or end by themselves where the next begins
_FLAT = _ALONE | {b"path", b"use"}  # drawings have them by the thousand, within one element
_EACH = 0x0101010101010101
_FORMATTING_WORDS, _FLAT_WORDS = ({int.from_bytes(name, "little") for name in names} for names in (_FORMATTING, _FLAT))
_MOST_NAMES = 1_000
_TAG_WITH_MORE = re.compile(rb"<[a-zA-Z][\w:.-]*[\s/]")
_BETWEEN_ATTRIBUTES = re.compile(rb"\"[^\"]*\"|'[^']*'|[\s/]+")


def safe_length(body: bytes) -> int:
    """Bytes of a page (in a charset that holds ASCII) before it becomes too much for a parser; nearly always all.

    >>> safe_length(b"<p>a<b>b"), safe_length(b"<div>" * 100_000)
    (8, 2560)
    """
    signs = np.frombuffer(body, np.uint8)
    starts = signs == ord("<")
    if len(body) > _SMALL:
        body = body[: _first_long_tag(body, signs)]
        starts = starts[: len(body)]
    if np.count_nonzero(starts) <= _FEW or _is_plain(body, np.flatnonzero(starts)):
        return len(body)
    return _too_deep(body)


def _first_long_tag(body: bytes, signs: NDArray[np.uint8]) -> int:
    """Where the first tag begins that has attributes without end."""
    blocks = len(body) // _BLOCK
    closed = (signs[: blocks * _BLOCK] == ord(">")).reshape(blocks, _BLOCK).any(axis=1)
    seen = 0
    for block in np.flatnonzero(~closed).tolist():
        if block * _BLOCK < seen:
            continue
        start, seen = body.rfind(b">", 0, block * _BLOCK) + 1, body.find(b">", block * _BLOCK)
        seen = len(body) if seen < 0 else seen
        tag = _TAG_WITH_MORE.search(body, start, seen)
        if tag and len(_BETWEEN_ATTRIBUTES.findall(body, tag.start(), seen)) > _MOST_ATTRIBUTES:
            return tag.start()
    return len(body)


def _is_plain(body: bytes, starts: NDArray[np.intp]) -> bool:
    """Whether a page cannot be too deep, by the most that are open of each name at a time."""
    padded = body + b" " * 20
    signs = np.frombuffer(padded, np.uint8)
    ends = signs[starts + 1] == ord("/")
    at = starts + 1 + ends
    tags = (signs[at] | 0x20) - np.uint8(ord("a")) < 26
    ends = ends[tags]
    names = _names(padded, at[tags])
    if not len(names):
        return True
    order = np.argsort(names, kind="stable")
    names, step = names[order], np.where(ends, -1, 1)[order]
    first = np.flatnonzero(np.r_[True, names[1:] != names[:-1]])
    if len(first) > _MOST_NAMES:
        return False
    group = np.repeat(np.arange(1, len(first) + 1), np.diff(np.r_[first, len(names)]))
    height = np.cumsum(step)
    # Each name begins far below the one before, so that the lowest so far is its own.
    height -= np.r_[0, height[first[1:] - 1]][group - 1] + group * 4 * len(names)
    floor = np.minimum.accumulate(np.minimum(height, -group * 4 * len(names)))
    highest = dict(zip(names[first].tolist(), np.maximum.reduceat(height - floor, first).tolist(), strict=True))
    depth = sum(highest.values()) - sum(highest.get(name, 0) for name in _FLAT_WORDS)
    left_open = sum(highest.get(name, 0) for name in _FORMATTING_WORDS)
    return depth <= 4 * DEEPEST and left_open * len(names) <= _MOST_REPEATED


def _names(padded: bytes, at: NDArray[np.intp]) -> NDArray[np.uint64]:
    """The names that begin at these places, small, each as one number: up to eight letters as they are, or mixed."""
    words = np.ndarray((len(padded) - 7,), "<u8", padded, strides=(1,))
    names, whole = _first_word(words[at])
    long = np.flatnonzero(~whole)
    names[long] = names[long] * np.uint64(0x9E3779B97F4A7C15) ^ _first_word(words[at[long] + 8])[0]
    return names


def _first_word(eight: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Eight bytes up to a blank, a slash or the end of the tag, with small letters; and whether there was one."""
    eight = eight | np.uint64(0x20 * _EACH)
    stops = np.zeros(len(eight), np.uint64)
    for stop in b" />*)":  # with the bit of small letters set, line feeds and tabs are * and )
        other = eight ^ np.uint64(stop * _EACH)
        stops |= (other - np.uint64(_EACH)) & ~other  # the lowest high bit set is at the first such byte
    stops &= np.uint64(0x80 * _EACH)
    lowest = stops & (~stops + np.uint64(1))
    return eight & ((lowest >> np.uint64(7)) - np.uint64(1)), stops != 0


def _too_deep(body: bytes) -> int:
    """Where a page becomes too deep, by the rules of HTML in rough."""
    open_tags: list[bytes] = []
    count: Counter[bytes] = Counter()
    formatting: Counter[bytes] = Counter()
    before_script: Counter[bytes] = Counter()
    repeated = 0
    for match in _TAG.finditer(body):
        ends, name = match.groups()
        name = name.lower()
        if ends:
            if formatting[name]:
                formatting[name] -= 1
            elif name == b"script":
                formatting = before_script.copy()  # signs "<" in a program are no tags
            if count[name]:
                _close(name, open_tags, count)
            continue
        if name == b"script":
            before_script = formatting.copy()
        repeated += formatting.total()
        if name not in _ALONE:
            open_tags.append(name)
            count[name] += 1
        if name in _FORMATTING:
            formatting[name] += 1
        if len(open_tags) > DEEPEST or repeated > _MOST_REPEATED:
            return match.start()
    return len(body)


def _close(name: bytes, open_tags: list[bytes], count: Counter[bytes]) -> None:
    """An end tag ends all that was opened since."""
    last = b""
    while last != name:
        last = open_tags.pop()
        count[last] -= 1
