"""Pictures of results. matplotlib is an extra, and slow to import: only here, and only when drawing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mayfly.core.curves import g, g_inverse
from mayfly.core.model import FloatArray
from mayfly.errors import UsageError
from mayfly.lab.compare import Cell
from mayfly.lab.portrait import Fading, Portrait, page_rate
from mayfly.lab.sweep import Arm, Parameter
from mayfly.lab.trace import Trace


def draw_shares(cells: Sequence[Cell], title: str, path: Path) -> None:
    """Share of the bound against budget, a line a policy; the best at the smallest budget on top of the legend."""
    plt = _pyplot()
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    policies = sorted({cell.policy for cell in cells}, key=lambda name: -_line(cells, name)[1][0])
    for number, policy in enumerate(policies):
        budgets, shares, spreads = _line(cells, policy)
        mine = policy == "index"
        axes.errorbar(
            budgets, shares, spreads, label=policy, marker="o", capsize=3, linewidth=3 if mine else 1.5,
            color="black" if mine else None, zorder=3 if mine else 2,
            linestyle="-" if mine or number < 10 else "--",  # there are ten colours
        )  # fmt: skip
    axes.axhline(1, color="grey", linestyle=":", linewidth=1)
    axes.set_xscale("log")
    ticks = sorted({cell.budget for cell in cells})
    axes.set_xticks(ticks, [f"{tick:.3g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(0, 1.03)
    axes.set_xlabel("budget, fetches per second")
    axes.set_ylabel("share of all clicks kept")
    axes.set_title(title)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.savefig(path, dpi=130)
    plt.close(figure)


def draw_kept(
    shares: dict[str, float],
    curves: dict[str, tuple[FloatArray, FloatArray]],
    bound: tuple[FloatArray, FloatArray],
    path: Path,
) -> None:
    """What each way to crawl kept: as a bar, and as it came; the grey is what there was to be kept."""
    figure, (bars, lines) = _pyplot().subplots(1, 2, figsize=(11, 4.2), layout="constrained", width_ratios=(1, 1.2))
    names = sorted(shares, key=lambda name: shares[name])
    drawn = bars.barh(names, [shares[name] for name in names], color=[_colour(name) for name in names])
    bars.bar_label(drawn, [f"{shares[name]:.0%}" for name in names], padding=4)
    bars.axvline(1, color="grey", linestyle=":", linewidth=1)
    bars.set_xlim(0, 1.12)
    bars.set_xticks([])
    bars.set_title("clicks kept, of all")
    bars.spines[["top", "right", "bottom"]].set_visible(False)
    lines.fill_between(*bound, color="lightgrey", label="all there was")
    for name in reversed(names):
        lines.plot(*curves[name], label=name, color=_colour(name), linewidth=1.5)
    lines.margins(x=0)
    lines.set_xlabel("seconds since the start")
    lines.set_ylabel("clicks kept of the pages until then")
    _finish(figure, lines, "as pages appeared", [path])


def draw_plan(shares: dict[float, float], marks: dict[str, float], path: Path) -> None:
    """Planned share of the bound by budget, with the budgets worth knowing: these must be among them."""
    plt = _pyplot()
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    budgets = sorted(shares)
    axes.plot(budgets, [shares[budget] for budget in budgets], color="black", linewidth=2)
    room = (budgets[-1] / budgets[0]) ** 0.2  # for what the last mark says
    axes.set_xlim(budgets[0], budgets[-1] * room)
    for number, (label, budget) in enumerate(sorted(marks.items(), key=lambda mark: mark[1])):
        axes.plot([budget], [shares[budget]], "o", color="black", markersize=5)
        axes.vlines(budget, 0, shares[budget], color="grey", linestyle=":", linewidth=1)
        where = (budget, 0.04 + 0.11 * (len(marks) - 1 - number))
        said = {"fontsize": 8, "xytext": (4, 0), "textcoords": "offset points"}
        axes.annotate(f"{label}\n{budget:.3g}/s", where, bbox={"color": "white", "pad": 1}, **said)
    axes.set_xscale("log")
    axes.set_ylim(0, 1.03)
    axes.set_xlabel("budget, fetches per second")
    axes.set_ylabel("share of all clicks kept, if all were known")
    axes.set_title("What a budget buys")
    figure.savefig(path, dpi=130)
    plt.close(figure)


def draw_patterns(centroids: FloatArray, names: Sequence[str], fading: Sequence[bool], path: Path) -> None:
    """Centroids of interest by day of age; those that do not fade are dashed."""
    figure, axes = _pyplot().subplots(figsize=(8, 4.5), layout="constrained")
    days = np.arange(1, centroids.shape[1] + 1)
    for centroid, name, fades in zip(centroids, names, fading, strict=True):
        axes.plot(days, centroid, label=name, marker=".", linestyle="-" if fades else "--")
    axes.set_ylim(0, 1.03)
    axes.set_xlabel("day since the first visit")
    axes.set_ylabel("visits, the page's best day is 1")
    _finish(figure, axes, "How interest in new pages fades", [path])


def draw_cover(shares: FloatArray, marks: Sequence[int], hosts: int, path: Path) -> None:
    """Share of new pages reached by the first 0, 1, 2, … sources, some of them marked; above, by sources for a host."""
    figure, axes = _pyplot().subplots(figsize=(8, 4.5), layout="constrained")
    axes.plot(np.arange(len(shares)), shares, color="black", linewidth=2)
    axes.plot(marks, shares[marks], "o", color="black")
    for many in marks:
        said, where = f"{many:,} reach {shares[many]:.0%}", (many, shares[many])
        axes.annotate(said, where, xytext=(6, -12), textcoords="offset points", fontsize=9)
    axes.set_ylim(0, 1.03)
    axes.set_xlim(0, 1.25 * len(shares))  # room for what the last mark says
    axes.set_xlabel("sources")
    axes.set_ylabel("share of new pages reached")
    axes.grid(alpha=0.3)
    if hosts:
        above = axes.secondary_xaxis("top", functions=(lambda many: many / hosts, lambda each: each * hosts))
        above.set_xlabel("sources for a host, on average")
    _save(figure, [path])


def draw_sweep(parameter: Parameter, arms: Sequence[Arm], title: str, path: Path) -> None:
    """Share of the bound by value of a parameter, a line a policy."""
    plt = _pyplot()
    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    values = list(dict.fromkeys(arm.value for arm in arms))
    for policy in dict.fromkeys(arm.policy for arm in arms):
        mine = [arm for arm in arms if arm.policy == policy]
        axes.errorbar(
            range(len(values)), [arm.mean("share") for arm in mine], [arm.spread("share") for arm in mine],
            label=policy, marker="o", capsize=3, color=_colour(policy),
        )  # fmt: skip
    axes.set_xticks(range(len(values)), [parameter.show(value) for value in values])
    axes.set_ylim(0, 1.03)
    axes.set_xlabel(parameter.title)
    axes.set_ylabel("share of all clicks kept, last third")
    _finish(figure, axes, title, [path])


def draw_warm_up(parameter: Parameter, arms: Sequence[Arm], policy: str, title: str, path: Path) -> None:
    """One-week dynamic quality from the first day on, a line a value."""
    figure, axes = _pyplot().subplots(figsize=(8, 4.5), layout="constrained")
    for arm in arms:
        if arm.policy == policy:
            axes.plot(*arm.warm_up, label=parameter.show(arm.value))
    axes.axhline(1, color="grey", linestyle=":", linewidth=1)
    axes.set_xlabel("days since the crawler began to learn")
    axes.set_ylabel("profit of the last week's fetches,\nshare of the bound")
    _finish(figure, axes, title, [path])


def draw_fading(sites: Sequence[Fading], paths: Sequence[Path]) -> None:
    """Cumulative shows and clicks by age, with the fitted curve, a panel a host."""
    figure, panels = _pyplot().subplots(1, len(sites), figsize=(5.5 * len(sites), 4.2), layout="constrained")
    for axes, site in zip(np.atleast_1d(panels), sites, strict=True):
        if site.shows is not None:
            axes.plot(site.days, site.shows / site.shows[-1], label="shows", color="tab:orange")
        last = site.clicks[-1] or 1.0
        axes.plot(site.days, site.clicks / last, label="clicks", color="tab:blue")
        curve = site.profit * -np.expm1(-site.decay * site.days)
        label = f"P(1 − e$^{{−μΔt}}$): P = {site.profit:.3g} clicks, 1/μ = {1 / site.decay:.2g} days"
        axes.plot(site.days, curve / last, "k--", linewidth=1, label=label)
        axes.set_xlabel("age of the page, days")
        axes.set_ylabel("share of a week's shows and clicks")
        axes.set_title(site.host)
        axes.legend(frameon=False, loc="lower right", fontsize=8)
    figure.suptitle("How interest in new pages fades: cumulative, mean of all pages of a host")
    _save(figure, paths)


def draw_optimum(paths: Sequence[Path]) -> None:
    """How an interval follows from a price: g, and ω/p for a dear source and a cheap one."""
    figure, axes = _pyplot().subplots(figsize=(7, 4.5), layout="constrained")
    x = np.linspace(0, 8, 400)
    axes.plot(x, g(x), color="black", linewidth=2, label="g(x) = 1 − (1 + x)e$^{−x}$")
    for ratio, name, colour in ((0.2, "a source worth much", "tab:green"), (0.8, "one worth little", "tab:red")):
        at = float(g_inverse(np.array([ratio]))[0])
        axes.plot([0, at, at], [ratio, ratio, 0], color=colour, linestyle="--", label=f"{name}: ω/p = {ratio}")
        axes.annotate(f"μI = {at:.2f}", (at, 0.02), xytext=(4, 2), textcoords="offset points", color=colour)
    axes.axhline(1, color="grey", linestyle=":", linewidth=1)
    axes.annotate("ω = p: never crawled", (5.6, 1.01), color="grey", fontsize=8)
    axes.set_xlabel("x = μI: interval in lifetimes of the interest")
    axes.set_ylabel("ω/p: price of a fetch by worth of the source")
    _finish(figure, axes, "One price ω for all gives every source its interval I", paths, inside=True)


def draw_rates(trace: Trace, seen: Portrait, budget: float, paths: Sequence[Path]) -> None:
    """Rate of new pages over time against its estimate."""
    figure, axes = _pyplot().subplots(figsize=(9, 4), layout="constrained")
    axes.plot(*page_rate(trace), label="new pages", color="black", linewidth=1)
    axes.plot(
        seen.days, seen.found_rate, label="Σλ of the sources crawled,\nfrom their last T crawls", color="tab:blue"
    )
    axes.axhline(budget, color="tab:red", linestyle="--", label=f"budget N = {budget:.3g}")
    axes.set_ylim(0, None)
    axes.set_xlabel("days")
    axes.set_ylabel("per second")
    _finish(figure, axes, f"Rate of new content, and what {seen.policy} believes it to be", paths)


def draw_dynamic(seen: Sequence[Portrait], five_hours: bool, budget: float, paths: Sequence[Path]) -> None:
    """Dynamic profit over time, all policies: of the last 5 hours (one week of it), or of the last week."""
    figure, axes = _pyplot().subplots(figsize=(10, 4.5), layout="constrained")
    for one in seen:
        last = one.days >= one.days[-1] - 7 if five_hours else one.days >= 0
        curve = one.five_hours if five_hours else one.one_week
        axes.plot(one.days[last], curve[last], label=one.policy, color=_colour(one.policy), linewidth=1.2)
    if not five_hours:
        axes.axhline(seen[0].bound, color="grey", linestyle=":", label="upper bound")
    axes.set_ylim(0, None)
    axes.set_xlabel("days since the start")
    axes.set_ylabel("clicks per second")
    width = "5 hours" if five_hours else "week"
    _finish(figure, axes, f"Profit of the pages fetched in the last {width}, N = {budget:.3g} per second", paths)


def draw_delays(seen: Sequence[Portrait], budget: float, paths: Sequence[Path]) -> None:
    """How late pages are fetched: share of the fetched pages by delay."""
    figure, axes = _pyplot().subplots(figsize=(8, 4.5), layout="constrained")
    for one in seen:
        axes.plot(np.maximum(one.delays, 60) / 3600, np.arange(101), label=one.policy, color=_colour(one.policy))
    axes.set_xscale("log")
    ticks = [1 / 60, 0.1, 1, 6, 24, 72, 168]
    axes.set_xticks(ticks, ["1 min", "6 min", "1 h", "6 h", "1 d", "3 d", "1 w"])
    axes.minorticks_off()
    axes.set_xlabel("delay from publication to fetch")
    axes.set_ylabel("% of the pages it fetched")
    _finish(figure, axes, f"How late pages come, N = {budget:.3g} per second, last third", paths)


def draw_spending(seen: Sequence[Portrait], budget: float, paths: Sequence[Path]) -> None:
    """Where the budget goes: a bar a policy."""
    figure, axes = _pyplot().subplots(figsize=(9, 4.2), layout="constrained")
    left = np.zeros(len(seen))
    names = [one.policy for one in seen]
    colours = ("#1f6fb4", "#a6cbe8", "#2a9d4a", "#f2b36b", "#dddddd")
    for part, colour in zip(seen[0].spent, colours, strict=True):
        width = np.array([one.spent[part] for one in seen])
        axes.barh(names, width, left=left, label=part, color=colour)
        left += width
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of all fetches the budget allows, last third")
    _finish(figure, axes, f"Where the budget goes, N = {budget:.3g} per second", paths)


_COLOURS = {
    "index": "black", "echo-newpages": "tab:red", "echo-schedule": "tab:orange", "echo-greedy": "tab:green",
    "fixed-quota": "tab:purple", "bfs": "tab:blue", "frequency": "tab:brown", "fixed-interval": "tab:grey",
    "live": "tab:cyan",
}  # fmt: skip


def _colour(policy: str) -> str | None:
    return _COLOURS.get(policy)


def _finish(figure: Any, axes: Any, title: str, paths: Sequence[Path], inside: bool = False) -> None:
    axes.set_title(title)
    if inside:
        axes.legend(frameon=False, loc="center right")
    else:
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5), fontsize=9)
    _save(figure, paths)


def _save(figure: Any, paths: Sequence[Path]) -> None:
    for path in paths:
        # No date in the file: the same figures are the same bytes.
        figure.savefig(path, dpi=130, metadata={"Date": None} if path.suffix == ".svg" else None)
    _pyplot().close(figure)


def _line(cells: Sequence[Cell], policy: str) -> tuple[list[float], list[float], list[float]]:
    mine = sorted((cell for cell in cells if cell.policy == policy), key=lambda cell: cell.budget)
    return [c.budget for c in mine], [c.mean("share") for c in mine], [c.spread("share") for c in mine]


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise UsageError("figures need matplotlib: pip install 'mayfly[figures]'") from None
    matplotlib.use("Agg")
    import matplotlib.pyplot

    return matplotlib.pyplot
