"""`mayfly why`: sources, pages, and what is neither."""

import asyncio
import json
import time
from dataclasses import replace

import numpy as np

from mayfly.core.estimates.pagevalue import PageValue
from mayfly.core.features import Features, slot_of
from mayfly.core.model import DAY
from mayfly.store.hints import NamedHub, Subscription
from mayfly.store.records import ClickRow, Crawled, Memory, Page, ShownLink
from mayfly.store.sqlite import SqliteStore

FRONT, FEED, SECTION = "https://paper.example/", "https://paper.example/feed.xml", "https://paper.example/news/"


def told(command, url: str) -> dict:
    done = command("why", url, "--json")
    assert done.status == 0, done.err
    return json.loads(done.out)


def test_a_source_is_explained(command, lived) -> None:
    done = command("why", FRONT)
    assert done.status == 0
    for said in (
        f"{FRONT} is a source (front of paper.example), found 20 h ago by hand.",
        "It shows about 12 new links a day (λ); a page there brings about 3 clicks (P), half of them within 83 min (μ",
        "So it is crawled every 15 min; next now.",
        "A crawl of it was worth 0.8 at the last plan; a fetch has to earn 0.4 now (the price).",
        "Its site cannot take more requests: a shorter host-delay would help",
        "The site paper.example gets one request every 30 s at most (its robots.txt), shared by 3 sources",
        "4 crawls so far, the last 10 h ago; 3 new links, the last 10 h ago",
        "With twice the links or twice the clicks it would be crawled every",
        "mayfly sources pin https://paper.example/ --every 10m",
    ):
        assert said in done.out, said
    facts = told(command, FRONT)
    assert facts["what"] == "source" and facts["price"] == 0.4 and facts["source"]["crawls"] == 4
    assert 0 < facts["if_twice"] < 900
    assert facts["yields"] == [0, 1, 1, 1]


def test_of_a_retired_source_no_crawl_is_promised(command, lived) -> None:
    assert command("sources", "retire", FRONT).status == 0
    said = command("why", FRONT).out
    assert "It is retired" in said and "It shows about 12 new links a day" in said
    assert "So it is crawled every" not in said and "worth 0.8 at the last plan" not in said


def test_a_source_that_does_not_pay_or_fails_says_so(command, lived) -> None:
    feed = command("why", FEED).out
    assert "It is not crawled for what it is worth" in feed and "found 20 h ago on https://paper.example/" in feed
    assert "Even with twice the links or twice the clicks it would not be crawled." in feed
    section = command("why", SECTION).out
    assert "1 failure in a row, the last: robots (robots.txt does not allow it)." in section
    assert "It was never crawled." in section and "Nothing is believed of it yet" in section
    command("sources", "block", FEED, "--why", "dull")
    command("sources", "pin", FRONT, "--every", "10m")
    assert "It is blocked: dull." in command("why", FEED).out
    assert "It is pinned: crawled at least every 10m" in command("why", FRONT).out


def test_whether_a_hub_tells_us_is_said(command, lived) -> None:
    hub, topic, now = "https://hub.example/", "https://paper.example/rss", time.time()
    asked = Subscription("x1", topic, hub, "https://we.example/api/websub/x1", "secret", "asked", now - 300, now + 600)

    def keep(one: Subscription | None) -> str:
        async def main() -> None:
            async with SqliteStore(lived / "mayfly.db") as store:
                await store.commit(Crawled(1, now - 400, 304, 0.1, 0, Memory(), None, hub=NamedHub(hub, topic)))
                if one is not None:
                    await store.keep_subscription(one)

        asyncio.run(main())
        return next(line for line in told(command, FEED)["says"] if "names the hub" in line)

    named = f"It names the hub {hub} (as {topic}): "
    assert not any("hub" in line for line in told(command, FEED)["says"])
    assert keep(None) == named + "with public-url set, it could tell us of changes."
    (lived / "mayfly.toml").write_text('public-url = "https://we.example"\n')
    assert keep(None) == named + "the crawl asks it soon to tell us."
    assert "asked 5 min ago to tell us of changes, no word yet; asked again in 10 min." in keep(asked)
    assert "no word yet (busy (status 429 or 503: come back later));" in keep(replace(asked, failure="busy"))
    said = keep(replace(asked, state="active", until=now + 10 * DAY, again_at=now + 7.5 * DAY))
    assert "it tells us of changes until 20" in said and said.endswith("renewed in 7.5 days.")
    facts = told(command, FEED)["hub"]
    assert (facts["hub"], facts["topic"], facts["state"], facts["until"]) == (hub, topic, "active", now + 10 * DAY)
    said = keep(replace(asked, state="denied", failure="not you", again_at=now + 7 * DAY))
    assert "it will not tell us (not you); asked again in 7 days." in said


def test_a_page_is_explained(command, lived) -> None:
    url = "https://paper.example/story-4"
    said = command("why", url).out
    for part in (
        f"{url} is a page of paper.example: fetched.",
        'on https://paper.example/feed.xml, number 4 there as "Story 4".',
        "Fetched 18 h ago, 3 min after it was found, status 200.",
        "after it was published.",
        'It is kept: "Title 2".',
    ):
        assert part in said, part
    assert "(feed)" in said or "(json-ld)" in said
    assert "clicks" not in said


def test_what_a_page_was_foreseen_to_be_worth_is_said_with_its_strongest_features(command, lived) -> None:
    async def page() -> Page:
        async with SqliteStore(lived / "mayfly.db") as store:
            return next(iter(await store.pages(0, 10)))

    kept = asyncio.run(page())
    assert not any("mean page of its sources" in said for said in told(command, kept.url)["says"])
    value = PageValue()
    names = Features().names(kept.url, kept.anchor, kept.context, kept.source, kept.found_at)
    section = next(name for name in names if name.startswith("section"))
    slots = np.array([[slot_of(section)]])
    for _ in range(30):
        value.learn(slots, np.array([5.0]), np.array([20.0]))
        value.learn(np.array([[0]]), np.array([5.0]), np.array([2.0]))

    async def keep(learned: PageValue) -> None:
        async with SqliteStore(lived / "mayfly.db") as store:
            await store.keep_page_values(b"of another version")
            await store.keep_page_values(learned.dump())

    asyncio.run(keep(PageValue()))
    assert any(
        "1 times the mean page of its sources; nothing of it" in said for said in told(command, kept.url)["says"]
    )
    asyncio.run(keep(value))
    facts = told(command, kept.url)
    assert facts["foreseen"]["times"] > 1.5
    assert list(facts["foreseen"]["features"]) == [section]
    assert any("times the mean page of its sources: section" in said for said in facts["says"])


def test_words_around_its_link_are_named_as_such(command, lived) -> None:
    url, value, word = "https://paper.example/story-99", PageValue(), slot_of("near harbour")
    for _ in range(30):
        value.learn(np.array([[word]]), np.array([5.0]), np.array([20.0]))
        value.learn(np.array([[0]]), np.array([5.0]), np.array([2.0]))

    async def keep() -> None:
        link = ShownLink(url, "paper.example", "Story 99", 1, "Ships leave the harbour")
        async with SqliteStore(lived / "mayfly.db") as store:
            await store.commit(Crawled(0, time.time(), 200, 0.1, 900, Memory(), [link]))
            await store.keep_page_values(value.dump())

    asyncio.run(keep())
    assert list(told(command, url)["foreseen"]["features"]) == ["near harbour"]


def test_clicks_of_a_page_are_told(command, lived) -> None:
    async def click() -> None:
        async with SqliteStore(lived / "mayfly.db") as store:
            fetched = (await store.page_at("https://paper.example/story-4")).fetched_at
            rows = [ClickRow("https://paper.example/story-4", fetched + 3000.0, 5.0)]
            await store.add_clicks(fetched + DAY, rows)

    asyncio.run(click())
    assert told(command, "https://paper.example/story-4")["clicks"] == 5.0
    assert "5 clicks since its fetch are known." in command("why", "https://paper.example/story-4").out


def test_pages_that_are_not_kept_say_why(command, lived) -> None:
    assert "It is older than its finding" in command("why", "https://paper.example/story-5").out
    assert "It waits for its fetch" in command("why", "https://paper.example/story-6").out


def test_an_unknown_address_says_what_would_keep_it_out(command, lived) -> None:
    facts = told(command, "https://paper.example/private/x")
    assert (facts["what"], facts["watched"], facts["robots"]) == ("unknown", True, False)
    assert told(command, "https://paper.example/other")["robots"] is True
    said = command("why", "https://paper.example/story-1").out
    assert "remembered as old and not fetched" in said and "The nearest source is" in said
    assert "becomes a source when it is still there after 3d" in command("why", "https://paper.example/sports/").out
    foreign = command("why", "https://other.example/").out
    assert "is not watched: mayfly find other.example" in foreign and "What its robots.txt says is not known" in foreign
    assert "others of its site paper.example are" in command("why", "https://blog.paper.example/").out


def test_patterns_that_keep_it_out_are_named(command, lived) -> None:
    (lived / "mayfly.toml").write_text('not = ["*/secret/*"]\nonly = ["*/news/*"]\n')
    said = command("why", "https://paper.example/secret/1?a=b").out
    assert "The pattern */secret/* (setting not) keeps it from ever being fetched." in said
    assert "None of the patterns in `only` has it" in command("why", "https://paper.example/x").out
    assert "never taken for a page" in command("why", "https://paper.example/logo.png").out
    assert "pattern" not in command("why", "https://paper.example/news/1").out


def test_what_is_no_address_is_refused(command, lived) -> None:
    done = command("why", "mailto://x")
    assert done.status == 2 and "is no web address" in done.err
