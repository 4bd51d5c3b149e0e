"""Settings of a cluster and their defaults: the table `[cluster]` of `mayfly.toml`, `MAYFLY_CLUSTER_…` and flags."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mayfly.crawl.settings import Duration


def _is(default: Any, what: str) -> Any:
    return field(default=default, metadata={"help": what})


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """How a crawl is spread over machines. A fetch must end within the margin, and the margin within the lease."""

    address: str = _is("", "HOST:PORT of a running Ray; empty: one on this machine, for trying")
    auth: str = _is("token", "how Ray knows who may talk to it: token, or disabled in a network of its own")
    shards: int = _is(256, "parts the sites are dealt into, fixed for the life of the database")
    lease: Duration = _is(30.0, "a shard belongs to its owner for so long after he last said so")
    margin: Duration = _is(15.0, "so long before the end of its lease a shard sends nothing more")
    fetch_seconds: Duration = _is(12.0, "one fetch on a cluster, redirects and all, at most; below the margin")
    price_every: Duration = _is(5.0, "how often the budget is dealt out anew")
    price_grid: int = _is(257, "prices at which each shard says what it would spend")
