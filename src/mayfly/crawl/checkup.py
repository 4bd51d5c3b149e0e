"""Gathers what `health` judges, from the store and the folder of a home."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from mayfly.core.model import HOUR, Seconds
from mayfly.crawl.health import Finding, disk_low, findings, shards_unowned
from mayfly.crawl.lock import holder
from mayfly.crawl.settings import Settings
from mayfly.store.store import Store

LAST_RUN = "last-run.json"
_FAILED = 1000  # pages of late that are looked at


class Checkup(NamedTuple):
    """What was found, and how many sources are watched."""

    findings: list[Finding]
    watched: int


async def look(store: Store, home: Path, settings: Settings, now: Seconds) -> Checkup:
    """Look at everything."""
    sources = await store.sources()
    minutes = await store.minutes(now - HOUR)
    failed = await store.newest(_FAILED, outcome="failed")
    budget, crawls = budget_of(home, settings), await crawled_by(store, home)
    found = findings(sources, await store.hosts(), minutes, now, budget, crawls, failed)
    free = shutil.disk_usage(home).free / 1e9
    active = sum(1 for source in sources if source.state == "active")
    unowned = shards_unowned(await store.unowned())
    return Checkup([*unowned, *disk_low(free, settings.free_gigabytes, str(home)), *found], active)


async def crawled_by(store: Store, home: Path) -> str:
    """Who crawls now, from this home or another on the same database; empty: nobody."""
    return holder(home) or await store.crawled_by()


def budget_of(home: Path, settings: Settings) -> float:
    """Of the last crawl, or as it is set."""
    return float(last_run(home).get("budget", settings.budget))


def last_run(home: Path) -> dict[str, Any]:
    """How the last crawl was run; empty if that is not known."""
    try:
        told = json.loads((home / LAST_RUN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}
