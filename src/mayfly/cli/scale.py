"""`mayfly lab scale`: very many sources on very many shards, in virtual time."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mayfly.cli import options, words
from mayfly.errors import UsageError
from mayfly.lab.scale import Size, facts, try_scale


def scale(
    sources: Annotated[int, typer.Option(help="Sources in all.", min=1)] = 10_000_000,
    shards: Annotated[int, typer.Option(help="Shards they are spread over.", min=1)] = 1_000,
    rounds: Annotated[int, typer.Option(help="Rounds of the coordinator.", min=1)] = 12,
    budget: Annotated[str, typer.Option(help="Fetches per second, or a share of the page rate: 0.44x.")] = "0.44x",
    vanish: Annotated[
        float, typer.Option(help="Share of the shards that are away in the middle third of the rounds.", min=0, max=0.9)
    ] = 0.1,
    wobble: Annotated[
        float, typer.Option(help="How much a shard's demand changes from round to round, by chance.", min=0, max=1)
    ] = 0.02,
    seed: Annotated[int, typer.Option(help="The same seed makes the same sources.", min=0)] = 0,
    as_json: options.Json = False,
) -> None:
    """See how soon many shards have one price, how well it spends the budget, and what that costs.

    Sources are made up, and want what they do in the long run; what is made of that is the code that runs on a cluster.
    It needs some 45 bytes of memory a source. The spend of a round is that of all sources at its price, one by one.

    Example: mayfly lab scale --sources 10000000 --shards 1000
    """
    size = Size(sources, shards, rounds, vanish, wobble, seed)
    if sources < shards:
        raise UsageError(f"--sources must be at least one for each of the {shards} shards, not {sources}")
    with words.progress("sources", sources * (rounds + 1)) as bar:
        try:
            trial = try_scale(size, words.budget(budget, size.page_rate), bar)
        except ValueError as error:
            raise UsageError(f"--budget {budget}: {error}") from None
    if as_json:
        typer.echo(words.dumps(facts(trial)))
    else:
        _print(facts(trial))


def _print(found: dict[str, Any]) -> None:
    head = ("round", "shards heard", "price", "error of spend", "granted", "in force", "at most", "in force at others")
    words.print_table(head, [_row(number, step) for number, step in enumerate(found["steps"], 1)])
    typer.echo("in shares of the budget; others: the shards that are never away\n")
    words.print_table(("", ""), [*_costs(found), *_absence(found["away"])])


def _row(number: int, step: dict[str, Any]) -> tuple[str, ...]:
    shares = (f"{step[name]:.4f}" for name in ("granted", "in_force", "at_most", "others"))
    return (f"{number}", f"{step['heard']:,}", f"{step['price']:.4g}", f"{step['error']:+.3%}", *shares)


def _costs(found: dict[str, Any]) -> list[tuple[str, str]]:
    rounds, error = found["rounds_to_price"], found["largest_error_since"]
    return [
        ("budget, fetches per second", f"{found['budget']:,.4g}"),
        ("… of it may be granted to so many shards", f"{found['spendable']:,.4g}"),
        ("rounds until the price spends the budget to 0.5 %", "–" if rounds is None else f"{rounds}"),
        ("… the largest error from then on", "–" if error is None else f"{error:.3%}"),
        (
            "rounds until 99 % is granted by demand",
            "–" if found["rounds_to_shares"] is None else f"{found['rounds_to_shares']}",
        ),
        (
            "bytes a shard sends and receives in a round",
            _pair(found, "bytes_sent_by_a_shard", "bytes_received_by_a_shard"),
        ),
        ("… all shards together", f"{found['bytes_per_round']:,}"),
        ("memory of a million sources, MB", f"{found['memory_of_a_million_sources'] / 1e6:.1f}"),
        ("… of this process at most, MB", f"{found['memory_at_most'] / 1e6:,.0f}"),
        ("CPU-seconds of a shard's demand", f"{found['cpu_seconds_of_a_shards_demand']:.4f}"),
        ("… of a round of the coordinator", f"{found['cpu_seconds_of_a_round']:.4f}"),
        ("… of all this", f"{found['cpu_seconds']:.1f}"),
    ]


def _pair(found: dict[str, Any], one: str, other: str) -> str:
    return f"{found[one]:,}; {found[other]:,}"


def _absence(away: dict[str, Any] | None) -> list[tuple[str, str]]:
    if away is None:
        return []
    back = away["rounds_to_be_as_before"]
    return [
        (f"the others against before, while {away['shards']:,} were away", _range(away)),
        ("… change of the price at most", f"{away['price_change']:.2%}"),
        ("… rounds until all was as before", "–" if back is None else f"{back}"),
    ]


def _range(away: dict[str, Any]) -> str:
    return f"{away['others_least']:.4f} to {away['others_most']:.4f}"
