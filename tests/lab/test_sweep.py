"""Sweeps change what they say they change; portraits add up."""

import numpy as np
import pytest

from mayfly.core.model import DAY, WEEK
from mayfly.lab.facts import PAPER_SHARES, describe
from mayfly.lab.jobs import Jobs
from mayfly.lab.portrait import fading, loved_hosts, page_rate, portrait
from mayfly.lab.replay import Settings, replay, report
from mayfly.lab.shapes import Publishers, Shape
from mayfly.lab.sweep import PARAMETERS, as_rows, sweep, swept
from mayfly.lab.synthetic import make_world


def test_each_parameter_reaches_the_settings(world) -> None:
    base = Settings("index", 2.0)
    changed = {name: one.put(base, one.values[0]) for name, one in PARAMETERS.items()}
    assert changed["history"].history == 3 and isinstance(changed["history"].history, int)
    assert changed["log-push"].log_push == 3600
    assert changed["replan"].replan == 300
    assert changed["bin"].bin == 300
    assert changed["default-profit"].estimator_options == {"default_profit": 0.0001}
    assert changed["quota"].policy_options == {"quota": 0.1}
    assert changed["budget"].budget == pytest.approx(0.22)
    assert [PARAMETERS["log-push"].show(value) for value in PARAMETERS["log-push"].values] == [
        "1 h",
        "12 h",
        "1 d",
        "1 w",
    ]


def test_a_sweep_is_the_runs_it_names(world) -> None:
    settings = Settings("bfs", 0.5 * world.page_rate)
    arms = sweep(Jobs([world], 1), [(0, 0), (0, 1)], settings, PARAMETERS["quota"], ["index"])
    assert [arm.policy for arm in arms] == ["fixed-quota"] * 5  # whose parameter it is
    alone = replay(world, Settings("fixed-quota", 0.5 * world.page_rate, seed=1, policy_options={"quota": 0.3}))
    assert arms[1].runs[1]["share"] == report(alone)[0]["share"]
    rows = as_rows(PARAMETERS["quota"], arms)
    assert [row[0] for row in rows] == ["10%", "30%", "50%", "70%", "90%"]
    assert f"{arms[0].mean('share'):.3f} ± {arms[0].spread('share'):.3f}" == rows[0][1]


def test_the_warm_up_ends_at_the_weeks_quality(world) -> None:
    run = replay(world, Settings("index", 0.5 * world.page_rate))
    figures, days, curve = swept(run)
    assert days[0] == 0 and curve[0] <= curve[-1]
    fetched_last = np.isfinite(run.fetched) & (run.fetched >= run.trace.end - WEEK)
    assert fetched_last.any()
    assert figures["share"] == report(run)[0]["share"]


def test_a_portrait_adds_up(world) -> None:
    run = replay(world, Settings("echo-newpages", 0.6 * world.page_rate))
    seen = portrait(run)
    assert sum(seen.spent.values()) == pytest.approx(1, abs=0.01)
    assert seen.bound == report(run)[0]["upper_bound"]
    assert (np.diff(seen.delays) >= 0).all()
    assert seen.delays[50] == pytest.approx(report(run)[0]["delay_median"])
    assert (seen.found_rate >= -1e-12).all() and seen.found_rate.max() > 0
    assert len(seen.days) == len(seen.five_hours) == len(seen.one_week) == len(seen.found_rate)


def test_the_estimated_rate_is_the_true_one_where_everything_is_crawled_often() -> None:
    kind = Publishers(
        1, 400, sections=1, others=0, on_front=0.0, in_feed=0.0, other_links=0.0, day_swing=0.0, weekend=1.0
    )
    shape = Shape({"one": kind}, days=3.0, clicks_per_second=0.001)
    made = make_world(shape, 1)
    seen = portrait(replay(made, Settings("bfs", 0.05)))
    assert seen.found_rate[len(seen.days) // 2 :].mean() == pytest.approx(400 / DAY, rel=0.1)
    assert page_rate(made)[1].mean() == pytest.approx(made.page_rate)


def test_fading_finds_what_the_world_was_made_with() -> None:
    kind = Publishers(2, 600, sections=1, others=0, life=DAY, life_spread=0.0, host_spread=1.0, section_spread=0.0)
    made = make_world(Shape({"news": kind}, days=10.0, clicks_per_second=0.1, shows_per_click=5.0), 2)
    best, worst = loved_hosts(made)
    loved, other = fading(made, best), fading(made, worst)
    for one in loved, other:
        assert 1 / one.decay == pytest.approx(1.0, rel=0.1)
        assert one.profit == pytest.approx(one.clicks[-1], rel=0.05)  # after a week, seven lives, nearly all
    assert loved.shows[-1] == pytest.approx(5 * loved.clicks[-1], rel=0.2)


def test_facts_of_a_world(world) -> None:
    facts = describe(world)
    assert facts["pages"] == len(world.page_ids) and facts["links_per_page"] > 1
    assert all(len(shares) == 3 for shares in PAPER_SHARES.values())
