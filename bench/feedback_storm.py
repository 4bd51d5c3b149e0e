"""`storm` and `killed`: clicks by the ten thousand while a crawl goes on, and kill -9 of both who write."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from live_fresh import BIN, DELAY, world
from live_hard import crawl_words, sound
from live_judge import Table, courtesy
from live_web import Home, TestWeb, finish, wait_for

from mayfly.lab.trace import read_trace
from mayfly.testing.witness import read_journal

BATCH = 100  # clicks
BODIES = 500  # built beforehand, used in turns
CONNECTIONS = 16
REPEATED = 0.01
LOVED = 1.3  # exponent of the clicks by page
WARM_UP = 8.0  # seconds of the crawl before a storm
REPORT = "storm-report.json"
STORM = Path(__file__).with_name("storm.py")
TICKS = os.sysconf("SC_CLK_TCK")


def storm(folder: Path, asked: argparse.Namespace, table: Table) -> None:
    """So many clicks a second for so long, all kept, and the crawl none the worse."""
    seconds, hosts, budget = asked.seconds or 30.0, asked.hosts or 20, asked.budget or 20.0
    rate = asked.rate or 20_000.0
    with crawled_home(folder, hosts, seconds + WARM_UP + 60, rate, asked.seed) as (web, home, serve):
        since = time.time()
        crawl = start_crawl(home, budget, 600)
        time.sleep(min(WARM_UP, 2 + seconds))
        bodies = write_bodies(folder, web, asked.seed)
        process = start_storm(folder, serve, bodies, rate, seconds, repeat=REPEATED)
        meter = Meter({"serve": serve.pid, "crawl": crawl.pid, "the test web": web.pid, "the storm": process.pid})
        wait_for(process, 10 * seconds + 60, 1.0, meter.look)
        told = heard(process, folder)
        crawl.terminate()
        table.most("exit status of the crawl", finish(crawl), 0)
        serve.stop()
    batches, began, ended = told["batches"], told["began"], told["ended"]
    first = 100 * float(np.mean([one[3] == 200 for one in batches]))
    delays = np.array([one[5] for one in batches])
    table.least("clicks taken in a second, in batches of 100", BATCH * len(batches) / (ended - began), 0.95 * rate)
    table.least("batches taken at the first try, %", first, 99.0)
    table.say("  delay from when one was due to its answer, median, seconds", float(np.median(delays)))
    table.say("  99 of 100 within, seconds", float(np.quantile(delays, 0.99)))
    all_kept(table, home, batches)
    visits = read_journal(web.journal, since)
    during = [visit for visit in visits if began <= visit.at < began + seconds]
    table.least("requests of the crawl during the storm, of its budget", len(during) / (budget * seconds), 0.95)
    for name, cores in meter.cores().items():
        table.say(f"  cores used by {name}", cores)
    sound_both(table, home, folder)
    courtesy(table, visits, DELAY, budget)


def killed(folder: Path, asked: argparse.Namespace, table: Table) -> None:
    """kill -9 of `serve` and of `crawl` in turns by lot, each started again, while clicks come in."""
    hosts, budget, rate, kills = asked.hosts or 20, asked.budget or 20.0, asked.rate or 5_000.0, asked.kills or 10
    luck, longest = random.Random(asked.seed), kills * (asked.alive + 10.0) + 30.0
    victims = [("serve", "crawl")[number % 2] for number in range(kills)]
    luck.shuffle(victims)
    with crawled_home(folder, hosts, longest, rate, asked.seed) as (web, home, serve):
        crawl = start_crawl(home, budget, longest)
        time.sleep(min(WARM_UP, asked.alive))
        bodies = write_bodies(folder, web, asked.seed)
        process = start_storm(folder, serve, bodies, rate, longest, repeat=REPEATED)
        for victim in victims:
            time.sleep(luck.uniform(0.5, asked.alive))
            if victim == "serve":
                serve.kill()
                time.sleep(luck.uniform(0.0, 1.0))
                serve.start()
            else:
                crawl.kill()
                crawl.wait()
                crawl = start_crawl(home, budget, longest)
        time.sleep(asked.alive)
        process.terminate()  # it begins no more batches, and reports
        told = heard(process, folder)
        crawl.terminate()
        table.most("exit status of the last crawl", finish(crawl), 0)
        serve.stop()
    table.say("kills of serve; of crawl", f"{victims.count('serve')}; {victims.count('crawl')}")
    batches = told["batches"]
    table.say("batches; sent again because nobody answered", f"{len(batches)}; {sum(one[2] > 1 for one in batches)}")
    all_kept(table, home, batches)
    sound_both(table, home, folder)


def all_kept(table: Table, home: Home, batches: list[list]) -> None:
    """Every batch that was taken is in the store, once; and nothing else."""
    taken = {one[0]: one[6] for one in batches if one[4] == 200}
    repeated = [one for one in batches if one[7] is not None]
    kept, clicks = in_store(home)
    table.say("batches taken in the end; clicks of them", f"{len(taken)}; {sum(taken.values())}")
    table.most("batches never taken", sum(one[4] != 200 for one in batches), 0)
    table.most("taken and lost: batches", len(taken.keys() - kept.keys()), 0)
    table.most("taken and lost, or counted twice: clicks", abs(sum(kept.values()) - clicks), 0.0)
    table.say("batches sent once more after they were taken", len(repeated))
    table.most("  answered otherwise than at first", sum(one[7] != one[6] for one in repeated), 0)
    table.most("rows not answered for", sum(rows != BATCH for rows in taken.values()), 0)


def in_store(home: Home) -> tuple[dict[str, int], float]:
    """Batches by name with their rows, and the clicks that are kept."""
    with contextlib.closing(sqlite3.connect(f"file:{home.path}/mayfly.db?mode=ro", uri=True)) as database:
        batches = dict(database.execute("SELECT id, known + unknown FROM batches").fetchall())
        sums = [database.execute(f"SELECT coalesce(sum(count), 0) FROM {name}").fetchone()[0]
                for name in ("clicks", "clicks_unknown")]  # fmt: skip
    return batches, float(sum(sums))


def sound_both(table: Table, home: Home, folder: Path) -> None:
    """No error in either log, none by the doctor."""
    lines = (folder / "serve.log").read_text().splitlines()
    bad = [line for line in lines if not line.startswith("Serving at")]
    for line in bad[:3]:
        table.say("  serve", line[:100])
    table.most("complaints in the log of serve", len(bad), 0)
    sound(table, home, folder)


# The parts


class Served:
    """`mayfly serve` of a home, at one port all the time."""

    def __init__(self, home: Home, folder: Path) -> None:
        self._home, self._log = home, folder / "serve.log"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(self) -> None:
        """Until it answers."""
        self._process = self._home.start("serve", "--bind", f"127.0.0.1:{self.port}", log=self._log)
        until = time.monotonic() + 30.0
        while time.monotonic() < until and self._process.poll() is None:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.url}/health", timeout=2) as answer:
                answer.read()
                return
            time.sleep(0.05)
        sys.exit(f"mayfly serve did not start: {self._log.read_text()[-2000:]}")

    def post(self, path: str, rows: list[dict[str, object]]) -> None:
        """Rows as JSON; they must be taken."""
        asked = urllib.request.Request(
            self.url + path, json.dumps(rows).encode(), {"Content-Type": "application/json"}, method="POST"
        )
        with urllib.request.urlopen(asked, timeout=10) as answer:
            answer.read()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        self._process.terminate()
        finish(self._process, 20)


@contextlib.contextmanager
def crawled_home(
    folder: Path, hosts: int, seconds: float, rate: float, seed: int
) -> Iterator[tuple[TestWeb, Home, Served]]:
    """A web, a home that knows its sources, and the API of it, which takes all that will come."""
    with TestWeb(folder, *world(hosts, seconds, seed)) as web:
        home = Home(folder / "home", web.routes(), bin=f"{BIN}s", **{"clicks-per-second": 2 * rate})
        home.find(web.hosts, "--budget", 100, "--host-delay", 0.1)
        time.sleep(DELAY)
        serve = Served(home, folder)
        yield web, home, serve


def start_crawl(home: Home, budget: float, seconds: float) -> subprocess.Popen[str]:
    return home.start(*crawl_words(budget, seconds, DELAY))


def write_bodies(folder: Path, web: TestWeb, seed: int) -> Path:
    """Clicks of the last minute on pages that are there, a few of them far more than the others."""
    rng, now, trace = np.random.default_rng(seed), time.time(), read_trace(web.trace)
    there = rng.permutation(np.flatnonzero(trace.published < now))
    path = folder / "bodies.jsonl"
    with path.open("w") as file:
        for _ in range(BODIES):
            pages, ages = there[rng.zipf(LOVED, BATCH) % len(there)], rng.uniform(0.0, 60.0, BATCH)
            rows = [{"url": trace.page_urls[page], "at": round(now - age, 3)}
                    for page, age in zip(pages.tolist(), ages.tolist(), strict=True)]  # fmt: skip
            file.write(json.dumps(rows) + "\n")
    return path


def start_storm(
    folder: Path, serve: Served, bodies: Path, rate: float, seconds: float, repeat: float
) -> subprocess.Popen[str]:
    config = {
        "url": f"{serve.url}/api/clicks", "bodies": str(bodies), "per_second": rate / BATCH, "seconds": seconds,
        "connections": CONNECTIONS, "repeat": repeat,
    }  # fmt: skip
    (folder / "storm.json").write_text(json.dumps(config))
    return subprocess.Popen([sys.executable, STORM, folder / "storm.json", folder / REPORT], text=True)


def heard(process: subprocess.Popen[str], folder: Path) -> dict:
    """What it says at its end."""
    if process.wait():
        sys.exit(f"the storm ended with {process.returncode}")
    return json.loads((folder / REPORT).read_text())


class Meter:
    """CPU time of processes and their children, and of the whole machine, from the first look to the last."""

    def __init__(self, processes: dict[str, int]) -> None:
        self._processes = processes
        self._first = self._last = self._now()

    def look(self) -> None:
        self._last = self._now()

    def cores(self) -> dict[str, float]:
        span = max(self._last["time"] - self._first["time"], 1e-9)
        return {name: (self._last[name] - self._first[name]) / span for name in self._first if name != "time"}

    def _now(self) -> dict[str, float]:
        busy = [int(field) for field in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
        used = {name: _cpu(process) for name, process in self._processes.items()}
        return {
            **used,
            f"all, of {os.cpu_count()}": (sum(busy[:8]) - busy[3] - busy[4]) / TICKS,
            "time": time.monotonic(),
        }


def _cpu(process: int) -> float:
    total, left = 0.0, [process]
    while left:
        one = left.pop()
        with contextlib.suppress(OSError, ValueError):
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            total += (int(fields[11]) + int(fields[12])) / TICKS
            left += [int(child) for child in Path(f"/proc/{one}/task/{one}/children").read_text().split()]
    return total
