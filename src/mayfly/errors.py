"""Every error Mayfly raises on purpose, and whose fault it is.

MayflyError
├── UsageError        you asked for something wrong      exit status 2
│   └── TraceError    a trace is broken: file, row, reason
└── RunError          it was asked well, and failed      exit status 1
    └── BeingCrawled  another crawl is at work there
"""

from __future__ import annotations


class MayflyError(Exception):
    """Any error whose message is meant for the person at the keyboard."""

    exit_status = 1


class UsageError(MayflyError):
    """The request cannot be met as it was put; the message says what would be right."""

    exit_status = 2


class TraceError(UsageError):
    """A trace that breaks the rules of its format.

    >>> str(TraceError("links.csv", "removed (5.0) is before added (9.0)", row=3))
    'links.csv, row 3: removed (5.0) is before added (9.0)'
    """

    def __init__(self, file: str, reason: str, row: int | None = None) -> None:
        where = file if row is None else f"{file}, row {row}"
        super().__init__(f"{where}: {reason}")


class RunError(MayflyError):
    """A well-formed request that could not be carried out."""


class BeingCrawled(RunError):
    """Another crawl works on this home or database."""
