"""What goes over the wire, for the OpenAPI document: names, kinds and what they mean."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

from mayfly.core.model import DAY
from mayfly.store.hints import HintKind
from mayfly.store.records import Page, SourceKind, SourceState

_LARGEST = 2**53  # that every reader of JSON understands
Cursor: TypeAlias = Annotated[int, Field(ge=0, le=_LARGEST)]
SettledAs: TypeAlias = Literal["fetched", "old", "duplicate", "soft-404", "log-in", "failed", "dropped"]


class Problem(BaseModel):
    error: str


class BadRow(BaseModel):
    row: int = Field(description="From 1; of NDJSON the line.")
    reason: str


class ClicksAnswer(BaseModel):
    known: int = Field(description="Rows of pages that are known.")
    unknown: int = Field(description="Rows of pages not found yet, which are kept for a week.")
    left_out: int = Field(description="Rows that are wrong.")
    bad: list[BadRow] = Field(description="The first thousand of them, and why.")


class _Given(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class HintGiven(_Given):
    url: Annotated[str, Field(max_length=4000)]
    kind: HintKind = Field(default="page", description="page: it is new; source: it shows something new.")


class HintsAnswer(BaseModel):
    taken: int
    bad: list[BadRow]


class IndexNow(BaseModel):
    """As in the IndexNow protocol; `keyLocation` is not looked at."""

    host: str
    key: Annotated[str, Field(min_length=8, max_length=128)]
    urlList: Annotated[list[str], Field(max_length=10_000)]


class PagesAnswer(BaseModel):
    pages: list[Page]
    next: Cursor = Field(description="The cursor to go on with: `after`.")


class SourceAnswer(BaseModel):
    """Rates are per second, times seconds since 1970; what is believed is null before the first plan."""

    id: int
    url: str
    host: str
    site: str
    kind: SourceKind
    state: SourceState
    reason: str
    pinned: float | None
    found_at: float
    found_on: str
    crawls: int
    last_crawl: float | None
    last_new: float | None
    shown: int
    failures: int
    failure: str
    unchanged: int
    new_links: int
    good_pages: int
    dull_pages: int
    hub: str = Field(description="That a feed names (WebSub); empty: none.")
    topic: str = Field(description="The address the hub knows it by.")
    revision: int
    link_rate: float | None
    page_profit: float | None
    profit_decay: float | None
    interval: float | None
    worth: float | None
    next_due: float | None
    note: str | None


class SourcesAnswer(BaseModel):
    sources: list[SourceAnswer]
    next: int | None = Field(description="The cursor to go on with: `after`; null: these were the last.")


Every: TypeAlias = Annotated[float, Field(gt=0, le=3650 * DAY, description="Crawl it at least so often, in seconds.")]


class SourceGiven(_Given):
    url: Annotated[str, Field(max_length=4000)]
    kind: SourceKind | None = Field(default=None, description="As the address looks, if it is not said.")
    pinned: Every | None = None


class SourceEdit(_Given):
    """blocked: never crawled, never found again. retired: not crawled, what it brought stays. active: undoes both."""

    model_config = ConfigDict(strict=True, extra="forbid", json_schema_extra={"minProperties": 1})
    state: SourceState | None = None
    reason: Annotated[str, Field(max_length=1000)] | None = None
    pinned: Every | None = Field(default=None, description="Crawl it at least so often, in seconds; null: unpin it.")

    @model_validator(mode="after")
    def _says_something(self) -> SourceEdit:
        if not self.model_fields_set:
            raise ValueError("say state, reason or pinned")
        return self


class WhyAnswer(BaseModel):
    """Sentences for people; beside them facts for programs, which depend on what the address is."""

    model_config = ConfigDict(extra="allow")
    url: str
    what: Literal["source", "page", "unknown"]
    says: list[str]


class HostBought(BaseModel):
    """What is planned for a host, per second."""

    host: str
    sources: int
    sources_in: int
    fetches: float
    clicks: float
    marginal_value: float = Field(description="Clicks that one more fetch spent there would bring.")


class PlanAnswer(BaseModel):
    budget: float
    upper_bound: float
    sources: int
    exact: dict[str, Any]
    marginal_value: float | None = Field(description="Clicks that one more fetch would bring.")
    smallest_budget: dict[str, float] = Field(description="For these shares of the upper bound.")
    smallest_budget_for_sources: dict[str, float] = Field(description="At which these shares of the sources are in.")
    no_source_refused: float
    curve: list[dict[str, float | None]]
    hosts: list[HostBought] = Field(description="The hundred that bring most.")
    hosts_total: int


class FindingAnswer(BaseModel):
    what: str
    where: str
    since: float | None
    says: str
    advice: str
    reason: str
    attention: bool
    sources: dict[str, str]


class HealthAnswer(BaseModel):
    healthy: bool
    watched: int
    findings: list[FindingAnswer]


class AliveAnswer(BaseModel):
    alive: Literal[True] = True
    version: str
