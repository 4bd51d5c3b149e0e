"""Many shards in virtual time: small ones of the trials that `mayfly lab scale` makes."""

from __future__ import annotations

import numpy as np
import pytest

from mayfly.core.allotment import spendable
from mayfly.core.demand import wanted
from mayfly.lab.scale import Size, facts, try_scale, world_of

SMALL = Size(sources=200_000, shards=50, rounds=12)
BUDGET = 80.0


@pytest.fixture(scope="module")
def found() -> dict:
    return facts(try_scale(SMALL, BUDGET))


def test_the_price_spends_the_budget_within_three_rounds(found: dict) -> None:
    assert found["rounds_to_price"] <= 3 and found["largest_error_since"] <= 0.005
    assert found["rounds_to_shares"] <= 3


def test_never_more_than_the_budget_may_be_in_force(found: dict) -> None:
    assert all(step["at_most"] <= 1 + 1e-9 for step in found["steps"])
    assert all(step["in_force"] <= step["at_most"] + 1e-9 for step in found["steps"])


def test_while_shards_are_away_the_others_go_on_as_before(found: dict) -> None:
    away = found["away"]
    assert (away["shards"], away["rounds"]) == (5, 4)
    assert 0.99 < away["others_least"] <= away["others_most"] < 1.01
    assert away["rounds_to_be_as_before"] <= 2
    gone = [step for step in found["steps"] if step["heard"] < 50]
    assert all(step["in_force"] < 0.97 for step in gone)  # what is away fetches nothing


def test_the_error_is_that_of_all_sources_at_the_price() -> None:
    size = Size(sources=1_001, shards=1, rounds=1, wobble=0.0, vanish=0.0)
    trial = try_scale(size, 0.5 * size.page_rate)
    step = trial.steps[0]
    world = world_of(size, 0)
    assert len(world.link_rate) == 1_001
    assert step.error == pytest.approx(wanted(world, step.price) / trial.budget - 1)
    assert facts(trial)["away"] is None


def test_sources_are_spread_over_all_shards_and_come_from_the_seed() -> None:
    size = Size(sources=1_003, shards=10, seed=4)
    assert sum(len(world_of(size, shard).link_rate) for shard in range(10)) == 1_003
    np.testing.assert_array_equal(world_of(size, 3).page_profit, world_of(size, 3).page_profit)
    assert world_of(size, 3).page_profit[0] != world_of(size, 4).page_profit[0]


def test_what_it_costs_is_told(found: dict) -> None:
    assert found["bytes_sent_by_a_shard"] == 257 * 8 + 33 + (42 + 3 * 24) * 8
    assert found["bytes_per_round"] == 50 * (found["bytes_sent_by_a_shard"] + found["bytes_received_by_a_shard"])
    assert 24e6 <= found["memory_of_a_million_sources"] <= 100e6
    assert found["spendable"] == pytest.approx(spendable(BUDGET, 50))
    assert found["memory_at_most"] > 1e7 and found["cpu_seconds"] > found["cpu_seconds_of_a_round"] > 0
