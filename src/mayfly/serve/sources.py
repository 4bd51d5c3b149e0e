"""Sources: what is watched and believed, and a person's word on it. A running crawl takes it up within seconds."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from mayfly.crawl.telling import address, kind_of, source_told
from mayfly.errors import UsageError
from mayfly.serve.models import SourceAnswer, SourceEdit, SourceGiven, SourcesAnswer
from mayfly.serve.parts import Refused, Serving, With, problems
from mayfly.store.records import NewSource, Source, SourceState

router = APIRouter(tags=["sources"])

_LARGEST = 2**53
_Id = Annotated[int, Path(ge=0, le=_LARGEST)]


@router.get("/api/sources", response_model=SourcesAnswer, responses=problems())
async def sources(
    serving: With,
    after: Annotated[int, Query(ge=-1, le=_LARGEST, description="From behind this id on.")] = -1,
    first: Annotated[int, Query(ge=1, le=1000, description="So many at most.")] = 100,
    host: Annotated[str | None, Query(max_length=300, description="Of this host alone.")] = None,
    state: Annotated[SourceState | None, Query(description="In this state.")] = None,
) -> SourcesAnswer:
    """What is watched, by id, with all that is believed of it."""
    found = [
        source
        for source in await serving.reader.sources()
        if source.id > after and host in (None, source.host) and state in (None, source.state)
    ]
    more = found[first - 1].id if len(found) > first else None
    return SourcesAnswer(sources=[_told(source) for source in found[:first]], next=more)


@router.get("/api/sources/{id}", response_model=SourceAnswer, responses=problems(404))
async def source(id: _Id, serving: With) -> SourceAnswer:
    """One of them."""
    return _told(await _known(serving, id))


@router.post(
    "/api/sources",
    response_model=SourceAnswer,
    status_code=201,
    responses={**problems(), 200: {"model": SourceAnswer, "description": "It was there, and stays as it is."}},
)
async def add(given: SourceGiven, serving: With, response: Response) -> SourceAnswer:
    """Watch this address from now on."""
    try:
        url = address(given.url)
    except UsageError:
        raise Refused(422, "url must be a web address such as https://example.com/news/") from None
    new = await serving.store.add_sources(
        serving.clock(), [NewSource(url, given.kind or kind_of(url), pinned=given.pinned)]
    )
    if not new:
        response.status_code = 200
    kept = await serving.store.source_at(url)
    assert kept is not None
    return _told(kept)


@router.patch("/api/sources/{id}", response_model=SourceAnswer, responses=problems(404))
async def edit(id: _Id, given: SourceEdit, serving: With) -> SourceAnswer:
    """Block, retire, restore or pin it."""
    await _known(serving, id)
    if given.state is not None or given.reason is not None:
        reason = given.reason if given.reason is not None else ""
        await serving.store.edit_source(id, state=given.state, reason=reason)
    if "pinned" in given.model_fields_set:
        await serving.store.pin(id, given.pinned)
    return _told(await _known(serving, id))


async def _known(serving: Serving, id: int) -> Source:
    found = await serving.store.sources([id])
    if not found:
        raise Refused(404, f"there is no source {id}")
    return found[0]


def _told(source: Source) -> SourceAnswer:
    return SourceAnswer(**source_told(source))
