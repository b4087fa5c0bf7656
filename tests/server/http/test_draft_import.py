"""Questionnaires of other tools over HTTP: a draft and a report, or a problem."""

from __future__ import annotations

import pytest

from sample_survey import encoded
from workbooks import xlsform

pytestmark = pytest.mark.sqlite
FORM = xlsform(
    [("select_one yn", "smokes", "Do you smoke?"), ("text", "name", "Your name?")],
    [("yn", "y", "Yes"), ("yn", "n", "No")],
    form_id="health",
    form_title="Health",
)


def sent(site, body, query="", media_type="application/octet-stream", **headers):
    return site.client().post(
        f"/api/v1/drafts/import{query}",
        data=body,
        content_type=media_type,
        headers={**site.admin, **headers},
    )


def test_a_form_is_kept_as_a_draft_with_a_report_of_each_question(site):
    answer = sent(site, FORM, "?file=health.xlsx")
    assert answer.status_code == 201, answer.text
    draft, report = answer.json["draft"], answer.json["report"]
    assert (draft["survey"], draft["revision"]) == ("health", 1)
    assert site.client().get(answer.headers["Location"], headers=site.admin).json == draft
    assert report["counts"] == {"taken": 1, "changed": 0, "to be decided": 0, "dropped": 1}
    assert report["questions"][0]["codes"] == ["y", "n"]
    assert "attribute" not in report["questions"][1]
    named = sent(site, FORM, "?survey=other")
    assert named.json["draft"]["manifest"]["name"] == "other"


@pytest.mark.parametrize(
    ("body", "more", "expected"),
    [
        (b"%PDF-1.7", {}, (422, "invalid-request", "file")),
        (b"", {}, (422, "invalid-request", "file")),
        (FORM, {"media_type": "text/csv"}, (415, "unsupported-media-type", "Content-Type")),
        (
            FORM,
            {"Content-Encoding": "gzip"},
            (415, "unsupported-media-type", "Content-Type"),
        ),
        (FORM, {"query": "?survey=A%20B"}, (422, "invalid-request", "survey")),
    ],
)
def test_what_is_no_questionnaire_is_a_problem_and_no_draft(site, body, more, expected):
    assert site.problem(sent(site, body, **more)) == expected
    assert site.client().get("/api/v1/drafts", headers=site.admin).json == {"drafts": []}


def test_a_file_above_the_server_s_limit_is_refused(make_site):
    site = make_site(MAX_BODY_BYTES=4096, MAX_MANIFEST_BYTES=1024, MAX_JSON_BYTES=1024)
    refused = sent(site, b"x" * 5000)
    assert site.problem(refused)[:2] == (413, "payload-too-large")


@pytest.mark.data
@pytest.mark.parametrize("file", ["yes_or_no_question.xlsx", "or_other.xlsx", "widgets.csv"])
def test_real_forms_are_published_and_answered(site, data_dir, file):
    body = (data_dir / "xlsform" / file).read_bytes()
    draft = sent(site, body, f"?file={file}&survey=form").json["draft"]
    manifest = draft["manifest"] | {"release": "immediate", "minimum_batch": 10}
    place = f"/api/v1/drafts/{draft['id']}"
    changed = site.client().put(
        place, json={"manifest": manifest}, headers={**site.admin, "If-Match": '"1"'}
    )
    assert changed.status_code == 200, changed.text
    done = site.client().post(
        f"{place}/publish?allow_weak=true", json={}, headers={**site.admin, "If-Match": '"2"'}
    )
    assert done.status_code == 201, done.text
    published = site.services.surveys.published(site.services.surveys.version("form", 1))
    answers = {one.name: one.domain[0] for one in published.attributes}
    # Each device draws what it answers; of 300 some answer every option.
    reports = [encoded(published, answers) for _ in range(300)]
    assert site.send_batch(published, reports).json["accepted"] == 300
    site.seal("form")
    version = "/api/v1/surveys/form/versions/1"
    estimates = site.get(f"{version}/estimates")
    assert estimates.status_code == 200, estimates.text
    assert estimates.json["n"] == 300
    for query in ({"format": "csv"}, {"format": "sav", "content": "debiased"}):
        assert site.get(f"{version}/records", query_string=query).status_code == 200
    book = site.get(f"{version}/codebook").json
    assert len(book["questions"]) == len(published.attributes)
