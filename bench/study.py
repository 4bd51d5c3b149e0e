"""`mayfly study sources` on ten million links, file to answer: time and memory, beside their limits.

usage: python bench/study.py [LINKS]          (10,000,000)

A fifth as many pages as links, a twentieth as many sources; some sources and some pages have far more links than
others, as on the web. The whole command is measured, as people run it: the log read, all of the pages reached. Judged
is the time that passes; the CPU-seconds beside it, of one core, say how much of that was waiting for busy neighbours.
Then the computing alone on a log made to be hard: every source is in the way of the next. Exit status 1: a limit was
missed.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from mayfly.lab.study.cover import greedy_cover

SECONDS, GIGABYTES = 60.0, 4.0
TOGETHER = 500_000
HOSTS = 5_000


def main(links: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "visits.csv"
        write(path, links)
        print(f"{links:,} links, {path.stat().st_size / 1e9:.2f} GB of CSV")
        command = [sys.executable, "-c", "from mayfly.cli import main; main()", "study", "sources", str(path)]
        asked = ["--share", "0.5,0.8,0.9,all", "--first", "1"]
        began = time.perf_counter()
        done = subprocess.run([*command, *asked], capture_output=True, text=True)
        seconds = time.perf_counter() - began
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(done.stdout, done.stderr, sep="", end="")
    most = usage.ru_maxrss / (1e6 if sys.platform == "linux" else 1e9)
    cpu = usage.ru_utime + usage.ru_stime
    verdicts = [
        report("time", f"{seconds:6.1f} s, {cpu:.1f} CPU-s", seconds <= SECONDS, f"{SECONDS:.0f} s"),
        report("memory", f"{most:6.2f} GB at most", most <= GIGABYTES, f"{GIGABYTES:.0f} GB"),
    ]
    chain = np.repeat(np.arange(links // 2), 2)
    began = time.perf_counter()
    found = greedy_cover(chain, chain + np.tile([0, 1], links // 2))
    seconds = time.perf_counter() - began
    verdicts.append(
        report("a chain", f"{seconds:6.1f} s, {len(found.source):,} taken", seconds <= SECONDS, f"{SECONDS:.0f} s")
    )
    return 0 if done.returncode == 0 and all(verdicts) else 1


def write(path: Path, links: int) -> None:
    """The log, some rows at a time."""
    rng = np.random.default_rng(1)
    sources, pages = max(links // 20, 1), max(links // 5, 1)
    with path.open("w") as file:
        file.write("at,page,referrer\n")
        for low in range(0, links, TOGETHER):
            many = min(TOGETHER, links - low)
            source = (sources * rng.random(many) ** 3).astype(int).tolist()
            page = (pages * rng.random(many) ** 1.5).astype(int).tolist()
            file.writelines(
                f"{1_790_000_000 + low + row},https://www.site-{p % HOSTS}.example/2026/11/16/some-headline-{p}.html,"
                f"https://www.site-{s % HOSTS}.example/section/{s}/\n"
                for row, (s, p) in enumerate(zip(source, page, strict=True))
            )


def report(what: str, measured: str, kept: bool, limit: str) -> bool:
    print(f"{what:8} {measured} (limit {limit})  {'ok' if kept else 'MISSED'}")
    return kept


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000))
