"""Pictures of results. matplotlib is an extra, and slow to import: only here, and only when drawing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mayfly.errors import UsageError
from mayfly.lab.compare import Cell


def draw_shares(cells: Sequence[Cell], title: str, path: Path) -> None:
    """Share of the bound against budget, a line a policy; the best at the smallest budget on top of the legend."""
    plt = _pyplot()
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    policies = sorted({cell.policy for cell in cells}, key=lambda name: -_line(cells, name)[1][0])
    for policy in policies:
        budgets, shares, spreads = _line(cells, policy)
        mine = policy == "index"
        axes.errorbar(
            budgets, shares, spreads, label=policy, marker="o", capsize=3, linewidth=3 if mine else 1.5,
            color="black" if mine else None, zorder=3 if mine else 2,
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


def draw_plan(budgets: Sequence[float], shares: Sequence[float], marks: dict[str, float], path: Path) -> None:
    """Planned share of the bound against budget, with the budgets worth knowing."""
    plt = _pyplot()
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    axes.plot(budgets, shares, color="black", linewidth=2)
    for number, (label, budget) in enumerate(marks.items()):
        axes.axvline(budget, color="grey", linestyle=":", linewidth=1)
        axes.annotate(f"{label}\n{budget:.3g}/s", (budget, 0.04 + 0.11 * (number % 4)), fontsize=8)
    axes.set_xscale("log")
    axes.set_ylim(0, 1.03)
    axes.set_xlabel("budget, fetches per second")
    axes.set_ylabel("share of all clicks kept, if all were known")
    axes.set_title("What a budget buys")
    figure.savefig(path, dpi=130)
    plt.close(figure)


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
