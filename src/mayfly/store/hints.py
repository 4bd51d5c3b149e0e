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


class NamedHub(NamedTuple):
    """Who tells of a feed's changes, and by which address; empty: nobody."""

    hub: str = ""
    topic: str = ""


NO_HUB = NamedHub()


@dataclass(frozen=True, slots=True)
class Subscription:
    """A feed whose hub tells us when it changes (WebSub)."""

    id: str  # part of the address the hub calls: nobody else knows it
    topic: str
    hub: str
    callback: str  # that address, as the hub was told it
    secret: str  # with which the hub signs
    state: SubscriptionState
    asked_at: Seconds
    again_at: Seconds = 0.0  # when to renew it, or to ask again if the hub is silent
    until: Seconds | None = None  # the hub tells us up to then
    tries: int = 0  # requests since the hub last had a word with us
    failure: str = ""  # of the last one: why the hub could not be asked, or will not have us
