"""What is remembered of an answer, so that the next one need not be sent if nothing changed.

Validators lie both ways. An ETag that changes with every answer costs only the transfer: the hash of the body still
says that nothing is new. One that stays while the body changes would hide news for ever, so now and then the page is
asked for without it; if that shows another body under the same validators, they are believed no more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import xxhash

ASK_PLAINLY_AFTER = 20  # answers of 304, one after the other
_LONGEST = 1000  # characters; servers refuse requests with long headers


class Answer(Protocol):
    """What validators learn from."""

    @property
    def not_modified(self) -> bool: ...
    @property
    def etag(self) -> str: ...
    @property
    def last_modified(self) -> str: ...
    @property
    def body_hash(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Validators:
    """Of one URL; the plain value knows nothing and asks plainly."""

    etag: str = ""
    last_modified: str = ""
    body_hash: int | None = None
    unmodified: int = 0  # answers of 304 since a body was last seen
    lie: bool = False

    def headers(self) -> dict[str, str]:
        """What to ask with.

        >>> Validators(etag='"a"').headers()
        {'If-None-Match': '"a"'}
        """
        if self.lie or self.unmodified >= ASK_PLAINLY_AFTER:
            return {}
        asked = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in asked.items() if _can_be_sent(value)}

    def changed(self, answer: Answer) -> bool:
        """Whether an answer shows another body than the last one."""
        return not answer.not_modified and answer.body_hash != self.body_hash

    def after(self, answer: Answer) -> Validators:
        """What to remember after an answer."""
        if answer.not_modified:
            return replace(self, unmodified=self.unmodified + 1)
        same = (answer.etag, answer.last_modified) == (self.etag, self.last_modified)
        caught = same and bool(self.headers() or self.unmodified) and self.changed(answer)
        return Validators(answer.etag, answer.last_modified, answer.body_hash, 0, self.lie or caught)


def _can_be_sent(value: str) -> bool:
    """Whether a request can hold this: a server may say anything, and would be asked in vain for ever."""
    return 0 < len(value) <= _LONGEST and value.isascii() and value.isprintable()


UNKNOWN = Validators()


def hash_of(body: bytes) -> int:
    """A fingerprint of a body; signed, so that a database can hold it."""
    number = xxhash.xxh3_64_intdigest(body)
    return number - (1 << 64) if number >> 63 else number
