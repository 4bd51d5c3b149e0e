"""What a WebSub hub calls: it asks whether we meant to subscribe, and tells us that a feed has changed.

The id in the address is as long as a key and known to the hub alone; notifications are signed as well.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import PlainTextResponse, Response

from mayfly.core.model import DAY
from mayfly.crawl import hubs
from mayfly.serve.hints import keep
from mayfly.serve.parts import Refused, Serving, With, problems
from mayfly.store.hints import HintRow, Subscription

router = APIRouter(tags=["hints"])

_LONGEST_LEASE = 30 * DAY
_ROUNDS = 5  # in which the crawler may have a word, too
_MEANT = {"subscribe": ("asked", "active"), "unsubscribe": ("leaving",), "denied": ("asked", "active")}
# Old hubs know SHA-1 only. As an HMAC it is still sound, and all that a forger would gain is a hint.
_METHODS = {"sha1": hashlib.sha1, "sha256": hashlib.sha256, "sha384": hashlib.sha384, "sha512": hashlib.sha512}
_Id = Annotated[str, Path(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9_-]+$")]
_SIGNED = {
    "parameters": [
        {"name": name, "in": "header", "schema": {"type": "string"}, "description": "method=HMAC of the body, in hex."}
        for name in ("X-Hub-Signature-256", "X-Hub-Signature")
    ],
    "requestBody": {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}},
}


@router.get(
    "/api/websub/{id}",
    response_class=PlainTextResponse,
    responses=problems(404, plain=True),
)
async def verify(
    id: _Id,
    serving: With,
    mode: Annotated[Literal["subscribe", "unsubscribe", "denied"], Query(alias="hub.mode")],
    topic: Annotated[str, Query(alias="hub.topic", max_length=4000)],
    challenge: Annotated[str, Query(alias="hub.challenge", max_length=1000)] = "",
    lease: Annotated[int, Query(alias="hub.lease_seconds", ge=0, le=2**40)] = int(DAY),
    reason: Annotated[str, Query(alias="hub.reason", max_length=1000)] = "",
) -> Response:
    """A hub asks whether we meant to subscribe or to leave, or says that it will not have us."""
    for _ in range(_ROUNDS):
        kept = await _subscription(serving, id)
        if topic != kept.topic or kept.state not in _MEANT[mode]:
            raise Refused(404, "this was not asked for")
        now = serving.clock()
        if mode == "subscribe":
            changed: Subscription | None = hubs.confirmed(kept, now, min(float(lease), _LONGEST_LEASE))
        else:
            changed = hubs.denied(kept, now, " ".join(reason.split())[:200]) if mode == "denied" else None
        if await serving.store.change_subscription(kept, changed):
            return PlainTextResponse(challenge)
    raise Refused(503, "try again", Retry_After="1")


@router.post(
    "/api/websub/{id}", status_code=202, response_model=None, responses=problems(404, 429), openapi_extra=_SIGNED
)
async def notify(id: _Id, request: Request, serving: With) -> Response:
    """A hub says that a feed has changed."""
    kept = await _subscription(serving, id)
    serving.admit(serving.hints)
    body = await request.body()
    if not _is_signed(kept, request, body):
        raise Refused(403, "the signature is missing or wrong")
    if kept.state == "active":
        urls = await serving.reader.told_of(kept.topic, kept.hub)
        await keep(serving, [HintRow(url, "source", "websub") for url in urls])
    return Response(status_code=202)


async def _subscription(serving: Serving, id: str) -> Subscription:
    kept = await serving.reader.subscription(id)
    if kept is None:
        raise Refused(404, "there is no such subscription")
    return kept


def _is_signed(kept: Subscription, request: Request, body: bytes) -> bool:
    said = request.headers.get("x-hub-signature-256") or request.headers.get("x-hub-signature") or ""
    method, _, signature = said.partition("=")
    if method.lower() not in _METHODS:
        return False
    right = hmac.new(kept.secret.encode(), body, _METHODS[method.lower()]).hexdigest()
    return hmac.compare_digest(right.encode(), signature.strip().lower().encode())
