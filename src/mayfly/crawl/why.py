"""Why a source is crawled when it is, what became of a page, and why an address is not fetched: all from the store."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from mayfly.core.curves import g_inverse
from mayfly.core.model import DAY, PageId, Seconds
from mayfly.crawl.candidates import Patterns, is_dull
from mayfly.crawl.health import sentence, several
from mayfly.crawl.settings import Settings
from mayfly.crawl.spans import about, ago, date, half_life, written
from mayfly.crawl.telling import known_worth, nearest, outcome_of, page_told, source_told
from mayfly.crawl.valuing import foreseen
from mayfly.fetch.robots import Rules, read_rules
from mayfly.store.hints import Subscription
from mayfly.store.listings import Listing
from mayfly.store.records import Estimate, Page, Source
from mayfly.store.store import Store
from mayfly.urls import host_of, site_of

_YIELDS = 8  # crawls whose yield is told


@dataclass
class Told:
    """What is said of an address: sentences for people, facts for programs."""

    facts: dict[str, Any]
    says: list[str] = field(default_factory=list)

    def add(self, sentence: str, **facts: Any) -> None:
        """Say it, and note it."""
        self.says.append(sentence)
        self.facts |= facts


async def explain(store: Store, url: str, settings: Settings, agent: str, now: Seconds) -> Told:
    """All that can be said of a canonical URL; `agent` is the name robots.txt knows us by."""
    source, page = await store.source_at(url), await store.page_at(url)
    told = Told({"url": url, "what": "source" if source else "page" if page else "unknown"})
    if source is not None:
        await _of_source(told, store, source, settings, agent, now)
    if page is not None:
        await _of_page(told, store, page, now)
    if source is None and page is None:
        await _of_unknown(told, store, url, settings, agent, now)
    return told


# A source


async def _of_source(told: Told, store: Store, source: Source, settings: Settings, agent: str, now: Seconds) -> None:
    found = f"found {ago(source.found_at, now)}" + (f" on {source.found_on}" if source.found_on else " by hand")
    told.add(f"{source.url} is a source ({source.kind} of {source.host}), {found}.", source=source_told(source))
    if source.state != "active":
        told.add(f"It is {source.state}: {source.reason or 'no reason was given'}. mayfly sources restore undoes that.")
    elif source.reason:
        told.add(f"It is demoted: {source.reason}.")
    price = await _price(store, now)
    told.facts["price"] = price
    if source.estimate is None:
        told.add("Nothing is believed of it yet: that comes with the first plan after it was crawled.")
    else:
        _of_estimate(told, source, source.estimate, price, now)
    if source.pinned is not None:
        told.add(f"It is pinned: crawled at least every {written(source.pinned)}, whatever it is worth.")
    await _of_site(told, store, source, settings, agent)
    if source.hub:
        await _of_hub(told, store, source, settings, now)
    await _of_past(told, store, source, now)
    if source.estimate is not None and source.state == "active":
        _what_would_change(told, source, source.estimate, price)


def _of_estimate(told: Told, source: Source, estimate: Estimate, price: float | None, now: Seconds) -> None:
    told.add(
        f"It shows about {_count(estimate.link_rate * DAY)} new links a day (λ); a page there brings about "
        f"{_count(estimate.page_profit)} clicks (P), half of them within {half_life(estimate.profit_decay)} "
        f"(μ = {_count(estimate.profit_decay * DAY)} a day)."
    )
    if source.state != "active":
        return
    if estimate.interval is None:
        told.add("It is not crawled for what it is worth: at the present price that would not pay.")
    else:
        due = (
            ""
            if estimate.next_due is None
            else f"; next {'now' if estimate.next_due <= now else ago(estimate.next_due, now)}"
        )
        told.add(f"So it is crawled every {about(estimate.interval)}{due}.")
    worth = known_worth(estimate)
    if worth is None:
        told.add("It was not looked at yet, so it goes before others when its site is free.")
    elif price is not None:
        told.add(
            f"A crawl of it was worth {_count(worth)} at the last plan; a fetch has to earn {_count(price)} "
            "now (the price)."
        )
    if estimate.note == "site-limited":
        told.add("Its site cannot take more requests: a shorter host-delay would help, a larger budget would not.")


async def _of_site(told: Told, store: Store, source: Source, settings: Settings, agent: str) -> None:
    asked = await _rules(store, source.url, agent)
    delay = max(settings.host_delay, (asked and asked.delay) or 0.0)
    others = (await store.list_sources(Listing("url", state="active", site=source.site, first=0))).total
    by = "its robots.txt" if delay > settings.host_delay else "host-delay"
    told.add(
        f"The site {source.site} gets one request every {about(delay)} at most ({by}), shared by "
        f"{several(others, 'source')} and all its pages.",
        site_delay=delay,
        site_sources=others,
    )


async def _of_hub(told: Told, store: Store, source: Source, settings: Settings, now: Seconds) -> None:
    """Whether the hub it names tells us of it."""
    named = [one for one in await store.subscriptions() if (one.hub, one.topic) == (source.hub, source.topic)]
    kept = min(named, key=lambda one: one.state == "leaving", default=None)
    known_as = "" if source.topic == source.url else f" (as {source.topic})"
    told.add(
        f"It names the hub {source.hub}{known_as}: {_hub_state(kept, settings.public_url, now)}.",
        hub={
            "hub": source.hub,
            "topic": source.topic,
            "state": kept and kept.state,
            "until": kept and kept.until,
            "failure": kept and kept.failure,
        },
    )


def _hub_state(kept: Subscription | None, public_url: str, now: Seconds) -> str:
    if kept is None or (kept.state == "leaving" and public_url):
        return "the crawl asks it soon to tell us" if public_url else "with public-url set, it could tell us of changes"
    if kept.state == "leaving":
        return "we asked it to tell us no more"
    if kept.state == "denied":
        return f"it will not tell us ({sentence(kept.failure)}); asked again {ago(kept.again_at, now)}"
    failed = f" ({sentence(kept.failure)})" if kept.failure else ""
    if kept.state == "active" and kept.until is not None and kept.until > now:
        return f"it tells us of changes until {date(kept.until)}; renewed {ago(max(kept.again_at, now), now)}{failed}"
    wait = f"no word yet{failed}; asked again {ago(max(kept.again_at, now), now)}"
    return f"it was asked {ago(kept.asked_at, now)} to tell us of changes, {wait}"


async def _of_past(told: Told, store: Store, source: Source, now: Seconds) -> None:
    if source.last_crawl is None:
        told.add("It was never crawled.")
    else:
        told.add(
            f"{several(source.crawls, 'crawl')} so far, the last {ago(source.last_crawl, now)}; "
            f"{several(source.new_links, 'new link')}, the last {ago(source.last_new, now)}; of the pages it was "
            f"first to show {source.good_pages:,} were kept and {source.dull_pages:,} were old, doubles or no pages."
        )
        yields = [visit.new for visit in reversed(await store.visits(source.id, _YIELDS)) if not visit.failure]
        told.facts["yields"] = yields
        if yields:
            told.add(f"New links at its crawls of late, the latest last: {' '.join(map(str, yields))}.")
    if source.unchanged > 1:
        told.add(f"Its last {source.unchanged} crawls brought nothing but what was known.")
    if source.failures:
        told.add(f"{several(source.failures, 'failure')} in a row, the last: {sentence(source.failure)}.")


def _what_would_change(told: Told, source: Source, estimate: Estimate, price: float | None) -> None:
    once, twice = (_interval(estimate, price, times) for times in (1.0, 2.0))
    if estimate.interval is not None and once is None:
        pass  # by this price it would not be crawled at all: it has moved since the plan, and tells nothing
    elif twice is not None:
        if estimate.interval is not None and once is not None:
            twice *= estimate.interval / once  # the plan knows of more than this curve
        told.add(f"With twice the links or twice the clicks it would be crawled every {about(twice)}.", if_twice=twice)
    elif price is not None:
        told.add("Even with twice the links or twice the clicks it would not be crawled.", if_twice=None)
    if source.pinned is None:
        told.add(f"To have it crawled whatever it is worth: mayfly sources pin {source.url} --every 10m.")


def _interval(estimate: Estimate, price: float | None, times: float) -> Seconds | None:
    """When a crawl of a source so many times as rich earns the price; None: never, or not known. Paper, eq. 4."""
    if price is None or min(price, estimate.link_rate, estimate.page_profit, estimate.profit_decay) <= 0:
        return None
    ceiling = times * estimate.link_rate * estimate.page_profit / estimate.profit_decay
    wait = float(g_inverse(np.array(price / ceiling)))
    return wait / estimate.profit_decay if np.isfinite(wait) else None


async def _price(store: Store, now: Seconds) -> float | None:
    """Of the last minute that had one."""
    return next((one.price for one in reversed(await store.minutes(now - DAY)) if one.price is not None), None)


# A page


async def _of_page(told: Told, store: Store, page: Page, now: Seconds) -> None:
    rank = f", number {page.rank} there" if page.rank else ""
    said = f' as "{page.anchor}"' if page.anchor else ""
    told.add(
        f"{page.url} is a page of {page.host}: {outcome_of(page)}.",
        page=page_told(page),
        outcome=page.outcome,
    )
    told.add(f"Found {ago(page.found_at, now)} ({date(page.found_at)}) on {page.source_url}{rank}{said}.")
    told.add(_published(page))
    await _of_value(told, store, page)
    if page.outcome == "waiting":
        told.add(await _waiting(store, page, now))
    elif page.fetched_at is not None:
        waited = about(max(page.fetched_at - page.found_at, 0.0))
        status = f", status {page.status}" if page.status is not None else ""
        told.add(f"Fetched {ago(page.fetched_at, now)}, {waited} after it was found{status}.")
    if page.delay is not None:
        told.add(f"So it was here {about(max(page.delay, 0.0))} after it was published.")
    told.add(_became(page))
    if page.outcome == "fetched":
        clicks = await _clicks(store, page.id)
        if clicks:
            told.add(f"{_count(clicks)} clicks since its fetch are known.", clicks=clicks)


async def _of_value(told: Told, store: Store, page: Page) -> None:
    seen = await foreseen(store, page)
    if seen is not None:
        because = ", ".join(f"{name} (times {_count(times)})" for name, times in seen.features)
        told.add(
            f"What is known of it makes it worth {_count(seen.times)} times the mean page of its sources"
            + (f": {because}." if because else "; nothing of it stands out."),
            foreseen={"times": seen.times, "features": dict(seen.features)},
        )


def _published(page: Page) -> str:
    if page.published is None:
        return "When it was published is not known."
    if page.published_from == "gap":
        return f"Published about {date(page.published)}: it has no date, so that is the middle between two crawls."
    return f"Published {date(page.published)} ({page.published_from})."


async def _waiting(store: Store, page: Page, now: Seconds) -> str:
    retry = next((one.retry_at for one in await store.waiting() if one.page == page.id), None)
    if retry is not None and retry > now:
        return f"A fetch of it failed; it is tried again {ago(retry, now)}."
    return "It waits for its fetch: others are worth more, or its site must rest."


def _became(page: Page) -> str:
    double = f" (page {page.duplicate_of})" if page.duplicate_of is not None else ""
    meaning = {
        "fetched": f'It is kept: "{page.title}".' if page.title else "It is kept.",
        "old": "It is older than its finding by a week or more, so it counts as no new page.",
        "duplicate": f"Its body is one we have already{double}, so it counts as no new page.",
        "soft-404": "It leads to a front page or an error page, so it counts as no page.",
        "log-in": "It asks for a log-in, so it counts as no page.",
        "failed": f"It could not be fetched: {sentence(page.reason)}.",
        "dropped": "It was given up: what it is worth does not pay for a fetch.",
    }
    return meaning.get(page.outcome, "It is not fetched yet.")


async def _clicks(store: Store, page: PageId) -> float:
    total, cursor = 0.0, 0
    while True:
        clicks, behind = await store.clicks_since(cursor)
        total += float(clicks.number[(clicks.page == page) & ~clicks.show].sum())
        if behind == cursor:
            return total
        cursor = behind


# Anything else


async def _of_unknown(told: Told, store: Store, url: str, settings: Settings, agent: str, now: Seconds) -> None:
    host = host_of(url)
    told.add(f"{url} is neither a source nor a page here.")
    known = await store.sources()
    hosts = {one.host for one in await store.hosts()} | {source.host for source in known}
    told.facts["watched"] = host in hosts
    if host in hosts:
        told.add(f"Its host {host} is watched.")
    elif any(site_of(one) == site_of(host) for one in hosts):
        told.add(f"Its host {host} is not watched, but others of its site {site_of(host)} are.")
    else:
        told.add(f"Its host {host} is not watched: mayfly find {host} would look for its sources.")
    if not await store.unseen([url]):
        told.add(
            "It stood on a source before we first looked there, so it is remembered as old and not fetched.",
            baseline=True,
        )
    candidate = next((one for one in await store.candidates(host) if one.url == url), None)
    if candidate is not None:
        since = ago(candidate.first_seen, now)
        told.add(
            f"It stands on a front page since {since}, and becomes a source when it is still there after "
            f"{written(settings.older_than)}.",
            candidate=True,
        )
    await _kept_out(told, store, url, settings, agent)
    near = nearest(url, [source.url for source in known if source.host == host])
    if near:
        told.add(f"The nearest source is {near}.", nearest=near)


async def _kept_out(told: Told, store: Store, url: str, settings: Settings, agent: str) -> None:
    rules = await _rules(store, url, agent)
    if rules is None:
        told.add("What its robots.txt says is not known.", robots=None)
    else:
        allowed = rules.allows(url)
        told.add(f"Its robots.txt {'allows' if allowed else 'forbids'} it.", robots=allowed)
    barred = next((pattern for pattern in settings.not_ if not Patterns(never=(pattern,)).page(url)), None)
    if barred is not None:
        told.add(f"The pattern {barred} (setting not) keeps it from ever being fetched.", barred_by=barred)
    elif not Patterns(settings.only).source(url):
        told.add("None of the patterns in `only` has it, so it cannot be a source.", may_be_source=False)
    if is_dull(url):
        told.add(
            "It looks like a file, or a way to log in, share or print, so it is never taken for a page.", dull=True
        )


async def _rules(store: Store, url: str, agent: str) -> Rules | None:
    """Of its robots.txt, as it was last fetched."""
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    kept = next(iter(await store.robots([origin])), None)
    return None if kept is None else read_rules(kept.body or b"", agent)


def _count(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.2g}"
