"""Headers and messages that clients, proxies and logs depend on."""

from __future__ import annotations

import pytest

from hushpoll_server.http import endpoint
from hushpoll_server.store.reports import ReportRow
from hushpoll_shared.wire.problems import PROBLEMS
from sample_survey import REPORTS, VERSION

pytestmark = pytest.mark.sqlite

MANIFESTS = ["/api/v1/surveys/work", VERSION]


@pytest.mark.parametrize("path", MANIFESTS)
@pytest.mark.parametrize("given", ['"{0}"', 'W/"{0}"', '"other", W/"{0}"', "*"])
def test_a_known_manifest_is_not_sent_again(site, path, given):
    """Guards: behind a proxy that compresses, and so weakens ETags, each fetch was a full one."""
    digest = site.publish().digest
    answer = site.get(path, headers={"If-None-Match": given.format(digest)})
    assert (answer.status_code, answer.data) == (304, b"")
    assert answer.headers["ETag"] == f'"{digest}"'
    # of a named version it would be kept for ever
    assert answer.headers.get("Survey-State") == (None if path == VERSION else "open")
    assert answer.headers["Cache-Control"] != "no-store"


@pytest.mark.parametrize("path", [*MANIFESTS, "/api/v1/surveys", "/health"])
def test_head_is_get_without_the_body(site, path):
    site.publish()
    client = site.client()
    get, head = client.get(path), client.head(path)
    assert (head.status_code, head.data) == (200, b"")
    varying = {"X-Request-Id"}
    for name in set(get.headers.keys()) - varying:
        assert head.headers.get(name) == get.headers[name], name


def test_head_of_an_export_tells_its_size(site):
    published = site.publish()
    site.fill(published, 5)
    path = f"{VERSION}/records"
    head = site.client().head(path, headers=site.admin)
    assert (head.status_code, head.data) == (200, b"")
    assert int(head.headers["Content-Length"]) == len(site.get(path).data)


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("surveys/work/versions/1/close", {"grace_seconds": -5}, ["grace_seconds is -5", "0"]),
        ("surveys/work/tokens", {"count": 0}, ["count is 0", "1"]),
        ("surveys/work/tokens", {}, ["count is missing"]),
        ("tokens", {"scopes": ["read"], "owner": "me"}, ["owner is 'me'"]),
        ("tokens", {"scopes": ["read"], "label": "x" * 201}, ["label is 'xxx", "200"]),
    ],
)
def test_a_refused_value_is_named_with_its_interval(site, path, body, words):
    """Guards: the field and the interval were named, but not what had been sent."""
    site.publish()
    answer = site.post(f"/api/v1/{path}", json=body)
    assert site.problem(answer)[:2] == (422, "invalid-request")
    assert len(answer.json["detail"]) < 250
    for word in words:
        assert word in answer.json["detail"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api"),
        ("GET", "/api/v1"),
        ("GET", "/api/v1/surveys/"),
        ("GET", "/api/v2/surveys"),
        ("GET", "/api/v1/surveys/work/versions/one"),
        ("DELETE", "/api/v1/surveys/work"),
        ("PUT", REPORTS),
        ("GET", REPORTS),
        ("POST", "/api/v1/openapi.json"),
        ("BREW", "/health"),
    ],
)
def test_request_without_a_view_is_answered_with_a_problem(site, method, path):
    site.publish()
    answer = site.client().open(path, method=method)
    assert site.problem(answer)[:2] in {(404, "not-found"), (405, "method-not-allowed")}
    assert ("Allow" in answer.headers) == (answer.status_code == 405)


def test_a_report_on_its_way_does_not_print_itself():
    """Guards: its repr, which debuggers and crash reports show, held record and token."""
    arrival = ReportRow(7, b"ID-OF-16-BYTES!!", b"RECORD", 3, b"TOKEN")
    for shown in (repr(arrival), str(arrival), f"{arrival}", repr([arrival])):
        for secret in ("ID-OF", "RECORD", "TOKEN"):
            assert secret not in shown


@pytest.mark.parametrize("name", ["work%00", "%ff", "WORK", "..%5c"])
@pytest.mark.parametrize("path", ["", "/origins"])
def test_a_name_that_no_survey_can_have_is_unknown(site, name, path):
    """Guards: PostgreSQL takes no NUL in a text, and the server failed."""
    site.publish()
    answer = site.get(f"/api/v1/surveys/{name}{path}")
    assert site.problem(answer) == (404, "unknown-survey", "name")


def test_every_status_that_flask_refuses_by_itself_is_in_the_table():
    for status, code in endpoint.CODE_OF_STATUS.items():
        assert PROBLEMS[code].status in (status, 422)
