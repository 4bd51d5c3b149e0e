"""`mayfly lab table`, `sweep` and `figures`: many replays, in parallel, kept and gone on with."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from mayfly.cli import options, words
from mayfly.core.model import PerSecond, Seconds
from mayfly.core.policies import PAPER_POLICIES
from mayfly.errors import UsageError
from mayfly.lab import sweep as sweeps
from mayfly.lab.compare import (
    ALL_POLICIES,
    Cell,
    as_csv,
    as_markdown,
    as_paper_rows,
    as_rows,
    compare,
    headings,
    paper_headings,
    smallest_budgets,
)
from mayfly.lab.facts import PAPER_BUDGETS, PAPER_FACTS
from mayfly.lab.jobs import Job, Jobs, World
from mayfly.lab.portrait import fading, loved_hosts, portrait
from mayfly.lab.replay import Settings
from mayfly.lab.shapes import SHAPES
from mayfly.lab.synthetic import make_world
from mayfly.lab.trace import Trace


class Form(StrEnum):
    """How a table is printed."""

    text = "text"
    markdown = "markdown"
    csv = "csv"


MaybeTrace = Annotated[Path | None, typer.Argument(help="Folder of the trace.", metavar="TRACE")]
Scale = Annotated[float, typer.Option(help="Size of the made-up worlds: 0.1 is a tenth of the hosts.", min=0.001)]
Seeds = Annotated[
    int, typer.Option(help="How many: of the policies on a trace from 0, of made-up worlds from 1.", min=1)
]


class Ground(NamedTuple):
    """What experiments run on."""

    worlds: list[World]
    rounds: list[tuple[int, int]]  # number of the world, seed of the policies in it
    sample: Trace  # the first of the worlds
    made: bool


def _ground(folder: Path | None, like_paper: bool, seeds: int, scale: float, until: str | None) -> Ground:
    """The trace given, or worlds like the paper's, one for each seed."""
    if folder is not None:
        trace = options.read(folder, until)
        return Ground([trace], [(0, seed) for seed in range(seeds)], trace, False)
    if not like_paper:
        raise UsageError("give the folder of a trace, or --like-paper for worlds made up like the paper's")
    shape = replace(SHAPES["paper"].scaled(scale), shows_per_click=0.0)  # nothing here asks for shows
    worlds: list[World] = [partial(make_world, shape, seed, "paper") for seed in range(1, seeds + 1)]
    sample = make_world(shape, 1, "paper")
    if until is not None:
        raise UsageError("--until cuts a trace that is given; make one with `mayfly lab make --days`")
    return Ground(worlds, [(number, number + 1) for number in range(seeds)], sample, True)


def table(
    folder: MaybeTrace = None,
    like_paper: Annotated[
        bool, typer.Option("--like-paper", help="The paper's Table 1: its policies and index, N = .05, .10, .20.")
    ] = False,
    policies: Annotated[str | None, typer.Option(help="Names with commas between, or all.")] = None,
    budgets: Annotated[str | None, typer.Option(help="Budgets with commas between.")] = None,
    seeds: Seeds = 1,
    estimator: options.Estimator = "bayes",
    feedback: options.FeedbackOption = options.Feedback.fetched,
    log_push: options.LogPush = "3600",
    history: options.History = 7,
    replan: options.Replan = "1800",
    bin: options.Bin = "1200",
    host_delay: options.HostDelay = "0",
    probe: options.Probe = None,
    window: options.Window = None,
    until: options.Until = None,
    value: options.Value = "clicks",
    reach: Annotated[
        float | None, typer.Option(help="Find the smallest budget that keeps this share of the bound, by replay.")
    ] = None,
    scale: Scale = 1.0,
    jobs: options.Jobs = None,
    cache: options.Cache = None,
    fresh: options.Fresh = False,
    form: Annotated[Form, typer.Option("--format", help="text, markdown or csv.")] = Form.text,
    figure: Annotated[Path | None, typer.Option(help="Draw share against budget here (.png, .svg, .pdf).")] = None,
    as_json: options.Json = False,
) -> None:
    """Compare policies at several budgets, all under the same rules.

    Beside the share of the bound stands what the paper's Table 1 has: mean and standard deviation of the one-week
    dynamic quality, every two minutes of the window. With --like-paper and no TRACE it runs on worlds made up like the
    paper's. Finished runs are kept: the same command again goes on where it was stopped.

    Example: mayfly lab table --like-paper --estimator paper --feedback all --seeds 3
    """
    ground = _ground(folder, like_paper, seeds, scale, until)
    names = _policies(policies or ("all" if not like_paper else ",".join([*PAPER_POLICIES, "index"])))
    paper_budgets = [f"{budget / PAPER_FACTS['page_rate']:.6f}x" for budget in PAPER_BUDGETS]
    if ground.made:
        paper_budgets = [str(budget * scale) for budget in PAPER_BUDGETS]
    texts = budgets.split(",") if budgets else paper_budgets if like_paper else ["0.22x", "0.44x", "0.87x"]
    spent = [words.budget(text.strip(), ground.sample.page_rate) for text in texts]
    checked = [
        options.settings_of(
            ground.sample, name, "1x", estimator, feedback, log_push, history, replan, bin, host_delay, probe, value, 0
        )
        for name in names
    ]
    scored = options.window_of(window, ground.sample)
    runner = Jobs(ground.worlds, jobs or os.cpu_count() or 1, options.cache_folder(cache, fresh))
    if reach is not None:
        _print_reach(runner, ground, checked, reach, scored, as_json)
        return
    with _counted("replays", len(names) * len(ground.rounds) * sum(spent)) as done:
        cells = compare(runner, ground.rounds, checked[0], names, spent, scored, done)
    if figure is not None:
        from mayfly.lab.plots import draw_shares

        draw_shares(cells, f"{ground.sample.name}: clicks kept, by policy and budget", figure)
    if as_json:
        typer.echo(json.dumps([run for cell in cells for run in cell.runs]))
    elif form is Form.csv:
        typer.echo(as_csv(cells))
    else:
        _print_cells(cells, ground, like_paper, form)


def _print_cells(cells: Sequence[Cell], ground: Ground, like_paper: bool, form: Form) -> None:
    page_rate = ground.sample.page_rate
    if like_paper:
        head: Sequence[str] = paper_headings(cells)
        rows = as_paper_rows(cells, page_rate)
    else:
        head, rows = headings(), as_rows(cells, page_rate)
    if form is Form.markdown:
        typer.echo(as_markdown(head, rows))
    else:
        words.print_table(head, rows)
        if like_paper:
            typer.echo("share: of the upper bound; paper: its Table 1; rarely: sources crawled less than once a day")


def sweep(
    folder: MaybeTrace = None,
    like_paper: Annotated[bool, typer.Option("--like-paper", help="On worlds made up like the paper's.")] = False,
    over: Annotated[str, typer.Option(help=f"What to vary: {', '.join(sweeps.PARAMETERS)}; or all.")] = "all",
    policies: Annotated[str, typer.Option(help="Names with commas between.")] = "echo-schedule,echo-newpages,index",
    budget: Annotated[str, typer.Option(help="Fetches per second, or a share of the page rate.")] = "0.437x",
    seeds: Seeds = 1,
    estimator: options.Estimator = "paper",
    feedback: options.FeedbackOption = options.Feedback.all,
    window: options.Window = None,
    until: options.Until = None,
    out: Annotated[Path, typer.Option(help="Folder for tables and plots.")] = Path("mayfly-sweep"),
    scale: Scale = 1.0,
    jobs: options.Jobs = None,
    cache: options.Cache = None,
    fresh: options.Fresh = False,
    as_json: options.Json = False,
) -> None:
    """Vary one parameter at a time, the others as in the paper, and see what is kept: a table and a plot for each.

    For log-push there is the warm-up too: the one-week dynamic quality from the first day on.

    Example: mayfly lab sweep --like-paper --over history,log-push --scale 0.2
    """
    ground = _ground(folder, like_paper, seeds, scale, until)
    names = list(sweeps.PARAMETERS) if over == "all" else [name.strip() for name in over.split(",")]
    for name in names:
        if name not in sweeps.PARAMETERS:
            raise UsageError(f"--over: there is no '{name}'; there are {', '.join(sweeps.PARAMETERS)} and all")
    if "default-profit" in names and estimator != "paper":
        raise UsageError("default-profit is the paper's estimator's: use --estimator paper, or leave it out of --over")
    chosen = _policies(policies)
    base = options.settings_of(
        ground.sample, chosen[0], budget, estimator, feedback, "3600", 7, "1800", "1200", "0", None, "clicks", 0
    )
    scored = options.window_of(window, ground.sample)
    runner = Jobs(ground.worlds, jobs or os.cpu_count() or 1, options.cache_folder(cache, fresh))
    out.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {}
    for name in names:
        parameter = sweeps.PARAMETERS[name]
        settings = replace(base, budget=ground.sample.page_rate) if name == "budget" else base
        costs = [parameter.put(settings, value).budget for value in parameter.values]
        with _counted(name, len(parameter.policies or chosen) * len(ground.rounds) * sum(costs)) as done:
            arms = sweeps.sweep(runner, ground.rounds, settings, parameter, chosen, scored, done)
        found[name] = [_arm_json(arm) for arm in arms]
        _draw_sweep(name, parameter, arms, ground, out)
        head = (parameter.title, *dict.fromkeys(arm.policy for arm in arms))
        rows = sweeps.as_rows(parameter, arms)
        (out / f"{name}.md").write_text(as_markdown(head, rows) + "\n")
        if not as_json:
            words.print_table(head, rows)
            typer.echo("")
    if as_json:
        typer.echo(json.dumps(found))
    else:
        typer.echo(f"Tables and plots are in {out}.")


def _arm_json(arm: sweeps.Arm) -> dict[str, Any]:
    days, curve = arm.warm_up
    return {
        "policy": arm.policy,
        "value": arm.value,
        "runs": arm.runs,
        "warm_up": {"days": days.tolist(), "share": curve.tolist()},
    }


def _draw_sweep(name: str, parameter: sweeps.Parameter, arms: Sequence[sweeps.Arm], ground: Ground, out: Path) -> None:
    from mayfly.lab.plots import draw_sweep, draw_warm_up

    draw_sweep(parameter, arms, f"{ground.sample.name}: clicks kept, by {name}", out / f"{name}.png")
    if name == "log-push":
        for policy in dict.fromkeys(arm.policy for arm in arms):
            title = f"Warm-up of {policy}, by time between log pushes"
            draw_warm_up(parameter, arms, policy, title, out / f"warm-up-{policy}.png")


def figures(
    folder: MaybeTrace = None,
    like_paper: Annotated[bool, typer.Option("--like-paper", help="On a world made up like the paper's.")] = False,
    budget: Annotated[str, typer.Option(help="Fetches per second, or a share of the page rate.")] = "0.437x",
    policies: Annotated[str, typer.Option(help="Names with commas between.")] = ",".join([*PAPER_POLICIES, "index"]),
    estimator: options.Estimator = "bayes",
    feedback: options.FeedbackOption = options.Feedback.fetched,
    out: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("mayfly-figures"),
    until: options.Until = None,
    scale: Scale = 1.0,
    jobs: options.Jobs = None,
    cache: options.Cache = None,
    fresh: options.Fresh = False,
) -> None:
    """Draw the paper's figures with our own runs, each as PNG and SVG.

    Example: mayfly lab figures --like-paper --out figures
    """
    ground = _ground(folder, like_paper, 1, scale, until)
    names = _policies(policies)
    base = options.settings_of(
        ground.sample, names[0], budget, estimator, feedback, "3600", 7, "1800", "1200", "0", None, "clicks", 0
    )
    world, seed = ground.rounds[0]
    runs = [Job(world, replace(base, policy=name, seed=seed)) for name in names]
    runner = Jobs(ground.worlds, jobs or os.cpu_count() or 1, options.cache_folder(cache, fresh))
    with _counted("replays", sum(job.settings.budget for job in runs)) as done:
        seen = runner.map(runs, portrait, done)
    out.mkdir(parents=True, exist_ok=True)
    shown = make_world(SHAPES["paper"].scaled(scale), 1, "paper") if ground.made else ground.sample  # with shows
    for name in _draw_figures(shown, seen, base, out):
        typer.echo(f"{out / name}.png  {out / name}.svg")


def _draw_figures(trace: Trace, seen: Sequence[Any], settings: Settings, out: Path) -> Iterator[str]:
    from mayfly.lab import plots

    def paths(name: str) -> list[Path]:
        return [out / f"{name}.png", out / f"{name}.svg"]

    hosts = loved_hosts(trace)
    blogs = [host for host in hosts if host.startswith(("stars", "blogs"))]  # as made-up worlds call them
    news = [host for host in hosts if host not in blogs]
    pair = [*news[:1], *blogs[:1]] if news and blogs else hosts[:2]
    learner = next((one for one in seen if one.policy == "echo-newpages"), seen[-1])
    budget = settings.budget
    pictures: dict[str, Callable[[list[Path]], None]] = {
        "interest": lambda to: plots.draw_fading([fading(trace, host) for host in pair], to),
        "optimum": plots.draw_optimum,
        "rates": lambda to: plots.draw_rates(trace, learner, budget, to),
        "profit-5-hours": lambda to: plots.draw_dynamic(seen, True, budget, to),
        "profit-1-week": lambda to: plots.draw_dynamic(seen, False, budget, to),
        "delays": lambda to: plots.draw_delays(seen, budget, to),
        "spending": lambda to: plots.draw_spending(seen, budget, to),
    }
    for name, draw in pictures.items():
        draw(paths(name))
        yield name


def _policies(text: str) -> list[str]:
    return list(ALL_POLICIES) if text == "all" else [name.strip() for name in text.split(",")]


@contextmanager
def _counted(label: str, fetches: PerSecond) -> Iterator[Callable[[Job], None]]:
    """A bar that counts a run as so much work as it has fetches."""
    with words.progress(label, fetches) as bar:
        yield lambda job: bar(job.settings.budget)


def _print_reach(
    runner: Jobs,
    ground: Ground,
    wanted: Sequence[Settings],
    reach: float,
    window: tuple[Seconds, Seconds] | None,
    as_json: bool,
) -> None:
    if not 0 < reach < 1:
        raise UsageError(f"--reach is a share between 0 and 1, not {reach}")
    rate = ground.sample.page_rate
    seeded = [replace(settings, seed=ground.rounds[0][1]) for settings in wanted]
    with words.progress("replays, about", 9 * len(wanted)) as bar:
        budgets = smallest_budgets(runner, seeded, rate, reach, window, lambda job: bar(1))
    found = {settings.policy: spent for settings, spent in zip(wanted, budgets, strict=True)}
    if as_json:
        typer.echo(json.dumps({"trace": ground.sample.name, "reach": reach, "budget": found}))
        return
    rows = [
        (name, "more than 64x" if spent is None else f"{spent:.4g} ({spent / rate:.2f}x)")
        for name, spent in found.items()
    ]
    words.print_table(("policy", f"smallest budget that keeps {reach:.0%}"), rows)
