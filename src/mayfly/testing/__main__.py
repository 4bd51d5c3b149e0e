"""`python -m mayfly.testing`: the loopback web until Ctrl-C. Prints one line of JSON: where it is, how to get there."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import signal
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from mayfly.core.model import DAY
from mayfly.errors import MayflyError
from mayfly.lab.shapes import Shape, read_shape
from mayfly.testing import control
from mayfly.testing.certificates import Certificates, make_certificates
from mayfly.testing.journal import Journal
from mayfly.testing.server import Server
from mayfly.testing.web import Web
from mayfly.testing.world import small_shape


def main(words: list[str] | None = None) -> int:
    """Run the web; exit status 0 when asked to stop, 1 if it could not start."""
    asked = _options().parse_args(words)
    try:
        shape = _shape(asked)
        web = Web(seed=asked.seed, factor=asked.factor, shape=shape, head_start=asked.head_start * DAY)
        if asked.trace:
            web.write_trace(asked.trace)
        with tempfile.TemporaryDirectory() as folder:
            tls = make_certificates(Path(folder), web.sites) if asked.tls else None
            with asked.journal.open("w") if asked.journal else contextlib.nullcontext() as file:
                asyncio.run(_serve(web, asked, tls, Journal(file=file)))
    except (OSError, MayflyError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _shape(asked: argparse.Namespace) -> Shape:
    if asked.shape:
        shape = read_shape(asked.shape)
        return shape if asked.days is None else replace(shape, days=asked.days)
    return small_shape(asked.hosts, 9.0 if asked.days is None else asked.days, asked.pages_per_day)


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m mayfly.testing", description="A web on loopback, until Ctrl-C.")
    parser.add_argument("--hosts", type=int, default=3, help="newspapers")
    parser.add_argument("--seed", type=int, default=1, help="another seed is another web")
    parser.add_argument("--factor", type=float, default=1.0, help="seconds of the world in a second; 3600: an hour")
    parser.add_argument("--shape", type=Path, help="a TOML file for another world, as `mayfly lab make` takes it")
    parser.add_argument("--days", type=float, help="of the world; else those of the shape, or 9")
    parser.add_argument("--head-start", type=float, default=2.0, help="days of the world that are over at the start")
    parser.add_argument("--pages-per-day", type=float, default=60.0, help="of the world's day, for each host")
    parser.add_argument("--port", type=int, default=0, help="0: any that is free")
    parser.add_argument("--address", action="append", help="127.x to listen on; may be given again")
    parser.add_argument("--tls", action="store_true", help="also listen with TLS; needs the openssl command")
    parser.add_argument("--trace", type=Path, help="write the whole web to this folder as a trace, first")
    parser.add_argument("--journal", type=Path, help="write every request to this file, as it ends")
    return parser


async def _serve(web: Web, asked: argparse.Namespace, tls: Certificates | None, journal: Journal) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
    server = Server(
        web.sites,
        addresses=tuple(asked.address or ["127.0.0.1"]),
        port=asked.port,
        tls=tls.context if tls else None,
        quiet=(control.HOST,),
        journal=journal,
    )
    server.sites[control.HOST] = control.control_site(web, server.journal)
    async with server:
        about = {
            "address": server.addresses[0],
            "port": server.port,
            "tls_port": server.tls_port if tls else None,
            "authority": str(tls.authority) if tls else None,
            "hosts": web.hosts,
            "others": sorted(server.sites.keys() - set(web.hosts)),
            "connect_to": server.connect_to,
        }
        sys.stdout.write(json.dumps(about) + "\n")
        sys.stdout.flush()
        await stop.wait()


if __name__ == "__main__":
    sys.exit(main())
