"""`mayfly lab`: worlds made and described, one policy on one of them."""

from __future__ import annotations

import json
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from mayfly.cli import options, words
from mayfly.core.policies import POLICIES
from mayfly.crawl.trends import read_terms
from mayfly.errors import UsageError
from mayfly.lab.facts import PAPER_FACTS, describe
from mayfly.lab.replay import Run, replay, report
from mayfly.lab.shapes import SHAPES, read_shape
from mayfly.lab.synthetic import make_world
from mayfly.lab.trace import Trace, write_trace

app = typer.Typer(help="Try policies on recorded worlds, in virtual time.", no_args_is_help=True, rich_markup_mode=None)


class Suffix(StrEnum):
    """How tables are kept."""

    csv = "csv"
    gz = "csv.gz"
    parquet = "parquet"


@app.command()
def make(
    out: Annotated[Path, typer.Argument(help="Folder for the trace; must be new or empty.", metavar="OUT")],
    like: Annotated[str, typer.Option(help=f"One of: {', '.join(SHAPES)}; or a TOML file of parameters.")] = "paper",
    seed: Annotated[int, typer.Option(help="The same seed makes the same world, byte for byte.")] = 1,
    days: Annotated[
        float | None, typer.Option(help="How long. Default: what the shape says, 21 for the paper.")
    ] = None,
    scale: Annotated[float, typer.Option(help="So many times the hosts, and so the sources, pages and clicks.")] = 1.0,
    form: Annotated[Suffix, typer.Option("--format", help="csv, csv.gz or parquet.")] = Suffix.gz,
) -> None:
    """Make a world up: publishers, pages, links that come and go, clicks and shows, and one more week of those.

    Example: mayfly lab make worlds/paper --like paper --seed 1
    """
    shape = SHAPES[like] if like in SHAPES else read_shape(Path(like)) if Path(like).suffix == ".toml" else None
    if shape is None:
        raise UsageError(f"--like must be one of {', '.join(SHAPES)}, or a .toml file of parameters, not '{like}'")
    if not (0 < scale < float("inf") and 0 < (shape.days if days is None else days) < float("inf")):
        raise UsageError("--scale and --days must be above 0")
    new_folder(out)
    shape = replace(shape.scaled(scale), days=shape.days if days is None else days)
    with words.progress("making", 2) as bar:
        trace = make_world(shape, seed, Path(like).stem)
        bar(1)
        try:
            write_trace(trace, out, f".{form.value}")
        except OSError as error:
            raise UsageError(f"{out}: {error.strerror}") from None
        bar(1)
    typer.echo(
        f"{out}: {len(set(trace.hosts)):,} hosts, {len(trace.source_ids):,} sources, {len(trace.page_ids):,} pages, "
        f"{len(trace.added):,} links, {trace.clicks.number.sum():,.0f} clicks in {shape.days:g} days"
    )


def new_folder(out: Path) -> None:
    """Refuse a folder with something in it."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} is there already and not an empty folder; choose another or empty it")


@app.command()
def info(folder: options.TraceFolder, until: options.Until = None, as_json: options.Json = False) -> None:
    """Say what is in a trace, after checking all of it, and how that compares with the paper's data.

    Example: mayfly lab info traces/de-news-sept
    """
    facts = describe(options.read(folder, until))
    if as_json:
        typer.echo(json.dumps({**facts, "paper": PAPER_FACTS}))
        return
    rows = [
        (name.replace("_", " "), _plain(value), _plain(PAPER_FACTS[name]) if name in PAPER_FACTS else "")
        for name, value in facts.items()
    ]
    words.print_table(("", "here", "in the paper"), rows)


@app.command()
def run(
    folder: options.TraceFolder,
    policy: Annotated[str, typer.Option(help=f"One of: {', '.join(POLICIES)}.")] = "index",
    budget: Annotated[str, typer.Option(help="Fetches per second, or a share of the page rate: 0.22x.")] = "0.44x",
    estimator: options.Estimator = "bayes",
    feedback: options.FeedbackOption = options.Feedback.fetched,
    log_push: options.LogPush = "3600",
    history: options.History = 7,
    replan: options.Replan = "1800",
    bin: options.Bin = "1200",
    host_delay: options.HostDelay = "0",
    probe: options.Probe = None,
    page_values: Annotated[
        bool, typer.Option(help="Learn what a page is worth from its address, its link and who shows it.")
    ] = True,
    trends: Annotated[
        Path | None, typer.Option(help="What people ask for: a term and its weight a line.", metavar="FILE")
    ] = None,
    window: options.Window = None,
    until: options.Until = None,
    value: options.Value = "clicks",
    seed: Annotated[int, typer.Option(help="The same seed gives the same actions, byte for byte.")] = 0,
    actions: Annotated[Path | None, typer.Option(help="Write the list of fetches here: at,kind,id.")] = None,
    as_json: options.Json = False,
) -> None:
    """Replay one policy on a trace and print what it kept.

    Example: mayfly lab run traces/de-news-sept --policy index --budget 0.22x --actions actions.csv
    """
    trace = options.read(folder, until)
    settings = options.settings_of(
        trace, policy, budget, estimator, feedback, log_push, history, replan, bin, host_delay, probe, value, seed
    )
    settings = replace(settings, page_values=page_values, trends=_terms(trends))
    scored = options.window_of(window, trace)
    _warn(trace)
    with words.progress(policy, 1) as advance:
        reached = 0.0

        def told(share: float) -> None:
            nonlocal reached
            advance(share - reached)
            reached = share

        done = replay(trace, settings, told)
    if actions is not None:
        _write_actions(done, actions)
    figures, _ = report(done, scored)
    if as_json:
        typer.echo(json.dumps(figures))
    else:
        _print_run(figures)


def _terms(path: Path | None) -> dict[str, float]:
    try:
        return {} if path is None else read_terms(path.read_text(encoding="utf-8", errors="replace").splitlines())
    except OSError as error:
        raise UsageError(f"--trends {path}: {error.strerror}") from None


def _warn(trace: Trace) -> None:
    """Say so where a record cannot know what another policy would have seen."""
    if trace.about.get("origin") == "recorded" and not trace.about.get("record_every"):
        by = trace.about.get("policy") or "a policy"
        words.say(
            f"mayfly: {trace.name} was recorded by {by}, not at a fixed interval (crawl --record-every): it cannot "
            "know what another policy would have seen, so compare with care",
            err=True,
        )


def _write_actions(done: Run, path: Path) -> None:
    try:
        done.write_actions(path)
    except OSError as error:
        raise UsageError(f"--actions {path}: {error.strerror}") from None


def _print_run(figures: dict[str, Any]) -> None:
    missed = figures.pop("missed")
    share = figures["share"]
    rows = [(name.replace("_", " "), _plain(value)) for name, value in figures.items()]
    words.print_table(("", ""), rows)
    words.print_table(
        ("profit lost", "pages", "share of the bound"),
        [(name.replace("_", " "), f"{part['pages']:,}", f"{part['share']:.3f}") for name, part in missed.items()]
        + [("kept", "", "–" if share is None else f"{share:.3f}")],
    )


def _plain(value: Any) -> str:
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.4g}" if abs(value) < 1e6 else f"{value:,.0f}"
        case list():
            return " to ".join(_plain(part) for part in value)
        case _:
            return str(value)
