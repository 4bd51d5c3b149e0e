"""All settings of a crawl and their defaults: the same names in `mayfly.toml`, the environment and flags."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from mayfly.core.model import DAY, HOUR, MINUTE, PerSecond, Seconds

WARC = "warc"  # the folder of a home for raw answers
Duration: TypeAlias = Seconds  # written as 90, 90s, 10m, 2h, 3d; told from plain numbers by this name


def _is(default: Any, what: str, secret: bool = False, password: bool = False) -> Any:
    """A setting, with what `mayfly config` and `mayfly.toml` say of it; a secret, or a password in it, is not shown."""
    return field(default=default, metadata={"help": what, "secret": secret, "password": password})


@dataclass(frozen=True, slots=True)
class Settings:
    """How a home is crawled. `not_` is written without its underscore."""

    # Who we are
    contact: str = _is("", "a mail address or page in the User-Agent where people reach you; needed for the real web")
    # How much
    budget: PerSecond = _is(2.0, "fetches per second, of all kinds together")
    policy: str = _is("index", "what is fetched next: index, or one of the paper's (see mayfly lab)")
    estimator: str = _is("bayes", "how rates and values are learned: bayes or paper")
    replan: Duration = _is(30 * MINUTE, "how often the plan is made anew")
    log_push: Duration = _is(HOUR, "how often clicks are taken in (the paper's L)")
    bin: Duration = _is(20 * MINUTE, "clicks are kept by page and bins of this length (the paper's D)")
    history: int = _is(7, "crawls the paper's estimator looks back on (T)")
    probe: float = _is(0.02, "share of the fetches for the sources longest unseen")
    seed: int = _is(0, "of what is drawn by lot")
    record_every: Duration = _is(
        0.0, "crawl every source at this interval, whatever it is worth; 0: as the policy says"
    )
    # What is worth something
    value_clicks: float = _is(1.0, "what a click on a page is worth")
    value_shows: float = _is(0.0, "what a show of a page is worth, as on a page of results")
    page_values: bool = _is(True, "learn what a page is worth from its address, its link and who shows it")
    trends: str = _is("", "a file of what people ask for now, a term and its weight a line; read again when it changes")
    # How gently
    host_delay: Duration = _is(5.0, "pause between two requests to a site, from the end of the last one")
    address_delay: Duration = _is(0.25, "the same for an IP address, which many sites may share")
    # What is found
    older_than: Duration = _is(3 * DAY, "a link becomes a source when it is still on a front page after so long")
    find_every: Duration = _is(DAY, "how often the sources of a host are looked for again")
    only: tuple[str, ...] = _is((), "patterns of URLs (with *) that may be sources; none: all")
    not_: tuple[str, ...] = _is((), "patterns of URLs (with *) that are never fetched")
    most_sources: int = _is(200, "sources of one host, at most")
    other_hosts: float = _is(0.2, "share of a feed's or sitemap's entries that may lead to other sites")
    # What is kept
    store: str = _is("", "where all is kept: empty for the home's own SQLite file, or postgresql://…", password=True)
    text: bool = _is(True, "keep the main text of pages")
    warc: bool = _is(True, "keep the raw answers of pages as WARC")
    keep_history: Duration = _is(30 * DAY, "how long crawls, links and clicks are kept")
    keep_text: Duration = _is(365 * DAY, "how long texts are kept")
    keep_pages: Duration = _is(730 * DAY, "how long pages are kept")
    keep_warc: Duration = _is(90 * DAY, "how long WARC files are kept")
    warc_gigabytes: float = _is(10.0, "all WARC files together, at most")
    free_gigabytes: float = _is(1.0, "with less free space than this the crawl pauses")
    # Limits
    connections: int = _is(256, "requests under way at once, at most")
    readers: int = _is(1, "processes that read pages")
    fetch_seconds: Duration = _is(30.0, "one fetch, redirects and all, at most")
    body_megabytes: float = _is(5.0, "a body on the wire, at most; decoded it may be twice that")
    # The network
    allow_private_addresses: tuple[str, ...] = _is((), "private networks that may be connected to: 127.0.0.0/8")
    connect_to: tuple[str, ...] = _is((), "HOST:PORT:HOST:PORT as in curl: connect to the second instead")
    # The HTTP API
    bind: str = _is("127.0.0.1:8642", "where mayfly serve listens; any other machine can reach it only with a token")
    token: str = _is("", "what whoever uses the API must know: Authorization: Bearer …", secret=True)
    public_url: str = _is("", "the address others reach the API by; hubs of feeds are asked to call us there (WebSub)")
    clicks_per_second: float = _is(1000.0, "rows of clicks the API takes in on average, at most")
    indexnow_keys: tuple[str, ...] = _is((), "keys with which sites may ping /api/indexnow", secret=True)
    webhook_url: str = _is("", "where pages are sent to as they land")
    webhook_secret: str = _is("", "with which what is sent there is signed", secret=True)
