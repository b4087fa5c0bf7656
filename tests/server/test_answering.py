"""Headers of every answer, whatever gave it."""

from __future__ import annotations

import pytest

from sample_survey import REPORTS, VERSION

EVERYWHERE = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
ADDRESSES = [
    ("GET", "/health"),
    ("GET", "/nothing"),
    ("GET", "/api/v1/surveys"),
    ("GET", "/api/v1/surveys/work"),
    ("GET", "/api/v1/openapi.json"),
    ("GET", "/api/v1/tokens"),
    ("POST", REPORTS),
    ("PATCH", "/api/v1/surveys"),
    ("OPTIONS", REPORTS),
]


@pytest.mark.sqlite
@pytest.mark.parametrize(("method", "path"), ADDRESSES)
def test_every_answer_has_the_security_headers(site, method, path):
    site.publish()
    for given in ({}, site.admin):
        headers = site.client().open(path, method=method, headers=given).headers
        assert EVERYWHERE.items() <= dict(headers).items()
        assert "camera=()" in headers["Permissions-Policy"]
        assert "Strict-Transport-Security" not in headers
        assert len(headers["X-Request-Id"]) == 16


@pytest.mark.sqlite
def test_answer_to_an_internal_fault_has_the_security_headers(site, monkeypatch):
    monkeypatch.setattr(site.services.surveys, "all", lambda: 1 / 0)
    answer = site.get("/api/v1/surveys")
    assert site.problem(answer)[:2] == (500, "internal")
    assert EVERYWHERE.items() <= dict(answer.headers).items()
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.sqlite
def test_answers_that_need_a_token_are_never_cached(site):
    published = site.publish()
    site.fill(published, 5)
    base = VERSION
    guarded = [
        rule.rule.replace("<name>", "work").replace("<int:version>", "1")
        for rule in site.app.url_map.iter_rules()
        if "GET" in rule.methods and rule.endpoint.partition(".")[0] in ("analysis", "tokens")
    ]
    assert f"{base}/counts" in guarded
    for path in guarded:
        assert site.get(path).headers["Cache-Control"] == "no-store", path


@pytest.mark.sqlite
def test_a_view_keeps_the_policy_that_it_sets(make_site):
    site = make_site(own=True)

    @site.app.get("/page-of-a-test")
    def page():
        answer = site.app.response_class("x")
        answer.headers["Content-Security-Policy"] = "default-src 'self'"
        return answer

    headers = site.get("/page-of-a-test").headers
    assert headers.get_all("Content-Security-Policy") == ["default-src 'self'"]
    assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.sqlite
def test_behind_tls_browsers_are_told_to_keep_to_it(make_site):
    headers = make_site(BEHIND_TLS=True).get("/health").headers
    assert headers["Strict-Transport-Security"] == "max-age=31536000"
