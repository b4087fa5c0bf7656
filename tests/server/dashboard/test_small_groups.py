"""Attacks of a reader who may not export, and of everybody on public results, on small groups."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from html import unescape
from urllib.parse import urlencode

import pytest

from hushpoll_analysis.query_results import RESULTS
from hushpoll_server.survey_reports.files.offline import remade
from sample_survey import VERSION, encoded

pytestmark = [pytest.mark.sqlite, pytest.mark.usefixtures("drawn_by_all")]
WORK = "/surveys/work/versions/1"
ATTRIBUTES = [
    {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"]},
    {"name": "age", "role": "sensitive", "range": [1, 5]},
    {"name": "commune", "role": "plain", "categories": ["Alder", "Birch", "Cedar", "Hamlet"]},
    {"name": "club", "role": "plain", "categories": ["chess", "rowing"]},
]
MERGED = "Cedar and Hamlet together"
PEOPLE = [("Alder", "chess", 40), ("Alder", "rowing", 30), ("Birch", "chess", 30)]
PEOPLE += [("Birch", "rowing", 40), ("Cedar", "chess", 20), ("Cedar", "rowing", 20)]
HAMLET = ("Hamlet", "chess", 1)
ASKED = {
    "answered-shares": {},
    "changes": {"attribute": "smokes", "since_version": "1", "since_survey": "home"},
    "conditional-shares": {"of": "smokes", "given": "commune"},
    "cross-tables": {"a": "smokes", "b": "commune"},
    "dependencies": {},
    "estimates": {},
    "independence": {"a": "smokes", "b": "commune"},
    "ordered-answers": {"attribute": "age", "given": "commune"},
    "ordered-changes": {"attribute": "age", "since_version": "1", "since_survey": "home"},
    "simultaneous-estimates": {"attribute": "commune"},
    "simultaneous-means": {"attributes": "age", "given": "commune"},
}


def send(site, published, *people):
    reports = [
        encoded(published, {"smokes": "yes", "age": "2", "commune": commune, "club": club})
        for commune, club, times in people
        for _ in range(times)
    ]
    assert site.send_batch(published, reports).json["accepted"] == len(reports)
    site.seal(published.name)


def end(site, name="work"):
    site.close(name=name)
    site.clock.advance(1)
    site.services.sealing.sweep(site.services.surveys.now())


@pytest.fixture
def town(site):
    """A survey of which one report is from Hamlet, while it still collects."""
    published = site.publish(attributes=ATTRIBUTES, protected=None, allow_weak=True)
    send(site, published, *PEOPLE, HAMLET)
    return published


@pytest.fixture
def over(site, town):
    """The same survey at its end, and another to compare it with."""
    other = site.publish(name="home", attributes=ATTRIBUTES, protected=None, allow_weak=True)
    send(site, other, *PEOPLE)
    end(site)
    return town


def address(name, form="", **more):
    return f"{WORK}/results/{name}{form}?{urlencode(ASKED.get(name, {}) | more)}"


def document(visitor, name, **more):
    answer = visitor.get(address(name, "/file.json", **more))
    assert answer.status_code == 200, answer.text
    return json.loads(answer.text)


def groups_of(visitor, attribute):
    """The shares and numbers of groups that the file of estimates has."""
    found = document(visitor, "estimates")
    (one,) = [one for one in found["attributes"] if one["name"] == attribute]
    return {row["category"]: round(row["frequency"] * found["n"]) for row in one["categories"]}


def alone(text):
    """Whether a text has the hamlet by itself."""
    told = unescape(text).replace("+", " ")  # in an address a blank is written as a plus
    return "Hamlet" in told.replace(MERGED, "").replace("Cedar and Hamlet", "")


PAGES = (
    "/estimates", "/estimates?attribute=smokes&among=commune", "/cross-tables?a=smokes&b=commune",
    "/cross-tables?a=commune&b=age&share=row", "/comparison?of=smokes&beside=groups+of+commune",
    "/weighted?of=smokes&by=commune", "/estimates/commune.csv", "/estimates/commune.svg",
    "/estimates/smokes.csv?among=commune", "/cross-table.csv?a=smokes&b=commune",
    "/cross-table.json?a=commune&b=smokes", "/cross-table.csv?a=smokes&b=commune&share=column",
    "/comparison.csv?of=smokes&beside=groups+of+commune", "/report",
    "/report-file?attribute=commune&rows=smokes&columns=commune",
)  # fmt: skip


def test_reader_sees_no_attribute_in_clear_while_reports_can_come(site, town, visit):
    reader = visit("eve", work="reader")
    assert [one["name"] for one in document(reader, "estimates")["attributes"]] == ["smokes", "age"]
    (words,) = document(reader, "estimates")["small_groups"]
    assert words == (
        "Answered in clear: commune and club. Readers without the right to export see groups by "
        "such answers once the end of collection is reached."
    )
    assert words in unescape(reader.get(f"{WORK}/estimates").text)
    for path in PAGES:
        answer = reader.get(f"{WORK}{path}")
        assert answer.status_code in (200, 422), path
        assert "Hamlet" not in answer.text, path
        assert "Alder" not in answer.text, path
    for name, asked in ASKED.items():
        answer = reader.get(address(name))
        assert answer.status_code in (200, 422), name
        assert "Hamlet" not in answer.text, name
        if "commune" in asked.values():
            assert "once the end of collection is reached" in unescape(answer.text), name


def test_subtracting_releases_gives_no_group(site, town, visit):
    """Guards: the figures of a group change by what one respondent sent."""
    reader = visit("eve", work="reader")
    before = document(reader, "estimates")
    send(site, town, HAMLET, HAMLET, HAMLET)
    after = document(reader, "estimates")
    assert after["n"] == before["n"] + 3  # this survey is for trials and releases immediately
    assert {one["name"] for one in before["attributes"] + after["attributes"]} == {"smokes", "age"}
    end(site)
    at_the_end = [document(reader, name) for name in ("estimates", "conditional-shares")]
    assert groups_of(reader, "commune") == {"Alder": 70, "Birch": 70, MERGED: 44}
    # nothing changes any more, not even with the records
    assert site.delete_records().status_code == 200
    assert [document(reader, name) for name in ("estimates", "conditional-shares")] == at_the_end


def test_subtracting_tables_and_totals_gives_no_small_group(site, over, visit):
    reader, analyst = visit("eve", work="reader"), visit("ada", work="analyst")
    groups = groups_of(reader, "commune")
    assert groups == {"Alder": 70, "Birch": 70, MERGED: 41}
    assert sum(groups.values()) == document(reader, "estimates")["n"]
    table = document(reader, "cross-tables")
    assert {cell["b"] for cell in table["cells"]} == set(groups)
    assert all(alone(analyst.get(f"{WORK}{path}").text) for path in PAGES[:1])
    for path in PAGES:
        answer = reader.get(f"{WORK}{path}")
        assert answer.status_code == 200, (path, answer.text)
        assert not alone(answer.text), path
    # one cell of the two attributes in clear together has one report, of which no table is shown
    for path in ("/cross-tables?a=commune&b=club", "/cross-table.csv?a=club&b=commune"):
        assert reader.get(f"{WORK}{path}").status_code == 200
    rows = reader.get(f"{WORK}/cross-table.csv?a=club&b=commune").text
    counted = [float(row["frequency"]) * 181 for row in csv.DictReader(io.StringIO(rows))]
    assert len(counted) == 6
    assert all(round(count) >= 10 for count in counted)


def test_every_query_is_answered_of_merged_groups(site, over, visit):
    reader, analyst = visit("eve", work="reader", home="reader"), visit("ada", every="analyst")
    assert set(ASKED) == {kind.name for kind in RESULTS}
    for name in ASKED:
        found = reader.get(address(name, "/file.json"))
        if name == "answered-shares":  # nobody could skip a question
            assert found.status_code == 422
            continue
        assert found.status_code == 200, found.text
        assert not alone(found.text)
        assert "small_groups" in found.json
        assert not alone(reader.get(address(name, "/file.csv")).text)
        page = unescape(reader.get(address(name)).text)
        assert all(words in page for words in found.json["small_groups"])
        whole = analyst.get(address(name, "/file.json"))
        assert "small_groups" not in whole.json
    path = f"{VERSION}/conditional-shares?{urlencode(ASKED['conditional-shares'])}"
    token = site.get(path, headers=site.analyst("read"))  # who has one can export
    assert token.json == analyst.get(address("conditional-shares", "/file.json")).json


def test_one_table_of_all_results_is_of_merged_groups(site, over, visit):
    reader, analyst = visit("eve", work="reader", home="reader"), visit("ada", every="analyst")
    names = [name for name in ASKED if name != "answered-shares"]
    addresses = [f"{name}?{urlencode(ASKED[name])}" for name in names]
    for asked in ("", urlencode([("query", one) for one in addresses])):
        for form in ("json", "csv"):
            answer = reader.get(f"{WORK}/results.{form}?{asked}")
            assert answer.status_code == 200, answer.text
            assert not alone(answer.text)
        assert MERGED in answer.text
        assert alone(analyst.get(f"{WORK}/results.json?{asked}").text)
    found = json.loads(reader.get(f"{WORK}/results.json").text)
    assert "commune" in found["methods"]["estimates: small groups"]
    # the right to export this survey is none to export the one that it is compared with
    half = visit("bob", work="analyst", home="reader")
    asked = urlencode(
        {"query": f"changes?{urlencode(ASKED['changes'] | {'attribute': 'commune'})}"}
    )
    assert not alone(half.get(f"{WORK}/results.json?{asked}").text)
    nobody = visit("mallory", work="reader")
    assert nobody.get(f"{WORK}/results.json?{asked}").status_code == 404
    page = reader.get(f"{WORK}/results").text
    assert f"{WORK}/results.xlsx" in page


def test_conditions_that_differ_by_one_person_are_refused(site, over, visit):
    reader = visit("eve", work="reader")
    assert document(reader, "estimates", where=f"commune={MERGED}")["n"] == 41
    for where in (
        "commune=Hamlet", "commune=Alder,Birch,Cedar", f"commune={MERGED};club=chess",
        "club=chess;commune=Alder",
    ):  # fmt: skip
        answer = reader.get(address("estimates", "/file.json", where=where))
        assert answer.status_code == 422, where
    inside = document(reader, "estimates", where="club=chess")
    assert [one["name"] for one in inside["attributes"]] == ["smokes", "age"]
    asked = {"of": "smokes", "given": "commune", "where": "club=chess"}
    assert reader.get(address("conditional-shares", **asked)).status_code == 422


@pytest.mark.parametrize("kind", ["weights", "strata"])
def test_weights_of_respondents_need_the_right_to_export(site, over, visit, kind):
    reader, analyst = visit("eve", work="reader"), visit("ada", work="analyst")
    single = f"{WORK}/weighted?of=smokes&by=commune&kind={kind}&a0=0&a1=0&a2=0&a3=1"
    nearly = f"{WORK}/weighted?of=smokes&by=commune&kind={kind}&a0=900&a1=900&a2=900&a3=900.01"
    merged = f"{WORK}/weighted?of=smokes&by=commune&kind={kind}&a0=0&a1=0&a2=1"
    for path in (single, nearly, merged):
        page = reader.get(path)
        assert page.status_code == 422, path
        assert "needs the right to export" in unescape(page.text), path
        assert reader.get(path.replace("weighted?", "weighted/shares.csv?")).status_code == 422
    if kind == "weights":  # one report is too little for a stratum
        assert analyst.get(nearly).status_code == 200


def test_margins_are_of_groups_that_are_shown(site, over, visit):
    reader = visit("eve", work="reader")
    margin = f"{WORK}/weighted?of=smokes&by=commune&kind=margins"
    page = unescape(reader.get(margin).text)
    assert MERGED in page
    assert not alone(page)
    assert reader.get(f"{margin}&a0=30&a1=30&a2=40").status_code == 200
    # a field for each category would be needed to single the hamlet out
    assert len(re.findall(r'name="a[0-9]+"', page)) == 3
    both = reader.get(f"{margin}&a0=30&a1=30&a2=40&second=club&b0=50&b1=50")
    assert both.status_code == 422
    assert "groups by several attributes can be of few reports" in unescape(both.text)
    assert reader.get(f"{WORK}/weighted?of=smokes&by=age&kind=margins&{five()}").status_code == 200


def five():
    return "&".join(f"a{at}=20" for at in range(5))


def test_public_results_merge_small_groups_also_where_an_admin_publishes(site, over, visit):
    chosen = {"attributes": ["smokes", "commune"], "cross_tables": [["smokes", "commune"]]}
    answer = site.post(f"{VERSION}/public-results", json=chosen)
    assert answer.status_code == 201, answer.json
    (words,) = answer.json["warnings"]
    assert words.startswith("Groups of commune are merged: Cedar and Hamlet together. ")
    page = site.client().get("/results/work/versions/1")
    assert not alone(page.text)
    assert words in unescape(page.text)
    bundle = site.client().get("/results/work/versions/1/bundle.zip").data
    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        basis = json.loads(archive.read("basis.json"))
        files = {name: archive.read(name).decode() for name in archive.namelist()}
    assert sorted(basis["counts"]["support"]["commune"]) == [41, 70, 70]
    for joint in basis["counts"]["joint"]:
        assert sum(joint["second"]) == 181
        assert min(joint["second"]) == 41
    assert "club" not in basis["counts"]["support"]
    for name, text in files.items():
        assert name == "manifest.json" or not alone(text), name
    with remade(bundle) as made:
        assert made.different == ()
    # a table whose cells are small is refused, and so is what the form of an editor names
    editor = visit("edi", work="editor")
    assert MERGED in unescape(editor.get(f"{WORK}/report").text)


def test_public_results_have_no_table_with_a_small_cell(make_site, visit):
    site = make_site(SMALLEST_GROUP=21)
    published = site.publish(attributes=ATTRIBUTES, protected=None, allow_weak=True)
    send(site, published, *PEOPLE, ("Hamlet", "chess", 3))
    end(site)
    chosen = {"attributes": ["commune"], "cross_tables": [["club", "commune"]]}
    answer = site.post(f"{VERSION}/public-results", json=chosen)
    assert answer.status_code == 422
    assert "one of its cells has fewer than 21 reports" in answer.json["detail"]
    reader = visit("eve", at=site, work="reader")
    page = reader.get(f"{WORK}/cross-tables?a=commune&b=club")
    assert page.status_code == 200
    assert "This table is not shown" in page.text
    assert reader.get(f"{WORK}/cross-table.csv?a=commune&b=club").status_code == 422


def test_kept_results_of_groups_are_shown_to_those_who_may_export(site, town, visit):
    reader, analyst = visit("eve", work="reader"), visit("ada", work="analyst")
    tables = {
        names: site.add_job("table", {"attributes": list(names), "likelihood": False})
        for names in (("smokes", "age"), ("smokes", "commune"), ("smokes", "commune", "club"))
    }
    site.run_jobs()
    for names, job in tables.items():
        path = f"{WORK}/tables/{job}"
        assert analyst.get(path).status_code == 200
        for form in ("", "/table.csv"):
            seen = reader.get(f"{path}{form}")
            assert seen.status_code == (200 if names == ("smokes", "age") else 403), (names, form)
            assert "Hamlet" not in seen.text


def test_an_operator_sets_the_smallest_group(make_site, visit):
    site = make_site(SMALLEST_GROUP=1)
    published = site.publish(attributes=ATTRIBUTES, protected=None, allow_weak=True)
    send(site, published, *PEOPLE, HAMLET)
    reader = visit("eve", at=site, work="reader")
    assert groups_of(reader, "commune")["Hamlet"] == 1
    assert "small_groups" not in document(reader, "estimates")


SEES_GROUPS_AS_THEY_ARE = {
    "everybody": False,
    "reader": False,
    "analyst": True,
    "editor": True,
    "admin": True,
    "a token that reads": True,
}
"""The row of the authorisation matrix that is about what is seen, and not whether."""


def test_each_role_sees_the_groups_that_the_table_says(site, over, visit):
    public = {"attributes": ["commune"]}
    assert site.post(f"{VERSION}/public-results", json=public).status_code == 201
    token = site.analyst("read")
    files = [
        ("everybody", site.client().get("/results/work/versions/1")),
        ("a token that reads", site.get(f"{VERSION}/estimates?format=csv", headers=token)),
        ("a token that reads", site.get(f"{VERSION}/report", headers=token)),
    ]
    for role in ("reader", "analyst", "editor", "admin"):
        visitor = visit(role, work=role)
        for path in ("/estimates/commune.csv", "/results/estimates/file.csv", "/estimates"):
            files.append((role, visitor.get(f"{WORK}{path}")))
        files.append((role, visitor.get(f"{WORK}/report-file?attribute=commune")))
    assert {who for who, _ in files} == set(SEES_GROUPS_AS_THEY_ARE)
    for who, answer in files:
        assert answer.status_code == 200, who
        assert alone(answer.text) == SEES_GROUPS_AS_THEY_ARE[who], who


REGRESSIONS = f"{WORK}/regressions"


def fitted(site, visitor, **chosen):
    """The regression that a visitor's form asks for: its job's id, and its page or the list."""
    asked = visitor.send(REGRESSIONS, REGRESSIONS, **chosen)
    assert asked.status_code == 303, asked.text
    site.run_jobs()
    listed = site.get("/api/v1/surveys/work/versions/1/regressions").json["regressions"]
    job = listed[0]["job"]
    if job["state"] != "done":
        return job, visitor.get(REGRESSIONS)
    return job, visitor.get(f"{REGRESSIONS}/{job['id']}")


def test_reader_asks_for_a_regression_on_groups_that_are_shown(site, over, visit):
    reader = visit("eve", work="reader")
    form = reader.get(REGRESSIONS).text
    assert "Fit the regression" in form
    assert MERGED in form
    assert not alone(form)
    job, page = fitted(site, reader, outcome="smokes", predictors=["commune", "club"])
    assert page.status_code == 200
    document = json.loads(site.job_result(job["id"]).data)
    assert document["smallest_group"] == 10
    told = [one["name"] for one in document["coefficients"]]
    assert f"commune[T.{MERGED}]" in told
    for text in (page.text, reader.get(f"{REGRESSIONS}/{job['id']}/chart.csv").text):
        assert MERGED in text
        assert not alone(text)
    assert not alone(json.dumps(document))
    assert "Delete this regression" in page.text
    # a reference that stands alone is no category of what is shown
    refused = reader.send(REGRESSIONS, REGRESSIONS, formula="smokes ~ C(commune, ref='Hamlet')")
    assert refused.status_code == 422
    assert "no category of commune" in unescape(refused.text)
    assert reader.send(f"{REGRESSIONS}/{job['id']}/delete", REGRESSIONS).status_code == 303


def test_growth_of_a_group_is_in_no_readers_regression(site, town, visit):
    """Guards: the slope of a group changes by what one respondent sent between two releases."""
    reader = visit("eve", work="reader")
    for chosen in (
        {"outcome": "smokes", "predictors": ["commune"]},
        {"outcome": "commune", "predictors": ["smokes"]},
        {"formula": "smokes ~ age + club"},
    ):
        refused = reader.send(REGRESSIONS, REGRESSIONS, **chosen)
        assert refused.status_code == 422
        assert "once the end of collection is reached" in unescape(refused.text)
    _, page = fitted(site, reader, outcome="smokes", predictors=["age"])
    assert page.status_code == 200  # of perturbed questions alone, as shares of them are shown


def test_two_regressions_that_differ_in_one_persons_dummy_are_refused(site, visit):
    """Guards: regressions on each of two attributes, and on both, tell of the few in one cell."""
    published = site.publish(attributes=ATTRIBUTES, protected=None, allow_weak=True)
    send(site, published, *PEOPLE[:-1], ("Cedar", "rowing", 1))
    end(site)
    reader = visit("eve", work="reader")
    for formula in ("smokes ~ commune + club", "smokes ~ commune:club", "club ~ commune + smokes"):
        job, page = fitted(site, reader, formula=formula)
        assert job["state"] == "failed"
        assert "can be about fewer than 10 reports" in unescape(page.text), formula
    for name in ("commune", "club"):  # alone each may be asked for
        assert fitted(site, reader, outcome="smokes", predictors=[name])[1].status_code == 200


def test_reader_sees_an_analysts_regression_only_where_it_keeps_to_groups_that_are_shown(
    site, over, visit
):
    analyst, reader = visit("ada", work="analyst"), visit("eve", work="reader")
    job, page = fitted(site, analyst, outcome="smokes", predictors=["commune"])
    assert alone(page.text)
    assert reader.get(f"{REGRESSIONS}/{job['id']}").status_code == 403
    kept = site.run_job("regress", {"formula": "smokes ~ commune", "for_readers": True})
    assert not alone(json.dumps(kept))
    (shown,) = [
        one["job"]["id"]
        for one in site.get("/api/v1/surveys/work/versions/1/regressions").json["regressions"]
        if one["regression"].get("smallest_group") == 10
    ]
    assert reader.get(f"{REGRESSIONS}/{shown}").status_code == 200
    assert "You may not" not in reader.get(f"{WORK}/report?regression={shown}").text
    # under a larger smallest group it is withheld again
    site.services.analysis.smallest_group = 50
    assert reader.get(f"{REGRESSIONS}/{shown}").status_code == 403
