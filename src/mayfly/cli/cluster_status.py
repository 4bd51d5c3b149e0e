"""What `mayfly cluster status` looks at, and how it is shown."""

from __future__ import annotations

from pathlib import Path

from mayfly.cli import words
from mayfly.cluster.actors import live_nodes
from mayfly.cluster.joining import address_of, answers, joined
from mayfly.cluster.ledger import Ledger, ShardRow
from mayfly.cluster.overview import Overview, overview
from mayfly.cluster.settings import ClusterSettings

_NAMED = 20  # shards without an owner that are listed


async def look(ledger: Ledger, home: Path, cluster: ClusterSettings) -> Overview:
    """The shards as the database has them, and the nodes as Ray does, if it answers."""
    live: list[str] | None = None
    if answers(address_of(home, cluster)):
        with joined(home, cluster):
            live = sorted(live_nodes())
    return overview(await ledger.shards(), live, await ledger.draining(), await ledger.dealt())


def show(seen: Overview, every: bool, as_json: bool) -> None:
    """Tables for people, or JSON for programs."""
    if as_json:
        words.say(words.dumps(seen.told()))
        return
    if not seen.shards:
        words.say("no cluster has crawled into this database yet; mayfly cluster up starts one")
        return
    words.print_table(
        ("node", "state", "shards", "requests/s", "pages waiting"),
        [(one.name, one.state, str(one.shards), f"{one.rate:.3g}", f"{one.waiting:,}") for one in seen.nodes],
    )
    words.say(
        f"{len(seen.shards) - len(seen.orphans)} of {len(seen.shards)} shards have an owner; "
        f"{seen.rate:.3g} requests/s of {seen.budget:g}; price {seen.price:.3g}, {words.about(seen.priced_ago)} old; "
        f"lag {words.about(seen.lag)}"
    )
    if 0 < len(seen.orphans) <= _NAMED:
        words.say(f"without an owner: {', '.join(map(str, seen.orphans))}")
    if not seen.ray:
        words.say("Ray does not answer, so which nodes live is not known; shards go on without its head for a minute")
    if not seen.coordinator:
        words.say("no coordinator deals out the budget now: the last allotments hold; mayfly cluster up starts one")
    if every:
        headings = ("shard", "owner", "epoch", "lease left", "requests/s", "of", "pages waiting", "lag")
        words.print_table(headings, [_row(row) for row in seen.shards])


def _row(row: ShardRow) -> tuple[str, ...]:
    left = f"{max(0.0, row.lease_left):.1f} s"
    rates = f"{row.rate:.3g}", f"{row.allotment:.3g}"
    return str(row.number), row.owner or "–", str(row.epoch), left, *rates, f"{row.waiting:,}", words.about(row.lag)
