"""Silent failures, said aloud: what should have come and did not, and what to do. Pure: it is given all it judges.

A crawl can run for weeks and bring nothing from a source: the site forbids us, answers 304 to everything, has been
built anew so that no link is read, or has moved. Each rule here finds one such case among the sources as they are kept,
and says since when. Rules look at what was seen, never at what a stopped crawl could not see.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mayfly.core.model import DAY, HOUR, MINUTE, PerSecond, Seconds
from mayfly.fetch.reasons import Reason
from mayfly.store.records import Host, Minute, Page, Source

EXPECTED_LINKS = 5.0  # that should have come, before silence means something: chance gives that once in 150 times
IN_A_ROW = 3  # failures, or crawls without another body
FEW_PAGES = 5  # fewer tell nothing of a source
_KNOWN: Seconds = 6 * HOUR  # it takes so long to know how much a source shows
STOPPED: Seconds = 5 * MINUTE  # without a minute noted
_NAMED = 10  # shards in a sentence
_SENTENCES = {str(reason): reason.sentence for reason in Reason}
_AGAIN = {str(reason) for reason in Reason if reason.again}
_MUST_SHOW = ("front", "feed", "sitemap")  # what such a source shows none of, is not read
_ROBOTS = {Reason.ROBOTS, Reason.ROBOTS_UNREACHABLE}
_NETWORK = {Reason.DNS, Reason.CONNECT, Reason.CONNECT_TIMEOUT, Reason.TLS, Reason.TIMEOUT, Reason.RESET}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that needs attention, or (`attention` false) that one may want to know."""

    what: str  # a name for programs
    where: str  # a source, a host, or the crawl
    since: Seconds | None
    says: str
    advice: str
    reason: str = ""  # of `fetch.reasons`, where there is one
    attention: bool = True
    sources: Mapping[str, str] = field(default_factory=dict)  # it is about, each with its own reason, "" if it has none


def findings(
    sources: Sequence[Source],
    hosts: Sequence[Host],
    minutes: Sequence[Minute],
    now: Seconds,
    budget: PerSecond | None = None,
    holder: str = "",
    failed: Sequence[Page] = (),
) -> list[Finding]:
    """All that is wrong, what concerns most first. `minutes` are those of the last hour at least, `holder` is who
    crawls now, as `lock.holder` says, and `failed` are pages of late that could not be fetched.
    """
    active = [source for source in sources if source.state == "active"]
    down = list(hosts_down(active))
    gone = {finding.where for finding in down}
    found = [
        *crawl_stopped(minutes, active, now, holder),
        *network_down(minutes, now),
        *down,
        *hosts_without_sources(hosts),
        *(finding for source in active if source.host not in gone for finding in of_source(source, now)),
        *faltering(active),
        *pages_failing(failed, now),
        *budget_unused(minutes, active, now, budget),
    ]
    return sorted(found, key=lambda finding: not finding.attention)


def shards_unowned(shards: Sequence[int]) -> list[Finding]:
    """Parts of a cluster's sites that nobody crawls."""
    if not shards:
        return []
    named = ", ".join(map(str, shards[:_NAMED])) + (", …" if len(shards) > _NAMED else "")
    says = f"{len(shards)} shards are nobody's, so their sites are not crawled: {named}"
    return [Finding("shards-unowned", "the cluster", None, says, "see mayfly cluster status, and the logs of Ray")]


def disk_low(free_gigabytes: float, least_gigabytes: float, where: str) -> list[Finding]:
    """Little space left: the crawl pauses under the limit."""
    if free_gigabytes >= 2 * least_gigabytes:
        return []
    pauses = free_gigabytes < least_gigabytes
    says = f"{free_gigabytes:.1f} GB are free; " + (
        "the crawl pauses" if pauses else f"under {least_gigabytes:g} GB the crawl pauses"
    )
    return [Finding("disk-low", where, None, says, "make room, or shorten keep-history, keep-text and keep-warc")]


def crawl_stopped(
    minutes: Sequence[Minute], sources: Sequence[Source], now: Seconds, holder: str = ""
) -> Iterator[Finding]:
    """Nothing was noted for some minutes though there is something to crawl."""
    last = max((minute.at for minute in minutes), default=None)
    if not sources or (last is not None and now - last <= STOPPED + MINUTE):
        return
    seen = max((source.last_crawl for source in sources if source.last_crawl is not None), default=None)
    since = last if last is not None else seen
    if holder:
        says, advice = f"{holder} crawls, but has noted nothing of late", "see its log, or stop it and start it again"
        yield Finding("stuck", "the crawl", since, says, advice)
        return
    says = "the crawl is not running" if since is not None else "the crawl has never run"
    yield Finding("not-running", "the crawl", since, says, "start it: mayfly crawl")


def network_down(minutes: Sequence[Minute], now: Seconds) -> Iterator[Finding]:
    """Most requests of the last ten minutes failed."""
    late = [minute for minute in minutes if now - minute.at <= 10 * MINUTE]
    made = sum(minute.crawls + minute.pages + minute.others for minute in late)
    failed = sum(minute.failures for minute in late)
    if made >= 20 and failed > made / 2:
        says = f"{failed} of the last {made} requests failed"
        advice = "see whether this machine is online, and which reasons stand below"
        yield Finding("mostly-failing", "the crawl", min(minute.at for minute in late), says, advice)


def budget_unused(
    minutes: Sequence[Minute], sources: Sequence[Source], now: Seconds, budget: PerSecond | None
) -> Iterator[Finding]:
    """Less than half of the budget was spent in the last hour of running."""
    late = [minute for minute in minutes if now - minute.at <= HOUR][1:]  # the first may be a part of one
    if budget is None or len(late) < 10:
        return
    used = sum(minute.crawls + minute.pages + minute.others for minute in late) / (MINUTE * len(late) * budget)
    if used >= 0.5:
        return
    limited = sum(1 for source in sources if source.estimate and source.estimate.note == "site-limited")
    advice = (
        f"{several(limited, 'source')} at the limit of their site: more hosts, or a shorter host-delay, would use it"
        if limited
        else "nothing more is worth fetching: lower the budget, or find more hosts"
    )
    says = f"{used:.0%} of the budget was used in the last {len(late)} minutes"
    yield Finding("budget-unused", "the crawl", late[0].at, says, advice, attention=False)


def hosts_down(sources: Sequence[Source]) -> Iterator[Finding]:
    """Every source of a host fails, and for no reason of a single one."""
    by_host: dict[str, list[Source]] = defaultdict(list)
    for source in sources:
        by_host[source.host].append(source)
    for host, its in by_host.items():
        failing = [source for source in its if source.failures >= IN_A_ROW]
        reasons = {source.failure for source in failing}
        if len(failing) < len(its) or (len(its) < 2 and not reasons <= set(_NETWORK)) or reasons & set(_ROBOTS):
            continue
        reason = max(reasons, key=[source.failure for source in failing].count)
        says = f"all {len(its)} sources fail: {sentence(reason)}" if len(its) > 1 else f"it fails: {sentence(reason)}"
        since = max(last_good(source) for source in its)
        advice = _advice(reason, f"mayfly inspect http://{host}/")
        yield Finding("host-down", host, since, says, advice, reason, sources=_with_reasons(its))


def hosts_without_sources(hosts: Sequence[Host]) -> Iterator[Finding]:
    """Looking for sources of a host failed."""
    for host in hosts:
        if host.failure:
            says = f"no sources were found: {sentence(host.failure)}"
            advice = f"look at it: mayfly inspect http://{host.host}/; then mayfly find {host.host}"
            yield Finding("nothing-found", host.host, host.found_at or host.added_at, says, advice, host.failure)


def pages_failing(failed: Sequence[Page], now: Seconds) -> Iterator[Finding]:
    """Pages of the last day that were given up, by host and reason: single ones die every day, so that is no alarm."""
    grouped: dict[tuple[str, str], list[Page]] = defaultdict(list)
    for page in failed:
        if now - page.found_at <= DAY:
            grouped[page.host, page.reason].append(page)
    for (host, reason), its in sorted(grouped.items(), key=lambda item: -len(item[1])):
        says = f"{several(len(its), 'page')} of the last day could not be fetched: {sentence(reason)}"
        since = min(page.found_at for page in its)
        yield Finding("pages-failing", host, since, says, f"one is {its[0].url}", reason, attention=False)


def faltering(sources: Sequence[Source]) -> Iterator[Finding]:
    """Sources that could not be had the last time or two though they answered before, by host and reason: no alarm."""
    grouped: dict[tuple[str, str], list[Source]] = defaultdict(list)
    for source in sources:
        if 0 < source.failures < IN_A_ROW and source.crawls and source.failure not in _ROBOTS:
            grouped[source.host, source.failure].append(source)
    for (host, reason), its in sorted(grouped.items(), key=lambda item: -len(item[1])):
        says = f"{several(len(its), 'source')} could not be had the last time: {sentence(reason)}"
        since, advice = min(map(last_good, its)), f"it is tried again; one is {its[0].url}"
        yield Finding("faltering", host, since, says, advice, reason, attention=False, sources=_with_reasons(its))


def of_source(source: Source, now: Seconds) -> Iterator[Finding]:
    """What is wrong with one source: the gravest alone, and whether it was demoted."""
    wrong = _failing(source) or _nothing_read(source) or _silent(source)
    if wrong:
        yield wrong
    dull = source.dull_pages > source.good_pages and source.dull_pages >= FEW_PAGES
    if source.reason or dull:
        says = source.reason or "most of what it shows is old or known"
        says += f" ({source.dull_pages} of {source.dull_pages + source.good_pages} pages were old, doubles or no pages)"
        advice = f"if it is of no use: mayfly sources retire {source.url}"
        about = _with_reasons([source])
        yield Finding("demoted", source.url, source.last_crawl, says, advice, attention=False, sources=about)


def _failing(source: Source) -> Finding | None:
    robots = source.failure in _ROBOTS
    if source.failures < (1 if robots or not source.crawls else IN_A_ROW):
        return None
    passing = source.failures < IN_A_ROW and source.failure in _AGAIN  # the next try may well succeed
    what = "forbidden" if robots else "refused" if source.failure == Reason.REFUSED else "failing"
    says = f"{several(source.failures, 'failure')} in a row, the last: {sentence(source.failure)}"
    advice = _advice(source.failure, _look(source))
    return Finding(
        what, source.url, last_good(source), says, advice, source.failure, not passing, _with_reasons([source])
    )


def _nothing_read(source: Source) -> Finding | None:
    if source.failures or not source.crawls or source.shown:
        return None
    since, says = source.last_new or source.found_at, "it answers, but no link is read from it"
    attention = bool(source.new_links) or source.kind in _MUST_SHOW
    imprint = f"an imprint, or a page for people only? mayfly sources retire {source.url}"
    advice, about = _look(source) if attention else imprint, _with_reasons([source])
    return Finding("nothing-read", source.url, since, says, advice, attention=attention, sources=about)


def _silent(source: Source) -> Finding | None:
    """Links that should have come and did not, by the rate it had before it fell silent."""
    if source.last_crawl is None or source.last_new is None or source.failures:
        return None
    silence = source.last_crawl - source.last_new
    known = source.last_crawl - source.found_at
    rate = usual_rate(source)
    if rate * silence < EXPECTED_LINKS or silence < min(DAY, known / 4):  # every night is silent
        return None
    what, says = "silent", f"{rate * silence:.0f} new links were expected since, none came"
    if source.unchanged >= IN_A_ROW:
        asked = source.memory.unmodified >= IN_A_ROW
        says += f"; the last {source.unchanged} crawls " + ("were answered with 304" if asked else "had the same body")
        what = "all-304" if asked else "unchanged"
    return Finding(what, source.url, source.last_new, says, _look(source), sources=_with_reasons([source]))


def usual_rate(source: Source) -> PerSecond:
    """Links a second: what is believed, or what it was up to its last new link if that is more.

    A belief follows silence down, and so never expects much of a source that has been silent for long.
    """
    believed = source.estimate.link_rate if source.estimate else 0.0
    alive = (source.last_new or source.found_at) - source.found_at
    if alive < _KNOWN or source.new_links < FEW_PAGES:  # one burst tells of no rate
        return believed
    before = DAY if source.kind in ("feed", "sitemap") else 0.0  # what they showed at first came in the day before
    return max(believed, source.new_links / (alive + before))


def last_good(source: Source) -> Seconds:
    """When it last answered well, or was found."""
    return source.last_crawl if source.last_crawl is not None else source.found_at


def sentence(reason: str) -> str:
    """A reason with its sentence, or as it stands where it is none of ours.

    >>> sentence("dns")
    'dns (the host name has no address)'
    """
    return f"{reason} ({_SENTENCES[reason]})" if reason in _SENTENCES else reason


def several(count: float, noun: str) -> str:
    """So many of them.

    >>> several(1, "source"), several(1200, "source")
    ('1 source', '1,200 sources')
    """
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def _with_reasons(sources: Iterable[Source]) -> dict[str, str]:
    return {source.url: source.failure for source in sources}


def _look(source: Source) -> str:
    return f"look at it: mayfly inspect {source.url}"


def _advice(reason: str, otherwise: str) -> str:
    match reason:
        case Reason.ROBOTS:
            return "the site does not want this crawled: block it, or ask them"
        case Reason.REFUSED:
            return "the site refuses us: ask them, by the contact they see, or block it"
        case Reason.NOT_FOUND:
            return "it is gone: retire it, or find its new address with mayfly find"
        case Reason.BUSY:
            return "the site asks for fewer requests: set a longer host-delay"
        case Reason.FORBIDDEN_ADDRESS:
            return "a private address: allow-private-addresses, if it is yours"
        case _:
            return otherwise if otherwise.startswith("look") else f"look at it: {otherwise}"
