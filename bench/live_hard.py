"""`killed`, `together`, `full` and `clock`: what must not cost a page, whatever happens to the machine."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
from live_fresh import BIN, LOG_PUSH, REPLAN, Clicks, freshness, world
from live_judge import Table, courtesy, most_within
from live_web import Home, TestWeb, finish, resident_megabytes, wait_for

from mayfly.testing.witness import Pages, Visit, read_journal

IN_FLIGHT = 2.0  # seconds before a kill: what was asked then may not be kept yet, for a reader takes a while to start
HOUR = 3600.0
SETTLED = ("fetched", "old", "duplicate", "soft-404", "log-in", "failed", "dropped", "waiting")
INSIDE = "LIVE_TRIAL_HAS_ITS_OWN_MOUNTS"


def crawl_words(budget: float, seconds: float, delay: float) -> list[object]:
    return ["crawl", "--budget", budget, "--for", f"{seconds}s", "--host-delay", delay, "--log-push", f"{LOG_PUSH}s",
            "--replan", f"{REPLAN}s"]  # fmt: skip


# kill -9


def killed(folder: Path, asked: argparse.Namespace, table: Table) -> None:
    """kill -9 at random moments, a start after each, and a clean end."""
    hosts, delay, budget, last = asked.hosts or 20, asked.delay or 1.0, asked.budget or 50.0, asked.seconds or 60.0
    luck = random.Random(asked.seed)
    moments = [luck.uniform(1.0, asked.alive) for _ in range(asked.kills)]
    kills: list[float] = []
    orphans = 0
    with TestWeb(folder, *world(hosts, sum(moments) + last + asked.kills, asked.seed)) as web:
        home = Home(folder / "home", web.routes(), bin=f"{BIN}s", store=asked.store)
        home.find(web.hosts, "--budget", budget, "--host-delay", 0.1)
        began = time.time() + delay
        time.sleep(delay)
        for moment in moments:
            crawl = home.start(*crawl_words(budget, 600, delay))
            time.sleep(moment)
            children = _children(crawl.pid)
            crawl.kill()
            crawl.wait()
            kills.append(time.time())
            orphans += _still_there(children)
        crawl = home.start(*crawl_words(budget, last, delay))
        table.most("exit status of the last crawl", finish(crawl, last + 60), 0)
        ended = time.time()
    table.say(f"kills, each 1 to {asked.alive:g} s after the start", len(kills))
    visits = read_journal(web.journal, began)
    pages = Pages(web.trace, visits)
    nothing_lost(table, home, pages, kills, ended - min(30, last / 3))
    table.most("reader processes that outlive a killed crawl", orphans, 0)
    sound(table, home, folder)
    courtesy(table, visits, delay, budget)


def _children(process: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def _still_there(children: list[int]) -> int:
    """A reader that is just starting hears of its parent's end when it has started."""
    until = time.monotonic() + 10.0
    while (left := sum(1 for child in children if resident_megabytes(child) > 0)) and time.monotonic() < until:
        time.sleep(0.1)
    return left


def nothing_lost(table: Table, home: Home, pages: Pages, kills: list[float], until: float) -> None:
    """Every page a crawl showed is kept, and none was fetched twice but what was under way at a kill."""
    kept = {}
    with _database(home) as database:
        for url, outcome in database.execute("SELECT url, outcome FROM pages"):
            host, _, path = url.removeprefix("http://").partition("/")
            page = pages.page_of(Visit(0, 0, host, f"/{path}", 0))
            if page is not None:
                kept[page] = outcome
    shown = pages_shown(pages, kills, until)
    table.say("pages published after the baselines that a crawl showed", len(shown))
    table.most(
        "of them lost: neither fetched, nor waiting, nor settled", sum(kept.get(p) not in SETTLED for p in shown), 0
    )
    waiting = [page for page in shown if kept.get(page) == "waiting" and page not in pages.fetches]
    table.say("  of them still waiting", len(waiting))
    twice = pages.twice_by_page()
    settled = [page for page in twice if not any(_under_way(pages.fetches[page][0], kill) for kill in kills)]
    table.most("pages fetched twice, but for those under way at a kill", len(settled), 0)
    table.say("  under way at a kill, so fetched again", len(twice) - len(settled))
    with _database(home) as database:
        many = "SELECT count(*) FROM (SELECT page FROM log WHERE kind = 'fetch' GROUP BY page HAVING count(*) > 1)"
        table.most("pages whose fetch is kept twice", database.execute(many).fetchone()[0], 0)


def _database(home: Home) -> contextlib.closing[sqlite3.Connection]:
    """What was kept; a copy, if that is not in a file."""
    folder = home.path if home.store is None else home.path / "copy"
    if home.store is not None and not folder.exists():
        home.outside("store copy", home.store, folder)
    return contextlib.closing(sqlite3.connect(f"file:{folder}/mayfly.db?mode=ro", uri=True))


def _under_way(visit: Visit, kill: float) -> bool:
    return kill - IN_FLIGHT <= visit.at <= kill + 0.05


def pages_shown(pages: Pages, kills: list[float], until: float) -> list[int]:
    """New pages on a source at the time of a crawl that was not under way at a kill."""
    trace, read = pages.trace, pages.baselines()
    known = np.array([read.get(host, np.inf) for host in pages.host_of])
    shown = np.zeros(len(trace.page_ids), bool)
    for source, crawls in pages.crawls.items():
        rows = np.flatnonzero(trace.link_source == source)
        for visit in crawls:
            if visit.at < until and not any(_under_way(visit, kill) for kill in kills):
                there = rows[(trace.added[rows] <= visit.at) & (trace.removed[rows] > visit.at)]
                shown[trace.link_page[there]] = True
    return np.flatnonzero(shown & (trace.published >= known)).tolist()


def sound(table: Table, home: Home, folder: Path) -> None:
    """No database error, in the log or by the doctor."""
    log = folder / "crawl.log"
    if log.exists():  # else the trial saw for itself how the crawl ended
        lines = log.read_text().splitlines()
        bad = [line for line in lines if "Traceback" in line or "Error" in line or "locked" in line]
        for line in bad[:3]:
            table.say("  log", line[:100])
        table.most("errors in the crawl's log", len(bad), 0)
    complaints = json.loads(home.run("doctor", "--json").stdout)["complaints"]
    open_files = [one for one in complaints if one["where"].endswith(".warc.gz.open")]
    for one in complaints[:3]:
        table.say("  doctor", f"{one['where'].rpartition('/')[2]}: {one['what']}")
    table.most("complaints of mayfly doctor, but for WARC files left open", len(complaints) - len(open_files), 0)
    table.say("  WARC files left open by crawls that were killed", len(open_files))


# Several processes, one home


def together(folder: Path, asked: argparse.Namespace, table: Table) -> None:
    """A crawl, readers and writers of clicks on one home at once."""
    seconds, hosts, budget, delay = asked.seconds or 120.0, asked.hosts or 20, asked.budget or 100.0, asked.delay or 0.5
    with TestWeb(folder, *world(hosts, seconds, asked.seed)) as web:
        home = Home(folder / "home", web.routes(), bin=f"{BIN}s")
        home.find(web.hosts, "--budget", budget, "--host-delay", 0.1)
        began = time.time() + delay
        time.sleep(delay)
        crawl = home.start(*crawl_words(budget, seconds, delay))
        others = Others(home, Clicks(web, home, began), web.hosts[0])
        others.until(time.monotonic() + seconds - 2)
        table.most("exit status of the crawl", finish(crawl, 60), 0)
        ended = time.time()
    table.say("commands run beside it", others.many)
    table.most("of them failed", len(others.failed), 0)
    for what in others.failed[:3]:
        table.say("  failed", what[:160])
    visits = read_journal(web.journal, began)
    pages = Pages(web.trace, visits)
    nothing_lost(table, home, pages, [], ended - 15)
    table.most("clicks handed in that are not kept", abs(others.handed_in - _clicks_in(home)), 0)
    sound(table, home, folder)
    courtesy(table, visits, delay, budget)


class Others:
    """Commands that look at a home and hand in clicks, each in a loop of its own."""

    def __init__(self, home: Home, clicks: Clicks, host: str) -> None:
        self._home, self._clicks = home, clicks
        self._loops = [
            lambda: self._read("pages", "--json"),
            lambda: self._read("sources", "--json"),
            lambda: self._read("why", f"http://{host}/"),
            lambda: self._read("health"),
            self._hand_in,
        ]
        self.many, self.handed_in, self.failed = 0, 0, list[str]()

    def until(self, end: float) -> None:
        threads = [threading.Thread(target=self._repeat, args=(loop, end)) for loop in self._loops]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _repeat(self, loop, end: float) -> None:
        while time.monotonic() < end:
            loop()
            time.sleep(0.5)

    def _read(self, *words: str) -> None:
        done = self._home.run(*words)
        self.many += 1
        if done.returncode not in ((0, 1) if words[0] == "health" else (0,)) or "Traceback" in done.stderr:
            self.failed.append(f"{words[0]}: {done.returncode} {done.stderr[-300:]}")

    def _hand_in(self) -> None:
        text = self._clicks.text()
        rows = text.splitlines()
        if not rows:
            return
        done = self._home.run("clicks", "-", input=text)
        self.many += 1
        if done.returncode:
            self.failed.append(f"clicks: {done.returncode} {done.stderr[-300:]}")
        else:
            self.handed_in += sum(json.loads(row)["count"] for row in rows)


def _clicks_in(home: Home) -> float:
    with _database(home) as database:
        return sum(database.execute(f"SELECT coalesce(sum(count), 0) FROM {table}").fetchone()[0]
                   for table in ("clicks", "clicks_unknown"))  # fmt: skip


# A full disk, and one that may not be written


def full(folder: Path, asked: argparse.Namespace, table: Table) -> None:
    """A disk of few megabytes: the crawl ends and says why, loses nothing, and goes on when there is room."""
    if not os.environ.get(INSIDE):
        code = subprocess.call(["unshare", "-rm", sys.executable, *sys.argv], env={**os.environ, INSIDE: "1"})
        table.most("the trial in its own mount namespace: exit status", code, 0)
        return
    hosts, delay, budget, seconds = asked.hosts or 10, 0.2, 50.0, asked.seconds or 40.0
    disk = folder / "disk"
    disk.mkdir()
    _mount("-t", "tmpfs", "-o", "size=4g", "tmpfs", disk)
    with TestWeb(folder, *world(hosts, 4 * seconds + 60, asked.seed)) as web:
        home = Home(disk / "home", web.routes(), bin=f"{BIN}s", **{"free-gigabytes": 0})
        home.find(web.hosts, "--budget", budget, "--host-delay", 0.1)
        time.sleep(delay)
        began = time.time()
        words = crawl_words(budget, seconds, delay)
        _mount("-o", f"remount,size={_used_kilobytes(disk) + 600}k", disk)
        done = home.run(*words)
        _report_end(table, "on a full disk", done)
        broken = time.time()
        _mount("-o", "remount,size=4g", disk)
        table.most("with room again: exit status", home.run(*words).returncode, 0)
        ended = time.time()
        pages = Pages(web.trace, read_journal(web.journal, began))
        nothing_lost(table, home, pages, [broken], ended - 10)
        sound(table, home, folder)
        _mount("-o", "remount,ro", disk)
        _report_end(table, "in a read-only home", home.run(*words))
        table.most("mayfly pages in a read-only home: exit status", home.run("pages").returncode, 0)
        _mount("-o", "remount,rw", disk)
        table.most("writable again: exit status", home.run(*crawl_words(budget, 3, delay)).returncode, 0)
        sound(table, home, folder)
        _mount("-o", "remount,size=200m", disk)
        paused(table, home, web, budget, delay)
    _umount(disk)


def paused(table: Table, home: Home, web: TestWeb, budget: float, delay: float) -> None:
    """Less free space than is to be left: nothing is fetched."""
    before = time.time()
    done = home.run(*crawl_words(budget, 5, delay), "--free-gigabytes", 1)
    table.most("with under 1 GB free: exit status", done.returncode, 0)
    table.least("  it says that it pauses", int("paused: only" in done.stderr), 1)
    table.most("  requests", len(read_journal(web.journal, before)), 1)


def _report_end(table: Table, where: str, done: subprocess.CompletedProcess[str]) -> None:
    said = [line for line in done.stderr.splitlines() if line.startswith("mayfly:")]
    table.least(f"{where}: exit status", done.returncode, 1)
    table.most("  lines of its error", len(said) if "Traceback" not in done.stderr else 99, 1)
    table.say("  it says", (said or done.stderr.splitlines()[-1:] or [""])[0].replace(str(Path.cwd()), ""))


def _mount(*words: object) -> None:
    subprocess.run(["mount", *map(str, words)], check=True)


def _umount(disk: Path) -> None:
    subprocess.run(["umount", str(disk)], check=False)


def _used_kilobytes(disk: Path) -> int:
    about = os.statvfs(disk)
    return (about.f_blocks - about.f_bfree) * about.f_frsize // 1024


# The clock


def clock(folder: Path, asked: argparse.Namespace, table: Table) -> None:
    """The wall clock is set an hour on, and an hour back: no burst, no stall."""
    seconds, hosts, budget, delay = asked.seconds or 90.0, asked.hosts or 20, asked.budget or 20.0, asked.delay or 0.5
    with TestWeb(folder, *world(hosts, seconds, asked.seed)) as web:
        home = Home(folder / "home", web.routes(), bin=f"{BIN}s")
        home.find(web.hosts, "--budget", 100, "--host-delay", 0.1)
        time.sleep(delay)
        began = time.time()
        steps = [(began + seconds / 3, HOUR), (began + 2 * seconds / 3, -HOUR)]
        asyncio.run(_crawl_with_steps(home, budget, delay, seconds, steps))
    visits = read_journal(web.journal, began)
    spent = [visit for visit in visits if began + 5 < visit.at < began + seconds - 1]
    gaps = np.diff([visit.at for visit in spent])
    table.say("requests a second", len(visits) / seconds)
    table.most("a burst: most requests in any second", most_within(visits, 1.0), 1 + 1.5 * budget)
    table.most("a stall: longest time without a request, seconds", float(gaps.max()), 1.0)
    for moment, by in steps:
        after = [visit for visit in visits if moment <= visit.at < moment + 10]
        table.least(f"requests a second, 10 s after {by:+.0f} s", len(after) / 10, 0.9 * budget)
    freshness(table, Pages(web.trace, visits), began + seconds, seconds / 4, delay)
    courtesy(table, visits, delay, budget)


async def _crawl_with_steps(home: Home, budget: float, delay: float, seconds: float, steps) -> None:
    from mayfly.cli.crawl import opened
    from mayfly.cli.layers import resolve

    settings, _ = resolve(home.path, {"budget": str(budget), "host-delay": str(delay), "replan": f"{REPLAN}s"})

    def wall() -> float:
        now = time.time()
        return now + sum(by for moment, by in steps if now >= moment)

    async with opened(home.path, settings) as crawler:
        crawler.parts.clock._wall = wall
        await crawler.run(seconds)


def kept(process: subprocess.Popen[str], seconds: float) -> list[float]:
    """Memory of a process, looked at every second."""
    memory: list[float] = []
    wait_for(process, seconds, 1.0, lambda: memory.append(resident_megabytes(process.pid)))
    return memory
