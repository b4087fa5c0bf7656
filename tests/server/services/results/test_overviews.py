"""The overview of a version, and the list of jobs, as the API gives them."""

from __future__ import annotations

import math

import pytest

from hushpoll_analysis import shuffle_guarantee
from sample_survey import VERSION, bearer

pytestmark = pytest.mark.sqlite


def overview(site, name="work"):
    answer = site.get(f"/api/v1/surveys/{name}/versions/1/overview")
    assert answer.status_code == 200, answer.json
    return answer.json


def test_overview_has_the_guarantee_of_each_question_and_of_all(site):
    site.publish()
    document = overview(site)
    assert document["epsilon"] == "3.999999999999"  # a third of four is rounded down
    assert document["odds_factor"] == math.ceil(10 * math.exp(4)) / 10
    assert document["protection"] == "limited"
    sent = {one["name"]: one["protocol"] for one in document["attributes"]}
    assert sent == {
        "gender": "GRR",
        "age": "OUE",
        "country": "SS",
        "education": None,
        "income": None,
    }
    in_clear = [one for one in document["attributes"] if one["protocol"] is None]
    assert all(one["odds_factor"] is one["epsilon"] is None for one in in_clear)
    assert "clear-attribute" in {warning["code"] for warning in document["warnings"]}
    assert (document["state"], document["accepted"], document["unspent_tokens"]) == (
        "open",
        0,
        None,
    )


def test_overview_says_what_a_trusted_shuffler_would_add_to_the_local_epsilon(site):
    published = site.publish()
    assert overview(site)["shuffled"] is None
    site.fill(published, 123)
    found = overview(site)["shuffled"]
    # rounded down to two digits, so that one more report is no new computation
    expected = shuffle_guarantee(published, 120)
    assert found == expected.to_dict()
    assert found["local_epsilon"] == "4"
    assert found["clear"] == ["education", "income"]


def test_overview_of_a_scheduled_release_counts_what_was_released(site):
    published = site.publish(release="daily")
    site.fill(published, 5)
    site.seal()
    document = overview(site)
    assert (document["accepted"], document["inbox"]) == (0, None)
    assert document["next_release"] == "2026-03-02T00:00:00Z"


def token_counts(site):
    document = overview(site, "panel")
    return document["unspent_tokens"], document["spent_tokens"]


def test_overview_counts_unspent_and_spent_tokens(site):
    published = site.publish(name="panel", submission="token")
    first, *_ = site.tokens(3, name="panel")
    assert token_counts(site) == (3, 0)
    assert site.send(published, token=first).status_code == 201
    assert token_counts(site) == (2, 1)


def test_counts_of_tokens_tell_nothing_before_a_scheduled_release(site):
    published = site.publish(name="panel", submission="token", release="daily")
    tokens = site.tokens(6, name="panel")
    assert token_counts(site) == (None, None)
    for token in tokens[:5]:
        assert site.send(published, token=token).status_code == 201
    assert token_counts(site) == (None, None)
    close = site.post("/api/v1/surveys/panel/versions/1/close", json={"grace_seconds": 0})
    assert close.status_code == 200
    site.clock.advance(1)
    site.services.sealing.sweep(site.services.surveys.now())
    assert token_counts(site) == (1, 5)


def test_jobs_are_listed_for_the_surveys_of_a_token(site):
    for name in ("work", "home"):
        published = site.publish(name=name)
        site.fill(published, 5)
        site.seal(name)
    jobs = {name: site.add_job("export", name=name) for name in ("work", "home")}
    body = {"scopes": ["read"], "surveys": ["home"]}
    bound = bearer(site.post("/api/v1/tokens", json=body).json["token"])

    def listed(path, **options):
        return {one["id"] for one in site.get(path, **options).json["jobs"]}

    assert listed("/api/v1/jobs") == set(jobs.values())
    assert listed("/api/v1/jobs?survey=work") == {jobs["work"]}
    assert listed("/api/v1/jobs", headers=bound) == {jobs["home"]}
    assert listed("/api/v1/jobs?survey=work", headers=bound) == set()
    assert site.get(f"{VERSION}/overview", headers=bound).status_code == 403


def test_summaries_of_many_versions_agree_with_each_version(site):
    for name, release in (("work", "immediate"), ("daily", "daily"), ("silent", "weekly")):
        published = site.publish(name=name, release=release)
        if name != "silent":
            site.fill(published, 5)
            site.seal(name)
    site.clock.advance(86_400)
    site.services.sealing.sweep(site.services.surveys.now())
    rows = site.services.surveys.all()
    for row, summary in zip(rows, site.services.overviews.summaries(rows), strict=True):
        assert summary["reports"] == site.services.releases.reports(row)
        described = site.services.releases.describe(row)
        assert described.items() <= summary.items()
    assert {one["survey"]: one["reports"] for one in site.services.overviews.summaries(rows)} == {
        "daily": 5,
        "silent": 0,
        "work": 5,
    }
