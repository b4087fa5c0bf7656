"""API tokens that are for some surveys alone: two tokens, two surveys, and no way across."""

from __future__ import annotations

import pytest

from hushpoll_shared.wire import reports as wire
from sample_survey import bearer, make_draft

pytestmark = pytest.mark.sqlite
GET, POST = "GET", "POST"


@pytest.fixture
def surveys(site):
    for name in ("work", "home"):
        published = site.publish(name=name)
        site.fill(published, 5)
        site.seal(name)
    return site


def bound(site, *names, scopes=("read", "publish", "train", "submit", "admin")):
    answer = site.post("/api/v1/tokens", json={"scopes": list(scopes), "surveys": list(names)})
    assert answer.status_code == 201, answer.json
    return bearer(answer.json["token"])


def of_survey(name):
    version = f"/api/v1/surveys/{name}/versions/1"
    return [
        (GET, f"{version}/estimates", {}, 200),
        (GET, f"{version}/cross-tables?a=gender&b=age", {}, 200),
        (GET, f"{version}/records", {}, 200),
        (GET, f"{version}/counts", {}, 200),
        (GET, f"/api/v1/surveys/{name}/origins", {}, 200),
        ("PUT", f"/api/v1/surveys/{name}/origins", {"json": {"origins": []}}, 200),
        (POST, f"{version}/jobs/seal", {"json": {}}, 202),
        (POST, f"{version}/jobs/export", {"json": {}}, 202),
        (POST, f"{version}/close", {"json": {}}, 200),
        (POST, "/api/v1/surveys", {"json": make_draft(name=name, version=2)}, 201),
        ("DELETE", f"{version}/records", {}, 409),
        (
            POST,
            f"/api/v1/surveys/{name}/reports",
            {"data": b"HUSH", "content_type": wire.REPORTS_MEDIA_TYPE},
            422,
        ),
    ]


@pytest.mark.parametrize(("own", "other"), [("work", "home"), ("home", "work")])
def test_token_reaches_its_survey_and_no_other(surveys, own, other):
    headers, client = bound(surveys, own), surveys.client()
    for method, path, options, done in of_survey(own):
        answer = client.open(path, method=method, headers=headers, **options)
        assert answer.status_code == done, (method, path, answer.json)
    for method, path, options, _ in of_survey(other):
        answer = client.open(path, method=method, headers=headers, **options)
        assert answer.status_code == 403, (method, path)
        assert answer.json["code"] == "forbidden"
        assert own in answer.json["detail"]


def test_token_counts_only_reports_of_its_survey(surveys):
    listed = surveys.get("/api/v1/surveys", headers=bound(surveys, "work")).json["surveys"]
    assert {entry["survey"]: entry.get("reports") for entry in listed} == {"home": None, "work": 5}


def test_jobs_of_another_survey_are_refused(surveys):
    job = surveys.add_job("export", name="home")
    headers = bound(surveys, "work")
    for method, path in ((GET, ""), (GET, "/result"), (POST, "/cancel")):
        answer = surveys.client().open(f"/api/v1/jobs/{job}{path}", method=method, headers=headers)
        assert answer.status_code == 403, path
    allowed = bound(surveys, "home")
    assert surveys.get(f"/api/v1/jobs/{job}", headers=allowed).status_code == 200


def test_bound_token_manages_no_tokens(surveys):
    headers = bound(surveys, "work", "home")
    assert surveys.get("/api/v1/tokens", headers=headers).status_code == 403
    assert (
        surveys.post("/api/v1/tokens", headers=headers, json={"scopes": ["read"]}).status_code
        == 403
    )


def test_successor_of_a_bound_token_is_bound(surveys):
    issued = surveys.post("/api/v1/tokens", json={"scopes": ["read"], "surveys": ["work"]}).json
    rotated = surveys.post(f"/api/v1/tokens/{issued['id']}/rotate", json={}).json
    answer = surveys.get("/api/v1/surveys/home/versions/1/counts", headers=bearer(rotated["token"]))
    assert answer.status_code == 403
    listed = surveys.get("/api/v1/tokens").json["tokens"]
    assert [one.get("surveys") for one in listed if one["id"] == rotated["id"]] == [["work"]]


@pytest.mark.parametrize("names", [[], ["No Name"], ["a"] * 101])
def test_binding_of_another_form_is_refused(site, names):
    answer = site.post("/api/v1/tokens", json={"scopes": ["read"], "surveys": names})
    assert site.problem(answer)[0] == 422
