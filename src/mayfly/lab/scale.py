"""A crawl of many shards in virtual time: made-up sources, the real demand and the real rounds of the coordinator.

Sources are drawn by shard from the seed, with the means and spreads of the paper's country. What a shard
wants at each price is computed once and kept. Some shards are busier than others by a lasting factor, and that changes
by chance from round to round (`wobble`): the demand is multiplied by it, which is what it would be if all rates of the
sources were. Every round's price is then held against all sources, one by one. In the middle third of the rounds some
shards are away: they hear nothing, say nothing and fetch nothing.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from mayfly.core.allotment import Grants, Report, first_grants, next_grants, spendable
from mayfly.core.demand import GRID, demand, wanted
from mayfly.core.estimates.bayes import Bayes
from mayfly.core.model import HOUR, Beliefs, BoolArray, FloatArray, PerSecond, beliefs

PAGE_RATE: PerSecond = 0.229 / 3000  # λ of a source, on the average
ENOUGH = 0.005  # of the budget: a price that spends no more and no less is right
_PROFIT, _LIFETIME = 0.72 / 0.229, 20 * HOUR
_RATE_SPREAD, _PROFIT_SPREAD, _LIFETIME_SPREAD = 1.5, 2.1, 0.5  # of logarithms
_UNEVEN = 0.5  # the same, of how busy shards are
_NEARLY = 0.99  # of what may be granted: then the shares have been dealt out


@dataclass(frozen=True, slots=True)
class Size:
    """How large a crawl, and what befalls it."""

    sources: int = 10_000_000
    shards: int = 1_000
    rounds: int = 12
    vanish: float = 0.1  # share of the shards
    wobble: float = 0.02  # standard deviation of ln demand of a shard, from round to round
    seed: int = 0

    @property
    def page_rate(self) -> PerSecond:
        """New pages on all sources, on the average."""
        return self.sources * PAGE_RATE


class Step(NamedTuple):
    """A round. Shares are of the budget."""

    heard: int  # shards
    price: float
    error: float  # what all sources want at the price, less the budget
    granted: float
    in_force: float  # at shards that are there: what they spend
    at_most: float  # that may be in force, those away counted
    others: float  # in force at those that never go away


class Trial(NamedTuple):
    """All rounds and what they cost."""

    size: Size
    budget: PerSecond
    steps: list[Step]
    source_bytes: int
    demand_seconds: float  # CPU, of all shards together
    round_seconds: float  # CPU, of the coordinator, the mean
    seconds: float  # CPU, of all of it, the making of sources and the proof too


def try_scale(size: Size, budget: PerSecond, told: Callable[[int], None] = lambda sources: None) -> Trial:
    """Go through all rounds; `told` of the sources gone through, once when they are made and again in every round."""
    began, rng = time.process_time(), np.random.default_rng([size.seed, size.shards])
    worlds, curves, demand_seconds = _made(size, told)
    shards = _Shards(curves, rng, size.wobble)
    leavers = rng.permutation(size.shards) < round(size.vanish * size.shards)
    grants = first_grants(budget, size.shards)
    steps: list[Step] = []
    deciding = 0.0
    for number in range(size.rounds):
        away = leavers & (size.rounds <= 3 * number < 2 * size.rounds)
        reports = shards.round(grants, ~away)
        before = time.process_time()
        grants = next_grants(grants, reports, budget)
        deciding += time.process_time() - before
        spend = sum(wobble * wanted(world, grants.price) for wobble, world in _counted(shards.busy, worlds, told))
        steps.append(_step(shards, grants, spend, away, leavers, budget))
    source_bytes = sum(_bytes(world) for world in worlds)
    whole = time.process_time() - began
    return Trial(size, budget, steps, source_bytes, demand_seconds, deciding / size.rounds, whole)


def world_of(size: Size, shard: int) -> Beliefs:
    """The sources of a shard, the same for the same seed."""
    rng = np.random.default_rng([size.seed, size.shards, shard])
    number = size.sources // size.shards + (shard < size.sources % size.shards)

    def column(mean: float, spread: float) -> FloatArray:
        return rng.lognormal(np.log(mean) - spread**2 / 2, spread, number)

    rate, profit = column(PAGE_RATE, _RATE_SPREAD), column(_PROFIT, _PROFIT_SPREAD)
    return beliefs(rate, profit, 1 / column(_LIFETIME, _LIFETIME_SPREAD))


def facts(trial: Trial) -> dict[str, Any]:
    """What a trial showed, in numbers."""
    size, steps = trial.size, trial.steps
    errors = [abs(step.error) for step in steps]
    first = next((number for number, error in enumerate(errors) if error <= ENOUGH), None)
    most = spendable(trial.budget, size.shards) / trial.budget
    own = Bayes().evidence()  # of which it is told the sum of all others
    learned = 8 * (4 + len(own.fading) + len(own.places))
    sent = GRID.nbytes + 8 + 8 + 1 + 8 + 8 + learned  # demand, version, use, idle, waiting, lag
    received = 8 + 8 + 8 + learned  # price, allotment, version
    return {
        **asdict(size),
        "budget": trial.budget,
        "spendable": most * trial.budget,
        "rounds_to_price": None if first is None else first + 1,
        "largest_error_since": None if first is None else max(errors[first:]),
        "rounds_to_shares": _settled(steps, most),
        "away": _absence(steps),
        "bytes_sent_by_a_shard": sent,
        "bytes_received_by_a_shard": received,
        "bytes_per_round": size.shards * (sent + received),
        "memory_of_a_million_sources": round(trial.source_bytes / size.sources * 1e6),
        "memory_at_most": _peak_bytes(),
        "cpu_seconds": trial.seconds,
        "cpu_seconds_of_a_shards_demand": trial.demand_seconds / size.shards,
        "cpu_seconds_of_a_round": trial.round_seconds,
        "steps": [step._asdict() for step in steps],
    }


class _Shards:
    """The shards' side: what is in force at each, and how busy its sources are just now."""

    def __init__(self, curves: FloatArray, rng: np.random.Generator, wobble: float) -> None:
        self._curves, self._rng, self._wobble = curves, rng, wobble
        busy = rng.lognormal(0.0, _UNEVEN, len(curves))
        self.busy = busy / busy.mean()
        self.in_force = np.zeros(len(curves))
        self._said: list[Report | None] = [None] * len(curves)

    def round(self, grants: Grants, there: BoolArray) -> list[Report | None]:
        """Those that are there take what they were granted and report; of the others their last word stands."""
        change = self._rng.normal(0.0, self._wobble, len(there))
        self.busy = np.where(there, self.busy * np.exp(change), self.busy)
        self.in_force = np.where(there, grants.allotment, self.in_force)
        for shard in range(len(there)):
            self._said[shard] = self._word(shard, grants.version, bool(there[shard]))
        return list(self._said)

    def _word(self, shard: int, version: int, there: bool) -> Report | None:
        if there:
            return Report(self._curves[shard] * self.busy[shard], version, float(self.in_force[shard]), False)
        last = self._said[shard]
        return last and last._replace(fresh=False)


def _made(size: Size, told: Callable[[int], None]) -> tuple[list[Beliefs], FloatArray, float]:
    """The sources of all shards, their demands, and the CPU-seconds these took."""
    worlds, curves, took = [], [], 0.0
    for shard in range(size.shards):
        worlds.append(world_of(size, shard))
        before = time.process_time()
        curves.append(demand(worlds[-1]))
        took += time.process_time() - before
        told(len(worlds[-1].link_rate))
    return worlds, np.stack(curves), took


def _counted(busy: FloatArray, worlds: list[Beliefs], told: Callable[[int], None]) -> Iterator[tuple[float, Beliefs]]:
    for wobble, world in zip(busy.tolist(), worlds, strict=True):
        yield wobble, world
        told(len(world.link_rate))


def _step(
    shards: _Shards, grants: Grants, spend: PerSecond, away: BoolArray, leavers: BoolArray, budget: PerSecond
) -> Step:
    return Step(
        int((~away).sum()),
        grants.price,
        spend / budget - 1,
        float(grants.allotment.sum()) / budget,
        float(shards.in_force[~away].sum()) / budget,
        float(np.maximum(grants.ceiling, shards.in_force).sum()) / budget,
        float(shards.in_force[~leavers].sum()) / budget,
    )


def _settled(steps: list[Step], most: float) -> int | None:
    """The round from which on what is granted is nearly all that may be, other than at the start: by demand."""
    rounds = [number for number, step in enumerate(steps, 1) if number > 1 and step.granted >= _NEARLY * most]
    return rounds[0] if rounds else None


def _absence(steps: list[Step]) -> dict[str, Any] | None:
    """What the others did while shards were away, and how soon all was as before."""
    gone = [number for number, step in enumerate(steps) if step.heard < steps[0].heard]
    if not gone or gone[0] == 0:
        return None
    before, back = steps[gone[0] - 1], steps[gone[-1] + 1 :]
    others = [steps[number].others / before.others for number in gone]
    as_before = [abs(step.in_force / before.in_force - 1) <= ENOUGH for step in back]
    return {
        "shards": steps[0].heard - steps[gone[0]].heard,
        "rounds": len(gone),
        "others_least": min(others),
        "others_most": max(others),
        "price_change": max(abs(steps[number].price / before.price - 1) for number in gone),
        "rounds_to_be_as_before": as_before.index(True) + 1 if any(as_before) else None,
    }


def _bytes(world: Beliefs) -> int:
    """Of all columns, those that are one and the same counted once."""
    return sum(column.nbytes for column in {id(column): column for column in world}.values())


def _peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
