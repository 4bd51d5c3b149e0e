"""`mayfly doctor`: checks of a home. It looks, and repairs nothing."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import typer

from mayfly.cli import home as homes
from mayfly.cli import options, words
from mayfly.cli.layers import FILE, resolve
from mayfly.crawl.lock import holder
from mayfly.crawl.settings import WARC, Settings
from mayfly.errors import MayflyError, UsageError
from mayfly.fetch.loop import run
from mayfly.store.address import without_password
from mayfly.store.hints import Subscription
from mayfly.store.records import Complaint

_SILENT = 3  # requests that a hub took and did not come back on


def doctor(home: homes.Home = homes.DEFAULT, as_json: options.Json = False) -> None:
    """Check a home: rights, settings, space, the database and all that must hold in it. Repairs nothing.

    Ends with status 1 if there is anything to complain of.

    Example: mayfly doctor
    """
    homes.existing(home)
    crawls = holder(home)
    settings, wrong = _settings(home)
    broken = _database(home, settings)
    if settings.store and not broken:
        crawls = crawls or run(_crawled_by(home, settings))
    hubs, silent = ({}, []) if broken else _hubs(home, settings)
    found = [*_folder(home), *wrong, *broken, *silent, *([] if crawls else _archives(home))]
    if as_json:
        told = {
            "sound": not found,
            "holder": crawls or None,
            "hubs": hubs,
            "complaints": [one._asdict() for one in found],
        }
        typer.echo(words.dumps(told))
    else:
        if crawls:
            words.say(f"{home} is being crawled by {crawls}.")
        if hubs:
            states = ", ".join(f"{count:,} {state}" for state, count in hubs.items() if state != "named")
            words.say(f"WebSub: feeds that name a hub: {hubs['named']:,}; subscriptions: {states or 'none'}.")
        for one in found:
            words.say(f"! {one.where}: {one.what}.")
            words.say(f"    {one.advice}")
        if not found:
            words.say(f"{home}: nothing is wrong.")
    raise typer.Exit(1 if found else 0)


def _folder(home: Path) -> Iterator[Complaint]:
    """Rights, and what was left lying about."""
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        yield Complaint("the folder may not be read and written", str(home), "check whose it is: ls -ld")
        return
    for path in sorted(home.iterdir()):
        wanted = os.R_OK | os.W_OK | (os.X_OK if path.is_dir() else 0)
        if not os.access(path, wanted):
            yield Complaint("it may not be read and written", str(path), "check whose it is: ls -l")
        elif path.name.endswith(".unfinished") or path.name.startswith(f".{FILE}."):
            yield Complaint("something was cut short while it was written", str(path), "nobody needs it; remove it")


def _settings(home: Path) -> tuple[Settings, list[Complaint]]:
    """Those in force (the defaults, if they cannot be read), and what is wrong with them."""
    settings, wrong = Settings(), list[Complaint]()
    try:
        settings, _ = resolve(home, {})
    except UsageError as error:
        wrong = [Complaint(str(error), str(home / FILE), "set it right; mayfly config shows what is in force")]
    free = shutil.disk_usage(home).free / 1e9
    if free < settings.free_gigabytes:
        what = f"{free:.1f} GB are free, and under {settings.free_gigabytes:g} GB the crawl pauses"
        wrong.append(Complaint(what, str(home), "make room, or keep less: keep-history, keep-text, keep-warc"))
    return settings, wrong


def _archives(home: Path) -> Iterator[Complaint]:
    """Raw answers a crawl that died left open."""
    from mayfly.store.warc import final, unfinished

    for path in unfinished(home / WARC):
        advice = f"it is whole up to its last record: rename it to {final(path).name}"
        yield Complaint("a crawl that ended badly left it open", str(path), advice)


def _database(home: Path, settings: Settings) -> list[Complaint]:
    """What the store says of itself; that it cannot be opened is a complaint like others."""
    path = home / homes.DATABASE
    if not settings.store and not path.exists():
        return []
    try:
        return run(_check(home, settings))
    except MayflyError as error:
        where = without_password(settings.store) if settings.store else str(path)
        return [Complaint(str(error), where, "it was left as it is")]


def _hubs(home: Path, settings: Settings) -> tuple[dict[str, int], list[Complaint]]:
    """How many feeds name a hub and what became of that; and whether hubs cannot reach us."""
    if not settings.store and not (home / homes.DATABASE).exists():
        return {}, []
    named, kept = run(_named(home, settings))
    if not named and not kept:
        return {}, []
    told: dict[str, int] = {"named": named, **dict(sorted(Counter(one.state for one in kept).items()))}
    silent = [one for one in kept if one.state == "asked" and one.tries >= _SILENT and not one.failure]
    if not silent:
        return told, []
    what = f"hubs took what we asked and never called back ({len(silent):,}, as {silent[0].hub})"
    advice = "can others reach mayfly serve by this address (public-url)? /api/websub/x answers with an error in JSON"
    return told, [Complaint(what, silent[0].callback.partition("/api/")[0], advice)]


async def _named(home: Path, settings: Settings) -> tuple[int, list[Subscription]]:
    async with homes.store_of(home, settings) as store:
        named = sum(1 for source in await store.sources() if source.hub and source.state == "active")
        return named, await store.subscriptions()


async def _crawled_by(home: Path, settings: Settings) -> str:
    async with homes.store_of(home, settings) as store:
        return await store.crawled_by()


async def _check(home: Path, settings: Settings) -> list[Complaint]:
    async with homes.store_of(home, settings) as store:
        return await store.check()
