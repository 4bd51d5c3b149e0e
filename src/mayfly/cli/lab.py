"""`mayfly lab`: policies on traces, in virtual time."""

from __future__ import annotations

import json
import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from mayfly.cli import words
from mayfly.core.estimates import ESTIMATORS
from mayfly.core.model import DAY, HOUR, Seconds
from mayfly.core.policies import POLICIES
from mayfly.errors import UsageError
from mayfly.lab.compare import ALL_POLICIES, HEADINGS, as_csv, as_markdown, as_rows, compare, smallest_budget
from mayfly.lab.replay import Run, Settings, replay, report
from mayfly.lab.trace import Trace, read_trace

app = typer.Typer(help="Try policies on recorded worlds, in virtual time.", no_args_is_help=True, rich_markup_mode=None)


class Feedback(StrEnum):
    """Which clicks the policy is told."""

    fetched = "fetched"
    all = "all"
    none = "none"


class Form(StrEnum):
    """How a table is printed."""

    text = "text"
    markdown = "markdown"
    csv = "csv"


TraceFolder = Annotated[Path, typer.Argument(help="Folder of the trace.", metavar="TRACE")]
Estimator = Annotated[str, typer.Option(help=f"One of: {', '.join(ESTIMATORS)}.")]
FeedbackOption = Annotated[Feedback, typer.Option(help="Clicks told: of fetched pages after the fetch, all, or none.")]
LogPush = Annotated[str, typer.Option(help="L: how often the click log is pushed.")]
History = Annotated[int, typer.Option(help="T: crawls the paper's rate estimate looks back on.")]
Replan = Annotated[str, typer.Option(help="How often the plan is made anew.")]
Bin = Annotated[str, typer.Option(help="D: bin of the paper's click histogram.")]
HostDelay = Annotated[str, typer.Option(help="Pause between two fetches of a host.")]
Probe = Annotated[
    float | None, typer.Option(help="Share of fetches for the sources longest unseen. Default: the policy's own.")
]
Window = Annotated[
    tuple[str, str] | None,
    typer.Option(help="Score pages published and fetched in [FROM, TO): seconds since 1970, or from the start (14d)."),
]
Until = Annotated[str | None, typer.Option(help="Cut the trace at this moment, for tuning on its first weeks.")]
Value = Annotated[str, typer.Option(help="What counts as profit: clicks or shows.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


@app.command()
def run(
    folder: TraceFolder,
    policy: Annotated[str, typer.Option(help=f"One of: {', '.join(POLICIES)}.")] = "index",
    budget: Annotated[str, typer.Option(help="Fetches per second, or a share of the page rate: 0.22x.")] = "0.44x",
    estimator: Estimator = "bayes",
    feedback: FeedbackOption = Feedback.fetched,
    log_push: LogPush = "3600",
    history: History = 7,
    replan: Replan = "1800",
    bin: Bin = "1200",
    host_delay: HostDelay = "0",
    probe: Probe = None,
    window: Window = None,
    until: Until = None,
    value: Value = "clicks",
    seed: Annotated[int, typer.Option(help="The same seed gives the same actions, byte for byte.")] = 0,
    actions: Annotated[Path | None, typer.Option(help="Write the list of fetches here: at,kind,id.")] = None,
    as_json: Json = False,
) -> None:
    """Replay one policy on a trace and print what it kept.

    Example: mayfly lab run traces/de-news-sept --policy index --budget 0.22x --actions actions.csv
    """
    trace = _read(folder, until)
    settings = _settings(
        trace, policy, budget, estimator, feedback, log_push, history, replan, bin, host_delay, probe, value, seed
    )
    scored = _window(window, trace)
    with words.progress(policy, 100) as (bar, task):
        done = replay(trace, settings, lambda share: bar.update(task, completed=int(100 * share)))
    if actions is not None:
        _write_actions(done, actions)
    figures, _ = report(done, scored)
    if as_json:
        typer.echo(json.dumps(figures))
    else:
        _print_run(figures)


@app.command()
def info(folder: TraceFolder, until: Until = None, as_json: Json = False) -> None:
    """Say what is in a trace, after checking all of it.

    Example: mayfly lab info traces/de-news-sept
    """
    trace = _read(folder, until)
    facts = describe(trace)
    if as_json:
        typer.echo(json.dumps(facts))
        return
    words.print_table(("", ""), [(name.replace("_", " "), _plain(value)) for name, value in facts.items()])


@app.command()
def table(
    folder: TraceFolder,
    policies: Annotated[str, typer.Option(help="Names with commas between, or all.")] = "all",
    budgets: Annotated[str, typer.Option(help="Budgets with commas between.")] = "0.22x,0.44x,0.87x",
    seeds: Annotated[int, typer.Option(help="How many seeds, counted from 0.", min=1)] = 1,
    estimator: Estimator = "bayes",
    feedback: FeedbackOption = Feedback.fetched,
    log_push: LogPush = "3600",
    history: History = 7,
    replan: Replan = "1800",
    bin: Bin = "1200",
    host_delay: HostDelay = "0",
    probe: Probe = None,
    window: Window = None,
    until: Until = None,
    value: Value = "clicks",
    reach: Annotated[
        float | None, typer.Option(help="Find the smallest budget that keeps this share of the bound, by replay.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Processes at once. Default: one for each core.", min=1)] = None,
    form: Annotated[Form, typer.Option("--format", help="text, markdown or csv.")] = Form.text,
    figure: Annotated[Path | None, typer.Option(help="Draw share against budget here (.png, .svg, .pdf).")] = None,
    as_json: Json = False,
) -> None:
    """Compare policies at several budgets, all under the same rules.

    Beside the share of the bound stands what the paper's Table 1 has: mean and standard deviation of the one-week
    dynamic quality, every two minutes of the window.

    Example: mayfly lab table traces/de-news-sept --policies bfs,echo-newpages,index --seeds 3
    """
    trace = _read(folder, until)
    names = list(ALL_POLICIES) if policies == "all" else [name.strip() for name in policies.split(",")]
    scored = _window(window, trace)

    def settings(name: str, spent: str) -> Settings:
        return _settings(
            trace, name, spent, estimator, feedback, log_push, history, replan, bin, host_delay, probe, value, 0
        )

    if reach is not None:
        _print_reach(trace, [settings(name, "1x") for name in names], reach, scored, as_json)
        return
    spent = [words.budget(text.strip(), trace) for text in budgets.split(",")]
    checked = [settings(name, "1x") for name in names]
    with words.progress("replays", len(names) * len(spent) * seeds) as (bar, task):
        cells = compare(
            trace,
            checked[0],
            names,
            spent,
            range(seeds),
            scored,
            jobs or os.cpu_count() or 1,
            done=lambda: bar.advance(task),
        )
    if figure is not None:
        from mayfly.lab.plots import draw_shares

        draw_shares(cells, f"{trace.name}: clicks kept, by policy and budget", figure)
    if as_json:
        typer.echo(json.dumps([run for cell in cells for run in cell.runs]))
    elif form is Form.csv:
        typer.echo(as_csv(cells))
    elif form is Form.markdown:
        typer.echo(as_markdown(as_rows(cells, trace.page_rate)))
    else:
        words.print_table(HEADINGS, as_rows(cells, trace.page_rate))


def describe(trace: Trace) -> dict[str, Any]:
    """Figures of a trace, under the names `lab info --json` prints."""
    clicks = np.bincount(trace.clicks.page, trace.clicks.number, len(trace.page_ids))
    links = np.bincount(trace.link_page, minlength=len(trace.page_ids))
    age = trace.clicks.at - trace.published[trace.clicks.page]
    order = np.argsort(age)
    half = np.searchsorted(np.cumsum(trace.clicks.number[order]), trace.clicks.number.sum() / 2)
    top = np.sort(clicks)[::-1][: max(1, len(clicks) // 100)].sum()
    return {
        "trace": trace.name,
        "days": (trace.end - trace.start) / DAY,
        "hosts": len(set(trace.hosts)),
        "sources": len(trace.source_ids),
        "pages": len(trace.page_ids),
        "page_rate": trace.page_rate,
        "links": len(trace.added),
        "links_per_page": float(links.mean()) if len(links) else 0.0,
        "pages_never_linked": int((links == 0).sum()),
        "clicks": float(trace.clicks.number.sum()),
        "clicks_per_second": float(trace.clicks.number.sum() / (trace.end - trace.start)),
        "clicked_share": float((clicks > 0).mean()) if len(clicks) else 0.0,
        "clicks_of_top_percent": float(top / clicks.sum()) if clicks.sum() else 0.0,
        "half_of_clicks_within_hours": float(age[order[min(half, len(order) - 1)]] / HOUR) if len(order) else None,
        "shows": None if trace.shows is None else float(trace.shows.number.sum()),
        "ranks": trace.rank is not None,
    }


def _read(folder: Path, until: str | None) -> Trace:
    trace = read_trace(folder)
    return trace if until is None else trace.until(words.moment(until, trace.start, "--until"))


def _settings(
    trace: Trace, policy: str, budget: str, estimator: str, feedback: Feedback, log_push: str, history: int,
    replan: str, bin: str, host_delay: str, probe: float | None, value: str, seed: int,
) -> Settings:  # fmt: skip
    """Flags as settings, each checked."""
    if policy not in POLICIES:
        raise UsageError(f"there is no policy '{policy}'; there are {', '.join(POLICIES)}")
    if estimator not in ESTIMATORS:
        raise UsageError(f"there is no estimator '{estimator}'; there are {', '.join(ESTIMATORS)}")
    if not 3 <= history <= 10:
        raise UsageError(f"--history must be 3 to 10 crawls, not {history}")
    if probe is not None and not 0 <= probe <= 1:
        raise UsageError(f"--probe is a share from 0 to 1, not {probe}")
    trace.interest(value)
    return Settings(
        policy=policy,
        budget=words.budget(budget, trace),
        estimator=estimator,
        feedback=feedback.value,
        log_push=words.positive_duration(log_push, "--log-push"),
        history=history,
        replan=words.positive_duration(replan, "--replan"),
        bin=words.positive_duration(bin, "--bin"),
        host_delay=words.duration(host_delay, "--host-delay"),
        probe=probe,
        seed=seed,
        value=value,
    )


def _window(window: tuple[str, str] | None, trace: Trace) -> tuple[Seconds, Seconds] | None:
    if window is None:
        return None
    begin, end = (words.moment(text, trace.start, "--window") for text in window)
    if not trace.start <= begin < end <= trace.end:
        raise UsageError(f"--window must lie within the trace, [{trace.start}, {trace.end}); got [{begin}, {end})")
    return begin, end


def _write_actions(done: Run, path: Path) -> None:
    try:
        done.write_actions(path)
    except OSError as error:
        raise UsageError(f"--actions {path}: {error.strerror}") from None


def _print_reach(
    trace: Trace, wanted: list[Settings], reach: float, window: tuple[Seconds, Seconds] | None, as_json: bool
) -> None:
    if not 0 < reach < 1:
        raise UsageError(f"--reach is a share between 0 and 1, not {reach}")
    found = {}
    with words.progress("policies", len(wanted)) as (bar, task):
        for settings in wanted:
            found[settings.policy] = smallest_budget(trace, settings, reach, window)
            bar.advance(task)
    if as_json:
        typer.echo(json.dumps({"trace": trace.name, "reach": reach, "budget": found}))
        return
    rows = [
        (name, "more than 64x" if spent is None else f"{spent:.4g} ({spent / trace.page_rate:.2f}x)")
        for name, spent in found.items()
    ]
    words.print_table(("policy", f"smallest budget that keeps {reach:.0%}"), rows)


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
