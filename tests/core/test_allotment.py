"""Rounds of a coordinator, with shards that miss allotments and reports that are late or lost."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mayfly.core.allotment import Grants, Report, first_grants, next_grants, spendable
from mayfly.core.demand import GRID, demand
from mayfly.core.intervals import exact_plan
from mayfly.core.model import Beliefs, beliefs
from mayfly.core.politeness import Bucket

laws = settings(max_examples=60, deadline=None)
seeds = st.integers(0, 2**32 - 1)


def sources(seed: int, number: int = 200, busy: float = 1.0) -> Beliefs:
    rng = np.random.default_rng(seed)
    rate = busy * rng.lognormal(np.log(1e-3), 1.5, number)
    return beliefs(rate, rng.lognormal(0.0, 2.1, number), rng.lognormal(np.log(1e-3), 0.5, number))


@dataclass
class Shard:
    """What is in force at one; it never goes back to an allotment older than its own."""

    curve: np.ndarray
    can_use: float = np.inf
    version: int = 0
    allotment: float = 0.0

    def hears(self, number: int, grants: Grants) -> None:
        if grants.version > self.version:
            self.version, self.allotment = grants.version, float(grants.allotment[number])

    def report(self) -> Report:
        return Report(self.curve, self.version, min(self.allotment, self.can_use), self.allotment > self.can_use)


@dataclass
class Cluster:
    """Shards and a coordinator that talk through what may be lost; all is well unless a round says otherwise."""

    budget: float
    shards: list[Shard]
    grants: Grants = field(init=False)
    said: list[Report | None] = field(init=False)

    def __post_init__(self) -> None:
        self.grants = first_grants(self.budget, len(self.shards))
        self.said = [None] * len(self.shards)

    @property
    def in_force(self) -> float:
        return sum(shard.allotment for shard in self.shards)

    def round(self, away: frozenset[int] = frozenset()) -> Grants:
        """All but those away hear, and say so; then the coordinator has its turn."""
        for number, shard in enumerate(self.shards):
            if number in away:
                if (last := self.said[number]) is not None:
                    self.said[number] = last._replace(fresh=False)
            else:
                shard.hears(number, self.grants)
                self.said[number] = shard.report()
        self.grants = next_grants(self.grants, self.said, self.budget)
        return self.grants


def cluster(shards: int, budget: float, seed: int = 0) -> Cluster:
    rng = np.random.default_rng(seed)
    busy = rng.choice([0.0, 0.1, 1.0, 10.0], shards, p=[0.1, 0.3, 0.4, 0.2])
    return Cluster(budget, [Shard(demand(sources(seed + number, busy=busy[number]))) for number in range(shards)])


@settings(max_examples=150, deadline=None)
@given(seeds, st.integers(1, 12), st.floats(0.1, 0.9), st.booleans())
def test_what_is_in_force_anywhere_is_never_more_than_the_budget(
    seed: int, shards: int, lost: float, wobbling: bool
) -> None:
    """Allotments are heard late, reports too, out of order or not at all; whatever the curves are."""
    rng = np.random.default_rng(seed)
    ours = cluster(shards, 40.0, seed % 1000)
    written, under_way = [ours.grants], []
    for now in range(40):
        for number, shard in enumerate(ours.shards):
            if rng.random() > lost:  # it may read what was written some rounds ago
                shard.hears(number, written[max(0, len(written) - 1 - int(rng.integers(4)))])
                assert ours.in_force <= 40.0 * (1 + 1e-9)
            if wobbling:
                shard.curve = np.roll(shard.curve, int(rng.integers(-3, 4)))
                shard.can_use = float(rng.choice([0.0, 1.0, np.inf]))
            if rng.random() > lost:
                under_way.append((now + int(rng.integers(4)), number, shard.report()))
        ours.said = [last and last._replace(fresh=False) for last in ours.said]
        for _, number, report in (message for message in under_way if message[0] == now):
            ours.said[number] = report
        ours.grants = next_grants(ours.grants, ours.said, 40.0)
        written.append(ours.grants)
        assert ours.grants.ceiling.sum() <= 40.0 * (1 + 1e-9)
        assert all(shard.allotment <= most + 1e-9 for shard, most in zip(ours.shards, ours.grants.ceiling, strict=True))


@laws
@given(seeds, st.integers(1, 20))
def test_when_all_have_answered_the_whole_budget_is_in_force(seed: int, shards: int) -> None:
    ours = cluster(shards, 30.0, seed % 1000)
    for _ in range(4):
        ours.round()
    assert ours.grants.allotment.sum() == pytest.approx(30.0, rel=1e-9)
    ours.round()
    assert ours.in_force == pytest.approx(30.0, rel=1e-9)


def test_a_budget_that_is_cut_is_cut_for_those_who_are_away_too() -> None:
    """They find it when they come back, so that no minute has more than the new one."""
    ours = cluster(4, 40.0, 2)
    for _ in range(4):
        ours.round()
    before = ours.grants.allotment
    ours.budget = 4.0
    cut = ours.round(away=frozenset({1, 2}))
    assert cut.allotment[[1, 2]] == pytest.approx(before[[1, 2]] / 10, rel=0.01) and cut.allotment.sum() <= 4.0 * (
        1 + 1e-9
    )
    for _ in range(4):
        ours.round()
    assert ours.in_force == pytest.approx(spendable(4.0, 4))


def test_none_is_given_more_than_it_asks_for_at_the_lowest_price_while_others_have_use_for_it() -> None:
    """As one that was away, and is behind with all its sources: its sites take no more for that."""
    behind, other = np.full(len(GRID), 6.0), np.geomspace(1e6, 1e-6, len(GRID))
    ours = Cluster(20.0, [Shard(behind), Shard(other), Shard(other)])
    for _ in range(6):
        ours.round()
    assert ours.in_force == pytest.approx(20.0)
    assert ours.shards[0].allotment == pytest.approx(6.0)
    idle = Cluster(20.0, [Shard(behind), Shard(np.full(len(GRID), 3.0))])
    for _ in range(6):
        idle.round()
    assert idle.in_force == pytest.approx(20.0), "nobody has use for the rest; should something come, it is there"


def test_the_first_round_lowers_and_the_second_raises() -> None:
    ours = cluster(6, 30.0, 1)
    before = ours.grants.allotment
    first = ours.round()
    assert (first.allotment <= before).all() and (first.allotment < before).any()
    second = ours.round()
    assert (second.allotment > first.allotment).any() and second.allotment.sum() == pytest.approx(30.0)


def test_shards_have_what_one_plan_for_all_would_give_them() -> None:
    worlds = [sources(number, 4_000) for number in range(5)]
    budget = 0.4 * sum(float(world.link_rate.sum()) for world in worlds)
    ours = Cluster(budget, [Shard(demand(world)) for world in worlds])
    for _ in range(4):
        ours.round()
    whole = beliefs(*(np.concatenate([world[column] for world in worlds]) for column in (0, 1, 3)))
    plan = exact_plan(whole, budget)
    spent = (plan.taken * (whole.link_rate + 1 / plan.interval)).reshape(5, -1).sum(axis=1)
    np.testing.assert_allclose(ours.grants.allotment, spent, rtol=0.03)
    assert ours.grants.price == pytest.approx(plan.price, rel=0.02)


@laws
@given(seeds, st.sets(st.integers(0, 9), max_size=9))
def test_who_is_away_keeps_his_share_and_nobody_else_surges(seed: int, gone: set[int]) -> None:
    ours = cluster(10, 30.0, seed % 1000)
    for _ in range(6):
        settled = ours.round()
    for _ in range(5):
        later = ours.round(frozenset(gone))
        np.testing.assert_allclose(later.allotment, settled.allotment, rtol=1e-9)
        assert later.price == pytest.approx(settled.price)
    np.testing.assert_allclose(ours.round().allotment, settled.allotment, rtol=1e-9)


def test_who_was_coming_back_from_idleness_waits_with_that_while_away() -> None:
    ours = Cluster(40.0, [Shard(demand(sources(number, busy=10))) for number in range(4)])
    ours.shards[0].can_use = 0.5
    for _ in range(4):
        ours.round()
    ours.shards[0].can_use = np.inf
    ours.round()
    prices = [ours.round(away=frozenset({0})).price for _ in range(5)]
    assert prices == pytest.approx([prices[0]] * 5)


def test_the_budget_is_in_use_though_answers_come_late_and_wishes_never_rest() -> None:
    rng = np.random.default_rng(1)
    ours = cluster(8, 40.0, 7)
    plain, late, used = [shard.curve for shard in ours.shards], [None] * 8, []
    for _ in range(60):
        for number, shard in enumerate(ours.shards):
            shard.hears(number, ours.grants)
            shard.curve = plain[number] * rng.uniform(0.7, 1.4)
        ours.said, late = late, [shard.report() for shard in ours.shards]
        ours.grants = next_grants(ours.grants, ours.said, 40.0)
        used.append(ours.in_force / 40.0)
    assert np.mean(used[10:]) > 0.9 and max(used) <= 1 + 1e-9


def test_who_was_never_heard_of_keeps_an_equal_share_until_he_is() -> None:
    ours = cluster(4, 40.0, 3)
    for _ in range(5):
        grants = ours.round(away=frozenset({2}))
    assert grants.allotment[2] == 10.0 and grants.allotment.sum() == pytest.approx(40.0)
    for _ in range(4):
        grants = ours.round()
    assert grants.allotment[2] != 10.0 and grants.allotment.sum() == pytest.approx(40.0)


def test_equal_shares_while_nobody_wants_anything() -> None:
    ours = Cluster(12.0, [Shard(np.zeros(257)) for _ in range(4)])
    for _ in range(3):
        np.testing.assert_allclose(ours.round().allotment, 3.0)


@laws
@given(seeds)
def test_every_shard_has_enough_to_look_for_sources(seed: int) -> None:
    ours = cluster(10, 30.0, seed % 1000)
    ours.shards[0].curve = np.zeros(257)
    for _ in range(6):
        grants = ours.round()
    assert (grants.allotment >= 0.1 * 3.0 * (1 - 1e-9)).all()
    assert grants.allotment[0] == pytest.approx(0.3, rel=1e-3)


def test_what_an_idle_shard_leaves_goes_to_the_others_and_comes_back() -> None:
    ours = Cluster(40.0, [Shard(demand(sources(number, busy=10))) for number in range(4)])
    for _ in range(4):
        fair = ours.round().allotment
    most = int(np.argmax(fair))
    ours.shards[most].can_use = 2.0
    for _ in range(3):
        grants = ours.round()
    assert grants.allotment[most] == pytest.approx(2.2) and grants.allotment.sum() == pytest.approx(40.0)
    assert (np.delete(grants.allotment, most) > np.delete(fair, most)).all()
    ours.shards[most].can_use = np.inf
    for _ in range(8):
        grants = ours.round()
    np.testing.assert_allclose(grants.allotment, fair, rtol=1e-9)


def test_where_all_are_idle_nothing_is_held_back() -> None:
    ours = Cluster(40.0, [Shard(demand(sources(number)), can_use=1.0) for number in range(4)])
    for _ in range(5):
        grants = ours.round()
    assert grants.allotment.sum() == pytest.approx(40.0) and grants.allotment.min() >= 1.1


@laws
@given(seeds, st.floats(0.2, 5.0))
def test_another_budget_is_kept_to_as_soon_as_all_have_heard_of_it(seed: int, factor: float) -> None:
    ours = cluster(6, 30.0, seed % 1000)
    for _ in range(4):
        ours.round()
    ours.budget *= factor
    for _ in range(4):
        ours.round()
        assert ours.in_force <= max(30.0, ours.budget) * (1 + 1e-9)
    assert ours.grants.allotment.sum() == pytest.approx(spendable(ours.budget, 6), rel=1e-9)


def test_a_smaller_budget_while_some_are_away_takes_from_those_who_hear() -> None:
    ours = cluster(4, 40.0, 5)
    for _ in range(4):
        ours.round()
    kept = float(ours.grants.allotment[0])
    ours.budget = 0.5 * kept
    for _ in range(2):
        grants = ours.round(away=frozenset({0}))
    assert grants.ceiling[0] == kept and not grants.allotment[1:].any(), "it may still be in force there"
    assert grants.allotment[0] <= ours.budget, "but not when it comes back"


@pytest.mark.parametrize(("budget", "shards"), [(1.0, 2), (10.0, 8), (10.0, 100), (300.0, 1000)])
def test_no_minute_sees_more_than_the_promise_though_every_shard_is_ahead(budget: float, shards: int) -> None:
    grants = first_grants(budget, shards)
    left = 0
    for rate in grants.allotment[:1].repeat(shards):
        bucket = Bucket(float(rate), now=0.0)  # full, as after a rest
        left += sum(bucket.take(now) for now in np.arange(0.0, 60.0, min(0.25 / rate, 5.0)) for _ in range(2))
    assert left <= 61.2 * budget + 1
    assert grants.allotment.sum() >= 0.8 * budget


def test_too_many_shards_for_a_budget_are_refused_with_what_would_do() -> None:
    with pytest.raises(ValueError, match=r"too small for 256 shards.*a budget of 8\.24 or more"):
        spendable(2.0, 256)
    assert spendable(8.25, 256) >= 0.5 * 8.25
    with pytest.raises(ValueError, match="positive number"):
        spendable(float("nan"), 2)


def test_a_round_of_a_thousand_changes_nothing_but_what_it_returns() -> None:
    curves = [demand(sources(number, 50)) for number in range(10)]
    ours = Cluster(2000.0, [Shard(curves[number % 10]) for number in range(1000)])
    ours.round()
    before, said = ours.grants, list(ours.said)
    columns = [column.copy() for column in (before.allotment, before.since, before.ceiling, before.room)]
    one, two = next_grants(before, said, 2000.0), next_grants(before, said, 2000.0)
    np.testing.assert_array_equal(one.allotment, two.allotment)
    for column, kept in zip((before.allotment, before.since, before.ceiling, before.room), columns, strict=True):
        np.testing.assert_array_equal(column, kept)
    assert one.price == two.price and GRID[0] < one.price < GRID[-1]
