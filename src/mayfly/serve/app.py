"""All that is served, put together. What programs ask for is refused with JSON and one sentence."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

import mayfly
from mayfly.errors import RunError
from mayfly.serve import clicks, hints, insight, login, pages, reader, sources, vitals, websub
from mayfly.serve.guard import Guard
from mayfly.serve.look import FILES, page
from mayfly.serve.ops import figures, hosts, overview, reports
from mayfly.serve.ops import sources as watched_sources
from mayfly.serve.ops.watch import Watch
from mayfly.serve.parts import Refused, Serving

_STATIC = {
    "/style.css": ("style.css", "text/css"),
    "/reader.css": ("reader.css", "text/css"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
    "/docs.js": ("docs.js", "text/javascript"),
    "/docs.css": ("docs.css", "text/css"),
    "/ops.js": ("ops.js", "text/javascript"),
    "/ops.css": ("ops.css", "text/css"),
    "/vendor/htmx-4.0.0.min.js": ("vendor/htmx-4.0.0.min.js", "text/javascript"),
    "/vendor/uplot-1.6.32.min.js": ("vendor/uplot-1.6.32.min.js", "text/javascript"),
    "/vendor/uplot-1.6.32.min.css": ("vendor/uplot-1.6.32.min.css", "text/css"),
}
_ABOUT = "Clicks and hints in, pages out, and what the crawl knows. Times are seconds since 1970, rates per second."
log = logging.getLogger("mayfly")


def make_app(serving: Serving) -> Guard:
    """All of it, behind the guard."""
    api = FastAPI(
        title="Mayfly",
        version=mayfly.__version__,
        description=_ABOUT,
        docs_url=None,  # those pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # it would send people wherever the Host header says
    )
    api.state.serving = serving
    known = [Depends(HTTPBearer(auto_error=False))] if serving.settings.token else []  # for the document: Guard checks
    for part in (clicks, hints, pages, sources, insight, vitals):
        api.include_router(part.router, dependencies=known)
    api.state.watch = Watch(serving)
    for part in (websub, reader, login, overview, figures, watched_sources, hosts, reports):
        api.include_router(part.router)
    api.add_api_route("/docs", _docs, include_in_schema=False)
    for path, (name, kind) in _STATIC.items():
        api.add_api_route(path, _static(FILES / name, kind), include_in_schema=False)
    for error, answer in (
        (Refused, _refused),
        (HTTPException, _http),
        (RequestValidationError, _invalid),
        (RunError, _failed),
        (ClientDisconnect, _gone),
        (Exception, _broken),
    ):
        api.add_exception_handler(error, answer)
    public = urlsplit(serving.settings.public_url).hostname
    return Guard(api, serving.settings.token, [public] if public else [], serving.counted)


async def _docs() -> Response:
    return page("docs.html", "api")


def _static(path: Path, kind: str) -> Any:
    async def show() -> FileResponse:
        return FileResponse(path, media_type=kind)

    return show


def _problem(status: int, error: str, headers: Any = None) -> Response:
    """In ASCII: what was sent may stand in it, and need not be text at all."""
    return Response(json.dumps({"error": error}), status, headers, media_type="application/json")


async def _refused(request: Request, error: Any) -> Response:
    return _problem(error.status, error.error, error.headers)


async def _http(request: Request, error: Any) -> Response:
    return _problem(error.status_code, str(error.detail), error.headers)


async def _invalid(request: Request, error: Any) -> Response:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    return _problem(422, f"{where}: {first['msg']}")


async def _failed(request: Request, error: Any) -> Response:
    log.error("%s", error)
    return _problem(503, "it cannot be done now; the log of mayfly serve says why", {"Retry-After": "5"})


async def _gone(request: Request, error: Any) -> Response:
    return _problem(400, "the body did not come to its end")


async def _broken(request: Request, error: Any) -> Response:
    return _problem(500, "it failed; the log of mayfly serve says why")
