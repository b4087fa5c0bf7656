"""Invitations: redeemed once each for a token that the server cannot recognise, spent once each."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from werkzeug.test import TestResponse

from hushpoll_server.services.surveys.invitation_keys import InvitationKeys
from hushpoll_shared.spelling.base64url import b64decode, b64encode
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire import invitations as wire
from hushpoll_shared.wire import voprf
from sample_survey import bearer, body_of, make_draft, make_report

SEED = "5e" * 32
INPUT = bytes(range(32))


@pytest.fixture
def invited(make_site):
    """A site that can publish invited surveys, and one that is published."""
    site = make_site(INVITATION_SEED=SEED)
    return site, site.publish(submission="invited")


def issue(site, published: Published, count: int = 1) -> list[str]:
    path = f"/api/v1/surveys/{published.name}/versions/{published.version}/invitations"
    answer = site.post(path, json={"count": count})
    assert answer.status_code == 201, answer.json
    codes: list[str] = answer.json["invitations"]
    return codes


def ask(site, published: Published, code: str | None, blinded: bytes) -> TestResponse:
    return site.post(
        f"/api/v1/surveys/{published.name}/redemptions",
        json=wire.encode_redemption(published.digest, blinded),
        headers={} if code is None else bearer(code),
    )


def token_of(site, published: Published, code: str, private_input: bytes = INPUT) -> str:
    blind, blinded = voprf.Blind(private_input)
    answer = ask(site, published, code, blinded)
    assert answer.status_code == 200, answer.json
    evaluated, proof = wire.parse_evaluation(answer.json)
    key = b64decode(published.invitation_key, field="invitation_key")
    output = voprf.Finalize(private_input, blind, evaluated, blinded, key, proof)
    return wire.Token(private_input, output).to_text()


def send(site, published: Published, token: str | None, report: Any = None) -> TestResponse:
    return site.send_body(body_of(published, report), token, name=published.name)


def test_redeemed_invitation_is_worth_one_report(invited):
    site, published = invited
    token = token_of(site, published, issue(site, published)[0])
    report = make_report(published)
    assert send(site, published, token, report).status_code == 201
    assert send(site, published, token, report).status_code == 200  # the same report again
    other = send(site, published, token)
    assert (other.status_code, other.json["code"]) == (409, "token-spent")
    assert send(site, published, None, report).status_code == 200  # a retry is never refused


def test_lost_answer_is_given_again_and_another_element_is_refused(invited):
    site, published = invited
    (code,) = issue(site, published)
    _, blinded = voprf.Blind(INPUT)
    first, again = (ask(site, published, code, blinded) for _ in range(2))
    assert first.json["evaluated"] == again.json["evaluated"]
    other = ask(site, published, code, voprf.Blind(INPUT)[1])
    assert (other.status_code, other.json["code"]) == (409, "invitation-redeemed")
    # A thief of a list of redeemed invitations gets nothing for them.
    assert ask(site, published, code, voprf.Blind(b"t" * 32)[1]).status_code == 409


def test_two_devices_at_once_redeem_an_invitation_once(invited):
    site, published = invited
    (code,) = issue(site, published)
    elements = [voprf.Blind(INPUT)[1] for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda one: ask(site, published, code, one), elements))
    assert sorted(answer.status_code for answer in answers) == [200, *[409] * 7]


def test_one_token_sent_with_many_reports_at_once_counts_once(invited):
    site, published = invited
    token = token_of(site, published, issue(site, published)[0])
    with ThreadPoolExecutor(8) as threads:
        codes = list(threads.map(lambda _: send(site, published, token).status_code, range(8)))
    assert sorted(codes) == [201, *[409] * 7]
    assert site.scalars("SELECT count(*) FROM spent_tokens") == [1]


def test_report_that_is_refused_does_not_spend_its_token(invited):
    site, published = invited
    first, second = (
        token_of(site, published, code, bytes([at]) * 32)
        for at, code in enumerate(issue(site, published, 2))
    )
    report = make_report(published)
    assert send(site, published, first, report).status_code == 201
    taken = type(report)(report.id, make_report(published, age="20s").record)
    assert send(site, published, second, taken).json["code"] == "report-conflict"
    assert send(site, published, second).status_code == 201


@pytest.mark.sqlite
@pytest.mark.parametrize("token", [None, "A" * 128, "A" * 43, "not a token"])
def test_what_is_no_token_is_refused(invited, token):
    site, published = invited
    refused = send(site, published, token)
    assert (refused.status_code, refused.json["code"]) == (401, "unauthorized")
    assert "redeem an invitation" in refused.json["detail"]


def test_token_of_another_version_or_survey_is_refused(invited):
    site, published = invited
    second = site.publish(submission="invited", version=2)
    other = site.publish(submission="invited", name="panel")
    keys = {one.invitation_key for one in (published, second, other)}
    assert len(keys) == 3
    token = token_of(site, published, issue(site, published)[0])
    assert send(site, second, token).status_code == 401
    assert send(site, other, token).status_code == 401
    assert send(site, published, token).status_code == 201


def test_invitation_to_another_version_or_survey_is_refused(invited):
    site, published = invited
    second = site.publish(submission="invited", version=2)
    (code,) = issue(site, second)
    for given in (code, "A" * 43, "x", None):
        refused = ask(site, published, given, voprf.Blind(INPUT)[1])
        assert (refused.status_code, refused.json["code"]) == (401, "unauthorized")


@pytest.mark.sqlite
@pytest.mark.parametrize("blinded", [bytes(32), b"\xff" * 32])
def test_what_is_no_element_is_refused_and_the_invitation_stays(invited, blinded):
    site, published = invited
    (code,) = issue(site, published)
    refused = ask(site, published, code, blinded)
    assert (refused.status_code, refused.json["field"]) == (422, "blinded")
    assert token_of(site, published, code)


def test_server_with_another_seed_asks_to_come_back(make_site, monkeypatch):
    site = make_site(INVITATION_SEED=SEED)
    published = site.publish(submission="invited")
    (code,) = issue(site, published)
    token = token_of(site, published, code)
    keys = site.services.invitations._keys
    monkeypatch.setattr(site.services.invitations, "_keys", InvitationKeys("77" * 32))
    for refused in (
        ask(site, published, code, voprf.Blind(INPUT)[1]),
        send(site, published, token),
    ):
        assert refused.status_code == 503
        assert "invitation_seed" in refused.json["detail"]
        assert int(refused.headers["Retry-After"]) == 60
    monkeypatch.setattr(site.services.invitations, "_keys", keys)
    assert send(site, published, token).status_code == 201


def test_rotated_seed_makes_new_keys_and_its_former_one_stays_valid_for_its_versions(
    make_site, monkeypatch
):
    site = make_site(INVITATION_SEED=SEED)
    old = site.publish(submission="invited")
    first, second = issue(site, old, 2)
    token = token_of(site, old, first)
    stolen = voprf.DeriveKeyPair(bytes.fromhex(SEED), wire.key_info("work", 2))
    rotated = make_site(INVITATION_SEED="77" * 32, FORMER_INVITATION_SEEDS=f"{'11' * 32},{SEED}")
    assert send(rotated, old, token).status_code == 201
    assert send(rotated, old, token_of(rotated, old, second, b"2" * 32)).status_code == 201
    new = rotated.publish(submission="invited", version=2)
    fresh = voprf.DeriveKeyPair(bytes.fromhex("77" * 32), wire.key_info("work", 2))
    assert new.invitation_key == b64encode(fresh.pkS)
    # A thief of the former seed makes no token of a new version.
    forged = wire.Token(INPUT, voprf.Evaluate(stolen, INPUT)).to_text()
    assert send(rotated, new, forged).status_code == 401
    assert send(rotated, new, token_of(rotated, new, *issue(rotated, new))).status_code == 201
    # Published again, the old version has the key that it had.
    again = rotated.post("/api/v1/surveys", json=make_draft(submission="invited"))
    assert (again.status_code, again.json["digest"]) == (200, old.digest)


@pytest.mark.sqlite
def test_publishing_without_a_seed_names_the_setting(site):
    refused = site.post("/api/v1/surveys", json=make_draft(submission="invited"))
    assert (refused.status_code, refused.json["field"]) == (422, "submission")
    assert "invitation_seed" in refused.json["detail"]


@pytest.mark.sqlite
def test_publishing_the_same_draft_again_does_nothing(invited):
    site, published = invited
    again = site.post("/api/v1/surveys", json=make_draft(submission="invited"))
    assert (again.status_code, again.json["digest"]) == (200, published.digest)


@pytest.mark.sqlite
def test_key_is_derived_of_seed_survey_and_version(invited):
    _, published = invited
    key = voprf.DeriveKeyPair(bytes.fromhex(SEED), b"hushpoll invited work 1")
    assert published.invitation_key == b64encode(key.pkS)


@pytest.mark.sqlite
def test_open_survey_takes_no_invitations(site):
    published = site.publish()
    path = "/api/v1/surveys/work/versions/1/invitations"
    assert site.post(path, json={"count": 1}).json["field"] == "submission"
    assert ask(site, published, None, voprf.Blind(INPUT)[1]).json["field"] == "submission"


@pytest.mark.sqlite
def test_closed_survey_redeems_nothing(invited):
    site, published = invited
    (code,) = issue(site, published)
    site.post("/api/v1/surveys/work/versions/1/close", json={"grace_seconds": 0})
    assert ask(site, published, code, voprf.Blind(INPUT)[1]).status_code == 410
    path = "/api/v1/surveys/work/versions/1/invitations"
    assert site.post(path, json={"count": 1}).status_code == 410


def test_spent_tokens_are_deleted_when_no_report_can_come_any_more(invited):
    site, published = invited
    token = token_of(site, published, issue(site, published)[0])
    report = make_report(published)
    assert send(site, published, token, report).status_code == 201
    site.post("/api/v1/surveys/work/versions/1/close", json={"grace_seconds": 3600})
    site.services.sealing.seal_ended()
    assert len(site.scalars("SELECT token FROM spent_tokens")) == 1  # the grace is not over
    assert send(site, published, token).status_code == 409
    site.clock.advance(3601)
    site.services.sealing.seal_ended()
    assert site.scalars("SELECT token FROM spent_tokens") == []
    assert send(site, published, token, report).status_code == 200  # a retry is still known
    assert send(site, published, token).status_code == 410


def test_overview_has_both_counts(invited):
    site, published = invited
    codes = issue(site, published, 5)
    token_of(site, published, codes[0])
    overview = site.get("/api/v1/surveys/work/versions/1/overview").json
    assert (overview["invited"], overview["redeemed"]) == (5, 1)
    assert site.publish(name="open-one").submission == "open"
    assert site.get("/api/v1/surveys/open-one/versions/1/overview").json["invited"] is None


def test_stored_rows_do_not_join_invitation_and_report(invited):
    site, published = invited
    codes = issue(site, published, 3)
    tokens = [token_of(site, published, code, bytes([at]) * 32) for at, code in enumerate(codes)]
    for token in tokens:
        assert send(site, published, token).status_code == 201
    hashes = set(map(bytes, site.scalars("SELECT hash FROM invitations")))
    assert hashes == {hashlib.sha256(code.encode()).digest() for code in codes}
    elements = set(map(bytes, site.scalars("SELECT blinded FROM invitations")))
    spent = set(map(bytes, site.scalars("SELECT token FROM spent_tokens")))
    assert spent == {hashlib.sha256(bytes([at]) * 32).digest() for at in range(3)}
    # With any token, each element is as likely: some blind makes the one of the other.
    ids = set(map(bytes, site.scalars("SELECT report_id FROM inbox")))
    assert len(elements) == len(spent) == len(ids) == 3
    assert not elements & spent
    assert not hashes & spent


@pytest.mark.sqlite
def test_batches_are_refused(invited):
    site, published = invited
    assert site.send_batch(published, [make_report(published)]).status_code == 415
