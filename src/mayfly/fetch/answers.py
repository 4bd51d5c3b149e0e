"""What comes of a fetch: an answer, or a failure with its reason. And how much one may cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from mayfly.core.model import Seconds
from mayfly.fetch.reasons import Reason


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one fetch may cost."""

    seconds: Seconds = 30.0  # all hops together
    connect_seconds: Seconds = 10.0
    header_bytes: int = 32_768  # of one header; there may be `headers` of them
    headers: int = 128
    wire_bytes: int = 5_000_000
    body_bytes: int = 10_000_000  # decoded
    redirects: int = 5
    cut: bool = False  # keep what came before a limit of bytes was reached, instead of failing


DEFAULT_LIMITS = Limits()


class Hop(NamedTuple):
    """A redirect on the way."""

    url: str
    status: int


class Response(msgspec.Struct, frozen=True):  # made for every fetch; as a dataclass it would take five times as long
    """An answer with a body, or the word that nothing changed."""

    asked: str
    url: str  # where it came from, after redirects
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    body_hash: int
    at: Seconds  # wall time of the first request
    seconds: Seconds
    wire_bytes: int
    address: str  # of the server
    hops: tuple[Hop, ...] = ()

    @property
    def not_modified(self) -> bool:
        """The server says that nothing changed since the last answer."""
        return self.status == 304

    @property
    def requests(self) -> int:
        """How many requests it took."""
        return len(self.hops) + 1

    @property
    def etag(self) -> str:
        return self.header("etag")

    @property
    def last_modified(self) -> str:
        return self.header("last-modified")

    @property
    def content_type(self) -> str:
        return self.header("content-type")

    def header(self, name: str) -> str:
        """The first header of that name, or nothing."""
        return next((value for key, value in self.headers if key.lower() == name), "")


@dataclass(frozen=True, slots=True)
class Failed:
    """Nothing came, and why."""

    asked: str
    url: str  # the hop that failed
    reason: Reason
    detail: str
    at: Seconds
    seconds: Seconds
    requests: int  # that left, this one included if it did
    status: int | None = None
    retry_after: Seconds | None = None  # from now
    hops: tuple[Hop, ...] = ()
