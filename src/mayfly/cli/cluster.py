"""`mayfly cluster`: the same crawl on many machines, started, watched, emptied and ended."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from mayfly.cli import options, words
from mayfly.cli.home import API, DEFAULT, Home, all_but, existing, note_run, prepare, require_contact, takes_settings
from mayfly.cli.layers import CLUSTER, resolve, resolve_cluster
from mayfly.cluster.placement import EVERYWHERE
from mayfly.cluster.settings import ClusterSettings
from mayfly.core.model import Seconds
from mayfly.crawl.settings import Settings
from mayfly.errors import BeingCrawled, RunError, UsageError

if TYPE_CHECKING:
    from mayfly.cluster.ledger import Ledger
    from mayfly.cluster.nodes import Local

app = typer.Typer(
    help="The same crawl on many machines: Ray runs it, PostgreSQL keeps it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
T = TypeVar("T")
_NODES = 3  # of a new local cluster
_PLACED_WITHIN: Seconds = 180.0
_STOPPED_WITHIN: Seconds = 30.0  # and two leases
_LOOK_EVERY: Seconds = 0.2
_WHERE = ("store", "cluster.address", "cluster.auth")  # settings by which a running cluster is found
_CRAWL = [name for name in all_but(API) if f"cluster.{name}" not in CLUSTER]


@app.command()
@takes_settings(*CLUSTER, *_CRAWL)
def up(
    flags: dict[str, Any],
    home: Home = DEFAULT,
    nodes: Annotated[
        int | None,
        typer.Option(
            help="Nodes of a cluster on this machine, for trying. Default: those that run, or 3.", min=1, max=200
        ),
    ] = None,
) -> None:
    """Crawl on a cluster: join the Ray at --address or, without one, start one on this machine.

    Run it again to change settings or --nodes: nodes are added, or emptied and taken away, while the crawl goes on. The
    shards that run keep their settings until they move. It needs PostgreSQL as the store, and mayfly[cluster].

    Example: mayfly cluster up --nodes 3 --shards 16 --store postgresql://crawler@localhost/crawl
    """
    settings, cluster = _known(home, flags)
    if cluster.address and nodes is not None:
        raise UsageError("--nodes is for a cluster on this machine; nodes of the Ray at --address join it by ray start")
    require_contact(settings)
    _check_budget(settings, cluster)
    prepare(home)
    note_run(home, settings)
    _with_ledger(settings, lambda ledger: _open(ledger, settings, cluster.shards))
    surplus = [] if cluster.address else _grow(home, cluster, nodes)
    _crawl(home, settings, cluster, surplus)


@app.command()
@takes_settings(*_WHERE)
def status(
    flags: dict[str, Any],
    home: Home = DEFAULT,
    shards: Annotated[bool, typer.Option("--shards", help="Show every shard, and who owns it.")] = False,
    as_json: options.Json = False,
) -> None:
    """Show a cluster: its nodes and their shards, requests a second against the budget, the price, and the lag.

    Example: mayfly cluster status --shards
    """
    from mayfly.cli.cluster_status import look, show

    settings, cluster = _known(existing(home), flags)
    show(_with_ledger(settings, lambda ledger: look(ledger, home, cluster)), shards, as_json)


@app.command()
@takes_settings(*_WHERE)
def drain(
    flags: dict[str, Any],
    node: Annotated[str | None, typer.Argument(help="The node to empty. Default: all.", metavar="NODE")] = None,
    home: Home = DEFAULT,
    undo: Annotated[bool, typer.Option("--undo", help="Let the node have shards again.")] = False,
) -> None:
    """Move the shards of a node to the others, one by one; without a node, let all finish what is in the air and stop.

    Nothing is lost: what was not fetched is due again where the shard goes on. A drain ends with its node, by --undo or
    by `mayfly cluster up`.

    Example: mayfly cluster drain node-2
    """
    from mayfly.cluster.joining import joined

    settings, cluster = _known(existing(home), flags)
    wish = node or EVERYWHERE
    if undo:
        _with_ledger(settings, _end_drains if node is None else lambda ledger: _end_drain(ledger, node))
        words.say(f"{node or 'every node'} may have shards again")
        return
    with joined(home, cluster):
        _check_node(node, _with_ledger(settings, lambda ledger: ledger.draining()))
        _with_ledger(settings, lambda ledger: ledger.set_draining(wish, True))
        if node is None:
            _await_stopped(cluster)
        else:
            _await_empty(node, cluster)
    words.say(f"{node or 'every node'} is empty")


@app.command()
@takes_settings(*_WHERE)
def down(flags: dict[str, Any], home: Home = DEFAULT) -> None:
    """Stop the crawl as `drain` does, and end the cluster: all of it on this machine; of another Ray, what is ours.

    Example: mayfly cluster down
    """
    from mayfly.cluster import nodes
    from mayfly.cluster.joining import address_of, answers

    settings, cluster = _known(existing(home), flags)
    running = None if cluster.address else nodes.local(home)
    if running is None and not cluster.address:
        raise UsageError(f"no cluster of {home} runs on this machine; --address names a Ray elsewhere")
    try:
        if not answers(address := address_of(home, cluster)):
            raise RunError(f"Ray does not answer at {address}")
        _stop(home, settings, cluster)
    except RunError as error:
        if running is None:
            raise
        words.say(f"{error}; ended all the same: what was in the air is due again when the leases are over", err=True)
    if running is not None:
        nodes.end(home, running)
    words.say("The cluster has ended; mayfly cluster up goes on where it was.")


def _known(home: Path, flags: Mapping[str, object]) -> tuple[Settings, ClusterSettings]:
    """The settings, if a cluster can run by them."""
    from mayfly.cluster.joining import require_ray

    settings, _ = resolve(home, flags)
    cluster, _ = resolve_cluster(home, flags)
    if not settings.store:
        raise UsageError(
            "store is not set: machines share a PostgreSQL; give --store postgresql://…, or set it in the file"
        )
    require_ray()
    return settings, cluster


def _check_budget(settings: Settings, cluster: ClusterSettings) -> None:
    from mayfly.cluster.coordinator import check_budget

    check_budget(settings, cluster)


def _with_ledger(settings: Settings, ask: Callable[[Ledger], Awaitable[T]]) -> T:
    import asyncpg

    from mayfly.cluster.ledger import Ledger
    from mayfly.fetch.loop import run

    async def asked() -> T:
        async with Ledger(settings.store) as ledger:
            return await ask(ledger)

    try:
        return run(asked())
    except asyncpg.UndefinedTableError:
        raise RunError(
            "nothing is kept in the store yet, so no cluster crawls there: start one by mayfly cluster up"
        ) from None
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise RunError(f"the store does not answer: {error}; see that PostgreSQL runs and lets this user in") from None


async def _open(ledger: Ledger, settings: Settings, shards: int) -> None:
    from mayfly.store.postgres import PostgresStore

    async with PostgresStore(settings.store, shards=shards) as store:  # its tables are there from now on
        if await ledger.is_crawled_by_one():
            who = await store.crawled_by() or "one process"
            raise BeingCrawled(f"the store is being crawled by {who}; stop that one first")
    await ledger.start(shards)


async def _end_drains(ledger: Ledger) -> None:
    for node in await ledger.draining():
        await ledger.set_draining(node, False)


async def _end_drain(ledger: Ledger, node: str) -> None:
    draining = await ledger.draining()
    if node not in draining:
        named = ", ".join(sorted(draining - {EVERYWHERE})) or "none is"
        raise UsageError(f"'{node}' is not being emptied: {named}")
    await ledger.set_draining(node, False)


def _grow(home: Path, cluster: ClusterSettings, count: int | None) -> list[str]:
    """Have so many nodes on this machine; the names of those that are too many."""
    from mayfly.cluster import nodes

    with words.progress("starting Ray", 2) as bar:
        running = nodes.start(home, auth=cluster.auth)
        bar(1)
        wanted = count or len(running.workers) or _NODES
        running = nodes.add(home, running, nodes.more(running, wanted), cluster.auth)
        bar(1)
    return [node.name for node in running.workers[wanted:]]


def _crawl(home: Path, settings: Settings, cluster: ClusterSettings, surplus: list[str]) -> None:
    from mayfly.cluster.actors import Orders, remove_coordinator, start_coordinator
    from mayfly.cluster.joining import address_of, joined

    with joined(home, cluster):
        remove_coordinator()  # it has the orders of before, and would carry them out as soon as no drain holds it back
        _with_ledger(settings, _end_drains)
        start_coordinator(Orders(home.resolve(), settings, cluster))
        _await_placed(settings, cluster)
        for node in surplus:
            _take(home, settings, cluster, node)
    words.say(
        f"{cluster.shards} shards crawl on Ray at {address_of(home, cluster)}; mayfly cluster status shows them, "
        "mayfly cluster down ends it"
    )


def _take(home: Path, settings: Settings, cluster: ClusterSettings, node: str) -> None:
    """Empty a node of this machine, and end it."""
    from mayfly.cluster import nodes

    _with_ledger(settings, lambda ledger: ledger.set_draining(node, True))
    _await_empty(node, cluster)
    running: Local | None = nodes.local(home)
    if running is not None:
        nodes.take(home, running, [node])
    _with_ledger(settings, lambda ledger: ledger.set_draining(node, False))


def _stop(home: Path, settings: Settings, cluster: ClusterSettings) -> None:
    from mayfly.cluster.actors import remove_coordinator
    from mayfly.cluster.joining import joined

    with joined(home, cluster):
        _with_ledger(settings, lambda ledger: ledger.set_draining(EVERYWHERE, True))
        _await_stopped(cluster)
        remove_coordinator()


def _check_node(node: str | None, draining: Collection[str]) -> None:
    """That there is such a node, and one that its shards can go to."""
    from mayfly.cluster.actors import live_nodes

    live = sorted(live_nodes())
    if node is not None and node not in live:
        raise UsageError(f"there is no node '{node}'; there are {', '.join(live) or 'none'}")
    if node is not None and not set(live) - {node, *draining}:
        raise UsageError(
            f"no other node takes shards, so those of '{node}' have nowhere to go; mayfly cluster drain, without a "
            "name, stops them all"
        )


def _await_placed(settings: Settings, cluster: ClusterSettings) -> None:
    """Wait until every shard has its place, owns its sites and says so: it may be unable to reach the database."""
    from mayfly.cluster.actors import places

    begun = _with_ledger(settings, lambda ledger: ledger.now())

    def running() -> int:
        placed = sum(node is not None for node in places().values())
        return min(placed, _with_ledger(settings, lambda ledger: ledger.reported(begun)))

    _await("shards", cluster.shards, running, _PLACED_WITHIN + cluster.shards)


def _await_empty(node: str, cluster: ClusterSettings) -> None:
    """Wait until no shard is there; they move one by one, and each may take as long as a fetch does."""
    from mayfly.cluster.actors import places

    def there() -> int:
        return sum(place in (node, None) for place in places().values())  # None may come up there again

    begun = there()
    _await("shards", begun, lambda: begun - there(), _PLACED_WITHIN + begun * cluster.lease)


def _await_stopped(cluster: ClusterSettings) -> None:
    """Wait until no shard runs: the coordinator stops them, all at once; or we do, if there is none."""
    from mayfly.cluster.actors import coordinator_lives, running_shards, stop_shards

    begun = len(running_shards())
    if not coordinator_lives():
        stop_shards(cluster.lease)
    _await("shards", begun, lambda: begun - len(running_shards()), 2 * cluster.lease + _STOPPED_WITHIN)


def _await(label: str, total: int, done: Callable[[], int], within: Seconds) -> None:
    until, before = time.monotonic() + within, 0
    with words.progress(label, total) as bar:
        while (now := done()) < total:
            bar(now - before)
            before = now
            if time.monotonic() > until:
                raise RunError(
                    f"{now} of {total} {label} after {words.about(within)}; mayfly cluster status shows what is "
                    "missing, Ray's logs why"
                )
            time.sleep(_LOOK_EVERY)
