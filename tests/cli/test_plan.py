"""`mayfly plan` of a home: what a budget buys by what is believed of its sources."""

import asyncio
import json

import numpy as np
import pytest

from mayfly.cli import home as homes
from mayfly.cli import plan
from mayfly.core.intervals import exact_plan
from mayfly.core.model import DAY, HOUR, beliefs
from mayfly.store.records import Estimate
from mayfly.store.sqlite import SqliteStore


@pytest.fixture
def believing(lived):
    """A home that believes something of two of its three sources."""

    async def believe() -> None:
        async with SqliteStore(lived / "mayfly.db") as store:
            await store.save_estimates(
                [
                    Estimate(0, 12 / DAY, 3.0, 1 / HOUR, None, 0.8, None),
                    Estimate(1, 2 / DAY, 0.5, 1 / HOUR, None, 0.1, None),
                ]
            )

    asyncio.run(believe())
    return lived


def test_a_home_is_planned_by_what_it_believes(command, believing) -> None:
    done = command("plan", "--budget", 0.001, "--json")
    assert done.status == 0, done.err
    facts = json.loads(done.out)
    assert facts["home"] == str(believing) and "trace" not in facts
    assert facts["upper_bound"] == pytest.approx((12 * 3.0 + 2 * 0.5) / DAY)
    columns = np.array([12 / DAY, 2 / DAY]), np.array([3.0, 0.5]), np.full(2, 1 / HOUR)
    best = exact_plan(beliefs(*columns), 0.001)
    assert facts["exact"]["quality"] == pytest.approx(best.quality)
    assert facts["exact"]["quality"] >= facts["paper"]["quality"]
    assert facts["exact"]["sources_in"] + facts["exact"]["sources_out"] == 2
    said = command("plan", "--budget", 0.001).out
    assert f"{believing}: a budget of 0.001/s" in said and "refusing no source" in said


def test_a_home_tells_what_one_more_fetch_would_bring(command, believing) -> None:
    facts = json.loads(command("plan", "--budget", 0.001, "--json").out)
    assert facts["marginal_value"] == facts["exact"]["price"]
    assert sum(host["sources"] for host in facts["hosts"]) == 2
    assert sum(host["fetches"] for host in facts["hosts"]) == pytest.approx(0.001)
    said = command("plan", "--budget", 0.001).out
    assert f"marginal value: {facts['marginal_value']:.4g} clicks for one more fetch" in said
    assert facts["hosts"][0]["host"] in said and "more: --json" not in said


def test_of_many_hosts_the_first_are_shown(capsys) -> None:
    row = {"sources": 1, "sources_in": 1, "fetches": 0.1, "clicks": 0.2, "marginal_value": 0.3}
    plan._print_hosts([row | {"host": f"h{number}.example"} for number in range(23)])
    said = capsys.readouterr().out
    assert "h19.example" in said and "h20.example" not in said and "… and 3 more: --json names all" in said


def test_a_share_is_one_of_the_pages_that_are_believed_to_come(command, believing) -> None:
    facts = json.loads(command("plan", "--budget", "0.5x", "--json").out)
    assert facts["budget"] == pytest.approx(7 / DAY)


def test_without_a_budget_it_is_that_of_the_last_crawl_or_of_the_settings(command, believing) -> None:
    (believing / "mayfly.toml").write_text("budget = 7\n")
    assert json.loads(command("plan", "--json").out)["budget"] == 7.0
    (believing / homes.LAST_RUN).write_text('{"budget": 3.0}')
    assert json.loads(command("plan", "--json").out)["budget"] == 3.0


def test_a_home_that_believes_nothing_yet_says_so(command, home) -> None:
    done = command("plan")
    assert done.status == 2 and f"the home {home} is not there" in done.err
    homes.prepare(home)
    done = command("plan")
    assert done.status == 2 and f"nothing is kept in {home} yet" in done.err

    async def make() -> None:
        async with SqliteStore(home / "mayfly.db"):
            pass

    asyncio.run(make())
    done = command("plan")
    assert done.status == 2
    assert (
        f"nothing is believed of the sources of {home} yet; that comes with the first plans of mayfly crawl" in done.err
    )


def test_what_counts_is_a_setting_of_the_home(command, believing) -> None:
    done = command("plan", "--value", "shows")
    assert done.status == 2 and "value-clicks and value-shows say what counts" in done.err
