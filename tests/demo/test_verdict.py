"""What the demo judges by: its world, its script, and the lab."""

import numpy as np
import pytest

from mayfly import demo
from mayfly.core.quality import profits
from mayfly.demo import scene, story, verdict
from mayfly.demo.verdict import POLICIES
from mayfly.lab.replay import Settings, replay
from mayfly.testing.misbehaviour import MISBEHAVIOURS
from mayfly.testing.witness import Visit

SECONDS = 20.0


@pytest.fixture(scope="module")
def played():
    return scene.world_of(1, SECONDS)


def visits_of(run) -> list[Visit]:
    """The requests of a replay, as a web would have noted them."""
    trace = run.trace
    urls = [
        trace.page_urls[row] if page else trace.source_urls[row] for page, row in zip(run.is_page, run.id, strict=True)
    ]
    parts = [url.removeprefix("http://").partition("/") for url in urls]
    return [Visit(at, at, host, f"/{path}", 200) for at, (host, _, path) in zip(run.at, parts, strict=True)]


def test_a_crawl_is_judged_as_the_lab_judges_its_own(played) -> None:
    """The same requests give the same figures, whether they were made or replayed."""
    row = next(row for row in verdict.replayed(played, scene.BUDGET, seed=1) if row.name == "index")
    settings = Settings(
        "index", scene.BUDGET, log_push=scene.LOG_PUSH, replan=scene.REPLAN, bin=scene.BIN,
        host_delay=scene.HOST_DELAY, seed=1,
    )  # fmt: skip
    crawl = verdict.live(played, visits_of(replay(played, settings)))
    assert (crawl.share, crawl.delay, crawl.pages, crawl.crawls) == (row.share, row.delay, row.pages, row.crawls)
    assert np.array_equal(crawl.fetched, row.fetched)
    assert 0 < crawl.share < 1


def test_clicks_over_time_end_with_all_that_were_kept(played) -> None:
    row = verdict.replayed(played, scene.BUDGET, seed=1)[0]
    for fetched in (row.fetched, played.published):
        times, kept = verdict.over_time(played, fetched)
        assert times[0] == pytest.approx(SECONDS / 3) and times[-1] == SECONDS and kept[0] == 0
        assert (np.diff(kept) >= 0).all()
        assert kept[-1] == profits(fetched, played.clicks)[played.published >= verdict.window(played)[0]].sum()
    counted = (played.published >= verdict.window(played)[0])[played.clicks.page]
    assert kept[-1] == played.clicks.number[counted].sum()  # of pages fetched as they appear nothing is lost


def test_index_keeps_what_the_demo_promises() -> None:
    """The figures of `mayfly demo --seeds 5 --quiet`: 1.5 times bfs, 1.3 times polling, on the mean of five worlds."""
    shares = {policy: [] for policy in POLICIES}
    for seed in range(1, 6):
        for row in verdict.replayed(scene.world_of(seed, demo.SECONDS), scene.BUDGET, seed):
            shares[row.name].append(row.share)
    mean = {policy: np.mean(some) for policy, some in shares.items()}
    assert mean["index"] >= 1.5 * mean["bfs"]
    assert mean["index"] >= 1.3 * mean["fixed-interval"]
    assert mean["index"] > mean["echo-newpages"] > mean["bfs"]
    told = story.gains({policy: np.array(some) for policy, some in shares.items()})
    assert told.startswith("index keeps ") and " ± " in told


def test_the_budget_is_about_a_quarter_of_what_everything_takes() -> None:
    needed = [scene.everything(scene.world_of(seed, demo.SECONDS)) for seed in (1, 2, 3)]
    assert 0.2 < scene.BUDGET / np.mean(needed) < 0.3


def test_forty_hosts_of_which_some_misbehave() -> None:
    newspapers = list(dict.fromkeys(scene.world_of(1, SECONDS).hosts))
    assert len(newspapers) + len(scene.WRONG_HOSTS) + len(scene.WRONG_SOURCES) == 40
    assert story.opening(newspapers).startswith("A web of 40 hosts")
    assert {*scene.WRONG_HOSTS, *scene.WRONG_SOURCES} <= MISBEHAVIOURS.keys()
    assert all(MISBEHAVIOURS[name].own_host == f"{name}.test" for name in scene.WRONG_HOSTS)
