"""Results that are published to everybody: of a closed survey alone, frozen, and taken back."""

from __future__ import annotations

import html
import io
import re
import zipfile

import pytest

from hushpoll_server.survey_reports.files.offline import remade
from sample_survey import VERSION, bearer

pytestmark = [pytest.mark.sqlite, pytest.mark.usefixtures("drawn_by_all")]
PUBLIC = f"{VERSION}/public-results"
ADDRESS = "/results/work/versions/1"


@pytest.fixture
def over(site):
    """A survey that is closed, and all of whose reports are released."""
    published = site.publish()
    site.fill(published, 12)
    site.fill(published, 12, income="poor")
    site.close()
    site.clock.advance(1)
    site.services.sealing.sweep(site.services.surveys.now())
    return published


def visit(site, path: str = ADDRESS, **headers: str):
    return site.client().get(path, headers=headers)


def test_results_are_public_until_they_are_taken_back(site, over):
    for path in ("/results/work", ADDRESS, f"{ADDRESS}/bundle.zip", "/results/nothing"):
        assert visit(site, path).status_code == 404
    chosen = {"attributes": ["age", "income"], "cross_tables": [["income", "age"]]}
    answer = site.post(PUBLIC, json=chosen)
    assert answer.status_code == 201, answer.json
    assert answer.json["address"] == answer.headers["Location"] == ADDRESS
    assert answer.json["attributes"] == ["age", "income"]
    page = visit(site)
    assert (page.status_code, page.mimetype) == (200, "text/html")
    assert page.headers["X-Robots-Tag"] == "noindex"
    assert page.headers["Cache-Control"] == "public, no-cache"
    policy = page.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    # the same hash as in the page itself
    assert re.search("'sha256-[^']*'", policy)[0] in html.unescape(page.text)
    # what was not chosen is in no file
    assert "Chart of gender" not in page.text
    bundle = visit(site, f"{ADDRESS}/bundle.zip").data
    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        names = set(archive.namelist())
        basis = archive.read("basis.json").decode()
    assert '"gender"' not in basis
    assert {"tables/01-age.csv", "tables/02-income.csv", "tables/03-income-by-age.csv"} <= names
    with remade(bundle) as made:
        assert made.different == ()
    links = set(re.findall(r'href="(1/[^"]*)"', page.text))
    assert len(links) == 1 + 3 * 3
    for link in links:
        file = visit(site, f"/results/work/versions/{link}")
        assert file.status_code == 200, link
        assert file.headers["Content-Disposition"].startswith("attachment")
    assert visit(site, f"{ADDRESS}/basis.json").status_code == 404
    again = visit(site, **{"If-None-Match": page.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")
    led = visit(site, "/results/work")
    assert (led.status_code, led.headers["Location"]) == (302, ADDRESS)
    assert site.client().delete(PUBLIC, headers=site.admin).status_code == 204
    for path in ("/results/work", ADDRESS, f"{ADDRESS}/bundle.zip"):
        gone = visit(site, path, **{"If-None-Match": page.headers["ETag"]})
        assert gone.status_code == 410
    assert site.scalars("SELECT count(*) FROM publications WHERE page IS NOT NULL") == [0]
    again = site.client().delete(PUBLIC, headers=site.admin)
    assert site.problem(again)[:2] == (404, "not-found")
    acts = [row.act for row in site.services.actions.newest(10, survey="work")]
    assert acts[:2] == ["took-results-back", "published-results"]


def test_reader_gets_results_in_the_language_of_the_address_or_of_the_browser(site, over):
    chosen = {"attributes": ["age", "income"], "cross_tables": [["income", "age"]]}
    assert site.post(PUBLIC, json=chosen).status_code == 201
    told = {
        language: visit(site, f"{ADDRESS}?lang={language}") for language in ("en", "de", "fr", "es")
    }
    for language, page in told.items():
        assert page.headers["Content-Language"] == language
        assert f'<html lang="{language}">' in page.text
        assert f'?lang={language}">CSV</a>' in page.text
        assert "Accept-Language" in page.headers.getlist("Vary")
    assert "Was die Antworten sagen" in told["de"].text
    assert len({page.headers["ETag"] for page in told.values()}) == 4
    accepted = visit(site, **{"Accept-Language": "pt, fr-CA;q=0.9, en;q=0.5"})
    assert accepted.headers["Content-Language"] == "fr"
    unknown = visit(site, f"{ADDRESS}?lang=tlh", **{"Accept-Language": "tlh"})
    assert unknown.headers["Content-Language"] == "en"
    forwarded = visit(site, "/results/work?lang=de")
    assert forwarded.headers["Location"].endswith(f"{ADDRESS}?lang=de")
    with zipfile.ZipFile(io.BytesIO(visit(site, f"{ADDRESS}/bundle.zip?lang=es").data)) as archive:
        assert 'lang="es"' in archive.read("report.html").decode()
        assert b"Fuente: " in archive.read("figures/01-age.vl.json")
        tables = archive.read("tables/01-age.csv")
    picture = visit(site, f"{ADDRESS}/figures/01-age.svg?lang=de")
    assert "Quelle: " in picture.text
    assert visit(site, f"{ADDRESS}/tables/01-age.csv").data == tables
    site.delete(PUBLIC)
    gone = visit(site, f"{ADDRESS}?lang=de")
    assert gone.status_code == 410
    assert "Diese Ergebnisse wurden zurückgenommen" in gone.text
    assert '<html lang="de">' in gone.text
    assert site.scalars("SELECT count(*) FROM publication_translations") == [0]


def test_published_results_stay_as_they_were(site, over):
    site.post(PUBLIC, json={"attributes": ["age"]})
    before = visit(site)
    assert site.delete_records().status_code == 200
    site.clock.advance(86400)
    assert visit(site).data == before.data
    site.post(PUBLIC, json={"attributes": ["income"]})
    after = visit(site)
    assert after.headers["ETag"] != before.headers["ETag"]
    assert "Chart of income" in after.text
    publications = site.get(PUBLIC).json["publications"]
    assert [one["attributes"] for one in publications] == [["income"], ["age"]]
    assert [one["taken_back_at"] is None for one in publications] == [True, False]


def test_results_of_a_survey_that_is_not_over_are_not_published(site):
    published = site.publish()
    site.fill(published, 9)
    site.seal()
    assert site.problem(site.post(PUBLIC, json={}))[:2] == (409, "survey-not-over")
    site.close(grace_seconds=60)
    assert site.problem(site.post(PUBLIC, json={}))[:2] == (409, "survey-not-over")


def test_randomised_questions_are_published_so_far_while_the_survey_runs(site):
    site.fill(site.publish(), 40)
    site.seal()
    for clear in ({"attributes": ["income"]}, {"cross_tables": [["age", "income"]]}):
        refused = site.post(PUBLIC, json={"so_far": True, **clear})
        assert "income is answered in clear" in refused.json["detail"]
    assert visit(site).status_code == 404
    answer = site.post(PUBLIC, json={"so_far": True})
    assert (answer.status_code, answer.json["attributes"]) == (201, ["gender", "age", "country"])
    answer = site.post(PUBLIC, json={"so_far": True, "attributes": ["age"]})
    assert (answer.status_code, answer.json["attributes"]) == (201, ["age"])
    page = visit(site)
    assert "These are results so far: the survey is still open" in page.text
    assert "Chart of gender" not in page.text
    only_publish = site.analyst("publish")
    refused = site.post(PUBLIC, headers=only_publish, json={"so_far": True, "attributes": ["age"]})
    assert site.problem(refused)[:2] == (403, "forbidden")


def test_results_below_the_minimum_batch_are_not_published(site):
    site.fill(site.publish(), 2)
    site.close()
    site.clock.advance(1)
    site.services.sealing.sweep(site.services.surveys.now())
    assert site.problem(site.post(PUBLIC, json={}))[:2] == (409, "not-enough-reports")


def test_token_that_may_not_read_does_not_publish_what_it_could_read_then(site, over):
    for scope in ("publish", "read"):
        answer = site.post(PUBLIC, json={}, headers=site.analyst(scope))
        assert site.problem(answer)[:2] == (403, "forbidden")
    assert visit(site).status_code == 404
    other = site.services.access.issue(["publish", "read"], surveys=["other"])
    assert site.post(PUBLIC, json={}, headers=bearer(other.token)).status_code == 403
    both = site.analyst("publish", "read")
    assert site.post(PUBLIC, json={}, headers=both).status_code == 201


def test_report_that_is_too_long_to_wait_for_is_the_result_of_a_job(site):
    published = site.publish()
    site.fill(published, 5)
    site.seal()
    body = {"format": "bundle", "cross_tables": [["gender", "age"]]}
    bundle = site.run_job("report", body)
    assert bundle == site.get(f"{VERSION}/report?format=bundle&cross=gender:age").data
    refused = site.ask_for_job("report", {"cross_tables": [["gender", "gender"]]})
    assert refused.status_code == 422


def test_report_shows_the_audit_that_was_finished(site):
    published = site.publish()
    for gender in ("Male", "Female"):
        for income in ("rich", "poor"):
            site.fill(published, 15, gender=gender, income=income)
    site.seal()
    assert "No audit was finished" in site.get(f"{VERSION}/report").text
    audit = site.run_job("fairness", {"folds": 2, "parameters": {"n_estimators": 2}})
    bundle = site.get(f"{VERSION}/report?format=bundle").data
    with remade(bundle) as made:
        assert made.different == ()
        (shown,) = made.report.results["audits"]
        page = made.file("html").decode()
    assert shown["result"]["metrics"].keys() == audit["metrics"].keys()
    assert shown["result"]["metrics"]["SPD"]["value"] == audit["metrics"]["SPD"]["value"]
    assert "Groups by <bdi>gender</bdi>" in page
    assert audit["metrics"]["SPD"]["conclusion"] in page
    assert "Chart of the audit by gender" in page
    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        assert b'"SPD"' in archive.read("tables/06-audit-1.csv")
    assert "Groups by" not in site.get(f"{VERSION}/report?fairness=false").text


def test_report_shows_the_regressions_that_are_chosen(site):
    published = site.publish()
    for gender in ("Male", "Female"):
        for income in ("rich", "poor"):
            site.fill(published, 30, gender=gender, income=income)
    site.seal()
    job = site.add_job("regress", {"formula": "income ~ gender"})
    unfinished = site.get(f"{VERSION}/report?regressions={job}")
    assert site.problem(unfinished) == (422, "invalid-request", "regressions")
    site.run_jobs()
    found = site.job_result(job).json
    assert "Regressions" not in site.get(f"{VERSION}/report").text
    bundle = site.get(f"{VERSION}/report?format=bundle&regressions={job}").data
    with remade(bundle) as made:
        assert made.different == ()
        page = made.file("html").decode()
    assert '<h2 id="regressions">Regressions</h2>' in page
    assert all(words in page for words in found["sentences"])
    assert "Chart of regression 1" in page
    assert "plain (wrong)" in page
    assert f"--regression {job}" in page
    assert "It says nothing of what causes what" in page
    assert page == site.get(f"{VERSION}/report?regressions={job}").text
    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        assert b'"gender[T.Male]"' in archive.read("tables/06-regression-1.csv")
    body = {"format": "bundle", "regressions": [job]}
    assert site.run_job("report", body) == bundle
    refused = site.get(f"{VERSION}/report?regressions=x")
    assert site.problem(refused) == (422, "invalid-request", "regressions")
    # public results do not take any
    assert site.post(PUBLIC, json={"regressions": [job]}).status_code == 422


def test_audit_is_shown_only_with_all_questions_that_it_is_about(site):
    """Guards: results of two questions were published with the audit of two others."""
    published = site.publish()
    for gender in ("Male", "Female"):
        for income in ("rich", "poor"):
            site.fill(published, 15, gender=gender, income=income)
    site.close()
    site.clock.advance(1)
    site.services.sealing.sweep(site.services.surveys.now())
    site.run_job("fairness", {"folds": 2, "parameters": {"n_estimators": 2}})
    for chosen, shown in (
        (["age", "country"], False),
        (["gender", "age"], False),
        (["income"], False),
        (["gender", "income"], True),
        ([], True),
    ):
        assert site.post(PUBLIC, json={"attributes": chosen}).status_code == 201
        page, bundle = visit(site).text, visit(site, f"{ADDRESS}/bundle.zip").data
        assert ("Groups by <bdi>gender</bdi>" in page) == shown, chosen
        with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
            basis = archive.read("basis.json")
        assert (b'"SPD"' in basis) == shown


def test_attribute_of_which_only_small_groups_are_left_is_in_no_public_result(site):
    published = site.publish()
    site.fill(published, 12, income="rich")
    site.fill(published, 9, income="poor")
    site.close()
    site.clock.advance(1)
    site.services.sealing.sweep(site.services.surveys.now())
    body = {"attributes": ["income"], "cross_tables": [["income", "age"]]}
    refused = site.post(PUBLIC, json=body)
    assert site.problem(refused) == (422, "invalid-request", "attributes")
    assert "tell of no fewer than 10 reports; leave it out" in refused.json["detail"]
    assert site.post(PUBLIC, json={"attributes": ["gender"]}).json["warnings"] == []
    answer = site.post(PUBLIC, json={}).json
    assert answer["attributes"] == ["gender", "age", "country"]
    (warning,) = answer["warnings"]
    assert warning.startswith("education and income are left out, ")
    assert "income are left out" in visit(site).text


def test_smaller_groups_that_an_operator_allows_are_warned_of(make_site):
    site = make_site(SMALLEST_GROUP=9)
    published = site.publish()
    site.fill(published, 12, income="rich")
    site.fill(published, 9, income="poor")
    site.close()
    site.clock.advance(1)
    site.services.sealing.sweep(site.services.surveys.now())
    answer = site.post(PUBLIC, json={"attributes": ["income"], "cross_tables": [["income", "age"]]})
    (said,) = answer.json["warnings"]
    assert said.startswith(
        "groups of fewer than 10 reports in clear are in the table of income: 'poor' (9); the "
        "cross-table of income by age: 'poor' (9); a reader who knows who is in such a group"
    )
