"""`mayfly study`: section 3 of the paper on your own visit logs; here the hosts, beside it a file for each command."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from mayfly.cli import home as homes
from mayfly.cli import options, study_patterns, study_sources, words
from mayfly.cli.visitlogs import Canonical, First, FormOption, Host, Settle, hint_to_settle, read_visits, write_lines
from mayfly.core.model import DAY, Seconds
from mayfly.errors import RunError
from mayfly.lab.study.hosts import ranked_hosts
from mayfly.store.listings import HostYield
from mayfly.store.visitlog import Wanted

app = typer.Typer(
    help="Study visit logs: how interest fades, which sources show new pages, which hosts have any.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command()(study_patterns.patterns)
app.command()(study_sources.sources)


@app.command()
def hosts(
    files: Annotated[
        list[str] | None, typer.Argument(help="Visit logs; none: the history of --home.", metavar="VISITS…")
    ] = None,
    home: homes.Home = homes.DEFAULT,
    settle: Settle = "0",
    last: Annotated[str, typer.Option(help="How far to look back in the home's history.", metavar="DURATION")] = "30d",
    first: First = 20,
    out: Annotated[
        Path | None, typer.Option(help="Write all hosts here, best first, for `mayfly find --file`.")
    ] = None,
    form: FormOption = None,
    host: Host = None,
    one_spelling: Canonical = False,
    as_json: options.Json = False,
) -> None:
    """Rank hosts by how many new pages they show a day, by visit logs or by our own history.

    In a log a page is new when it is first visited; in the home, when a crawl found it and it was neither old nor twice
    there. Hosts that only other pages link are ranked by `mayfly find --suggest`.

    Example: mayfly study hosts visits.csv.gz --settle 3d --out hosts.txt
    """
    rows: list[dict[str, Any]]
    if files:
        settled = words.duration(settle, "--settle")
        visits = read_visits(files, form, host, one_spelling, Wanted(referrers=False, visitors=True))
        hint_to_settle(visits, settled)
        rows = [one._asdict() for one in ranked_hosts(visits, settled)]
    else:
        rows = _of_history(home, words.positive_duration(last, "--last"))
    if not rows:
        raise RunError("there is no host: no page has a web address")
    if out is not None:
        write_lines(out, (row["host"] for row in rows if row["new"]))
    if as_json:
        for row in rows:
            typer.echo(words.dumps(row))
        return
    headings = ["host", "new pages a day", *(name for name in rows[0] if name not in ("host", "per_day"))]
    shown = [name for name in headings[2:] if rows[0][name] is not None]
    words.print_table(
        [*headings[:2], *shown],
        [[row["host"], f"{row['per_day']:.1f}", *(_cell(row[name]) for name in shown)] for row in rows[:first]],
    )
    if len(rows) > first:
        typer.echo(f"… and {len(rows) - first:,} more")


def _of_history(home: Path, last: Seconds) -> list[dict[str, Any]]:
    now = time.time()

    async def ask() -> list[HostYield]:
        async with homes.store_of(home) as store:
            return await store.host_yields(now - last)

    rows = [
        {"host": one.host, "new": one.new, "per_day": one.new / max((now - one.since) / DAY, 1.0), "dull": one.dull,
         "clicks": one.clicks, "watched": one.watched}
        for one in asyncio.run(ask())
    ]  # fmt: skip
    if not rows:
        raise RunError(f"no page was found in {home} in the last {words.written(last)}: mayfly crawl finds some")
    return sorted(rows, key=lambda row: (-row["per_day"], row["host"]))


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,.0f}"
