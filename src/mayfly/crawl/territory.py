"""What a crawl may ask of the web: all of it for as long as it likes, or the sites of a shard while it holds them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mayfly.core.model import Seconds


@dataclass(frozen=True, slots=True)
class Territory:
    """The default is all of the web."""

    ours: Callable[[str], bool] = lambda site: True
    holds: Callable[[], bool] = lambda: True  # asked before each request leaves: whether it may
    taken: bool = False  # another may have asked any of these sites until just now
    fetch_seconds: Seconds | None = None  # of a fetch, where it must be over before the sites may be another's


ALL = Territory()
