"""All that the OpenAPI document allows, and much that it does not, is answered as it says."""

import json

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    positive_data_acceptance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

ANSWERS = [
    not_a_server_error,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
]
OPERATIONS = [
    "POST /api/clicks", "POST /api/hints", "GET /api/indexnow", "POST /api/indexnow", "GET /api/pages",
    "GET /api/sources", "POST /api/sources", "GET /api/sources/{id}", "PATCH /api/sources/{id}", "GET /api/why",
    "GET /api/plan", "GET /health", "GET /health/crawl", "GET /metrics", "GET /api/websub/{id}",
    "POST /api/websub/{id}",
]  # fmt: skip
ENDLESS = "GET /api/pages/stream"
NOT_EVERY_TEXT_IS_AN_ADDRESS = {"POST /api/sources", "GET /api/why"}
MOSTLY_WELL = {"GET /health/crawl"}  # 503 is an answer


@schemathesis.serializer("application/x-ndjson")
def ndjson(context, value):
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


@pytest.fixture(scope="module")
def document(api):
    found = schemathesis.openapi.from_url(f"{api.url}openapi.json")
    return {one.ok().label: one.ok() for one in found.get_all_operations()}


def test_every_route_is_tried(document) -> None:
    assert set(document) == {*OPERATIONS, ENDLESS}


@pytest.mark.parametrize("mode", GenerationMode, ids=lambda mode: mode.value)
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_route_keeps_to_the_document(document, name, mode) -> None:
    operation = document[name]
    if mode is GenerationMode.NEGATIVE and not (operation.query or operation.path_parameters or operation.body):
        pytest.skip("nothing can be asked wrong")
    checks = [check for check in ANSWERS if check is not not_a_server_error or name not in MOSTLY_WELL]
    if mode is GenerationMode.NEGATIVE:
        checks.append(negative_data_rejection)
    elif name not in NOT_EVERY_TEXT_IS_AN_ADDRESS:
        checks.append(positive_data_acceptance)

    @given(operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=25, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    def asked(case) -> None:
        case.call_and_validate(checks=checks)

    asked()
