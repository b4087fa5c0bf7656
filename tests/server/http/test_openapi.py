"""The API's document: as committed, and as the server keeps it under random requests."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
    use_after_free,
)

from hushpoll_server.device_routes import ROUTES
from hushpoll_server.openapi_file import as_text, generated

FILE = Path(__file__).parents[3] / "docs" / "reference" / "openapi.json"
# Per operation, of valid and of invalid arguments; schemathesis run by hand may take more.
EXAMPLES = [int(os.environ.get("HUSHPOLL_FUZZ", "2")), pytest.param(20, marks=pytest.mark.slow)]
CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    unsupported_method,
    use_after_free,
)


def test_the_committed_document_is_the_codes():
    """``scripts/make_openapi`` writes it anew."""
    assert FILE.read_text(encoding="utf-8") == as_text(generated())


def test_document_is_openapi_3_1_with_unique_operation_ids():
    document = json.loads(FILE.read_text(encoding="utf-8"))
    assert document["openapi"].startswith("3.1.")
    ids = [
        operation["operationId"]
        for operations in document["paths"].values()
        for operation in operations.values()
    ]
    assert len(set(ids)) == len(ids) > 20


pytestmark = pytest.mark.sqlite


@pytest.fixture
def site(make_site):
    """With a survey for each way of submitting; requests are not limited."""
    site = make_site(RATE_LIMIT_READ=0, RATE_LIMIT_SUBMIT=0)
    site.fill(site.publish(), 5)
    site.publish(name="panel", submission="token")
    return site


@pytest.fixture
def document(site):
    return schemathesis.openapi.from_wsgi("/api/v1/openapi.json", site.client().application)


def references(value):
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for part in value.values():
            yield from references(part)
    elif isinstance(value, list):
        for part in value:
            yield from references(part)


def test_the_openapi_document_covers_every_route_and_resolves(site):
    document = site.get("/api/v1/openapi.json", headers={}).json
    assert document["openapi"].startswith("3.1")
    documented = {
        (method.upper(), path)
        for path, operations in document["paths"].items()
        for method in operations
    }
    routed = {
        (method, rule.rule.replace("<int:", "<").replace("<", "{").replace(">", "}"))
        for rule in site.app.url_map.iter_rules()
        for method in rule.methods - {"HEAD", "OPTIONS"}
        if rule.endpoint not in ("openapi", "docs", "start")
        and rule.endpoint.partition(".")[0]
        not in ("page", "public_results", "dashboard", "metrics")
    } | {
        (route.method, route.template.replace("<int:", "<").replace("<", "{").replace(">", "}"))
        for route in ROUTES
    }
    assert documented == routed
    components = document["components"]["schemas"]
    found = set(references(document))
    assert found
    for reference in found:
        prefix, _, name = reference.rpartition("/")
        assert prefix == "#/components/schemas", reference
        assert name in components, reference


def test_the_openapi_document_names_every_problem_answer_as_problem_json(site):
    document = site.get("/api/v1/openapi.json", headers={}).json
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            for status, answer in operation["responses"].items():
                if int(status) >= 400:
                    assert "application/problem+json" in answer["content"], (path, method, status)
    submit = document["paths"]["/api/v1/surveys/{name}/reports"]["post"]
    assert set(submit["requestBody"]["content"]) == {
        "application/json",
        "application/vnd.hushpoll.reports",
    }
    assert {"200", "201", "401", "404", "409", "410", "413", "415", "422", "503"} <= set(
        submit["responses"]
    )


def fuzz(document, send, *, examples, modes):
    """Send random requests to each operation; the failures of all of them are shown together."""
    failures, sent = {}, Counter()
    for operation in [one.ok() for one in document.get_all_operations()]:
        for mode in modes:

            @settings(
                max_examples=examples,
                derandomize=True,
                database=None,
                deadline=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy(generation_mode=mode))
            def check(case):
                sent[case.operation.label] += 1
                send(case)

            try:
                check()
            except Unsatisfiable:
                # Nothing can be wrong with a request that has no arguments.
                assert mode is GenerationMode.NEGATIVE
            except (Exception, BaseExceptionGroup) as error:
                failures[f"{operation.label} ({mode.value})"] = str(error)
    assert not failures, "\n\n".join(f"{name}\n{words}" for name, words in failures.items())
    assert len(sent) > 20
    assert min(sent.values()) >= 1


@pytest.mark.parametrize("examples", EXAMPLES)
def test_random_requests_get_documented_answers(site, document, examples):
    """An administrator's, so that they get as far as they can; each about a real survey as well."""
    real = {"name": "work", "version": 1}

    def send(case):
        case.call_and_validate(headers=site.admin, checks=CHECKS)
        given_parameters = case.path_parameters or {}
        if real.keys() & given_parameters.keys():
            case.path_parameters = {
                **given_parameters,
                **{k: real[k] for k in real if k in given_parameters},
            }
            case.call_and_validate(headers=site.admin, checks=CHECKS)

    fuzz(document, send, examples=examples, modes=GenerationMode)


def test_random_requests_without_a_token_get_documented_answers(document):
    fuzz(
        document,
        lambda case: case.call_and_validate(checks=CHECKS),
        examples=3,
        modes=[GenerationMode.POSITIVE],
    )
