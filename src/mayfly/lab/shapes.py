"""How a made-up world is to be: kinds of publishers, and how their hosts, sections and pages differ.

`SHAPES` are the ready ones; `read_shape` takes one from a TOML file. Spreads are standard deviations of logarithms.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from mayfly.core.model import HOUR, MINUTE, PerSecond, Seconds
from mayfly.errors import UsageError


@dataclass(frozen=True)
class Publishers:
    """Hosts of one kind, each with a front page, sections, a feed, and other pages that link late and little."""

    hosts: int
    pages_per_day: float  # of a host, on the average
    sections: int = 6
    others: int = 3  # archives, tags, authors
    rate_spread: float = 1.0  # of pages per day between hosts
    worth: float = 1.0  # of a page, on the average, relative to the other kinds
    host_spread: float = 1.8  # of worth between hosts
    section_spread: float = 1.2  # of worth between the sections of a host
    page_spread: float = 1.3  # of worth between the pages of a section
    life: Seconds = 15 * HOUR  # 1/μ on the average
    life_spread: float = 0.4  # between hosts; between the sections of a host half of it
    foresight: float = 0.6  # how well editors know what will be read: a correlation
    on_front: float = 0.5  # share of the pages the front page links; the promising first
    in_feed: float = 0.3
    other_links: float = 1.5  # of a page: on other sections, archives and tags, each some time later
    lateness: Seconds = 5 * MINUTE  # of those links
    slots: int = 40  # links a source shows at a time; promising pages keep theirs longer
    other_slots: int = 40  # the same, of the others
    loyalty: float = 0.0  # how much longer: spread of the time a link stays, by promise
    day_swing: float = 0.5  # of the rate of new pages between hours: 0 none, 1 nothing at the quietest
    peak_hour: float = 14.0
    weekend: float = 0.5  # pages on a Saturday or Sunday, relative to a weekday


@dataclass(frozen=True)
class Shape:
    """A world to be made."""

    publishers: Mapping[str, Publishers] = field(
        default_factory=lambda: {"news": Publishers(12, 111.0, sections=8, others=0)}
    )
    days: float = 9.0
    clicks_per_second: PerSecond = 0.0463
    shows_per_click: float = 0.0  # 0: no shows

    def scaled(self, scale: float) -> Shape:
        """The same world with so many times the hosts, and so the pages and clicks."""
        some = {
            name: replace(
                kind,
                hosts=max(1, round(kind.hosts * scale)),
                pages_per_day=kind.pages_per_day * kind.hosts * scale / max(1, round(kind.hosts * scale)),
            )
            for name, kind in self.publishers.items()
        }
        return replace(self, publishers=some, clicks_per_second=self.clicks_per_second * scale)


_PAPER = {
    "wires": Publishers(
        hosts=5, pages_per_day=1000, rate_spread=0.3, sections=1, others=18, worth=0.0008, host_spread=0.3,
        section_spread=0.3, page_spread=1.5, life=24 * HOUR, on_front=0.0, other_links=1.5, lateness=6 * HOUR,
        slots=300, other_slots=10, loyalty=0.6, day_swing=0.15, weekend=0.9,
    ),
    "leaders": Publishers(
        hosts=45, pages_per_day=40, rate_spread=1.2, sections=6, others=14, worth=1.0, host_spread=1.5,
        section_spread=1.3, life=24 * HOUR, on_front=0.6, in_feed=0.8, other_links=5.0, lateness=6 * HOUR,
        slots=50, other_slots=20, loyalty=0.6, day_swing=0.75, weekend=0.45,
    ),
    "locals": Publishers(
        hosts=50, pages_per_day=224, rate_spread=0.8, sections=4, others=16, worth=0.03, host_spread=1.0,
        section_spread=1.3, page_spread=1.8, life=30 * HOUR, on_front=0.5, in_feed=0.8, other_links=6.5,
        lateness=6 * HOUR, slots=12, other_slots=5, loyalty=0.6, day_swing=0.75, weekend=0.45,
    ),
    "stars": Publishers(
        hosts=15, pages_per_day=16, rate_spread=1.2, sections=2, others=12, worth=1.0, host_spread=1.5,
        section_spread=1.3, life=48 * HOUR, on_front=0.8, in_feed=0.8, other_links=4.0, lateness=6 * HOUR,
        slots=30, other_slots=10, loyalty=0.6, day_swing=0.75, peak_hour=20.0, weekend=0.45,
    ),
    "blogs": Publishers(
        hosts=35, pages_per_day=43, rate_spread=0.8, sections=2, others=12, worth=0.03, host_spread=1.0,
        section_spread=1.3, page_spread=1.8, life=48 * HOUR, on_front=0.8, in_feed=0.8, other_links=4.0,
        lateness=6 * HOUR, slots=8, other_slots=5, loyalty=0.6, day_swing=0.75, peak_hour=20.0, weekend=0.45,
    ),
}  # fmt: skip
SHAPES = {
    "paper": Shape(_PAPER, days=21.0, clicks_per_second=0.72, shows_per_click=6.0),
    "news": Shape(
        {"news": Publishers(40, 60, sections=8, others=6, in_feed=0.8, loyalty=0.5, day_swing=0.9, lateness=2 * HOUR)},
        days=21.0, clicks_per_second=0.09, shows_per_click=6.0,
    ),
    "blogs": Shape(
        {"blogs": Publishers(
            200, 3, sections=2, others=3, life=48 * HOUR, on_front=1.0, in_feed=1.0, slots=10, other_slots=10,
            peak_hour=20.0, weekend=1.1, lateness=HOUR,
        )},
        days=21.0, clicks_per_second=0.02, shows_per_click=6.0,
    ),
    "forum": Shape(
        {"forum": Publishers(
            2, 160, sections=100, others=0, rate_spread=0.3, host_spread=0.3, section_spread=0.8, page_spread=1.0,
            life=10 * HOUR, on_front=0.2, in_feed=0.0, other_links=0.0, slots=60, peak_hour=16.0, weekend=0.7,
        )},
        days=21.0, clicks_per_second=0.3, shows_per_click=6.0,
    ),
}  # fmt: skip


def read_shape(path: Path) -> Shape:
    """A shape from a TOML file: the fields of `Shape`, and a table [publishers.NAME] for each kind."""
    try:
        given = tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path}: cannot be read as TOML ({getattr(error, 'strerror', None) or error})") from None
    kinds = given.pop("publishers", None)
    if not isinstance(kinds, dict) or not kinds:
        raise UsageError(f"{path}: there must be a table [publishers.NAME] with hosts and pages_per_day")
    publishers = {}
    for name, fields_given in kinds.items():
        where = f"{path}: publishers.{name}"
        if not re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", name):
            raise UsageError(f"{where}: the name becomes part of host names: small letters, digits and hyphens only")
        if not isinstance(fields_given, dict) or not {"hosts", "pages_per_day"} <= set(fields_given):
            raise UsageError(f"{where}: hosts and pages_per_day must be given")
        publishers[name] = Publishers(**_checked(Publishers, fields_given, where))
    return Shape(publishers, **_checked(Shape, given, str(path)))


_SHARES = {"on_front", "in_feed", "day_swing", "foresight"}
_POSITIVE = {"hosts", "pages_per_day", "sections", "life", "slots", "other_slots", "worth", "days", "clicks_per_second"}


def _checked(kind: type[Any], given: dict[str, Any], where: str) -> dict[str, Any]:
    """The fields of a table, each known, of its type and in its range."""
    known = {one.name: str(one.type) for one in fields(kind) if one.name != "publishers"}
    for name, value in given.items():
        if name not in known:
            near = get_close_matches(name, known, 1)
            raise UsageError(f"{where}: there is no '{name}'" + (f"; did you mean '{near[0]}'?" if near else ""))
        number = isinstance(value, int) or (known[name] != "int" and isinstance(value, float))
        if isinstance(value, bool) or not number or not math.isfinite(value):
            raise UsageError(
                f"{where}: {name} must be a {'whole ' if known[name] == 'int' else ''}number, not {value!r}"
            )
        if value < 0 or (value == 0 and name in _POSITIVE) or (value > 1 and name in _SHARES):
            wanted = "from 0 to 1" if name in _SHARES else "above 0" if name in _POSITIVE else "0 or more"
            raise UsageError(f"{where}: {name} must be {wanted}, not {value}")
    return given
