"""Refusals are pages that lead back to the form, and spell names as they are."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.sqlite
WORK = "/surveys/work/versions/1"


def test_a_form_that_is_larger_than_any_request_is_answered_with_a_page(make_site, visit):
    """Guards: the part that takes requests answered JSON."""
    site = make_site(MAX_BODY_BYTES=2000, MAX_JSON_BYTES=1000, MAX_MANIFEST_BYTES=2000)
    ada = visit("ada", at=site, every="editor")
    for path in ("/drafts/new", "/curve"):
        answer = ada.client.post(f"/dashboard{path}", data={"yaml": "x" * 3000})
        assert (answer.status_code, answer.mimetype) == (413, "text/html"), path
        assert "a request has at most 2000 bytes in all" in answer.text
        assert ">ada<" in answer.text
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'; style-src")
        assert len(answer.headers.getlist("Content-Security-Policy")) == 1
    stranger = site.client().post("/dashboard/sign-in", data=b"x" * 3000)
    assert (stranger.status_code, stranger.mimetype) == (413, "text/html")
    program = site.post("/api/v1/surveys", data=b"x" * 3000)
    assert (program.status_code, program.mimetype) == (413, "application/problem+json")


def test_no_client_can_say_that_its_body_was_refused(site, visit):
    ada = visit("ada", every="editor")
    answer = ada.get("/", headers={"X-Hushpoll-Refused-Body": "too large"})
    assert answer.status_code == 200


def test_a_method_that_a_page_does_not_have_is_answered_with_a_page(site, visit):
    ada = visit("ada", every="editor")
    answer = ada.client.put("/dashboard/people")
    assert (answer.status_code, answer.mimetype) == (405, "text/html")
    api = site.client().put("/api/v1/surveys", headers=site.admin)
    assert site.problem(api)[:2] == (405, "method-not-allowed")
    assert api.headers["Allow"]


def test_a_refused_form_leads_back_to_its_page_and_to_no_other_host(site, visit):
    """Guards: a refused training led to the list of surveys alone."""
    site.publish()
    ada = visit("ada", work="editor")
    token = {"form_token": token_on(ada, WORK), "a": "shoe"}
    own = f"{ada.client.get('/health').request.host_url}dashboard{WORK}?x=1&y=%3Cb%3E"
    for referrer, back in (
        (own, f'href="/dashboard{WORK}?x=1&amp;y=%3Cb%3E">Back to the form'),
        ("https://evil.example/dashboard/", None),
        ("javascript:alert(1)", None),
        (None, None),
    ):
        headers = {} if referrer is None else {"Referer": referrer}
        answer = ada.client.post(f"/dashboard{WORK}/tables", data=token, headers=headers)
        assert answer.status_code == 422
        assert ("Back to the form" in answer.text) == (back is not None), referrer
        assert back is None or back in answer.text
        assert "evil.example" not in answer.text


def token_on(visitor, path):
    return visitor.get(path).text.partition('name="form_token" value="')[2].partition('"')[0]


def test_a_name_at_the_beginning_of_words_stays_as_it_is(site, visit):
    """Guards: attributes' names were given a capital in warnings and notices."""
    site.publish()
    ada = visit("ada", work="reader")
    shown = ada.get(WORK).text
    assert ">Answers that leave the device in clear: education (plain) and" in shown
    assert ">With 10,000 reports" in shown
    assert ">release: immediate gives analysts" in shown
    refused = ada.get(f"{WORK}/estimates?attribute=shoe").text
    assert ">attribute is &#39;shoe&#39;" in refused
    assert ">This needs the role analyst" in ada.get(f"{WORK}/jobs").text
