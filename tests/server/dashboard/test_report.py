"""The report's page: what it offers to whom, and forms that choose nothing."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest

from hushpoll_server.errors import Refused
from hushpoll_server.survey_reports.sources.choices import Choices

pytestmark = pytest.mark.sqlite
PATH = "/surveys/work/versions/1"
PUBLIC = "/results/work/versions/1"


@pytest.fixture
def over(site):
    site.fill(site.publish(), 9)
    site.close()
    site.clock.advance(1)
    site.services.sealing.sweep(site.services.surveys.now())


def test_report_s_page_says_what_to_wait_for(site, visit):
    site.fill(site.publish(), 1)
    page = visit("ada", work="editor").get(f"{PATH}/report")
    assert "There is nothing to report yet" in page.text
    assert "1 report, fewer than its minimum batch of 3" in page.text
    assert ">work version 1 is open; its results can be published once it is closed" in page.text
    assert "Make the report" not in page.text


def test_reader_reports_and_does_not_publish(site, over, visit):
    reader = visit("ada", work="reader")
    assert "Publish the results" not in reader.get(f"{PATH}/report").text
    file = reader.get(f"{PATH}/report-file?attribute=age&estimator=shrunk")
    assert file.status_code == 200
    assert "Shrunk estimates have no interval" in file.text
    assert "unsafe" not in file.headers["Content-Security-Policy"]
    for act in ("public-results", "public-results/take-back"):
        sent = reader.send(f"{PATH}/{act}", on=f"{PATH}/report", confirm="yes", attribute="age")
        assert sent.status_code == 403
    for query in ("format=docx", "estimator=none", "confidence=x", "rows=age&columns=", "rows=x"):
        assert reader.get(f"{PATH}/report-file?{query}").status_code == 422, query
    assert visit("eve", other="admin").get(f"{PATH}/report").status_code == 404


def test_a_reader_gets_the_privacy_sheet_before_any_report(site, visit):
    published = site.publish()
    reader = visit("ada", work="reader")
    start = reader.get(PATH).text
    for form in ("html", "pdf"):
        assert f'/dashboard{PATH}/privacy-sheet.{form}"' in start
    sheet = reader.get(f"{PATH}/privacy-sheet.html?language=de&kept_days=30")
    assert sheet.status_code == 200
    assert published.digest in sheet.text
    assert "innerhalb von 30 Tagen nach dem Ende der Umfrage" in sheet.text
    (style,) = re.findall(r"<style>(.*?)</style>", sheet.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in sheet.headers["Content-Security-Policy"]
    assert reader.get(f"{PATH}/privacy-sheet.docx").status_code == 404
    for query in ("language=xx", "kept_days=x", "kept_days=-1"):
        assert reader.get(f"{PATH}/privacy-sheet.html?{query}").status_code == 422, query
    assert visit("eve", other="admin").get(f"{PATH}/privacy-sheet.html").status_code == 404


def test_report_without_a_chosen_question_shows_all_as_its_form_says(site, over, visit):
    editor = visit("ada", work="editor")
    form = editor.get(f"{PATH}/report").text
    # Of the two forms, the one that publishes wants a question.
    assert form.count("If none is ticked, all are shown.") == 1
    assert form.index("If none is ticked") < form.index("Make the report</button>")
    report = editor.get(f"{PATH}/report-file?rows=&columns=").text
    assert all(f'aria-label="Chart of {name}"' in report for name in ("gender", "age", "income"))


def test_nothing_is_published_without_a_question_and_a_tick(site, over, visit):
    editor = visit("ada", work="editor")
    for fields in ({"attribute": "age"}, {"confirm": "yes"}):
        sent = editor.send(f"{PATH}/public-results", on=f"{PATH}/report", **fields)
        assert sent.status_code == 422
        assert "were not published" in sent.text
    assert site.client().get(PUBLIC).status_code == 404
    fields = {"attribute": "age", "confirm": "yes", "estimator": "unbiased"}
    assert editor.send(f"{PATH}/public-results", on=f"{PATH}/report", **fields).status_code == 303
    page = editor.get(f"{PATH}/report").text
    assert PUBLIC in page
    assert "by <bdi>ada</bdi>" in page
    assert site.client().get(PUBLIC).status_code == 200


def test_two_questions_are_two_ticks_and_all_of_them_is_one(site, over, visit):
    editor = visit("ada", work="editor")
    form = editor.get(f"{PATH}/report").text
    boxes = re.findall(r'<input type="checkbox"[^>]*name="(?:attribute|all)"[^>]*>', form)
    assert len(boxes) == 6  # each question stands on one list
    assert not [box for box in boxes if "checked" in box]
    names = list(site.services.survey_reports.choices(site.row(), may_export=False).attributes)
    for ticked, shown in (
        ({"attribute": ["age", "gender"]}, ["gender", "age"]),
        ({"all": "yes"}, names),
        ({"all": "yes", "attribute": "age"}, names),
    ):
        fields = {**ticked, "confirm": "yes", "estimator": "unbiased"}
        sent = editor.send(f"{PATH}/public-results", on=f"{PATH}/report", **fields)
        assert sent.status_code == 303, sent.text
        assert site.services.public_results.history(site.row())[0]["attributes"] == shown


def test_questions_are_listed_once_and_chosen_for_publishing_from_there(site, over, visit):
    """Guards: two forms of one page listed every question."""
    editor = visit("ada", work="editor")
    page = editor.get(
        f"{PATH}/report?attribute=age&rows=age&columns=gender&estimator=projected"
    ).text
    report, _, public = page.partition('id="public"')
    assert report.count('name="attribute"') == 5
    assert 'formaction="/dashboard/surveys/work/versions/1/report#public"' in report
    sent = re.findall(r'<input type="hidden" name="(\w+)" value="(\w+)">', public)
    assert [pair for pair in sent if pair[0] in ("attribute", "rows", "columns", "estimator")] == [
        ("attribute", "age"),
        ("rows", "age"),
        ("columns", "gender"),
        ("estimator", "projected"),
    ]
    reader = visit("eve", work="reader").get(f"{PATH}/report").text
    assert "Choose these for publishing" not in reader


def test_editor_publishes_results_so_far_of_randomised_answers_alone(site, visit):
    site.fill(site.publish(), 40)
    site.seal()
    editor = visit("ada", work="editor")
    asked = "attribute=age&attribute=income"
    form = editor.get(f"{PATH}/report?{asked}").text.partition('id="public"')[2]
    assert "This survey still runs" in form
    assert 'value="age"' in form
    assert 'value="income"' not in form  # it is sent in clear
    sent = {"attribute": "age", "confirm": "yes"}
    refused = editor.send(f"{PATH}/public-results", on=f"{PATH}/report", **sent)
    assert refused.status_code == 409
    clear = {"attribute": "income", "confirm": "yes", "so_far": "yes"}
    refused = editor.send(f"{PATH}/public-results", on=f"{PATH}/report", **clear)
    assert "income is answered in clear" in refused.text
    with pytest.raises(Refused, match="income is sent in clear, and work version 1 still runs"):
        site.services.public_results.require_running(site.row(), Choices(attributes=("income",)))
    assert site.client().get(PUBLIC).status_code == 404
    sent["so_far"] = "yes"
    assert editor.send(f"{PATH}/public-results", on=f"{PATH}/report", **sent).status_code == 303
    page = site.client().get(PUBLIC)
    assert page.status_code == 200
    assert "These are results so far: the survey is still open" in page.text
