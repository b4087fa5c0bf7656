"""Bearer tokens of analysts and single-use tokens of respondents."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from hushpoll_server.store.schema import api_tokens
from hushpoll_shared.wire import reports as wire
from sample_survey import VERSION, bearer, body_of, make_report
from waiting import run_together


def issue(site, **body):
    answer = site.post("/api/v1/tokens", json={"scopes": ["read"], **body})
    assert answer.status_code == 201, answer.json
    return answer.json


def rotate(site, token_id, **body):
    return site.post(f"/api/v1/tokens/{token_id}/rotate", json=body)


def works(site, token):
    status = site.get(f"{VERSION}/counts", headers=bearer(token)).status_code
    assert status in (200, 401)
    return status == 200


def listed(site):
    return {one["id"]: one for one in site.get("/api/v1/tokens").json["tokens"]}


def test_day_of_the_last_use_is_listed_and_written_once_a_day(site):
    site.publish()
    token = issue(site)
    assert "last_used" not in listed(site)[token["id"]]
    assert works(site, token["token"])
    assert listed(site)[token["id"]]["last_used"] == site.clock.now().strftime("%Y-%m-%d")
    with site.services.database.writing() as connection:
        connection.execute(api_tokens.update().values(last_used="2100-01-01"))
    assert works(site, token["token"])
    # A process whose clock is behind does not turn it back.
    assert listed(site)[token["id"]]["last_used"] == "2100-01-01"
    site.clock.advance(24 * 3600)
    fresh = issue(site)
    assert works(site, fresh["token"])
    assert listed(site)[fresh["id"]]["last_used"] == site.clock.now().strftime("%Y-%m-%d")


def test_refused_token_is_not_used(site):
    site.publish()
    token = issue(site, expires_in=1)
    site.clock.advance(2)
    assert not works(site, token["token"])
    assert "last_used" not in listed(site)[token["id"]]


def test_each_token_is_worth_one_report(site):
    published = site.publish(submission="token")
    first, second = site.tokens(2)
    report, other = make_report(published), make_report(published)
    assert site.send(published, report, first).status_code == 201
    spent = site.send(published, other, first)
    assert site.problem(spent) == (401, "unauthorized", "Authorization")
    assert site.send(published, other, second).status_code == 201
    assert site.counts(published)["accepted"] == 2
    assert site.counts(published)["rejected"] == {"unauthorized": 1}


def test_a_retry_is_never_refused_for_its_token(site):
    published = site.publish(submission="token")
    (token,) = site.tokens()
    body = body_of(published)
    assert site.send_body(body, token).status_code == 201
    for retried_with in (token, None, "unknown"):
        assert site.send_body(body, retried_with).json == {"status": "duplicate"}


def test_a_refused_report_does_not_spend_its_token(site):
    published = site.publish(submission="token")
    first, second = site.tokens(2)
    report = make_report(published)
    assert site.send(published, report, first).status_code == 201
    conflict = wire.Report(report.id, make_report(published, education="low").record)
    assert site.send(published, conflict, second).status_code == 409
    short = wire.Report(wire.new_report_id(), report.record[:-1])
    assert site.send(published, short, second).status_code == 422
    assert site.send(published, token=second).status_code == 201


@pytest.mark.sqlite
@pytest.mark.parametrize("token", [None, "", "unknown", "A" * 43, "é" * 43])
def test_no_or_an_unknown_token_is_unauthorized(site, token):
    published = site.publish(submission="token")
    answer = site.send(published, token=token)
    assert site.problem(answer) == (401, "unauthorized", "Authorization")
    assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.sqlite
def test_a_token_of_another_survey_is_unknown(site):
    site.publish(submission="token")
    other = site.publish(name="other", submission="token")
    (token,) = site.tokens()
    answer = site.send_body(body_of(other, make_report(other)), token, name="other")
    assert answer.status_code == 401


def test_a_token_raced_by_many_reports_is_spent_once(site):
    published = site.publish(submission="token")
    (token,) = site.tokens()
    answers = []

    def race():
        answers.append(site.send(published, token=token))

    run_together(*[race] * 12)
    assert sorted(answer.status_code for answer in answers) == [201] + [401] * 11
    assert site.counts(published)["accepted"] == 1


@pytest.mark.sqlite
def test_an_open_survey_has_no_tokens(site):
    site.publish()
    answer = site.post("/api/v1/surveys/work/tokens", json={"count": 1})
    assert site.problem(answer) == (422, "invalid-request", "submission")


@pytest.mark.sqlite
@pytest.mark.parametrize("body", [{"count": 0}, {"count": 11}, {"count": "1"}, {"count": True}, {}])
def test_tokens_are_issued_within_bounds(make_site, body):
    site = make_site(MAX_TOKENS=10)
    site.publish(submission="token")
    answer = site.post("/api/v1/surveys/work/tokens", json=body)
    assert site.problem(answer) == (422, "invalid-request", "count")
    assert len(set(site.tokens(10))) == 10


def test_an_issued_token_works_until_it_expires(site):
    body = {"scopes": ["read"], "label": "report", "expires_in": 60}
    answer = site.post("/api/v1/tokens", json=body)
    assert answer.status_code == 201
    assert answer.json["expires_at"] == "2026-03-01T12:01:00Z"
    headers = bearer(answer.json["token"])
    site.publish()
    path = f"{VERSION}/counts"
    site.clock.advance(59)
    assert site.get(path, headers=headers).status_code == 200
    site.clock.advance(1)
    assert site.get(path, headers=headers).status_code == 401


@pytest.mark.sqlite
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
def test_invalid_token_request_is_refused_by_field(site, body, field):
    answer = site.post("/api/v1/tokens", json=body)
    assert site.problem(answer) == (422, "invalid-request", field)


@pytest.mark.sqlite
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


def test_a_replaced_token_works_until_its_overlap_is_over(site):
    site.publish()
    old = issue(site, label="report", scopes=["read", "train"])
    answer = rotate(site, old["id"], overlap_seconds=60)
    assert answer.status_code == 201
    new = answer.json
    assert new["scopes"] == ["read", "train"]
    assert new["replaces"] == old["id"]
    assert new["replaced_until"] == "2026-03-01T12:01:00Z"
    assert "expires_at" not in new
    assert listed(site)[new["id"]]["label"] == "report"
    assert (works(site, old["token"]), works(site, new["token"])) == (True, True)
    site.clock.advance(59)
    assert works(site, old["token"])
    site.clock.advance(1)
    assert (works(site, old["token"]), works(site, new["token"])) == (False, True)


@pytest.mark.sqlite
def test_an_overlap_of_nothing_ends_the_old_token_at_once(site):
    site.publish()
    old = issue(site)
    new = rotate(site, old["id"], overlap_seconds=0).json
    assert (works(site, old["token"]), works(site, new["token"])) == (False, True)


def test_rotation_extends_neither_the_old_token_nor_by_itself_the_new(site):
    site.publish()
    old = issue(site, expires_in=30)
    new = rotate(site, old["id"], overlap_seconds=3600).json
    assert new["replaced_until"] == new["expires_at"] == "2026-03-01T12:00:30Z"
    other = issue(site, expires_in=30)
    longer = rotate(site, other["id"], overlap_seconds=10, expires_in=90).json
    assert longer["expires_at"] == "2026-03-01T12:01:30Z"
    site.clock.advance(30)
    found = [works(site, one["token"]) for one in (old, new, other, longer)]
    assert found == [False, False, False, True]


@pytest.mark.sqlite
def test_the_overlap_is_a_day_by_default(site):
    assert rotate(site, issue(site)["id"]).json["replaced_until"] == "2026-03-02T12:00:00Z"


def test_only_a_valid_token_that_has_no_successor_is_rotated(site):
    replaced, revoked, expired = issue(site), issue(site), issue(site, expires_in=5)
    successor = rotate(site, replaced["id"]).json["id"]
    site.client().delete(f"/api/v1/tokens/{revoked['id']}", headers=site.admin)
    site.clock.advance(5)
    before = listed(site)
    for token, words in (
        (replaced, f"replaced by {successor}"),
        (revoked, "is revoked"),
        (expired, "is expired"),
    ):
        answer = rotate(site, token["id"])
        assert site.problem(answer) == (422, "invalid-request", "token_id")
        assert words in answer.json["detail"]
    assert site.problem(rotate(site, "0" * 16)) == (404, "not-found", None)
    assert listed(site) == before


def test_a_token_rotated_twice_at_once_has_one_successor(site):
    token = issue(site)
    statuses = []

    def run():
        statuses.append(rotate(site, token["id"]).status_code)

    run_together(*[run] * 8)
    assert sorted(statuses) == [201] + [422] * 7
    assert len(listed(site)) == 3  # the admin's, this one, its successor


def test_revoking_ends_an_overlap(site):
    site.publish()
    old = issue(site)
    new = rotate(site, old["id"]).json
    path = f"/api/v1/tokens/{old['id']}"
    assert site.client().delete(path, headers=site.admin).status_code == 204
    assert (works(site, old["token"]), works(site, new["token"])) == (False, True)


def test_the_list_shows_states_and_no_secrets(site):
    valid, revoked, expired = issue(site, label="a"), issue(site), issue(site, expires_in=5)
    replaced = issue(site, scopes=["submit", "publish"])
    successor = rotate(site, replaced["id"], overlap_seconds=600).json
    site.client().delete(f"/api/v1/tokens/{revoked['id']}", headers=site.admin)
    site.clock.advance(5)
    answer = site.get("/api/v1/tokens")
    found = {one["id"]: one for one in answer.json["tokens"]}
    assert found[valid["id"]] == {
        "id": valid["id"],
        "label": "a",
        "scopes": ["read"],
        "state": "valid",
        "issued_at": "2026-03-01T12:00:00Z",
    }
    assert found[revoked["id"]]["state"] == "revoked"
    assert (found[expired["id"]]["state"], found[expired["id"]]["expires_at"]) == (
        "expired",
        "2026-03-01T12:00:05Z",
    )
    assert (found[replaced["id"]]["state"], found[replaced["id"]]["replaced_by"]) == (
        "replaced",
        successor["id"],
    )
    assert found[replaced["id"]]["scopes"] == ["publish", "submit"]
    for one in (valid, revoked, expired, replaced, successor):
        secret = one["token"].split("_", 2)[2]
        assert secret.encode() not in answer.data
    with site.services.database.reading() as connection:
        hashes = connection.execute(select(api_tokens.c.hash)).scalars().all()
    assert not any(bytes(one).hex().encode() in answer.data for one in hashes)


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"overlap_seconds": -1}, "overlap_seconds"),
        ({"overlap_seconds": 2_592_001}, "overlap_seconds"),
        ({"overlap_seconds": 1.5}, "overlap_seconds"),
        ({"overlap_seconds": True}, "overlap_seconds"),
        ({"expires_in": 0}, "expires_in"),
        ({"expires_in": 10**12}, "expires_in"),
        ({"scopes": ["admin"]}, "scopes"),
    ],
)
def test_invalid_rotation_is_refused_by_field(site, body, field):
    token = issue(site)
    assert site.problem(rotate(site, token["id"], **body)) == (422, "invalid-request", field)
    assert len(listed(site)) == 2


@pytest.mark.sqlite
@pytest.mark.parametrize("label", ["a\x00b", "line\nbreak", "\ud800", "\u202e"])
def test_a_label_is_printable(site, label):
    """Guards: PostgreSQL takes no NUL in a text, and no database takes half a surrogate pair."""
    answer = site.post("/api/v1/tokens", json={"scopes": ["read"], "label": label})
    assert site.problem(answer)[:2] in {(422, "invalid-request"), (400, "invalid-json")}
