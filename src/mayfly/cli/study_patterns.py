"""`mayfly study patterns`: how interest in new pages fades."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from mayfly.cli import options, words
from mayfly.cli.visitlogs import Canonical, Files, FormOption, Host, Plot, Settle, hint_to_settle, read_visits
from mayfly.errors import UsageError
from mayfly.lab.study.kmeans import STARTS
from mayfly.lab.study.patterns import (
    CLUSTERS,
    TRIED,
    Fortnights,
    Patterns,
    clustered,
    enough,
    ephemeral_pages,
    fortnights,
    sample_of,
)
from mayfly.lab.study.visits import Visits
from mayfly.store.visitlog import Wanted

_PAPER_SHARE = 0.96  # of new pages that are ephemeral, in the paper


def patterns(
    files: Files,
    k: Annotated[int, typer.Option("--k", help="Clusters.", min=2, max=50)] = CLUSTERS,
    sample: Annotated[
        int, typer.Option(help="Pages to learn the clusters from; all are then assigned.", min=2)
    ] = 50_000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same answer.", min=0)] = 0,
    settle: Settle = "0",
    visitors: Annotated[
        bool, typer.Option("--visitors", help="Count each visitor once for a page and day, in place of visits.")
    ] = False,
    nearest: Annotated[int, typer.Option(help="Pages nearest each centre to name.", min=0)] = 3,
    out: Annotated[
        Path | None, typer.Option(help="Write page, cluster, ephemeral here, for `mayfly study sources --patterns`.")
    ] = None,
    plot: Plot = None,
    form: FormOption = None,
    host: Host = None,
    one_spelling: Canonical = False,
    as_json: options.Json = False,
) -> None:
    """Cluster new pages by how interest in them fades, and say how many are ephemeral.

    A page's pattern is its visits on each of 14 days from its first visit, its best day scaled to 1. Pages whose 14
    days are not in the log are left out. A cluster is ephemeral if more than half of its interest falls on four days in
    a row, and four more days of the 14 are left after them.

    Example: mayfly study patterns visits.csv.gz --out patterns.csv --plot patterns.png
    """
    settled = words.duration(settle, "--settle")
    visits = read_visits(files, form, host, one_spelling, Wanted(referrers=False, visitors=visitors))
    hint_to_settle(visits, settled)
    found = fortnights(visits, settled, visitors)
    chosen = sample_of(found, sample, np.random.default_rng(seed))
    possible = enough(chosen)
    if possible < k:
        raise UsageError(_too_few(found, possible, k, visits))
    tried = [number for number in sorted({*TRIED, k}) if number <= possible]
    with words.progress("clusters", len(tried) * STARTS) as done:
        # A generator for each k: what k = 6 finds must not depend on what else was tried.
        by_k = {n: clustered(found, chosen, n, np.random.default_rng([seed, n]), nearest, done) for n in tried}
    best, names = by_k[k], list(visits.pages)
    if out is not None:
        _write_patterns(out, found, best, names)
    if plot is not None:
        from mayfly.lab.plots import draw_patterns

        labels = [_cluster_name(number, cluster) for number, cluster in enumerate(best.clusters, 1)]
        fades = [cluster.ephemeral for cluster in best.clusters]
        draw_patterns(np.array([cluster.centroid for cluster in best.clusters]), labels, fades, plot)
    facts = _pattern_facts(visits, found, len(chosen), best, by_k, names)
    if as_json:
        typer.echo(words.dumps({**facts, "k": k, "seed": seed}))
    else:
        _print_patterns(facts)


def _too_few(found: Fortnights, possible: int, k: int, visits: Visits) -> str:
    return (
        f"{possible:,} different patterns cannot make {k} clusters: of {len(visits.pages):,} pages {len(found.page):,}"
        f" are new and have 14 days in the log, which is {visits.days} days long ({found.old:,} were there before,"
        f" {found.cut:,} came too late); give a longer log, or a smaller --k"
    )


def _pattern_facts(
    visits: Visits, found: Fortnights, sampled: int, best: Patterns, by_k: dict[int, Patterns], names: Sequence[str]
) -> dict[str, Any]:
    return {
        "visits": len(visits),
        "days": visits.days,
        "pages": len(found.page),
        "left_out": {"not_new": found.old, "not_whole": found.cut},
        "sampled": sampled,
        "ephemeral_share": best.ephemeral_share,
        "clusters": [
            {
                "cluster": number,
                "pages": cluster.pages,
                "share": cluster.share,
                "ephemeral": cluster.ephemeral,
                "held": cluster.held,
                "centroid": cluster.centroid.tolist(),
                "nearest": [
                    {"page": names[found.page[row]], "visits": float(found.visits[row])} for row in cluster.nearest
                ],
            }
            for number, cluster in enumerate(best.clusters, 1)
        ],
        "by_k": [
            {
                "k": k,
                "ephemeral_clusters": sum(cluster.ephemeral for cluster in one.clusters),
                "ephemeral_share": one.ephemeral_share,
                "explained": one.explained,
            }
            for k, one in by_k.items()
        ],
    }


def _print_patterns(facts: dict[str, Any]) -> None:
    out = facts["left_out"]
    typer.echo(
        f"{facts['visits']:,} visits in {facts['days']} days; {facts['pages']:,} new pages with all of their 14 days;"
        f" left out: {out['not_new']:,} that were there before, {out['not_whole']:,} that came too late."
        f" Clusters of {facts['sampled']:,} pages:\n"
    )
    words.print_table(
        ["cluster", "pages", "share", "ephemeral", "best 4 days", "visits by day"],
        [
            [str(one["cluster"]), f"{one['pages']:,}", f"{one['share']:.1%}", "yes" if one["ephemeral"] else "no",
             f"{one['held']:.0%}", _bars(one["centroid"])]
            for one in facts["clusters"]
        ],
    )  # fmt: skip
    typer.echo(f"\nephemeral: {facts['ephemeral_share']:.1%} of the pages (the paper: {_PAPER_SHARE:.0%})\n")
    words.print_table(
        ["k", "ephemeral clusters", "ephemeral", "variance explained"],
        [
            [str(one["k"]), str(one["ephemeral_clusters"]), f"{one['ephemeral_share']:.1%}", f"{one['explained']:.1%}"]
            for one in facts["by_k"]
        ],
    )
    near = [
        [str(one["cluster"]), f"{page['visits']:,.0f}", page["page"]]
        for one in facts["clusters"]
        for page in one["nearest"]
    ]
    if near:
        typer.echo("")
        words.print_table(["cluster", "visits", "nearest its centre"], near)


def _bars(centroid: Iterable[float]) -> str:
    """A column a day, for a terminal.

    >>> _bars([1.0, 0.5, 0.0])
    '█▅▁'
    """
    return "".join("▁▂▃▄▅▆▇█"[min(7, int(8 * value))] for value in centroid)


def _cluster_name(number: int, cluster: Any) -> str:
    return f"{number}: {cluster.share:.1%}{'' if cluster.ephemeral else ', not ephemeral'}"


def _write_patterns(path: Path, found: Fortnights, best: Patterns, names: Sequence[str]) -> None:
    fades = ephemeral_pages(best).astype(int).tolist()
    rows = zip((names[page] for page in found.page.tolist()), (best.labels + 1).tolist(), fades, strict=True)
    try:
        with path.open("w", newline="", encoding="utf-8", errors="surrogateescape") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("page", "cluster", "ephemeral"))
            writer.writerows(rows)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
