"""What others tell us of: pages that are new and sources that have changed, and the hubs that are to tell us."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from mayfly.core.model import Seconds

HintKind: TypeAlias = Literal["page", "source"]
SubscriptionState: TypeAlias = Literal["asked", "active", "leaving", "denied"]


class HintRow(NamedTuple):
    """Someone says that a page is new, or that a source has changed."""

    url: str  # canonical
    kind: HintKind
    via: str = "api"  # api, indexnow, websub


class Hint(NamedTuple):
    """The same, as it is kept."""

    id: int  # the cursor of `hints_since`
    at: Seconds
    url: str
    kind: HintKind
    via: str


@dataclass(frozen=True, slots=True)
class Subscription:
    """A feed whose hub tells us when it changes (WebSub)."""

    id: str  # part of the address the hub calls: nobody else knows it
    topic: str
    hub: str
    secret: str  # with which the hub signs
    state: SubscriptionState
    asked_at: Seconds
    until: Seconds | None = None  # the hub tells us up to then
