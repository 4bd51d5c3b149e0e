"""`mayfly store`: where all is kept, and how it is moved."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mayfly.cli import home as homes
from mayfly.cli import options, words
from mayfly.crawl.lock import locked
from mayfly.errors import UsageError
from mayfly.store.address import is_postgres, without_password
from mayfly.store.copying import TABLES, Count, count, require_empty
from mayfly.store.copying import copy as copy_all
from mayfly.store.postgres_schema import MOST_SHARDS, SHARDS

if TYPE_CHECKING:
    from mayfly.store.copying import Side

app = typer.Typer(help="Move what is kept from one place to another.", no_args_is_help=True)
_EITHER = "a home (its own SQLite file), or postgresql://…"


@app.command()
def copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help=f"What is copied: {_EITHER}.")],
    target: Annotated[str, typer.Argument(metavar="TO", help=f"Where to, which must be empty: {_EITHER}.")],
    shards: Annotated[
        int,
        typer.Option(
            help="Of a cluster that is to crawl the copy; a database can never have another.", min=1, max=MOST_SHARDS
        ),
    ] = SHARDS,
    as_json: options.Json = False,
) -> None:
    """Copy all that is kept from one store into another that is empty, and compare the counts of every table.

    All of it is copied, or nothing. Neither home may be crawled meanwhile; a database may, and is copied as it was when
    the copy began. Settings and raw answers (WARC) stay where they are.

    Example: mayfly store copy mayfly-home postgresql://crawler@db/crawl
    """
    if source == target:
        raise UsageError(f"{without_password(source) if is_postgres(source) else source} is both; name two stores")
    with _side(source) as one, _side(target, write=True, shards=shards) as other:
        require_empty(other)
        with words.progress("rows", sum(count(one, table) for table in TABLES)) as done:
            found = copy_all(one, other, done)
        _print(one.name, other.name, found, as_json)


@contextlib.contextmanager
def _side(place: str, write: bool = False, shards: int = SHARDS) -> Iterator[Side]:
    """A store that is read or written as a whole."""
    if is_postgres(place):
        homes.postgres()
        from mayfly.store.postgres_copying import PostgresSide

        with PostgresSide(place, write=write, shards=shards) as database:
            yield database
        return
    from mayfly.store.sqlite_copying import SqliteSide

    home = Path(place)
    if write:
        homes.prepare(home)
    elif not (homes.existing(home) / homes.DATABASE).exists():
        raise UsageError(f"nothing is kept in {home}; name a home with a {homes.DATABASE}, or postgresql://…")
    with locked(home), SqliteSide(home / homes.DATABASE, write=write) as file:
        yield file


def _print(source: str, target: str, found: list[Count], as_json: bool) -> None:
    if as_json:
        tables = {one.table: {"read": one.read, "written": one.written} for one in found}
        typer.echo(words.dumps({"from": source, "to": target, "tables": tables}))
        return
    rows = [[one.table, f"{one.read:,}", f"{one.written:,}"] for one in found]
    words.print_table(["table", "read", "written"], rows)
    words.say(f"{target} holds all that {source} does: {sum(one.written for one in found):,} rows.")
