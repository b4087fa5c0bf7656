"""The application as a whole: configuration, addresses, OpenAPI."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from pydantic import ValidationError

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server import create_app
from hushpoll_server.config.settings import Settings
from hushpoll_server.http import endpoint
from hushpoll_server.ingest.routes import ROUTES
from hushpoll_shared.wire.problems import PROBLEMS


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"DATABASE": "x"}, "DATABASE"),
        ({"database_url": "x"}, "database_url"),
        ({"MAX_BODY_BYTES": 10}, "MAX_BODY_BYTES"),
        ({"MAX_JSON_BYTES": 2**29}, "MAX_JSON_BYTES"),
        ({"MAX_BULK_REPORTS": 10**9}, "MAX_BULK_REPORTS"),
        ({"REQUEST_SECONDS": -1}, "REQUEST_SECONDS"),
        ({"REQUEST_SECONDS": float("nan")}, "REQUEST_SECONDS"),
        ({"GROUP_COMMIT_REPORTS": 0}, "GROUP_COMMIT_REPORTS"),
        ({"QUEUE_REPORTS": True}, "QUEUE_REPORTS"),
        ({"CLOSE_GRACE_SECONDS": "60"}, "CLOSE_GRACE_SECONDS"),
        ({"SEAL_AT": 0}, "SEAL_AT"),
        ({"SEAL_IDLE_SECONDS": 0}, "SEAL_IDLE_SECONDS"),
        ({"MAX_TOKENS": 0}, "MAX_TOKENS"),
        ({"POOL_SIZE": 0}, "POOL_SIZE"),
    ],
)
def test_a_configuration_that_cannot_be_is_refused_by_key(config, field):
    with pytest.raises(InvalidParameter, match=field) as refused:
        create_app(config)
    assert refused.value.field == field


def test_the_configuration_has_defaults_and_is_frozen():
    settings = Settings.from_mapping({"TESTING": True, "SEAL_AT": 7})
    assert settings.seal_at == 7
    assert settings.database_url == "sqlite:///hushpoll.sqlite"
    with pytest.raises(ValidationError, match="frozen"):
        settings.seal_at = 8


def test_addresses_that_are_not_there_are_problems(site):
    assert site.problem(site.get("/nothing")) == (404, "not-found", None)
    refused = site.client().put("/health")
    assert site.problem(refused) == (405, "method-not-allowed", None)
    assert set(refused.headers["Allow"].split(", ")) == {"GET", "HEAD", "OPTIONS"}


def test_every_status_that_flask_refuses_by_itself_is_in_the_table():
    for status, code in endpoint.CODE_OF_STATUS.items():
        assert PROBLEMS[code].status in (status, 422)


def test_every_answer_forbids_sniffing_and_names_its_request(site):
    for path in ("/health", "/nothing", "/api/v1/surveys"):
        headers = site.get(path).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
        assert len(headers["X-Request-Id"]) == 16


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
        if rule.endpoint != "openapi" and rule.endpoint.partition(".")[0] not in ("page", "metrics")
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


def test_the_package_itself_is_cheap_and_holds_two_functions_alone():
    code = (
        "import json, sys, hushpoll_server as package; "
        "heavy = sorted({'sqlalchemy', 'numpy', 'flask'} & set(sys.modules)); "
        "print(json.dumps([package.__all__, heavy]))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert json.loads(found.stdout) == [["create_app", "create_asgi"], []]
