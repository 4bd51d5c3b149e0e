"""`mayfly plan`: what a budget buys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from mayfly.cli import home as homes
from mayfly.cli import options, words
from mayfly.cli.layers import resolve
from mayfly.core import buying
from mayfly.core.intervals import paper_plan
from mayfly.core.model import Beliefs, PerSecond
from mayfly.crawl.checkup import budget_of
from mayfly.errors import UsageError
from mayfly.fetch.loop import run
from mayfly.lab.trace import read_trace
from mayfly.lab.truth import true_beliefs
from mayfly.store.listings import Believed

_CURVE = np.geomspace(0.05, 20.0, 25)  # budgets of the curve, as multiples of the page rate
_HOSTS = 20  # that are shown


class _Ground(NamedTuple):
    """What is planned for."""

    origin: dict[str, str]  # the trace or the home
    beliefs: Beliefs
    page_rate: PerSecond
    budget: str  # if none is asked for
    nothing: str  # what to say if no source is worth anything
    host_of: list[str]  # each source


def plan(
    folder: Annotated[
        Path | None, typer.Argument(help="Folder of a trace. Default: what the home believes.", metavar="TRACE")
    ] = None,
    home: homes.Home = homes.DEFAULT,
    budget: Annotated[
        str | None,
        typer.Option(
            help="Fetches per second, or a share of the page rate. Default: 0.44x; of a home, that of its last crawl."
        ),
    ] = None,
    value: Annotated[
        str | None, typer.Option(help="What counts as profit in a trace: clicks (default) or shows.")
    ] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw the curve here (.png, .svg, .pdf).")] = None,
    as_json: options.Json = False,
) -> None:
    """Show what a budget buys, if all were known of the sources of a trace, or by what a home believes of its own.

    The exact optimum: price, split between recrawls and pages, sources in and out; the curve of quality against budget;
    the smallest budgets for 90, 95 and 99 % of the bound, and for having 90 % and all of the sources in; what one more
    fetch would bring, in all and by host. Beside it Algorithm 1. Pauses between requests to a site are not counted.

    Example: mayfly plan --budget 5

    Example: mayfly plan traces/de-news-sept --budget 0.22x
    """
    ground = _of_home(home, value) if folder is None else _of_trace(folder, value or "clicks")
    bound = buying.bound_of(ground.beliefs)
    if bound <= 0:
        raise UsageError(ground.nothing)
    spent = words.budget(ground.budget if budget is None else budget, ground.page_rate)
    facts = ground.origin | buying.offer(ground.beliefs, spent, (_CURVE * ground.page_rate).tolist(), ground.host_of)
    facts["paper"] = buying.facts(paper_plan(ground.beliefs, spent), bound)
    if figure is not None:
        _draw(ground.beliefs, facts, figure)
    if as_json:
        typer.echo(words.dumps(facts))
    else:
        _print(facts, ground.page_rate)


def _of_trace(folder: Path, value: str) -> _Ground:
    trace = read_trace(folder)
    true = true_beliefs(trace, trace.interest(value))
    nothing = f"{folder}: no page of this trace has any {value}, so there is nothing to plan for"
    return _Ground({"trace": trace.name}, true, trace.page_rate, "0.44x", nothing, trace.hosts)


def _of_home(home: Path, value: str | None) -> _Ground:
    if value is not None:
        raise UsageError("--value is for traces; in a home value-clicks and value-shows say what counts")
    settings, _ = resolve(home, {})

    async def ask() -> Believed:
        async with homes.store_of(home, settings) as store:
            return await store.believed()

    sources = run(ask())
    believed = sources.beliefs()
    nothing = f"nothing is believed of the sources of {home} yet; that comes with the first plans of mayfly crawl"
    rate = float(believed.link_rate.sum())
    return _Ground({"home": str(home)}, believed, rate, str(budget_of(home, settings)), nothing, sources.host)


def _draw(beliefs: Beliefs, facts: dict[str, Any], path: Path) -> None:
    from mayfly.lab.plots import draw_plan

    marks = {f"{label} of the bound": at for label, at in facts["smallest_budget"].items()}
    marks |= {_of_sources(label): at for label, at in facts["smallest_budget_for_sources"].items()}
    shares = {point["budget"]: point["share"] for point in facts["curve"]}
    shares |= {at: buying.point(beliefs, at, facts["upper_bound"])["share"] for at in marks.values()}
    draw_plan(shares, marks, path)


def _print(facts: dict[str, Any], page_rate: PerSecond) -> None:
    def rate(value: float) -> str:
        return f"{value:.4g}/s ({value / page_rate:.2f}x)"

    names: dict[str, Callable[[dict[str, Any]], str]] = {
        "price": lambda plan: "–" if plan["price"] is None else f"{plan['price']:.4g} clicks a fetch",
        "quality": lambda plan: f"{plan['quality']:.4g} clicks/s",
        "share": lambda plan: f"{plan['share']:.1%}",
        "recrawls": lambda plan: rate(plan["recrawls"]),
        "pages": lambda plan: rate(plan["pages"]),
        "sources_in": lambda plan: f"{plan['sources_in']:,}",
        "sources_out": lambda plan: f"{plan['sources_out']:,}",
        "shortest_interval": lambda plan: _minutes(plan["shortest_interval"]),
        "median_interval": lambda plan: _minutes(plan["median_interval"]),
    }
    of = facts.get("trace") or facts["home"]
    typer.echo(f"{of}: a budget of {rate(facts['budget'])}, bound {facts['upper_bound']:.4g} clicks/s\n")
    words.print_table(
        ("", "exact optimum", "paper's Algorithm 1"),
        [(name.replace("_", " "), show(facts["exact"]), show(facts["paper"])) for name, show in names.items()],
    )
    typer.echo("")
    if facts["marginal_value"] is not None:
        typer.echo(f"marginal value: {facts['marginal_value']:.4g} clicks for one more fetch\n")
    rows = [(f"{label} of the bound", rate(at)) for label, at in facts["smallest_budget"].items()]
    rows += [(_of_sources(label), rate(at)) for label, at in facts["smallest_budget_for_sources"].items()]
    words.print_table(("smallest budget for", ""), rows)
    typer.echo("")
    words.print_table(
        ("budget", "share", "price", ""),
        [
            (rate(point["budget"]), f"{point['share']:.3f}", f"{point['price']:.4g}", "▇" * round(40 * point["share"]))
            for point in facts["curve"]
        ],
    )
    typer.echo("")
    _print_hosts(facts["hosts"])


def _print_hosts(hosts: list[dict[str, Any]]) -> None:
    words.print_table(
        ("host", "sources in", "fetches/s", "clicks/s", "clicks for one more fetch"),
        [
            (
                host["host"],
                f"{host['sources_in']:,} of {host['sources']:,}",
                f"{host['fetches']:.3g}",
                f"{host['clicks']:.3g}",
                f"{host['marginal_value']:.4g}",
            )
            for host in hosts[:_HOSTS]
        ],
    )
    if len(hosts) > _HOSTS:
        typer.echo(f"… and {len(hosts) - _HOSTS:,} more: --json names all")


def _of_sources(label: str) -> str:
    return "refusing no source" if label == "100%" else f"{label} of the sources in"


def _minutes(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds / 60:.3g} min"
