"""The API's document: as committed, and as the server keeps it under random requests."""

from __future__ import annotations

import json
import os
import shutil
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

from hushpoll_server.openapi_file import as_text, generated

FILE = Path(__file__).parents[3] / "docs" / "reference" / "openapi.json"
# Per operation, of valid and of invalid arguments; schemathesis run by hand may take more.
EXAMPLES = int(os.environ.get("HUSHPOLL_FUZZ", "6"))
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


def test_it_is_openapi_3_1_with_one_operation_id_each():
    document = json.loads(FILE.read_text(encoding="utf-8"))
    assert document["openapi"].startswith("3.1.")
    ids = [
        operation["operationId"]
        for operations in document["paths"].values()
        for operation in operations.values()
    ]
    assert len(set(ids)) == len(ids) > 20


@pytest.fixture
def database_url(tmp_path, migrated):
    """SQLite alone; the statements run on both databases elsewhere."""
    path = tmp_path / "hushpoll.sqlite"
    shutil.copy(migrated, path)
    return f"sqlite:///{path}"


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


def test_random_requests_get_documented_answers(site, document):
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

    fuzz(document, send, examples=EXAMPLES, modes=GenerationMode)


def test_random_requests_without_a_token_get_documented_answers(document):
    fuzz(
        document,
        lambda case: case.call_and_validate(checks=CHECKS),
        examples=3,
        modes=[GenerationMode.POSITIVE],
    )
