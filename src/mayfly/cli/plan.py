"""`mayfly plan`: what a budget buys."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from mayfly.cli import words
from mayfly.core import buying
from mayfly.core.intervals import exact_plan, paper_plan, refusal_free_budget
from mayfly.core.model import PerSecond
from mayfly.errors import UsageError
from mayfly.lab.trace import read_trace
from mayfly.lab.truth import true_beliefs

_CURVE = np.geomspace(0.05, 20.0, 25)  # budgets of the curve, as multiples of the page rate


def plan(
    folder: Annotated[Path, typer.Argument(help="Folder of the trace.", metavar="TRACE")],
    budget: Annotated[str, typer.Option(help="Fetches per second, or a share of the page rate: 0.44x.")] = "0.44x",
    value: Annotated[str, typer.Option(help="What counts as profit: clicks or shows.")] = "clicks",
    figure: Annotated[Path | None, typer.Option(help="Draw the curve here (.png, .svg, .pdf).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Show what a budget buys, if all were known of the sources of a trace.

    The exact optimum: price, split between recrawls and pages, sources in and out; the curve of quality against budget;
    the smallest budgets for 90, 95 and 99 % of the bound, and for refusing no source. Beside it Algorithm 1.

    Example: mayfly plan traces/de-news-sept --budget 0.22x
    """
    trace = read_trace(folder)
    spent = words.budget(budget, trace)
    beliefs = true_beliefs(trace, trace.interest(value))
    bound = buying.bound_of(beliefs)
    if bound <= 0:
        raise UsageError(f"{folder}: no page of this trace has any {value}, so there is nothing to plan for")
    facts: dict[str, Any] = {
        "trace": trace.name,
        "budget": spent,
        "upper_bound": bound,
        "exact": buying.facts(exact_plan(beliefs, spent), bound),
        "paper": buying.facts(paper_plan(beliefs, spent), bound),
        "smallest_budget": {f"{share:.0%}": buying.budget_for(beliefs, share, bound) for share in buying.SHARES},
        "no_source_refused": refusal_free_budget(beliefs),
        "curve": [buying.point(beliefs, float(multiple) * trace.page_rate, bound) for multiple in _CURVE],
    }
    if figure is not None:
        from mayfly.lab.plots import draw_plan

        marks = {f"{label} of the bound": at for label, at in facts["smallest_budget"].items()}
        curve = facts["curve"]
        draw_plan([point["budget"] for point in curve], [point["share"] for point in curve], marks, figure)
    if as_json:
        typer.echo(json.dumps(facts))
    else:
        _print(facts, trace.page_rate)


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
    typer.echo(f"{facts['trace']}: a budget of {rate(facts['budget'])}, bound {facts['upper_bound']:.4g} clicks/s\n")
    words.print_table(
        ("", "exact optimum", "paper's Algorithm 1"),
        [(name.replace("_", " "), show(facts["exact"]), show(facts["paper"])) for name, show in names.items()],
    )
    typer.echo("")
    rows = [(f"{label} of the bound", rate(at)) for label, at in facts["smallest_budget"].items()]
    words.print_table(("smallest budget for", ""), [*rows, ("refusing no source", rate(facts["no_source_refused"]))])
    typer.echo("")
    words.print_table(
        ("budget", "share", "price", ""),
        [
            (rate(point["budget"]), f"{point['share']:.3f}", f"{point['price']:.4g}", "▇" * round(40 * point["share"]))
            for point in facts["curve"]
        ],
    )


def _minutes(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds / 60:.3g} min"
