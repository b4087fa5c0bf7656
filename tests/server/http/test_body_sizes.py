"""Bodies of JSON that cost a server more than they cost their sender."""

from __future__ import annotations

import json

import pytest
from pydantic import BaseModel

from hushpoll_server.http import endpoint
from hushpoll_server.http.bodies import DESIGN_BYTES, SMALL_BYTES
from sample_survey import VERSION

pytestmark = pytest.mark.sqlite


def keys(size):
    """JSON members that no field has, of about so many bytes."""
    return ",".join(f'"x{number}":1' for number in range(size // 11))


def send(site, path, body, *, method="POST", **options):
    return site.client().open(
        path,
        method=method,
        data=body.encode(),
        content_type="application/json",
        headers=site.admin,
        **options,
    )


SMALL_ROUTES = [
    *(("POST", f"{VERSION}/jobs/{kind}") for kind in ("seal", "train", "tune", "fairness")),
    *(("POST", f"{VERSION}/jobs/{kind}") for kind in ("shape", "table", "export", "report")),
    *(("POST", path) for path in ("/api/v1/users", "/api/v1/tokens", f"{VERSION}/close")),
    ("POST", f"{VERSION}/public-results"),
    ("POST", "/api/v1/surveys/work/tokens"),
    ("PUT", "/api/v1/surveys/work/origins"),
]
DESIGN_ROUTES = [("POST", f"{VERSION}/jobs/weight"), ("POST", f"{VERSION}/weighted-shares")]
MANIFEST_ROUTES = [
    ("POST", path) for path in ("/api/v1/drafts", "/api/v1/drafts/plan", "/api/v1/plans")
]


@pytest.fixture
def validated(monkeypatch):
    """The sizes of the documents that pydantic was given."""
    sizes, call = [], BaseModel.model_validate.__func__

    def noted(cls, document, **options):
        sizes.append(len(document))
        return call(cls, document, **options)

    monkeypatch.setattr(BaseModel, "model_validate", classmethod(noted))
    return sizes


@pytest.mark.parametrize(("method", "path"), SMALL_ROUTES)
def test_request_that_names_a_few_things_has_little_room(site, method, path):
    """Guards: 9.5 MB of unknown keys kept a server busy for 17 s."""
    site.publish()
    answer = send(site, path, "{" + keys(SMALL_BYTES + 100_000) + "}", method=method)
    assert site.problem(answer)[:2] == (413, "payload-too-large")
    assert str(SMALL_BYTES) in answer.json["detail"]


@pytest.mark.parametrize(("method", "path"), [*SMALL_ROUTES[:2], *DESIGN_ROUTES, *MANIFEST_ROUTES])
def test_many_unknown_keys_are_refused_before_they_are_checked(site, validated, method, path):
    site.publish()
    size = SMALL_BYTES // 2 if (method, path) in SMALL_ROUTES else 1_000_000
    answer = send(site, path, "{" + keys(size) + "}", method=method)
    assert site.problem(answer) == (422, "invalid-request", "x0")
    assert answer.json["detail"] == "'x0' is 1; there is no such field; leave it out"
    assert max(validated, default=0) < 100


@pytest.mark.parametrize("design", ['"strata": {%s}', '"margins": [{%s}]', '"weights": {%s}', "%s"])
def test_unknown_keys_within_a_body_are_refused_as_well(site, validated, design):
    site.publish()
    body = '{"attributes": ["age"], "design": {' + design % keys(500_000) + "}}"
    answer = send(site, f"{VERSION}/jobs/weight", body)
    status, code, field = site.problem(answer)
    assert (status, code) == (422, "invalid-request")
    assert field.startswith("design.")
    assert field.endswith("x0")
    assert "there is no such field; leave it out" in answer.json["detail"]


def test_list_of_many_wrong_entries_is_refused_at_a_bound(site):
    site.publish()
    for body in (
        {"attributes": [0] * 400_000},
        {"attributes": ["age"], "design": {"bounds": ["x"] * 400_000}},
        {"attributes": ["age"], "design": {"margins": [{"attributes": [0] * 400_000}]}},
    ):
        answer = send(site, f"{VERSION}/jobs/weight", json.dumps(body))
        assert site.problem(answer)[:2] == (422, "invalid-request")


def test_nested_bodies_are_refused(site):
    site.publish()
    for _, path in (*SMALL_ROUTES[:1], *DESIGN_ROUTES, *MANIFEST_ROUTES):
        body = '{"manifest":' + "[" * 20_000 + "]" * 20_000 + "}"
        assert site.problem(send(site, path, body))[:2] == (400, "invalid-json")


def test_design_of_as_many_cells_as_are_allowed_has_room():
    cells = [["a region", "an age group", 12.5]] * 65_536
    assert len(json.dumps({"rows": cells})) < DESIGN_BYTES
    assert endpoint.MOST_UNKNOWN < 100
