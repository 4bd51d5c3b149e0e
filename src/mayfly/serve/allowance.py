"""How much may come in: a bucket that is filled evenly. One request may overdraw it, and all wait until it is paid."""

from __future__ import annotations

from mayfly.core.model import PerSecond, Seconds

_BURST: Seconds = 10.0  # what was not used for so long may come at once


class Allowance:
    """So much a second on average.

    >>> allowance = Allowance(10.0)
    >>> allowance.wait(0.0)
    0.0
    >>> allowance.take(150.0, 0.0)
    >>> allowance.wait(1.0), allowance.wait(6.0)
    (4.0, 0.0)
    """

    def __init__(self, rate: PerSecond) -> None:
        self._rate = rate
        self._left = rate * _BURST
        self._at: Seconds | None = None

    def wait(self, now: Seconds) -> Seconds:
        """How long until more may come; 0: it may now."""
        self._fill(now)
        return max(-self._left / self._rate, 0.0)

    def take(self, number: float, now: Seconds) -> None:
        """So much came."""
        self._fill(now)
        self._left -= number

    def _fill(self, now: Seconds) -> None:
        passed = 0.0 if self._at is None else max(now - self._at, 0.0)
        self._at = now
        self._left = min(self._left + passed * self._rate, self._rate * _BURST)
