"""Bearer tokens of analysts and single-use tokens of respondents."""

from __future__ import annotations

import threading

import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.wire import reports as wire


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def issue(site, count=1):
    answer = site.post("/api/v1/surveys/work/tokens", json={"count": count})
    assert answer.status_code == 201
    return answer.json["tokens"]


def body_of(published, report):
    return wire.encode_report_json(published.digest, report)


def test_each_token_is_worth_one_report(site, make_report):
    published = site.publish(submission="token")
    first, second = issue(site, 2)
    report, other = make_report(published), make_report(published)
    assert site.send("work", body_of(published, report), first).status_code == 201
    spent = site.send("work", body_of(published, other), first)
    assert site.problem(spent) == (401, "unauthorized", "Authorization")
    assert site.send("work", body_of(published, other), second).status_code == 201
    assert site.counts(published)["accepted"] == 2
    assert site.counts(published)["rejected"] == {"unauthorized": 1}


def test_a_retry_is_never_refused_for_its_token(site, make_report):
    published = site.publish(submission="token")
    (token,) = issue(site)
    body = body_of(published, make_report(published))
    assert site.send("work", body, token).status_code == 201
    for retried_with in (token, None, "unknown"):
        assert site.send("work", body, retried_with).json == {"status": "duplicate"}


def test_a_refused_report_does_not_spend_its_token(site, make_report):
    published = site.publish(submission="token")
    first, second = issue(site, 2)
    report = make_report(published)
    assert site.send("work", body_of(published, report), first).status_code == 201
    conflict = wire.Report(report.id, make_report(published, education="low").record)
    assert site.send("work", body_of(published, conflict), second).status_code == 409
    short = wire.Report(wire.new_report_id(), report.record[:-1])
    assert site.send("work", body_of(published, short), second).status_code == 422
    assert site.send("work", body_of(published, make_report(published)), second).status_code == 201


@pytest.mark.parametrize("token", [None, "", "unknown", "A" * 43, "é" * 43])
def test_no_or_an_unknown_token_is_unauthorized(site, make_report, token):
    published = site.publish(submission="token")
    answer = site.send("work", body_of(published, make_report(published)), token)
    assert site.problem(answer) == (401, "unauthorized", "Authorization")
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_a_token_of_another_survey_is_unknown(site, make_report):
    site.publish(submission="token")
    other = site.publish(name="other", submission="token")
    (token,) = issue(site)
    answer = site.send("other", body_of(other, make_report(other)), token)
    assert answer.status_code == 401


def test_a_token_raced_by_many_reports_is_spent_once(site, make_report):
    published = site.publish(submission="token")
    (token,) = issue(site)
    answers = []

    def race():
        answers.append(site.send("work", body_of(published, make_report(published)), token))

    threads = [threading.Thread(target=race) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.status_code for answer in answers) == [201] + [401] * 11
    assert site.counts(published)["accepted"] == 1


def test_an_open_survey_has_no_tokens(site):
    site.publish()
    answer = site.post("/api/v1/surveys/work/tokens", json={"count": 1})
    assert site.problem(answer) == (422, "invalid-request", "submission")


@pytest.mark.parametrize("body", [{"count": 0}, {"count": 11}, {"count": "1"}, {"count": True}, {}])
def test_tokens_are_issued_within_bounds(make_site, body):
    site = make_site(MAX_TOKENS=10)
    site.publish(submission="token")
    answer = site.post("/api/v1/surveys/work/tokens", json=body)
    assert site.problem(answer) == (422, "invalid-request", "count")
    assert len(set(issue(site, 10))) == 10


def test_an_issued_token_works_until_it_expires(site):
    body = {"scopes": ["read"], "label": "report", "expires_in": 60}
    answer = site.post("/api/v1/tokens", json=body)
    assert answer.status_code == 201
    assert answer.json["expires_at"] == "2026-03-01T12:01:00Z"
    headers = bearer(answer.json["token"])
    site.publish()
    path = "/api/v1/surveys/work/versions/1/counts"
    site.clock.advance(59)
    assert site.get(path, headers=headers).status_code == 200
    site.clock.advance(1)
    assert site.get(path, headers=headers).status_code == 401


def test_a_revoked_token_is_refused(site):
    answer = site.post("/api/v1/tokens", json={"scopes": ["publish", "read"]})
    client = site.client()
    path = f"/api/v1/tokens/{answer.json['id']}"
    assert client.delete(path, headers=site.admin).status_code == 204
    headers = bearer(answer.json["token"])
    assert site.get("/api/v1/surveys", headers=headers).status_code == 401
    assert client.delete("/api/v1/tokens/" + "0" * 16, headers=site.admin).status_code == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"scopes": ["root"]}, "scopes"),
        ({"scopes": []}, "scopes"),
        ({"scopes": ["read"], "expires_in": 0}, "expires_in"),
        ({"scopes": ["read"], "expires_in": 10**12}, "expires_in"),
        ({"scopes": ["read"], "label": "x" * 201}, "label"),
        ({"scopes": ["read"], "owner": "me"}, "owner"),
    ],
)
def test_a_token_that_cannot_be_is_not_issued(site, body, field):
    answer = site.post("/api/v1/tokens", json=body)
    assert site.problem(answer) == (422, "invalid-request", field)


@pytest.mark.parametrize(
    "change",
    [
        lambda token: token[:-1],
        lambda token: token + "A",
        lambda token: token.replace("hp_", "xx_"),
        lambda token: token[:20] + ("A" * 43),
        lambda token: "hp_" + "0" * 16 + token[19:],
    ],
)
def test_a_token_with_any_part_changed_is_unknown(site, change):
    token = site.admin["Authorization"].removeprefix("Bearer ")
    assert site.get("/api/v1/surveys", headers=bearer(token)).status_code == 200
    assert site.get("/api/v1/surveys", headers=bearer(change(token))).status_code == 401
    basic = {"Authorization": f"Basic {token}"}
    assert site.get("/api/v1/surveys", headers=basic).status_code == 401


def test_the_first_admin_token_is_issued_once(site):
    assert site.services.access.first_admin() is None


def test_issuing_checks_its_parameters(site):
    with pytest.raises(InvalidParameter, match="root"):
        site.services.access.issue(["read", "root"])
