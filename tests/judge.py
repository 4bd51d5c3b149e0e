"""Recomputes a result from the trace and the list of actions alone, by the rules of replay (DESIGN §4).

Written apart from `mayfly.lab`, on purpose in the plainest way, and sharing no code with it: CSV, dictionaries, loops.
It says what a run kept and which rules it broke.
"""

import csv
import gzip
import io
import itertools
import json
import math
from pathlib import Path


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    plain = folder / f"{name}.csv"
    text = plain.read_text() if plain.exists() else gzip.decompress((folder / f"{name}.csv.gz").read_bytes()).decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def judge(folder: Path, actions: Path, budget: float, window: tuple[float, float] | None = None) -> dict:
    about = json.loads((folder / "trace.json").read_text())
    start, end = float(about["start"]), float(about["end"])
    begin, close = window or (start + 2 * (end - start) / 3, end)
    with actions.open(newline="") as file:
        done = [(float(row["at"]), row["kind"], row["id"]) for row in csv.DictReader(file)]
    broken = []

    slots = [round((at - start) * budget, 6) for at, _, _ in done]
    if any(abs(slot - round(slot)) > 1e-3 for slot in slots):
        broken.append("a fetch is not at the beginning of a slot")
    if any(later - earlier < 0.999 for earlier, later in itertools.pairwise(slots)):
        broken.append("more than one fetch in a slot, or out of order")
    if any(not start <= at < end for at, _, _ in done):
        broken.append("a fetch outside [start, end)")

    crawls: dict[str, list[float]] = {}
    fetched: dict[str, float] = {}
    for at, kind, name in done:
        if kind == "source":
            crawls.setdefault(name, []).append(at)
        elif name in fetched:
            broken.append(f"page {name} was fetched twice")
        else:
            fetched[name] = at

    shown: dict[str, float] = {}
    for link in rows(folder, "links"):
        added, removed = float(link["added"]), float(link["removed"] or math.inf)
        seen = next((at for at in crawls.get(link["source"], ()) if added <= at < removed), math.inf)
        shown[link["page"]] = min(seen, shown.get(link["page"], math.inf))
    broken += [f"page {page} was fetched before it was shown" for page, at in fetched.items() if at < shown[page]]

    published = {page["page"]: float(page["published"]) for page in rows(folder, "pages")}
    kept = bound = 0.0
    for click in rows(folder, "clicks"):
        page, at, number = click["page"], float(click["at"]), float(click["count"])
        if begin <= published[page] < close:
            bound += number
            fetch = fetched.get(page, math.inf)
            if begin <= fetch < close and at >= fetch:
                kept += number
    return {
        "share": kept / bound if bound else None,
        "quality": kept / (close - begin),
        "upper_bound": bound / (close - begin),
        "fetches": len(done),
        "page_fetches": len(fetched),
        "pages_found": sum(at < math.inf for at in shown.values()),
        "broken": broken,
    }
