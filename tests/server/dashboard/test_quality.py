"""The dashboard's page of data quality, and the counts behind it, without a browser."""

from __future__ import annotations

import json

import pytest

from sample_survey import VERSION, make_report

pytestmark = pytest.mark.sqlite
QUALITY = "/surveys/work/versions/1/quality"


def counts(site):
    return site.get(f"{VERSION}/counts").json


def refuse(site, published, number=1):
    for _ in range(number):
        assert site.send_body({"digest": published.digest}).status_code == 422


def test_counts_add_up_and_refusals_of_each_day_are_shown(site, visit):
    published = site.publish(name="work")
    reports = site.fill(published, 40)
    site.send(published, reports[0])
    refuse(site, published, 2)
    site.clock.advance(86_400)
    refuse(site, published)
    answer = counts(site)
    assert (answer["received"], answer["accepted"], answer["duplicate"]) == (44, 40, 1)
    assert sum(answer["rejected"].values()) == 3
    site.seal()
    answer = counts(site)
    assert (answer["counted"], answer["reconciles"]) == (answer["sealed"], True)
    first, second = answer["refused_by_day"]
    assert (first["day"], first["duplicate"]) == ("2026-03-01", 1)
    assert (second["day"], second["duplicate"]) == ("2026-03-02", 0)
    assert [sum(day["rejected"].values()) for day in (first, second)] == [2, 1]
    page = visit("eve", work="reader").get(QUALITY).text
    assert "and these are all that are counted" in page
    assert "Repeated and refused reports: 4 reports on 2 days" in page
    assert "Test the reports" not in page
    assert "Bonferroni" not in page


@pytest.mark.parametrize(
    ("terms", "shown"),
    [
        ({"release": "daily"}, True),
        ({"release": "weekly"}, False),
        ({"release": "immediate", "submission": "token"}, False),
    ],
)
def test_a_day_is_shown_only_where_a_release_tells_as_much(site, visit, terms, shown):
    published = site.publish(**terms)
    if terms.get("submission") == "token":
        for token in site.tokens(4):
            site.send(published, make_report(published), token)
    else:
        site.fill(published, 4)
    refuse(site, published)
    if terms["release"] != "immediate":
        assert counts(site)["refused_by_day"] is None
        assert counts(site)["counted"] is None
    for _ in range(8):
        site.clock.advance(86_400)
        site.services.sealing.sweep(site.services.surveys.now())
    refuse(site, published)  # after the last release
    days = counts(site)["refused_by_day"]
    assert (days is not None) == shown, days
    reader = visit("eve", work="reader")
    page = reader.get(QUALITY)
    assert page.status_code == 200
    if shown:
        assert [day["day"] for day in days] == ["2026-03-01"]
        lines = reader.get(f"{QUALITY}/refusals.csv").text.splitlines()
        assert lines[0] == '"day","outcome","reports"'
    else:
        assert "Refusals" in page.text
        assert reader.get(f"{QUALITY}/refusals.csv").status_code == 404


def test_analyst_tests_the_shape_and_downloads_what_was_found(site, visit):
    published = site.publish()
    site.fill(published, 40)
    analyst, reader = visit("ada", work="analyst"), visit("eve", work="reader")
    stranger = visit("bob", home="admin")
    assert reader.send(QUALITY, "/").status_code in (403, 404)
    assert analyst.send(QUALITY, QUALITY).status_code == 303
    assert "1 of these jobs waits or runs" in analyst.get(QUALITY).text
    (job,) = site.services.jobs.newest(lambda _: True, kind="shape")
    store = site.services.job_store
    assert store.claim("worker", now=0, lease=9, attempts=3, running=9) == job.id
    found = {
        "kind": "report shape", "n": 40, "alpha": 0.01, "p_value": 0.0004, "flagged": True,
        "attributes": [
            {"name": "age", "protocol": "OUE", "p_value": 0.0004, "finding": "too few bits"},
            {"name": "education", "protocol": None, "p_value": None, "finding": "in clear"},
        ],
        "survey": {"name": "work", "version": 1, "digest": published.digest},
    }  # fmt: skip
    assert store.finish(
        job.id, "worker", attempt=1, now=9, media_type="application/json", file_name="s.json",
        parts=[json.dumps(found).encode()],
    )  # fmt: skip
    page = reader.get(QUALITY).text
    assert "Honest devices would hardly have sent these reports" in page
    assert "too few bits" in page
    file = f"{QUALITY}/shape/{job.id}.csv"
    assert "too few bits" in reader.get(file).text
    assert reader.get(file.replace(".csv", ".svg")).status_code == 404
    assert "answers</td>" in page
    for path in (QUALITY, file):
        assert stranger.get(path).status_code == 404
