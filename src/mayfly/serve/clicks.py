"""Clicks in: `POST /api/clicks`, a JSON array or a JSON object a line."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Header, Query, Request

from mayfly.core.model import Seconds
from mayfly.serve.guard import MOST_BYTES
from mayfly.serve.models import BadRow, ClicksAnswer
from mayfly.serve.parts import Refused, With, problems
from mayfly.store import clicklog
from mayfly.store.records import ClickRow

router = APIRouter(tags=["clicks"])

_SHOWN = 1000  # bad rows that are named
_SMALL = 100_000  # bytes that are read without leaving the event loop
_LINES = ("application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines")
_ROW = {
    "type": "object",
    "required": ["url", "at"],
    "properties": {
        "url": {"type": "string", "description": "The page that was clicked or shown."},
        "at": {"description": "Seconds since 1970, or ISO 8601 with a zone.", "type": ["number", "string"]},
        "count": {"type": "number", "exclusiveMinimum": 0, "default": 1},
        "kind": {"enum": ["click", "show"], "default": "click"},
        "position": {"type": "integer", "minimum": 0, "description": "1: at the top; 0: not known."},
    },
}
_EXAMPLE = [{"url": "https://example.com/a", "at": 1790000000, "count": 3, "kind": "click"}]
_BODY = {
    "required": True,
    "description": f"Rows; one that is wrong is left out and told in `bad`. Up to {MOST_BYTES:,} bytes.",
    "content": {
        "application/json": {"schema": {"type": "array", "items": {"anyOf": [_ROW, {}]}, "example": _EXAMPLE}},
        "application/x-ndjson": {"schema": {"description": "A row a line; what is none is told in `bad`."}},
    },
}
_Batch = Annotated[str | None, Query(pattern=r"^[!-~]{1,200}$", description="The same, where headers cannot be set.")]
_Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=r"^[!-~]{1,200}$",
        description="A name for this batch. Sent again with the same name (for a week) it counts once.",
    ),
]


@router.post(
    "/api/clicks", response_model=ClicksAnswer, responses=problems(415, 429), openapi_extra={"requestBody": _BODY}
)
async def add_clicks(request: Request, serving: With, batch: _Batch = None, key: _Key = None) -> ClicksAnswer:
    """Take in what people clicked or were shown. All rows of a request are kept together, before it is answered."""
    serving.admit(serving.clicks)
    as_lines = _is_lines(request.headers)
    body = await request.body()
    now = serving.clock()
    if len(body) < _SMALL:
        rows, bad, left_out = _read(body, as_lines, now)
    else:
        rows, bad, left_out = await asyncio.to_thread(_read, body, as_lines, now)
    serving.clicks.take(max(len(rows) + left_out, 1), serving.ticks())
    known, unknown, *_ = await serving.store.add_clicks(now, rows, serving.settings.bin, batch=key or batch or "")
    for name, number in (("known", known), ("unknown", unknown), ("bad", left_out)):
        serving.counted["clicks", name] += number
    return ClicksAnswer(known=known, unknown=unknown, left_out=left_out, bad=bad)


def _is_lines(headers: Any) -> bool:
    """Whether the body is NDJSON rather than an array; refuses everything else."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise Refused(415, "send the body as it is, without Content-Encoding")
    if kind != "application/json" and kind not in _LINES:
        raise Refused(
            415, "Content-Type must be application/json (an array) or application/x-ndjson (an object a line)"
        )
    return kind in _LINES


def _read(body: bytes, as_lines: bool, now: Seconds) -> tuple[list[ClickRow], list[BadRow], int]:
    """Rows, the first of those that are none, and how many of those there are."""
    rows: list[ClickRow] = []
    bad: list[BadRow] = []
    left_out = 0
    for row in clicklog.read_clicks(body.split(b"\n") if as_lines else _elements(body), now):
        if not isinstance(row, clicklog.BadRow):
            rows.append(row)
            continue
        left_out += 1
        if len(bad) < _SHOWN:
            bad.append(BadRow(row=row.line, reason=row.reason))
    return rows, bad, left_out


def _elements(body: bytes) -> Iterable[bytes]:
    """The elements of an array as they stand, each to be read on its own."""
    try:
        return [bytes(one) for one in msgspec.json.decode(body, type=list[msgspec.Raw])]
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        raise Refused(422, "the body must be a JSON array of rows") from None
