"""Spans of time and moments, as people write and read them."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from decimal import Decimal

from mayfly.core.model import PerSecond, Seconds

_WRITTEN = (("d", 86400.0), ("h", 3600.0), ("m", 60.0))
_READ = (("days", 86400.0, 2.0), ("h", 3600.0, 2.0), ("min", 60.0, 1.5))  # a unit is used from so many of it on


def written(seconds: Seconds) -> str:
    """A duration as people write it, and `duration` reads it: the same number of seconds.

    >>> written(1800.0), written(5.0), written(0.25), written(0.0)
    ('30m', '5s', '0.25s', '0s')
    """
    for unit, length in _WRITTEN:
        if seconds and seconds % length == 0:
            return f"{seconds / length:.0f}{unit}"
    return f"{seconds:.0f}s" if seconds == int(seconds) else f"{Decimal(repr(seconds)):f}s"


def about(seconds: Seconds) -> str:
    """A duration as people read it.

    >>> about(200.0), about(5400.0), about(9000.0), about(0.4)
    ('3 min', '90 min', '2.5 h', '0.4 s')
    """
    for unit, length, least in _READ:
        if seconds >= least * length:
            count = seconds / length
            return (
                f"{count:.1f}".removesuffix(".0") + f" {unit}"
                if count < 10 and unit != "min"
                else f"{count:.0f} {unit}"
            )
    return f"{seconds:.1f}".removesuffix(".0") + " s" if seconds < 10 else f"{seconds:.0f} s"


def ago(at: Seconds | None, now: Seconds) -> str:
    """When that was, or will be.

    >>> ago(100.0, 280.0), ago(400.0, 280.0), ago(None, 0.0), ago(279.8, 280.0)
    ('3 min ago', 'in 2 min', 'never', 'now')
    """
    if at is None:
        return "never"
    if abs(now - at) < 1.0:
        return "now"
    return f"{about(now - at)} ago" if at < now else f"in {about(at - now)}"


def half_life(decay: PerSecond) -> str:
    """How soon half of something that fades at this rate is gone.

    >>> half_life(math.log(2) / 7200), half_life(0.0)
    ('2 h', 'never')
    """
    return about(math.log(2) / decay) if decay > 0 else "never"


def date(at: Seconds) -> str:
    """A moment, in UTC.

    >>> date(1731664800.0)
    '2024-11-15 10:00 UTC'
    """
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return f"second {at:.0f}"
