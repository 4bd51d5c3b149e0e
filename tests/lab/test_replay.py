"""The rules of replay, held by two judges that know nothing of it but the trace and the actions."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mayfly.core.estimates import ESTIMATORS
from mayfly.core.model import DAY
from mayfly.core.policies import PAPER_POLICIES, POLICIES
from mayfly.lab.replay import Settings, replay, report
from mayfly.lab.trace import Trace, read_trace, write_trace

SHARED = Path(__file__).resolve().parents[3] / "shared" / "traces"
SHARED_RUNS = [("de-news-sept", 0.22, 21), ("de-news-nov", 0.87, 7), ("forum-2024", 5.0, 60)]  # days


def written(run, path: Path) -> Path:
    run.write_actions(path)
    return path


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("policy", POLICIES)
def test_the_judge_agrees(policy, estimator, world, folder, judge, tmp_path) -> None:
    budget = 0.5 * world.page_rate
    run = replay(world, Settings(policy, budget, estimator))
    figures, _ = report(run)
    found = judge(folder, written(run, tmp_path / "actions.csv"), budget)
    assert found["broken"] == []
    for name in ("share", "quality", "upper_bound"):
        assert figures[name] == pytest.approx(found[name], abs=1e-9)
    for name in ("fetches", "page_fetches", "pages_found"):
        assert figures[name] == found[name]


@pytest.mark.parametrize("policy", POLICIES)
def test_the_shared_judge_agrees(policy, world, folder, shared_judge, tmp_path) -> None:
    budget = 0.5 * world.page_rate
    run = replay(world, Settings(policy, budget))
    result = shared_judge(folder, written(run, tmp_path / "actions.csv"), budget)
    assert result["violations"] == []
    assert report(run)[0]["share"] == pytest.approx(result["share"], abs=1e-4)


@pytest.mark.parametrize("feedback", ["fetched", "all", "none"])
@pytest.mark.parametrize("policy", ["index", "echo-newpages"])
def test_no_feedback_lets_a_policy_break_a_rule(policy, feedback, world, folder, judge, tmp_path) -> None:
    budget = 0.5 * world.page_rate
    run = replay(world, Settings(policy, budget, feedback=feedback))
    found = judge(folder, written(run, tmp_path / "actions.csv"), budget)
    assert found["broken"] == [] and found["share"] == pytest.approx(report(run)[0]["share"])


@pytest.mark.skipif(not SHARED.exists(), reason="the shared traces are not beside this checkout")
@pytest.mark.parametrize(("name", "multiple", "days"), SHARED_RUNS)
def test_the_judges_agree_on_shared_traces(name, multiple, days, shared_judge, tmp_path) -> None:
    folder = SHARED / name
    trace = read_trace(folder)
    if days * DAY < trace.end - trace.start:
        trace, folder = trace.until(trace.start + days * DAY), tmp_path / name
        write_trace(trace, folder)
    budget = multiple * trace.page_rate
    for policy in ("index", "echo-schedule"):
        run = replay(trace, Settings(policy, budget))
        result = shared_judge(folder, written(run, tmp_path / "actions.csv"), budget)
        assert result["violations"] == []
        assert report(run)[0]["share"] == pytest.approx(result["share"], abs=1e-4)


def test_a_site_rests_between_fetches(world, folder, judge, tmp_path) -> None:
    budget, delay = 2 * world.page_rate, 3600.0
    run = replay(world, Settings("index", budget, host_delay=delay))
    host_of = {False: world.hosts, True: [url.split("/")[2] for url in world.page_urls]}
    last: dict[str, float] = {}
    for at, is_page, number in zip(run.at, run.is_page, run.id, strict=True):
        host = host_of[bool(is_page)][number]
        assert at - last.get(host, -np.inf) >= delay - 1e-6
        last[host] = at
    assert judge(folder, written(run, tmp_path / "actions.csv"), budget)["broken"] == []
    hours = (world.end - world.start) / delay
    assert 0.8 * 4 * hours < len(run.at) <= 4 * hours + 4  # four hosts, each asked nearly as often as it may be


def test_the_same_seed_gives_the_same_bytes_in_another_process(folder, tmp_path) -> None:
    for name, hash_seed in (("one", "1"), ("two", "2")):
        subprocess.run(
            [sys.executable, "-c", "from mayfly.cli import main; main()", "lab", "run", folder, "--policy", "index",
             "--budget", "0.5x", "--seed", "7", "--actions", tmp_path / name],
            env={"PYTHONHASHSEED": hash_seed}, check=True, capture_output=True,
        )  # fmt: skip
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_another_seed_gives_other_actions(world) -> None:
    runs = [replay(world, Settings("bfs", 0.5 * world.page_rate, seed=seed)) for seed in (0, 1)]
    assert not np.array_equal(runs[0].id, runs[1].id)


def test_clicks_are_told_only_where_the_rules_let(world: Trace) -> None:
    """What a policy never sees cannot change what it does: clicks of pages it did not fetch, and all before a fetch."""
    settings = Settings("index", 0.3 * world.page_rate)
    run = replay(world, settings)
    clicks = world.clicks
    hidden = clicks.at < run.fetched[clicks.page]
    assert hidden.any() and not hidden.all()
    more = clicks._replace(number=np.where(hidden, clicks.number * 50, clicks.number))
    again = replay(replace(world, clicks=more), settings)
    np.testing.assert_array_equal(run.at, again.at)
    np.testing.assert_array_equal(run.id, again.id)


def test_the_future_is_not_seen(world: Trace) -> None:
    """Cutting the trace changes nothing of what was done before the cut."""
    end = world.start + 0.6 * (world.end - world.start)
    settings = Settings("index", 0.4 * world.page_rate)
    whole, cut = replay(world, settings), replay(world.until(end), settings)
    before = whole.at < end
    np.testing.assert_array_equal(whole.at[before], cut.at)
    np.testing.assert_array_equal(
        [world.page_ids[n] if p else n for n, p in zip(whole.id[before], whole.is_page[before], strict=True)],
        [cut.trace.page_ids[n] if p else n for n, p in zip(cut.id, cut.is_page, strict=True)],
    )


def test_the_report_has_the_names_scripts_rely_on(world: Trace) -> None:
    figures, _ = report(replay(world, Settings("index", 0.4 * world.page_rate)))
    promised = """trace policy estimator budget seed feedback log_push host_delay window quality quality_std upper_bound
    share delay_median delay_p90 fetches source_crawls page_fetches pages_found price sources_never wall_seconds"""
    assert set(promised.split()) <= set(figures)
    assert figures["fetches"] == figures["source_crawls"] + figures["page_fetches"]
    assert 0 < figures["share"] <= 1 and figures["price"] > 0
    assert figures["window"] == [world.start + 2 * (world.end - world.start) / 3, world.end]
    assert figures["share"] + sum(part["share"] for part in figures["missed"].values()) == pytest.approx(1)


def test_figures_that_do_not_apply_are_null(world: Trace) -> None:
    figures, _ = report(replay(world, Settings("bfs", 0.4 * world.page_rate)))
    assert figures["estimator"] is None and figures["price"] is None


def test_unlimited_fetches_keep_nearly_everything(world: Trace) -> None:
    figures, _ = report(replay(world, Settings("bfs", 60 * world.page_rate)))
    assert figures["share"] > 0.95


@pytest.mark.parametrize("policy", PAPER_POLICIES)
def test_value_and_budget_help(policy: str, world: Trace) -> None:
    """Five times the fetches keep more, whatever the policy; and index beats every one of the paper's when few."""
    few, many = (report(replay(world, Settings(policy, x * world.page_rate)))[0]["share"] for x in (0.3, 1.5))
    assert many > few
    assert report(replay(world, Settings("index", 0.3 * world.page_rate)))[0]["share"] > few
