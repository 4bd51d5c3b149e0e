"""Rules that find silent failures: each finds its own case, and leaves alone what is well."""

from dataclasses import replace

import pytest

from mayfly.core.model import DAY, HOUR, MINUTE
from mayfly.crawl.health import Finding, disk_low, findings, shards_unowned, usual_rate
from mayfly.fetch.reasons import Reason
from mayfly.store.records import Estimate, Host, Memory, Minute, Page, Source

NOW = 1_790_000_000.0
WELL = Source(
    id=0, url="https://a.example/", host="a.example", site="a.example", kind="front", state="active", reason="",
    pinned=None, found_at=NOW - 10 * DAY, found_on="", crawls=1000, last_crawl=NOW - MINUTE, last_new=NOW - HOUR,
    shown=40, failures=0, failure="", unchanged=0, new_links=200, good_pages=180, dull_pages=2,
    memory=Memory(), estimate=Estimate(0, 20 / DAY, 3.0, 1 / HOUR, 600.0, 1.0, NOW), revision=1,
)  # fmt: skip
RUNNING = [Minute(NOW - 60.0 * at, 30, 60, 2, 1, 20, 0.5) for at in range(60, 0, -1)]


def found(*sources: Source, hosts=(), minutes=RUNNING, budget=None) -> list[Finding]:
    return findings(sources or [WELL], hosts, minutes, NOW, budget)


def only(**changes) -> Finding:
    (finding,) = found(replace(WELL, **changes))
    return finding


def test_shards_that_nobody_crawls_are_named() -> None:
    (said,) = shards_unowned([3, 7])
    assert said.what == "shards-unowned" and said.attention and said.says.endswith("3, 7")
    assert shards_unowned(range(99))[0].says.endswith("8, 9, …") and shards_unowned([]) == []


def test_what_is_well_is_left_alone() -> None:
    assert found() == []
    assert found(hosts=[Host("a.example", 0.0, NOW, "")], budget=1.5) == []
    assert found(replace(WELL, crawls=0, last_crawl=None, last_new=None, shown=0, new_links=0, estimate=None)) == []


@pytest.mark.parametrize("state", ["blocked", "retired"])
def test_what_is_not_watched_is_not_judged(state) -> None:
    assert found(replace(WELL, state=state, failures=50, failure="dns"), WELL) == []


def test_silence_against_expectation() -> None:
    silent = only(last_new=NOW - 2 * DAY)
    assert (silent.what, silent.since, silent.attention) == ("silent", NOW - 2 * DAY, True)
    assert silent.says == "50 new links were expected since, none came"
    assert found(replace(WELL, last_new=NOW - 0.5 * DAY)) == []  # ten expected, but every night is silent
    assert found(replace(WELL, last_new=NOW - 2 * DAY, estimate=None, new_links=4)) == []  # nothing is known of it


def test_a_young_source_is_judged_sooner() -> None:
    busy = WELL.estimate._replace(link_rate=5 / MINUTE)
    young = replace(WELL, found_at=NOW - 10 * MINUTE, last_new=NOW - 5 * MINUTE, estimate=busy)
    assert [finding.what for finding in found(young)] == ["silent"]


def test_one_burst_tells_of_no_rate() -> None:
    burst = replace(WELL, found_at=NOW - DAY, last_new=NOW - DAY + MINUTE, new_links=30, estimate=None)
    assert found(burst) == []


def test_what_a_feed_shows_at_first_came_in_the_day_before() -> None:
    feed = replace(WELL, kind="feed", found_at=NOW - 2 * DAY, last_new=NOW - DAY, new_links=20, estimate=None)
    assert usual_rate(feed) == pytest.approx(10 / DAY)


def test_a_belief_that_followed_the_silence_down_does_not_hide_it() -> None:
    tired = replace(WELL, last_new=NOW - 5 * DAY, estimate=WELL.estimate._replace(link_rate=0.01 / DAY))
    assert usual_rate(tired) == pytest.approx(200 / (5 * DAY))
    assert [finding.what for finding in found(tired)] == ["silent"]


def test_silence_nobody_looked_at_is_none() -> None:
    stopped = replace(WELL, last_crawl=NOW - 5 * DAY, last_new=NOW - 5 * DAY - HOUR)
    assert [finding.what for finding in found(stopped, minutes=[])] == ["not-running"]


def test_the_same_body_for_too_long() -> None:
    assert only(last_new=NOW - 2 * DAY, unchanged=90).what == "unchanged"
    said = only(last_new=NOW - 2 * DAY, unchanged=90, memory=Memory(unmodified=90))
    assert said.what == "all-304" and "the last 90 crawls were answered with 304" in said.says
    assert found(replace(WELL, unchanged=90)) == []


def test_a_parser_that_finds_nothing() -> None:
    assert only(shown=0).what == "nothing-read"
    assert "mayfly inspect https://a.example/" in only(shown=0).advice
    for kind in ("front", "feed", "sitemap"):
        assert only(shown=0, kind=kind, new_links=0, last_new=None, estimate=None).attention
    imprint = only(shown=0, kind="category", new_links=0, last_new=None, estimate=None)
    assert imprint.what == "nothing-read" and not imprint.attention and "retire" in imprint.advice
    assert only(shown=0, kind="category").attention  # it did show something


@pytest.mark.parametrize(
    ("reason", "failures", "what"),
    [(Reason.REFUSED, 3, "refused"), (Reason.ROBOTS, 1, "forbidden"), (Reason.SERVER_ERROR, 3, "failing")],
)
def test_failures_in_a_row_have_their_reason(reason, failures: int, what: str) -> None:
    said = only(failures=failures, failure=str(reason))
    assert (said.what, said.reason) == (what, reason) and reason.sentence in said.says
    assert said.since == WELL.last_crawl


def test_a_source_that_never_answered_is_told_at_once() -> None:
    def at_first(reason: str) -> Finding:
        return only(crawls=0, last_crawl=None, last_new=None, shown=0, failures=1, failure=reason)

    assert at_first("not-found").attention
    assert not at_first("timeout").attention  # the next try may well succeed
    assert at_first("timeout").since == WELL.found_at


def test_a_failure_or_two_is_told_and_needs_no_attention() -> None:
    ill = [replace(WELL, id=at, url=f"https://a.example/{at}", failures=2, failure="timeout") for at in range(2)]
    (said,) = found(*ill, WELL)
    assert (said.what, said.where, said.reason, said.attention) == ("faltering", "a.example", "timeout", False)
    assert said.sources == {"https://a.example/0": "timeout", "https://a.example/1": "timeout"}
    assert [one.reason for one in found(ill[0], replace(ill[1], failure="reset"))] == ["timeout", "reset"]


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_is_named_and_has_advice(reason: Reason) -> None:
    said = only(failures=5, failure=str(reason))
    assert said.reason == reason and reason.sentence in said.says and said.advice


def test_a_host_that_is_down_is_one_finding() -> None:
    ill = [replace(WELL, id=at, url=f"https://a.example/{at}", failures=5, failure="connect") for at in range(4)]
    (said,) = found(*ill)
    assert (said.what, said.where, said.reason) == ("host-down", "a.example", "connect")
    assert "all 4 sources fail" in said.says
    assert said.sources == {source.url: "connect" for source in ill}
    (said,) = found(*ill, replace(ill[0], id=4, url="https://a.example/4", failure="tls"))
    assert said.reason == "connect" and said.sources["https://a.example/4"] == "tls"  # each with its own
    assert [finding.what for finding in found(*ill, WELL)] == ["failing"] * 4
    assert only(failures=5, failure="dns").what == "host-down"


def test_forbidden_sources_are_not_a_host_that_is_down() -> None:
    ill = [replace(WELL, id=at, url=f"https://a.example/{at}", failures=5, failure="robots") for at in range(2)]
    assert [finding.what for finding in found(*ill)] == ["forbidden", "forbidden"]


def test_demoted_sources_are_told_but_need_no_attention() -> None:
    for said in (only(reason="shows what others show"), only(good_pages=3, dull_pages=9)):
        assert said.what == "demoted" and not said.attention and "retire" in said.advice
    assert found(replace(WELL, good_pages=0, dull_pages=2)) == []


def test_a_host_nothing_was_found_on() -> None:
    (said,) = found(hosts=[Host("b.example", NOW - DAY, NOW - HOUR, "robots-unreachable")])
    assert (said.what, said.where, said.since, said.reason) == (
        "nothing-found", "b.example", NOW - HOUR, "robots-unreachable",
    )  # fmt: skip


def test_a_crawl_that_does_not_run() -> None:
    assert [finding.what for finding in found(minutes=[])] == ["not-running"]
    assert [finding.what for finding in found(minutes=[RUNNING[0]])] == ["not-running"]
    never = replace(WELL, last_crawl=None, crawls=0)
    (said,) = found(never, minutes=[])
    assert said.says == "the crawl has never run"
    assert findings([], [], [], NOW) == []
    (said,) = findings([WELL], [], [], NOW, holder="process 7 on here")
    assert said.what == "stuck" and said.says.startswith("process 7 on here crawls")


def test_most_requests_failing() -> None:
    ill = [minute._replace(failures=80) for minute in RUNNING]
    assert [finding.what for finding in found(minutes=ill)] == ["mostly-failing"]


def test_a_budget_that_is_not_used_is_told() -> None:
    (said,) = found(budget=10.0)
    assert said.what == "budget-unused" and not said.attention and said.says.startswith("15%")
    limited = replace(WELL, estimate=WELL.estimate._replace(note="site-limited"))
    assert "1 source at the limit of their site" in found(limited, budget=10.0)[0].advice
    assert found(budget=10.0, minutes=RUNNING[-5:]) == []


def test_pages_that_failed_are_told_by_host_and_reason() -> None:
    blank = dict.fromkeys(Page.__slots__, "")
    pages = [
        Page(
            **blank
            | {"id": at, "url": f"https://b.example/{at}", "host": "b.example", "reason": reason, "found_at": when}
        )
        for at, (reason, when) in enumerate([("timeout", NOW - 9.0), ("refused", NOW), ("timeout", NOW), ("dns", 0.0)])
    ]
    said = findings([WELL], [], RUNNING, NOW, failed=pages)
    assert [(one.what, one.where, one.reason, one.since) for one in said] == [
        ("pages-failing", "b.example", "timeout", NOW - 9.0), ("pages-failing", "b.example", "refused", NOW),
    ]  # fmt: skip
    assert said[0].says.startswith("2 pages of the last day could not be fetched: timeout (")
    assert not any(one.attention for one in said)


@pytest.mark.parametrize("failures", [1, 2, 3, 50])
@pytest.mark.parametrize("crawls", [0, 9])
@pytest.mark.parametrize("reason", list(Reason))
def test_every_source_that_fails_is_named_once_with_its_reason(reason, crawls: int, failures: int) -> None:
    ill = replace(WELL, crawls=crawls, failures=failures, failure=str(reason))
    named = [finding.sources[ill.url] for finding in found(ill) if ill.url in finding.sources]
    assert named == [reason]


def test_what_needs_attention_goes_first() -> None:
    said = found(replace(WELL, reason="dull"), replace(WELL, id=1, url="https://a.example/x", shown=0))
    assert [finding.attention for finding in said] == [True, False]


def test_little_space() -> None:
    assert disk_low(50.0, 1.0, "home") == []
    assert "the crawl pauses" in disk_low(0.5, 1.0, "home")[0].says
    assert "under 1 GB the crawl pauses" in disk_low(1.5, 1.0, "home")[0].says
