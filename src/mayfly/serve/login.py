"""How a person comes in where a token is needed: a form takes it, and a cookie stands for it."""

from __future__ import annotations

import hmac
from urllib.parse import parse_qs

from fastapi import APIRouter, Request, Response

from mayfly.core.model import DAY
from mayfly.serve import look
from mayfly.serve.guard import COOKIE, cookie_of
from mayfly.serve.parts import With

router = APIRouter(include_in_schema=False)

_DAYS = 30  # it lasts
_LONGEST = 10_000  # bytes of a form
_BEYOND = ("/", "/ops")  # where one may be sent from here


@router.get("/login")
async def ask(serving: With, next: str = "/") -> Response:
    if not serving.settings.token:
        return _on("/")
    return look.page("login.html", "", beyond=_beyond(next), wrong=False)


@router.post("/login")
async def let_in(request: Request, serving: With) -> Response:
    """A page of another site gains nothing by sending this: it does not know the token."""
    body = await request.body()
    said = parse_qs(body[:_LONGEST].decode("latin-1"), max_num_fields=10) if body.count(b"&") < 10 else {}
    token, given = serving.settings.token, said.get("token", [""])[0].strip()
    beyond = _beyond(said.get("next", ["/"])[0])
    if not token or not hmac.compare_digest(given.encode(), token.encode()):
        return look.page("login.html", "", 403, beyond=beyond, wrong=True)
    answer = _on(beyond)
    secure = serving.settings.public_url.startswith("https:") or request.url.scheme == "https"
    answer.set_cookie(
        COOKIE, cookie_of(token), max_age=int(_DAYS * DAY), path="/", httponly=True, samesite="strict", secure=secure
    )
    return answer


@router.post("/logout")
async def let_out() -> Response:
    answer = _on("/login")
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return answer


def _beyond(path: str) -> str:
    return path if path in _BEYOND else "/"


def _on(path: str) -> Response:
    return Response(status_code=303, headers={"Location": path})
