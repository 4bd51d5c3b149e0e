"""`mayfly study sources`: the smallest set of sources that reaches most new pages."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from mayfly.cli import options, words
from mayfly.cli.visitlogs import Canonical, Files, First, FormOption, Host, Plot, read_visits, write_lines
from mayfly.core.model import BoolArray, FloatArray, IntArray
from mayfly.errors import UsageError
from mayfly.lab.study.cover import Cover, distinct_links, greedy_cover
from mayfly.lab.study.hosts import hosts_of
from mayfly.lab.study.kinds import KINDS, PAPER, kinds_of, linked_from_main
from mayfly.lab.study.visits import Visits
from mayfly.store.visitlog import Wanted

_POINTS = 200  # of a curve


def sources(
    files: Files,
    share: Annotated[
        str, typer.Option(help="Shares of the pages to reach, as 0.5,0.8,0.9; or all.", metavar="SHARES")
    ] = "0.5,0.8,0.9",
    patterns: Annotated[
        Path | None, typer.Option(help="What `mayfly study patterns --out` wrote: only its ephemeral pages count.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the sources for the largest share here, for `mayfly find --file`.")
    ] = None,
    first: First = 10,
    plot: Plot = None,
    form: FormOption = None,
    host: Host = None,
    one_spelling: Canonical = False,
    as_json: options.Json = False,
) -> None:
    """Find the smallest set of sources that reaches a share of the new pages, greedily.

    A source is a page that visitors came from; it reaches the pages they went to. The one that reaches the most is
    taken first, then the one that adds the most to it; of equals the first in the log. Pages that nobody came to from
    another page count for nothing. Times are not needed.

    Example: mayfly study sources visits.csv.gz --share 0.8 --out sources.txt
    """
    shares = _shares(share)
    visits = read_visits(files, form, host, one_spelling, Wanted(times=False))
    source, page = distinct_links(visits)
    counted = np.ones(len(visits.pages), bool)
    if patterns is not None:
        counted = _ephemeral(patterns, visits)
        source, page = source[counted[page]], page[counted[page]]
    if not len(source):
        raise UsageError(
            f"{', '.join(files)}: no visit says from which other page it came; a log needs a column `referrer`"
        )
    linked = np.flatnonzero(np.bincount(page))  # a fiftieth of the time of `np.unique`
    with words.progress("pages", max(shares) * len(linked)) as done:
        cover = greedy_cover(source, page, max(shares), done)
    facts = _cover_facts(visits, cover, linked, counted, shares, len(source))
    if out is not None:
        write_lines(out, (one["url"] for one in facts["chosen"]))
    if plot is not None:
        from mayfly.lab.plots import draw_cover

        marks = [one["sources"] for one in facts["shares"]]
        draw_cover(np.append(0, cover.reached) / cover.pages, marks, facts["hosts"], plot)
    if as_json:
        typer.echo(words.dumps(facts))
    else:
        _print_cover(facts, first)


def _ephemeral(path: Path, visits: Visits) -> BoolArray:
    """By page, whether it is in an ephemeral cluster."""
    counted = np.zeros(len(visits.pages), bool)
    try:
        with path.open(newline="", encoding="utf-8", errors="surrogateescape") as file:
            reader = csv.DictReader(file)
            if not {"page", "ephemeral"} <= set(reader.fieldnames or ()):
                raise UsageError(f"{path} has no columns page and ephemeral: `mayfly study patterns --out` writes them")
            for row in reader:
                number = visits.pages.get(row["page"])
                if number is not None and row["ephemeral"] == "1":
                    counted[number] = True
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    if not counted.any():
        raise UsageError(
            f"{path}: none of its ephemeral pages is in the log; are both of one log, with one --canonical?"
        )
    return counted


def _shares(text: str) -> list[float]:
    try:
        shares = [1.0 if part.strip() == "all" else float(part) for part in text.split(",")]
    except ValueError:
        shares = []
    if not shares or not all(0 < share <= 1 for share in shares):
        raise UsageError(
            f"--share must be shares of the pages above 0 and up to 1, as 0.5,0.8,0.9, or all; not '{text}'"
        )
    return sorted(set(shares))


def _cover_facts(
    visits: Visits, cover: Cover, linked: IntArray, counted: BoolArray, shares: Sequence[float], links: int
) -> dict[str, Any]:
    names = list(visits.sources)
    urls = [names[number] for number in cover.source.tolist()]
    kinds = kinds_of(urls, linked_from_main(visits, cover.source))
    pages = list(visits.pages)
    hosts = len({*hosts_of(pages[number] for number in linked.tolist())} - {""})
    reached = cover.reached
    return {
        "visits": len(visits),
        "links": links,
        "sources": len(names),
        "pages": cover.pages,
        "left_out": {"not_ephemeral": int(np.sum(~counted)), "no_source": int(np.sum(counted)) - cover.pages},
        "hosts": hosts,
        "shares": [
            {
                "share": share,
                "sources": (many := cover.needed(share)),
                "per_host": many / hosts if hosts else None,
                "pages": int(reached[many - 1]),
                "kinds": {kind: kinds[:many].count(kind) for kind in KINDS},
            }
            for share in shares
        ],
        "curve": _curve(reached / cover.pages, hosts),
        "chosen": [{"url": url, "adds": gain} for url, gain in zip(urls, cover.gain.tolist(), strict=True)],
    }


def _curve(shares: FloatArray, hosts: int) -> list[dict[str, float | None]]:
    """Some points of it, all of its end."""
    at = np.unique(np.linspace(1, len(shares), _POINTS).round().astype(int)).tolist()
    return [
        {"sources": many, "per_host": many / hosts if hosts else None, "share": float(shares[many - 1])} for many in at
    ]


def _print_cover(facts: dict[str, Any], first: int) -> None:
    out = facts["left_out"]
    typer.echo(
        f"{facts['links']:,} links from {facts['sources']:,} sources to {facts['pages']:,} pages of {facts['hosts']:,}"
        f" hosts; left out: {out['not_ephemeral']:,} pages not known to be ephemeral, {out['no_source']:,} that nobody"
        " came to from another page.\n"
    )
    words.print_table(
        ["share of pages", "sources", "for a host", "main pages", "categories", "deeper"],
        [
            [f"{one['share']:.0%}", f"{one['sources']:,}", "–" if one["per_host"] is None else f"{one['per_host']:.2f}",
             *(_of_kinds(one["kinds"], kind) for kind in KINDS)]
            for one in facts["shares"]
        ]
        + [["the paper: 80%", "3,000", "1.9", *(f"{PAPER[kind]:.0%}" for kind in KINDS)]],
    )  # fmt: skip
    typer.echo("")
    rows = [[str(number), f"{one['adds']:,}", one["url"]] for number, one in enumerate(facts["chosen"][:first], 1)]
    words.print_table(["", "adds pages", "source"], rows)
    if len(facts["chosen"]) > first:
        typer.echo(f"… and {len(facts['chosen']) - first:,} more")


def _of_kinds(kinds: dict[str, int], kind: str) -> str:
    total = sum(kinds.values())
    return f"{kinds[kind] / total:.0%}" if total else "–"
