from __future__ import annotations

import json
import logging
import os
import traceback
from functools import partial

import pytest

from hushpoll_client import (
    BudgetExhausted,
    ClientConfig,
    InvalidParameter,
    ManifestRefused,
    Published,
    Report,
    ReportNotSent,
    SurveyClient,
    TransportError,
)
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.spelling.canonical import canonical_json
from hushpoll_shared.survey import published_attributes as module

SURVEY = "work-and-health"
ACCEPTED = {"status": "accepted"}
AWAY = "http://127.0.0.1:9"


@pytest.fixture
def client(server, published, fake_time, steps):
    """A client that has its manifest already."""
    server.play(steps.respond(201, ACCEPTED))
    with SurveyClient(server.url, SURVEY, published=published, pacing=fake_time.pacing()) as opened:
        yield opened


def other(draft, **changes) -> Published:
    return Manifest.from_dict(draft | changes).resolve()


# ---- fetching and pinning


def test_fetch_checks_and_keeps_the_survey(server, published, steps):
    server.play(steps.respond(200, published.canonical))
    with SurveyClient(server.url, SURVEY, digest=published.digest) as client:
        assert client.published.digest == published.digest
        assert client.published is client.published
    assert [(seen.method, seen.path) for seen in server.seen] == [
        ("GET", f"/api/v1/surveys/{SURVEY}")
    ]


def test_a_version_is_fetched_by_its_number(server, published, steps):
    server.play(steps.respond(200, published.canonical))
    with SurveyClient(server.url, SURVEY, version=1) as client:
        client.fetch()
    assert server.seen[0].path == f"/api/v1/surveys/{SURVEY}/versions/1"


def test_a_survey_that_is_not_the_pinned_digest_is_refused(server, published, steps):
    server.play(steps.respond(200, published.canonical))
    pinned = "0" * 64
    with (
        SurveyClient(server.url, SURVEY, digest=pinned) as client,
        pytest.raises(ManifestRefused) as caught,
    ):
        client.fetch()
    assert caught.value.field == "digest"
    for part in (pinned, published.digest, "version 1", "nothing was sent"):
        assert part in str(caught.value)


def test_a_changed_survey_is_refused_with_the_difference_shown(
    server, published, draft, steps, answers
):
    changed = {**draft, "epsilon": "8", "attributes": [dict(one) for one in draft["attributes"]]}
    changed["attributes"][1]["role"] = "plain"
    changed["split"] = "uniform"
    changed["attributes"].append({"name": "iban", "role": "plain", "range": [0, 9]})
    server.play(steps.respond(200, other(changed).canonical))
    with SurveyClient(server.url, SURVEY, published=published) as client:
        with pytest.raises(ManifestRefused) as caught:
            client.fetch()
        assert client.published.digest == published.digest
    message = str(caught.value)
    for part in (
        "epsilon: '4' became '8'",
        "attributes[age].role: 'sensitive' became 'plain'",
        "attributes[age].protocol: 'SS' was removed",
        "attributes[iban] was added",
    ):
        assert part in message


def test_first_survey_seen_is_the_pin_without_a_digest(server, published, draft, steps):
    server.play(
        steps.respond(200, published.canonical),
        steps.respond(200, other(draft, title="Other title").canonical),
    )
    with SurveyClient(server.url, SURVEY) as client:
        client.fetch()
        with pytest.raises(ManifestRefused, match="title: 'Work and health' became 'Other title'"):
            client.fetch()


def test_another_survey_under_the_asked_name_is_refused(server, draft, steps):
    server.play(steps.respond(200, other(draft, name="elsewhere").canonical))
    with (
        SurveyClient(server.url, SURVEY) as client,
        pytest.raises(ManifestRefused, match="'elsewhere' for"),
    ):
        client.fetch()


def test_a_manifest_that_lies_about_its_thresholds_is_refused(server, published, steps):
    document = published.to_dict()
    thresholds = document["attributes"][0]["thresholds"]
    name = next(iter(thresholds))
    thresholds[name] = "f" * 16
    server.play(steps.respond(200, canonical_json(document)))
    with (
        SurveyClient(server.url, SURVEY) as client,
        pytest.raises(ManifestRefused, match="gender"),
    ):
        client.fetch()


def test_a_manifest_whose_parts_exceed_its_total_is_refused(server, published, steps):
    document = published.to_dict()
    document["epsilon"] = "3.9"
    server.play(steps.respond(200, document))
    with SurveyClient(server.url, SURVEY) as client, pytest.raises(ManifestRefused):
        client.fetch()


def test_a_manifest_that_can_be_read_in_two_ways_is_refused(server, steps):
    server.play(steps.respond(200, b'{"attributes": [], "attributes": [1]}'))
    with SurveyClient(server.url, SURVEY) as client, pytest.raises(ManifestRefused):
        client.fetch()


@pytest.mark.parametrize("status", [200, 302, 403, 404, 511])
def test_a_login_page_is_no_survey(server, steps, status, fake_time, published):
    """Guards: a login page with 200 was a refused manifest, one with 404 an unknown survey."""
    login = steps.respond(status, b"<html>Log in</html>", "text/html")
    server.play(login, login, steps.respond(200, published.canonical))
    options = {"config": ClientConfig(attempts=2), "pacing": fake_time.pacing()}
    with SurveyClient(server.url, SURVEY, **options) as client:
        with pytest.raises(TransportError, match=r"not a hushpoll server's|redirects") as caught:
            client.fetch(wait=60)
        assert (caught.value.retryable, len(server.seen)) == (True, 2)
        assert client.fetch(wait=60) == published


@pytest.mark.parametrize("wait", [-1, 86_401, float("nan"), "5", True])
def test_a_wait_outside_its_interval_is_refused(server, wait, answers, published):
    with SurveyClient(server.url, SURVEY, published=published) as client:
        report = client.randomize(answers)
        calls = (client.fetch, partial(client.send, report), partial(client.submit, answers))
        for call in calls:
            with pytest.raises(InvalidParameter, match=r"give seconds in \[0, 86400\]"):
                call(wait=wait)


def test_the_wait_bounds_fetch_and_submit(fake_time, answers, published, tmp_path):
    """Guards: with the server away, fetch() took 61 seconds, and submit() 67."""
    short = ClientConfig(raise_faults=True, exit_patience=0, wait=5.0)
    with SurveyClient(AWAY, SURVEY, config=short, pacing=fake_time.pacing()) as client:
        for wait in (None, 0, 40):
            began = fake_time.moment
            with pytest.raises(TransportError, match="try again") as caught:
                client.fetch(wait=wait)
            assert caught.value.retryable
            assert fake_time.moment - began <= (5 if wait is None else wait)
    kept = {"published": published, "storage": tmp_path / "ledger", "config": short}
    with SurveyClient(AWAY, SURVEY, pacing=fake_time.pacing(), **kept) as client:
        client.give_consent()
        began = fake_time.moment
        assert client.submit(answers).status == "waiting"
        assert fake_time.moment - began <= 5
        assert client.ledger.entries()[0].state == "waiting"


def test_an_unknown_survey_is_a_terminal_error(server, steps):
    server.play(steps.problem("unknown-survey"))
    with SurveyClient(server.url, SURVEY) as client, pytest.raises(TransportError) as caught:
        client.fetch()
    assert (caught.value.status, caught.value.retryable) == (404, False)
    assert len(server.seen) == 1


# ---- the owner's limits


def test_more_epsilon_than_allowed_is_refused_before_anything_is_randomised(
    server, published, steps, answers
):
    server.play(steps.respond(200, published.canonical))
    with (
        SurveyClient(server.url, SURVEY, max_epsilon="3.999") as client,
        pytest.raises(BudgetExhausted, match=r"spends epsilon 4\b.*at most 3\.999"),
    ):
        client.submit(answers)
    assert [seen.method for seen in server.seen] == ["GET"]
    assert client.report is None


def test_exactly_the_allowed_epsilon_is_accepted(server, published):
    SurveyClient(server.url, SURVEY, published=published, max_epsilon=4)


@pytest.mark.parametrize("name", ["education", "income"])
def test_a_required_attribute_in_clear_is_refused(server, published, name):
    with pytest.raises(ManifestRefused, match=f"'{name}' in clear") as caught:
        SurveyClient(server.url, SURVEY, published=published, required_sensitive={"age", name})
    assert caught.value.field == f"attributes[{name}].role"


def test_survey_with_smaller_batches_than_required_is_refused(server, published):
    least = published.minimum_batch
    SurveyClient(server.url, SURVEY, published=published, required_batch=least)
    with pytest.raises(ManifestRefused, match=f"demands at least {least + 1}") as caught:
        SurveyClient(server.url, SURVEY, published=published, required_batch=least + 1)
    assert caught.value.field == "minimum_batch"


def test_a_misspelt_required_attribute_is_refused(server, published):
    with pytest.raises(ManifestRefused, match=r"'gendr', which survey .* does not ask"):
        SurveyClient(server.url, SURVEY, published=published, required_sensitive=["gendr"])


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"max_epsilon": 0}, "max_epsilon"),
        ({"max_epsilon": float("nan")}, "max_epsilon"),
        ({"max_epsilon": 65}, "max_epsilon"),
        ({"required_sensitive": "gender"}, "required_sensitive"),
        ({"required_sensitive": [3]}, "required_sensitive"),
        ({"required_sensitive": None}, "required_sensitive"),
        ({"required_batch": 0}, "required_batch"),
        ({"required_batch": "20"}, "required_batch"),
        ({"required_batch": True}, "required_batch"),
        ({"published": "survey.json"}, "published"),
        ({"config": None}, "config"),
        ({"digest": "12"}, "digest"),
        ({"version": 0}, "version"),
        ({"version": "1"}, "version"),
        ({"version": 2**31}, "version"),
        ({"token": ""}, "token"),
        ({"token": "a b"}, "token"),
        ({"token": "a\r\nX-Evil: 1"}, "token"),
    ],
)
def test_a_callers_mistake_raises_at_once(options, field):
    with pytest.raises(InvalidParameter) as caught:
        SurveyClient("https://example.org", SURVEY, **options)
    assert caught.value.field == field


def test_a_token_is_never_shown():
    with pytest.raises(InvalidParameter) as caught:
        SurveyClient("https://example.org", SURVEY, token="s3cret value")
    assert "s3cret" not in str(caught.value)
    client = SurveyClient("https://example.org", SURVEY, token="s3cret")
    assert "s3cret" not in repr(client) + repr(vars(client)["_transport"])


@pytest.mark.parametrize("name", ["", "Work", "a/b", None])
def test_a_wrong_survey_name_raises(name):
    with pytest.raises(InvalidParameter, match="survey"):
        SurveyClient("https://example.org", name)


def test_http_is_refused_beyond_this_machine():
    with pytest.raises(InvalidParameter, match="https"):
        SurveyClient("http://example.org", SURVEY)


def test_a_hosted_link_carries_the_pin(server, published, steps):
    server.play(steps.respond(200, published.canonical))
    link = f"{server.url}/s/{SURVEY}#sha256={published.digest}"
    with SurveyClient.from_link(link, max_epsilon=4) as client:
        assert client.published.digest == published.digest
    with (
        SurveyClient.from_link(f"{server.url}/s/{SURVEY}#sha256={'0' * 64}") as client,
        pytest.raises(ManifestRefused, match="pinned"),
    ):
        client.fetch()
    with pytest.raises(InvalidParameter, match="give one of the two"):
        SurveyClient.from_link(link, digest="0" * 64)


# ---- randomising once


def test_the_answers_are_randomised_once(client, answers, published):
    report = client.randomize(answers)
    assert report.digest == published.digest
    published.layout.check(report.record)
    assert client.report is report
    with pytest.raises(BudgetExhausted, match="epsilon 4 again"):
        client.randomize(answers)
    with pytest.raises(BudgetExhausted):
        client.submit(answers)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"gender": "S3CRET"}, "gender"),
        ({"age": None}, "age"),
        ({"age": 91}, "age"),
        ({"age": True}, "age"),
        ({"income": 26000.5}, "income"),
        ({"shoe-size": "44"}, "shoe-size"),
    ],
)
def test_wrong_answers_raise_and_spend_nothing(client, server, answers, changes, field):
    with pytest.raises(InvalidParameter) as caught:
        client.submit(answers | changes)
    assert caught.value.field == field
    assert "S3CRET" not in "".join(traceback.format_exception(caught.value))
    assert server.seen == []
    assert client.randomize(answers)


def test_next_respondent_has_the_survey_and_nothing_of_the_answers(
    server, published, steps, answers
):
    server.play(steps.respond(200, published.canonical), steps.respond(201, ACCEPTED))
    with SurveyClient(server.url, SURVEY, digest=published.digest) as first:
        earlier = first.submit(answers).report
        second = first.for_next_respondent()
        assert second.report is None
        later = second.submit(answers).report
        assert later.id != earlier.id
        assert first.report is earlier
        for client in (first, second):
            with pytest.raises(BudgetExhausted, match="for_next_respondent"):
                client.randomize(answers)
    assert [seen.method for seen in server.seen] == ["GET", "POST", "POST"]
    assert len({seen.port for seen in server.seen}) == 1


def test_next_respondent_keeps_to_limits_and_pin(server, published, draft, steps):
    server.play(steps.respond(200, other(draft, title="Another").canonical))
    first = SurveyClient(server.url, SURVEY, digest=published.digest, required_batch=10**9)
    with pytest.raises(ManifestRefused, match="digest"):
        first.for_next_respondent().fetch()
    server.play(steps.respond(200, published.canonical))
    with pytest.raises(ManifestRefused, match="batch"):
        first.for_next_respondent().fetch()


def test_next_respondent_sends_a_token_of_their_own(server, draft, steps, answers):
    survey = other(draft, submission="token")
    server.play(steps.respond(201, ACCEPTED))
    with SurveyClient(server.url, SURVEY, published=survey, token="t0ken") as first:
        with pytest.raises(InvalidParameter, match="pass token="):
            first.for_next_respondent().randomize(answers)
        with pytest.raises(InvalidParameter, match="no spaces"):
            first.for_next_respondent("a b")
        first.for_next_respondent("t1ken").submit(answers)
        first.submit(answers)
    assert [seen.headers["Authorization"] for seen in server.seen] == [
        "Bearer t1ken",
        "Bearer t0ken",
    ]


def test_a_file_is_of_one_respondent_alone(published, tmp_path):
    client = SurveyClient(
        "https://example.org", SURVEY, published=published, storage=tmp_path / "file"
    )
    with pytest.raises(InvalidParameter, match="storage is the file of one respondent"):
        client.for_next_respondent()


def test_an_answer_may_be_missing_where_there_is_a_category_for_it(client, answers):
    del answers["gender"]
    assert client.randomize(answers)


def test_an_answer_missing_elsewhere_raises(client, answers):
    del answers["education"]
    with pytest.raises(InvalidParameter, match=r"education.*school.*college"):
        client.randomize(answers)


def test_a_token_survey_wants_a_token_before_anything_is_randomised(server, draft, answers):
    survey = other(draft, submission="token")
    client = SurveyClient(server.url, SURVEY, published=survey)
    with pytest.raises(InvalidParameter, match="pass token="):
        client.randomize(answers)
    assert client.report is None


# ---- sending


def test_a_report_is_sent_as_json_with_a_receipt(client, server, answers):
    receipt = client.submit(answers)
    assert receipt.status == "accepted"
    assert receipt.report is client.report
    (seen,) = server.seen
    assert (seen.method, seen.path) == ("POST", f"/api/v1/surveys/{SURVEY}/reports")
    assert seen.headers["Content-Type"] == "application/json"
    assert seen.body == client.report.to_json().encode()
    assert set(json.loads(seen.body)) == {"digest", "id", "record"}


def test_a_repeated_report_is_a_duplicate(client, server, steps, answers):
    server.play(steps.respond(200, {"status": "duplicate"}))
    assert client.submit(answers).status == "duplicate"


def test_retries_send_identical_bytes(client, server, steps, answers, fake_time):
    server.play(
        steps.drop,
        steps.reset,
        steps.break_off,
        steps.problem("unavailable", {"Retry-After": "9"}),
        steps.problem("rate-limited"),
        steps.respond(502, b"<html>bad gateway", "text/html"),
        steps.respond(200, {"status": "duplicate"}),
    )
    receipt = client.submit(answers, wait=120)
    assert receipt.status == "duplicate"
    assert len(server.seen) == 7
    assert {seen.body for seen in server.seen} == {client.report.to_json().encode()}
    assert fake_time.slept == [1, 2, 4, 9, 15, 15]


@pytest.mark.parametrize(
    "code",
    [
        "invalid-json",
        "invalid-request",
        "malformed-report",
        "unauthorized",
        "forbidden",
        "survey-not-open",
        "unknown-survey",
        "unknown-digest",
        "report-conflict",
        "survey-closed",
        "payload-too-large",
        "unsupported-media-type",
    ],
)
def test_terminal_problems_are_not_retried(client, server, steps, answers, code):
    server.play(steps.problem(code))
    with pytest.raises(ReportNotSent) as caught:
        client.submit(answers)
    assert not caught.value.retryable
    assert caught.value.problem["code"] == code
    assert caught.value.report is client.report
    assert len(server.seen) == 1


def test_a_report_that_could_not_be_sent_is_handed_back(client, server, steps, answers):
    server.play(steps.problem("unavailable"))
    with pytest.raises(ReportNotSent, match="7 times") as caught:
        client.submit(answers, wait=120)
    assert caught.value.retryable
    server.play(steps.respond(201, ACCEPTED))
    assert client.send(caught.value.report).status == "accepted"
    assert server.seen[0].body == client.report.to_json().encode()


def test_a_report_can_be_carried_and_sent_by_another_client(client, server, answers, published):
    text = client.randomize(answers).to_json()
    with SurveyClient(server.url, SURVEY, published=published) as courier:
        assert courier.send(Report.from_json(text)).status == "accepted"
    assert server.seen[0].body == text.encode()


def test_send_takes_reports_only(client):
    with pytest.raises(InvalidParameter, match="what randomize returned"):
        client.send({"digest": "1"})


def test_the_token_travels_with_the_report_alone(server, draft, steps, answers):
    survey = other(draft, submission="token")
    server.play(steps.respond(200, survey.canonical), steps.respond(201, ACCEPTED))
    with SurveyClient(server.url, SURVEY, token="t0ken") as client:
        client.submit(answers)
    fetched, sent = server.seen
    assert "Authorization" not in fetched.headers
    assert sent.headers["Authorization"] == "Bearer t0ken"


# ---- what must not leave the device by the way


def test_nothing_identifies_the_device(server, published, steps, answers, monkeypatch, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login ann password pa55word\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    cookie = {"Set-Cookie": "track=1"}
    server.play(
        steps.respond(200, published.canonical, headers=cookie), steps.respond(201, ACCEPTED)
    )
    with SurveyClient(server.url, SURVEY) as client:
        client.submit(answers)
    for seen in server.seen:
        assert "Authorization" not in seen.headers
        assert "Cookie" not in seen.headers
        assert seen.headers["User-Agent"] == "hushpoll"


def test_this_machine_is_never_reached_through_a_proxy(server, published, steps, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    server.play(steps.respond(200, published.canonical))
    with SurveyClient(server.url, SURVEY, config=ClientConfig(attempts=1)) as client:
        assert client.fetch()


def test_redirects_are_not_followed(server, steps):
    server.play(steps.respond(302, headers={"Location": "http://192.0.2.1/"}))
    with (
        SurveyClient(server.url, SURVEY, config=ClientConfig(attempts=1)) as client,
        pytest.raises(TransportError, match="redirects"),
    ):
        client.fetch()


def test_an_endless_answer_is_cut_off(server, steps):
    server.play(steps.respond(200, b"x" * 5000))
    config = ClientConfig(max_response_bytes=4096, attempts=1)
    with (
        SurveyClient(server.url, SURVEY, config=config) as client,
        pytest.raises(TransportError, match="longer than 4096 bytes"),
    ):
        client.fetch()


def test_answers_are_in_no_log_and_no_repr(client, server, steps, answers, caplog):
    secrets = [answers[name] for name in ("gender", "country", "education", "income")]
    server.play(steps.problem("unavailable"), steps.drop, steps.respond(201, ACCEPTED))
    with caplog.at_level(logging.DEBUG):
        preview = client.preview(answers)
        receipt = client.submit(answers)
    shown = [repr(client), repr(receipt), repr(receipt.report), repr(preview)]
    shown += [record.getMessage() for record in caplog.records]
    assert len(caplog.records) >= 3
    text = "\n".join(shown)
    for secret in [*secrets, json.loads(receipt.report.to_json())["record"]]:
        assert secret not in text


def test_answers_are_in_no_traceback(client, server, steps, answers):
    server.play(steps.problem("survey-closed"))
    with pytest.raises(ReportNotSent) as caught:
        client.submit(answers)
    text = "".join(traceback.format_exception(caught.value))
    record = json.loads(client.report.to_json())["record"]
    for secret in ("Female", "Norway", "college", record, repr(client.report.record)):
        assert secret not in text


def test_a_child_of_a_fork_uses_its_own_connection(server, published, steps):
    server.play(steps.respond(200, published.canonical))
    client = SurveyClient(server.url, SURVEY)
    client.fetch()
    child = os.fork()
    if child == 0:
        try:
            client.fetch()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    client.fetch()
    client.close()
    first, of_child, last = (seen.port for seen in server.seen)
    assert first == last != of_child


def test_a_manifest_with_too_many_attributes_is_refused_before_any_is_computed(
    published, monkeypatch
):
    """Guards: the thresholds of 8,000 cost 12 s of a device's time."""
    computed = []
    monkeypatch.setattr(module, "create", lambda name, **_law: computed.append(name))
    document = published.to_dict()
    perturbed = next(attribute for attribute in document["attributes"] if "thresholds" in attribute)
    document["attributes"] = [perturbed] * 8000
    with pytest.raises(ManifestRefused, match="8000 entries; a survey has 1 to 256"):
        Published.from_json(document)
    assert computed == []
