"""What if the budget were another: the same answers as everywhere else."""

import asyncio
import re
from pathlib import Path

import numpy as np
import pytest

from mayfly.core import buying
from mayfly.core.intervals import exact_plan
from mayfly.core.model import beliefs
from mayfly.serve.ops.show import number, percent, span
from mayfly.store.sqlite import SqliteStore


def test_what_if_says_what_the_api_says(little) -> None:
    page, plan = little("/ops/what-if?budget=0.002", "/api/plan?budget=0.002")
    told = plan.json()["exact"]
    for said in (
        str(told["sources_in"]),
        number(told["quality"]),
        number(told["price"]),
        span(told["median_interval"]),
    ):
        assert f'<td class="number">{said}</td>' in page.text


def test_what_if_says_what_plan_says(much) -> None:
    page = much.one("/ops/what-if?budget=1.5")
    rate, profit, decay, ids = asyncio.run(_columns(much.home))
    believed = beliefs(rate, profit, decay)
    for budget in (1.5, 2.0):
        facts = buying.facts(exact_plan(believed, budget), buying.bound_of(believed))
        for said in (
            f"{facts['sources_in']:,}",
            number(facts["quality"]),
            number(facts["price"]),
            percent(facts["share"]),
        ):
            assert f'<td class="number">{said}</td>' in page.text
    was, then = exact_plan(believed, 2.0).taken > 0, exact_plan(believed, 1.5).taken > 0
    leaving = ids[was & ~then]
    assert f"{len(leaving):,} drop out" in page.text and "0 come in" in page.text
    named = {int(number) for number in re.findall(r'<li><a href="/ops/sources/(\d+)"', page.text)}
    assert named and named <= set(leaving.tolist())


async def _columns(home: Path) -> list[np.ndarray]:
    async with SqliteStore(home / "mayfly.db", read_only=True) as store:
        active = [one for one in await store.sources() if one.state == "active" and one.estimate]
    columns = np.array([(*one.estimate[1:4], one.id) for one in active], float).T.copy()
    return [*columns[:3], columns[3].astype(int)]


@pytest.mark.parametrize("budget", ["0", "-1", "nan", "inf", "many", "1e99", ""])
def test_a_budget_that_is_none_is_said_to_be(much, budget) -> None:
    answer = much.one(f"/ops/what-if?budget={budget}")
    assert answer.status_code == 200 and ('class="error"' in answer.text) == (budget != "")
