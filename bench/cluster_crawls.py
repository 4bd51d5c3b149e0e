"""A crawl in processes of its own: one that has all sites, or a process a shard and a coordinator. No Ray is needed."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from mayfly.cluster.coordinator import Coordinator
from mayfly.cluster.ledger import Ledger
from mayfly.cluster.settings import ClusterSettings
from mayfly.cluster.shard import Shard
from mayfly.crawl.opening import opened
from mayfly.crawl.settings import Settings
from mayfly.fetch.loop import run
from mayfly.store.postgres import PostgresStore

_LOOK = 1.0
_PATIENCE = 60.0


class Crawl:
    """From one moment to another, by the wall's clock; without shards it is one process."""

    def __init__(self, home: Path, settings: Settings, cluster: ClusterSettings | None, span: tuple[float, float]):
        self._home, self._settings, self._cluster, self._span = home, settings, cluster, span
        self._processes: list[BaseProcess] = []

    async def prepare(self, hosts: list[str], budget: float) -> None:
        """Make the database, and find the sources of these hosts with a budget of its own."""
        shards = {} if self._cluster is None else {"shards": self._cluster.shards}
        settings = replace(self._settings, budget=budget)
        store = PostgresStore(settings.store, crawls=True, **shards)
        async with opened(self._home, settings, store) as crawler:
            await store.add_hosts(time.time(), hosts)
            await crawler.search(hosts, lambda: None)
        if self._cluster is not None:
            async with Ledger(settings.store) as ledger:
                await ledger.start(self._cluster.shards)

    def start(self) -> None:
        """All processes; each waits for the moment to begin."""
        if self._cluster is None:
            self._spawn(_one, self._home / "one", self._settings)
            return
        for number in range(self._cluster.shards):
            self._spawn(_shard, self._home, self._settings, self._cluster, number)
        self._spawn(_coordinator, self._settings, self._cluster)

    def finish(self) -> list[int | None]:
        """Wait for their end; their exit statuses."""
        for process in self._processes:
            process.join(_PATIENCE)
            if process.is_alive():
                process.kill()
                process.join()
        return [process.exitcode for process in self._processes]

    def looks(self, shard: int) -> list[dict[str, Any]]:
        """What a shard said of itself, every second."""
        return [json.loads(line) for line in _notes(self._home, shard).read_text().splitlines()]

    def _spawn(self, work: Callable[..., None], *told: object) -> None:
        process = multiprocessing.get_context("spawn").Process(target=work, args=(*told, self._span))
        process.start()
        self._processes.append(process)


def _one(home: Path, settings: Settings, span: tuple[float, float]) -> None:
    async def crawl() -> None:
        home.mkdir()
        await _until(span[0])
        async with opened(home, settings, PostgresStore(settings.store, crawls=True)) as crawler:
            await crawler.run(span[1] - time.time())

    run(crawl())


def _shard(home: Path, settings: Settings, cluster: ClusterSettings, number: int, span: tuple[float, float]) -> None:
    async def crawl() -> None:
        await _until(span[0])
        shard = Shard(home, settings, cluster, number, f"node/{number}")
        work = asyncio.ensure_future(shard.run())
        with _notes(home, number).open("w") as notes:
            while time.time() < span[1]:
                await asyncio.sleep(_LOOK)
                notes.write(json.dumps({"at": time.time(), **shard.status()}) + "\n")
        await shard.stop()
        await work

    run(crawl())


def _coordinator(settings: Settings, cluster: ClusterSettings, span: tuple[float, float]) -> None:
    async def deal() -> None:
        await _until(span[0])
        coordinator = Coordinator(settings, cluster)
        work = asyncio.ensure_future(coordinator.run())
        await _until(span[1])
        await coordinator.stop()
        await work

    run(deal())


def _notes(home: Path, shard: int) -> Path:
    return home / f"notes-{shard}.jsonl"


async def _until(moment: float) -> None:
    await asyncio.sleep(max(moment - time.time(), 0.0))
