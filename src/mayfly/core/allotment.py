"""One budget for many shards: who may spend how much of it, at which price, and never more than all of it.

A shard spends what it was last allotted, and goes on so while it hears nothing. Between the moment a new allotment is
written and the moment the shard says that it is in force, either may be. So both are reckoned with (`ceiling`): who is
to have less is told at once, and what he gives up goes to others only when he has said that he did. A shard that was
not heard of since the last round keeps its allotment and its say in the price: an outage of seconds must not make the
others surge. Nobody is told anything new before he has answered for the last, so two numbers a shard are all there is
to know.

What a shard could not use, as nothing was there or no site was free, goes to the others: it is given a little more than
it used, and twice that as soon as it uses all. And none is given more than it would ask for at the lowest price, which
is what its sites can take, whatever it is behind with: so all of the budget can be used also while nobody deals it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mayfly.core.demand import GRID, at_price, price_for
from mayfly.core.model import BoolArray, FloatArray, IntArray, PerSecond

_FLOOR = 0.1  # of an equal share: what a shard has in any case, to look for sources
_HARDLY = 1e-12  # of an equal share: a wish of nothing, so that where nobody has another all are equal
_SPARE = 1.1  # times what an idle shard used: room to show that it wants more
_GROWTH = 2.0  # of that room, each round it is all used
_LEAST_SHARE = 0.5  # of the budget: if less can be granted there are too many shards for it


class Report(NamedTuple):
    """What a shard last said of itself."""

    curve: FloatArray  # what its sources want, at each price of the grid
    applied: int  # the version of the allotment in force there
    used: PerSecond  # requests that left, since the report before
    idle: bool  # whether it could have made more: nothing was there, or no site was free
    fresh: bool = True  # whether it came after the last round


@dataclass(frozen=True, slots=True)
class Grants:
    """What every shard may spend; all that a coordinator has to remember. Columns by shard, rates per second."""

    version: int
    price: float  # ω
    allotment: FloatArray  # as granted last
    since: IntArray  # the version that granted it: when a shard has applied it, no other is in force there
    ceiling: FloatArray  # the most that may be in force there
    room: FloatArray  # the most an idle shard is given


def first_grants(budget: PerSecond, shards: int) -> Grants:
    """Equal shares, as nothing is known of anyone.

    >>> first_grants(8.0, 4).allotment.tolist()
    [2.0, 2.0, 2.0, 2.0]
    """
    share = np.full(shards, spendable(budget, shards) / shards)
    return Grants(1, float(GRID[0]), share, np.ones(shards, np.int64), share.copy(), np.full(shards, budget))


def next_grants(before: Grants, reports: Sequence[Report | None], budget: PerSecond, grid: FloatArray = GRID) -> Grants:
    """A round: the price by all that was said (None: a shard never heard of), and what each may spend from now on.

    >>> from mayfly.core.demand import demand
    >>> from mayfly.core.model import beliefs
    >>> def told(rate: float, applied: int) -> Report:
    ...     return Report(demand(beliefs(np.array([rate]), np.ones(1), np.array([1e-3]))), applied, 2.0, False)
    >>> one = next_grants(first_grants(4.0, 2), [told(1.0, 1), told(2.0, 1)], 4.0)
    >>> two = next_grants(one, [told(1.0, 2), told(2.0, 2)], 4.0)
    >>> one.allotment.round(2).tolist(), two.allotment.round(2).tolist()      # less first, then more
    ([1.47, 2.0], [1.47, 2.53])
    """
    heard = np.array([report is not None and report.fresh for report in reports])
    applied = np.array([0 if report is None else report.applied for report in reports])
    answered = heard & (applied >= before.since)
    ceiling = np.where(applied >= before.since, before.allotment, before.ceiling)
    room = _room(before, reports, heard, budget)
    useful = np.minimum(room, [_most_asked(report) for report in reports])
    price, wish = _wishes(before, reports, useful, budget, grid)
    most = spendable(budget, len(reports))
    granted = float(before.allotment.sum())
    goal = before.allotment * (most / granted if granted > most * (1 + 1e-9) else 1.0)  # the budget may have been cut
    left = most - float(ceiling[~answered].sum())
    goal[answered] = _shared(left, wish[answered], useful[answered], budget / len(wish))
    return _granted(before, price, goal, ceiling, room, most)


def spendable(budget: PerSecond, shards: int) -> PerSecond:
    """What may be granted in all, so that no minute sees more than 61.2·N + 1 requests though each shard may be ahead.

    In a minute a shard makes 60·a + 1 + a/2 requests at most (`politeness.Bucket`), and not all ones add up to one.

    >>> spendable(10.0, 4), round(spendable(10.0, 100), 3)
    (10.0, 8.479)
    """
    if not (np.isfinite(budget) and budget > 0):
        raise ValueError(f"budget must be a positive number of fetches per second, got {budget}")
    most = min(budget, (61.2 * budget + 1 - shards) / 60.5)
    if most < _LEAST_SHARE * budget:
        enough = (shards - 1) / (61.2 - 60.5 * _LEAST_SHARE)
        raise ValueError(
            f"a budget of {budget:g} fetches per second is too small for {shards} shards, as each may be one request "
            f"ahead of its share: use fewer shards, or a budget of {enough:.3g} or more"
        )
    return most


def _room(before: Grants, reports: Sequence[Report | None], heard: BoolArray, budget: PerSecond) -> FloatArray:
    """What idle shards have use for; it grows again while they use it."""
    idle = np.array([report is not None and report.idle for report in reports])
    used = np.array([0.0 if report is None else report.used for report in reports])
    small = np.maximum(_SPARE * used, _FLOOR * budget / len(reports))
    return np.where(heard, np.minimum(np.where(idle, small, before.room * _GROWTH), budget), before.room)


def _most_asked(report: Report | None) -> PerSecond:
    """At the lowest price; of who has not said yet what he wants, anything."""
    return float(report.curve[0]) if report is not None and report.curve[0] > 0 else np.inf


def _wishes(
    before: Grants, reports: Sequence[Report | None], room: FloatArray, budget: PerSecond, grid: FloatArray
) -> tuple[float, FloatArray]:
    """The price at which all want the budget among them, and what each wants at it; of the unheard, what they have."""
    known = np.flatnonzero([report is not None for report in reports])
    wish = before.allotment.copy()
    left = budget - float(np.delete(wish, known).sum())
    if not len(known) or left <= 0:
        return before.price, wish
    curves = np.stack([report.curve for report in reports if report is not None])
    price = price_for(np.minimum(curves, room[known, None]).sum(axis=0), grid, left)
    wish[known] = at_price(curves, grid, price)
    return price, wish


def _shared(amount: PerSecond, wish: FloatArray, room: FloatArray, equal: PerSecond) -> FloatArray:
    """An amount by what each wishes, a floor for each, and none above its room while others have any."""
    if not len(wish) or amount <= 0:
        return np.zeros(len(wish))
    floor = min(_FLOOR * equal, amount / len(wish))
    wish = np.maximum(wish, _HARDLY * equal)
    space = np.maximum(room - floor, 0.0)
    left = amount - floor * len(wish)
    if space.sum() <= left:  # nobody has use for the rest; it is theirs all the same, should something come
        return floor + space + (left - space.sum()) * wish / wish.sum()
    return floor + np.minimum(space, wish * _level(left, wish, space))


def _level(amount: PerSecond, wish: FloatArray, space: FloatArray) -> float:
    """How many times its wish each gets, so that the amount is used up though some have less space than that."""
    full_at = space / wish
    order = np.argsort(full_at)
    taken = np.concatenate([[0.0], np.cumsum(space[order])[:-1]])  # by those that are full before
    others = np.cumsum(wish[order][::-1])[::-1]
    level = (amount - taken) / others
    return float(level[np.argmax(level <= full_at[order])])


def _granted(
    before: Grants, price: float, goal: FloatArray, ceiling: FloatArray, room: FloatArray, most: PerSecond
) -> Grants:
    """Less at once, more as far as there is something that nobody may still be spending."""
    rise = np.maximum(goal - before.allotment, 0.0)
    free = max(most - float(ceiling.sum()), 0.0)
    part = min(1.0, free / rise.sum()) if rise.any() else 0.0
    allotment = np.minimum(goal, before.allotment) + rise * part
    version = before.version + 1
    since = np.where(allotment == before.allotment, before.since, version)
    return Grants(version, price, allotment, since, np.maximum(ceiling, allotment), room)
