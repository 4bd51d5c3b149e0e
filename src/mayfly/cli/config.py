"""`mayfly config`: settings in force, and where each comes from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated

import typer

from mayfly.cli import home as homes
from mayfly.cli import options, words
from mayfly.cli.layers import ALL, Setting, Value, named, resolve, resolve_cluster, shown


@homes.takes_settings()
def config(
    name: Annotated[str | None, typer.Argument(help="Print the value of this one alone.", metavar="NAME")] = None,
    home: homes.Home = homes.DEFAULT,
    as_json: options.Json = False,
    *,
    flags: Mapping[str, object],
) -> None:
    """Show every setting in force, its value and where it comes from: the file, the environment, a flag or the default.

    Flags are those of `mayfly crawl` and `mayfly serve`, to see what they would change. Secrets are not shown.

    Example: mayfly config host-delay
    """
    settings, origins = resolve(home, flags)
    cluster, others = resolve_cluster(home, flags)
    origins |= others
    rows = {
        one.name: (one, getattr(cluster if one.table else settings, one.field), origins[one.name])
        for one in ALL.values()
    }
    if name is not None:
        setting, value, _ = rows[named(name, "config").name]
        words.say(json.dumps(_told(setting, value)) if as_json else shown(setting, value))
    elif as_json:
        told = {
            key: {"value": _told(setting, value), "shown": shown(setting, value), "from": origin, "help": setting.help}
            for key, (setting, value, origin) in rows.items()
        }
        typer.echo(json.dumps(told))
    else:
        words.print_table(
            ("setting", "value", "from", ""),
            [
                (key, shown(setting, value) or "–", origin, setting.help)
                for key, (setting, value, origin) in rows.items()
            ],
        )


def _told(setting: Setting, value: Value) -> Value:
    return shown(setting, value) if setting.secret or setting.password else value
