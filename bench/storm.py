"""Clicks as fast as asked for, from a process of its own: batches over a few connections that are kept open.

usage: python bench/storm.py CONFIG REPORT     (JSON files: what is to be done, and what became of every batch)

    url, bodies (a file, a body a line), per_second (batches), seconds, connections, repeat (share sent twice),
    retry (seconds in which a batch that was not taken is sent again under its name)

Bodies are built beforehand and used in turns; each batch has a name of its own. A batch is due at its moment whether or
not those before it were answered, and what it waits for a free connection counts as its delay. One that was refused, or
of which nobody knows, is sent again until it is taken, so that at the end the store must have all of them, once.
"""

from __future__ import annotations

import asyncio
import json
import random
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

PATIENCE = 10.0  # seconds for an answer
NAP = 0.2  # before another try


@dataclass(slots=True)
class Batch:
    """What became of one."""

    name: str
    body: int
    due: float
    tries: int = 0
    first_status: int = 0  # 0: no answer
    status: int = 0
    delay: float = 0.0  # until the first answer
    rows: int = 0  # that it was answered were taken
    again: int | None = None  # rows of the answer when it was sent once more after it had been taken


@dataclass
class Storm:
    """All batches of a storm, taken by whichever connection is free."""

    config: dict[str, object]
    batches: list[Batch] = field(default_factory=list)
    next: int = 0

    def __post_init__(self) -> None:
        config = self.config
        self._place = urlsplit(str(config["url"]))
        self._bodies = [line.encode() for line in Path(str(config["bodies"])).read_text().splitlines()]
        luck = random.Random(1)
        many = int(float(config["per_second"]) * float(config["seconds"]))
        self.batches = [Batch(f"storm-{number:07}", number % len(self._bodies), number / float(config["per_second"]))
                        for number in range(many)]  # fmt: skip
        self._twice = {batch.name for batch in self.batches if luck.random() < float(config.get("repeat", 0.0))}
        self._retry = float(config.get("retry", 60.0))

    async def run(self) -> None:
        """To the end, or until SIGTERM: then no more batches are begun."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._stop)
        self._zero = time.monotonic() + 0.1
        self.began = time.time() + 0.1
        await asyncio.gather(*(self._connection() for _ in range(int(self.config["connections"]))))
        self.ended = time.time()

    def _stop(self) -> None:
        del self.batches[self.next :]

    async def _connection(self) -> None:
        line = Line(self._place.hostname or "", self._place.port or 80, self._place.path)
        while self.next < len(self.batches):
            batch = self.batches[self.next]
            self.next += 1
            await asyncio.sleep(max(self._zero + batch.due - time.monotonic(), 0.0))
            await self._deliver(line, batch)
            if batch.name in self._twice and batch.status == 200:
                status, answer = await line.post(batch.name, self._bodies[batch.body])
                batch.again = taken(answer) if status == 200 else None
        line.close()

    async def _deliver(self, line: Line, batch: Batch) -> None:
        """Until it is taken, or for so long."""
        until = time.monotonic() + self._retry
        while batch.status != 200 and (not batch.tries or time.monotonic() < until):
            if batch.tries:
                await asyncio.sleep(NAP)
            batch.tries += 1
            batch.status, answer = await line.post(batch.name, self._bodies[batch.body])
            if batch.tries == 1:
                batch.first_status, batch.delay = batch.status, time.monotonic() - self._zero - batch.due
            if batch.status == 200:
                batch.rows = taken(answer)

    def report(self) -> dict[str, object]:
        return {"began": self.began, "ended": self.ended, "batches": [
            [one.name, one.body, one.tries, one.first_status, one.status, round(one.delay, 4), one.rows, one.again]
            for one in self.batches
        ]}  # fmt: skip


def taken(answer: bytes) -> int:
    """Rows that an answer says were taken."""
    told = json.loads(answer)
    return int(told["known"] + told["unknown"])


class Line:
    """A connection that is opened when it is needed and kept: one request at a time."""

    def __init__(self, host: str, port: int, path: str) -> None:
        self._host, self._port, self._path = host, port, path
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def post(self, name: str, body: bytes) -> tuple[int, bytes]:
        """Status and body of the answer; status 0 if there was none."""
        try:
            return await asyncio.wait_for(self._post(name, body), PATIENCE)
        except (OSError, EOFError, ValueError, TimeoutError):
            self.close()
            return 0, b""

    async def _post(self, name: str, body: bytes) -> tuple[int, bytes]:
        if self._reader is None or self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(self._host, self._port)
        self._writer.write(
            f"POST {self._path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\nContent-Type: application/json\r\n"
            f"Idempotency-Key: {name}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        head = await self._reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").lower().split("\r\n")
        size = next(int(line[15:]) for line in lines if line.startswith("content-length:"))
        answer = await self._reader.readexactly(size)
        if "connection: close" in lines:
            self.close()
        return int(head[9:12]), answer

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None


def main() -> None:
    storm = Storm(json.loads(Path(sys.argv[1]).read_text()))
    asyncio.run(storm.run())
    Path(sys.argv[2]).write_text(json.dumps(storm.report()))


if __name__ == "__main__":
    main()
