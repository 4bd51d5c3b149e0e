"""The seen-set on disk: ten million addresses, and what they cost in memory, disk and time.

usage: python bench/seen.py [ADDRESSES]          (10,000,000)

Addresses are random fingerprints, as those of URLs are: nothing of one tells where another stands. They come in crawls
of a sitemap's size, in one transaction each; then crawls of 60 links are looked up, all known or none. Ends with status
1 if it took more than 200 MB of memory.
"""

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from mayfly.core.model import DAY
from mayfly.store.connection import connect
from mayfly.store.tables import seen

TOGETHER = 50_000
LINKS, CRAWLS = 60, 5_000
LIMIT_MB = 200


def main(addresses: int) -> int:
    """The exit status."""
    chance = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mayfly.db"
        database = connect(path)
        start = time.perf_counter()
        for _ in range(0, addresses, TOGETHER):
            database.execute("BEGIN IMMEDIATE")
            seen.remember(database, fingerprints(chance, TOGETHER), 20_000 * DAY)
            database.execute("COMMIT")
        print(f"inserts     {addresses / (time.perf_counter() - start):12,.0f} per second")
        known = [
            row[0] for row in database.execute(f"SELECT hash FROM seen WHERE hash % 31 = 0 LIMIT {CRAWLS * LINKS}")
        ]
        asked = chance.permutation(np.array(known, np.int64))
        for name, hashes in ("known", asked), ("not known", fingerprints(chance, CRAWLS * LINKS)):
            start = time.perf_counter()
            found = sum(len(seen.pages_of(database, hashes[low : low + LINKS])) for low in range(0, len(hashes), LINKS))
            speed = len(hashes) / (time.perf_counter() - start)
            print(f"lookups     {speed:12,.0f} per second, {name} ({found:,} found)")
        database.close()
        print(f"disk        {path.stat().st_size / 1e6:12,.0f} MB")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e3 if sys.platform == "linux" else 1e6)
    print(f"memory      {most:12,.0f} MB at most (limit {LIMIT_MB})  {'ok' if most <= LIMIT_MB else 'TOO MUCH'}")
    return 0 if most <= LIMIT_MB else 1


def fingerprints(chance: np.random.Generator, number: int) -> np.ndarray:
    return chance.integers(-(1 << 63), (1 << 63) - 1, number, np.int64)


sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000))
