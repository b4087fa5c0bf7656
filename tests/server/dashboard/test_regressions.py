"""The dashboard's pages of regressions, without a browser."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from hushpoll_protocols import SecureBits
from hushpoll_server.charts.regressions import finding_of, regression_chart
from hushpoll_shared.wire import reports as wire

PAGE = "/surveys/work/versions/1/regressions"
CHOSEN = {"outcome": "income", "predictors": ["gender", "education"]}


@pytest.fixture
def filled(site):
    published = site.publish()
    rng = np.random.default_rng(3)
    reports = []
    for _ in range(240):
        gender, education = int(rng.integers(2)), int(rng.integers(3))
        rich = rng.random() < 1 / (1 + np.exp(-(2.5 * gender - 1.2)))
        codes = {"gender": gender, "age": 1, "country": 1, "education": education, "income": rich}
        codes = {name: int(code) for name, code in codes.items()}
        record = published.layout.encode(codes, SecureBits())
        reports.append(wire.Report(wire.new_report_id(), record))
    site.send_batch(published, reports)
    site.publish(name="home", title="Another")
    return site


def coefficient(name, estimate, error, *, predictor="gender", category="Male", **others):
    interval = {"lower": estimate - 2 * error, "upper": estimate + 2 * error}
    return {
        "name": name,
        "category": None,
        "estimate": estimate,
        **interval,
        "simultaneous_lower": interval["lower"],
        "simultaneous_upper": interval["upper"],
        "compares": [{"predictor": predictor, "category": category, "reference": "x"}],
        **others,
    }


def document(*coefficients, too_noisy=(), says="informative"):
    return {
        "outcome": {"name": "income", "categories": ["poor", "rich"], "reference": "poor"},
        "verdict": {"says": says, "too_noisy": list(too_noisy), "sentence": ""},
        "confidence": 0.95,
        "n": 2423,
        "coefficients": list(coefficients),
    }


@pytest.mark.sqlite
def test_analyst_asks_reads_downloads_and_deletes(filled, visit):
    analyst, reader = visit("ada", work="analyst"), visit("eve", work="reader")
    stranger = visit("bob", home="admin")
    empty = reader.get(PAGE).text
    assert "There is no regression yet" in empty
    assert "Fit the regression" in empty
    # education is in clear, which a reader sees at the end of collection
    assert reader.send(PAGE, PAGE, **CHOSEN).status_code == 422
    assert analyst.send(PAGE, PAGE, **CHOSEN).status_code == 303
    page = analyst.get(PAGE).text
    assert "1 of these jobs waits or runs" in page
    assert "dashboard/live.js" in page
    filled.run_jobs()
    (entry,) = filled.get("/api/v1/surveys/work/versions/1/regressions").json["regressions"]
    job, found = entry["job"], entry["regression"]
    assert (found["outcome"], found["predictors"]) == ("income", ["gender", "education"])
    assert found["n"] == 240
    answer = json.loads(filled.job_result(job["id"]).data)
    address = f"{PAGE}/{job['id']}"
    page = analyst.get(address).text
    for words in (*answer["sentences"], answer["verdict"]["sentence"], finding_of(answer)):
        assert words.replace("'", "&#39;") in page
    assert page.index(answer["sentences"][0]) < page.index("<svg") < page.index("All coefficients")
    assert "plain (wrong)" in page
    assert "Delete this regression" in page
    lines = analyst.get(f"{address}/chart.csv").text.splitlines()
    assert len([line for line in lines if line.startswith('"gender')]) == 1
    report = "/surveys/work/versions/1/report"
    ticked = f'name="regression" value="{job["id"]}" checked'
    assert ticked in analyst.get(f"{report}?regression={job['id']}").text
    assert 'name="regression"' not in reader.get(report).text
    assert analyst.get(f"{address}/chart.svg").text.startswith("<svg")
    # a reader without the right to export sees no groups in clear before the end of collection
    for path in (address, f"{address}/chart.csv"):
        assert reader.get(path).status_code == 403
    assert answer["sentences"][0] not in reader.get(PAGE).text
    # the oldest results go, and a regression stays
    filled.services.job_store.forget(before=10**12)
    assert analyst.get(address).status_code == 200
    for path in (PAGE, address, address.replace("work", "home")):
        assert stranger.get(path).status_code == 404
    assert reader.send(f"{address}/delete", PAGE).status_code == 403
    assert analyst.send(f"{address}/delete", address).status_code == 303
    assert analyst.get(address).status_code == 404
    acts = {(line.actor, line.act) for line in filled.services.actions.newest(30)}
    assert {
        ("user:ada", "asked-for-regress"),
        ("user:ada", "looked-at-regressions"),
        ("user:ada", "fetched-regress"),
        ("user:ada", "deleted-regression"),
    } <= acts


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"outcome": ""}, "outcome", "No outcome is chosen"),
        ({"predictors": []}, "predictors", "No predictor is chosen"),
        ({"family": "linear"}, "family", "takes numbers"),
        ({"interaction": "age"}, "interaction", "choose two different questions"),
        ({"formula": "income ~ gendre"}, "formula", "did you mean &#39;gender&#39;?"),
        ({"formula": "income ~ income"}, "formula", "left and right of the tilde"),
        ({"formula": "income ~ gender.__class__"}, "formula", "no attribute"),
        ({"formula": "income ~ {gender}"}, "formula", "gender needs numbers"),
        ({"predictors": ["income"]}, "predictors", "income"),
        ({"predictors": ["shoes"]}, "predictors", "shoes"),
        ({"family": "probit"}, "family", "probit"),
        ({"estimator": "best"}, "estimator", "likelihood"),
        ({"confidence": "much"}, "confidence", "much"),
        ({"reference-gender": "Mule"}, "reference-gender", "Mule"),
    ],
)
def test_refused_choice_is_told_beside_its_field(site, visit, changes, field, words):
    site.fill(site.publish(), 3)
    answer = visit("ada", work="analyst").send(PAGE, PAGE, **{**CHOSEN, **changes})
    assert answer.status_code == 422
    (fault,) = re.findall(r'<[^>]*aria-invalid="true"[^>]*>', answer.text)
    assert f'name="{field}"' in fault
    said = answer.text[answer.text.index('id="refused-fault"') :]
    assert words in said[: said.index("</span>")]


@pytest.mark.sqlite
def test_refused_choice_loses_nothing_and_the_estimator_reaches_the_job(filled, visit):
    analyst = visit("ada", work="analyst")
    chosen = {
        **CHOSEN,
        "family": "logit",
        "robust": "yes",
        "saturated": "yes",
        "estimator": "likelihood",
        "confidence": "0.9",
    }
    page = analyst.send(PAGE, PAGE, **chosen, formula="income ~ shoes").text
    for name, value in (("predictors", "gender"), ("predictors", "education")):
        (ticked,) = re.findall(rf'<input[^>]*name="{name}" value="{value}"[^>]*>', page)
        assert "checked" in ticked
    for name in ("robust", "saturated", "estimator"):
        (ticked,) = re.findall(rf'<input[^>]*name="{name}"[^>]*>', page)
        assert "checked" in ticked
    assert re.search(r'<option value="logit" selected>', page)
    assert re.search(r'<option value="0\.9" selected>90.%</option>', page)
    assert 'value="income ~ shoes"' in page
    assert analyst.send(PAGE, PAGE, **chosen, formula="").status_code == 303
    (entry,) = filled.get("/api/v1/surveys/work/versions/1/regressions").json["regressions"]
    asked = entry["job"]["parameters"]
    assert (asked["estimator"], asked["robust"], asked["confidence"]) == ("likelihood", True, 0.9)
    filled.run_jobs()
    assert json.loads(filled.job_result(entry["job"]["id"]).data)["estimator"] == "likelihood"


@pytest.mark.sqlite
def test_api_lists_and_deletes_and_another_token_may_not(filled):
    job = filled.add_job("regress", {"formula": "income ~ gender"})
    path = f"/api/v1/regressions/{job}"
    refused = filled.client().delete(path, headers=filled.admin)
    assert filled.problem(refused)[:2] == (409, "job-not-done")
    filled.run_jobs()
    assert filled.client().delete(path).status_code == 401
    assert filled.client().delete(path, headers=filled.admin).status_code == 204
    assert filled.get("/api/v1/surveys/work/versions/1/regressions").json == {"regressions": []}
    other = filled.add_job("shape", {})
    missing = filled.client().delete(f"/api/v1/regressions/{other}", headers=filled.admin)
    assert filled.problem(missing)[:2] == (404, "not-found")


def test_chart_names_what_intervals_that_hold_together_leave_out():
    told = coefficient("gender[T.Male]", 0.5, 0.1)
    open_ended = coefficient(
        "age[T.x]", 0.4, 1.0, predictor="age", category="30s", lower=None, simultaneous_lower=None
    )
    answer = document(told, open_ended, too_noisy=["age[T.x]"])
    assert finding_of(answer) == "income depends on gender, other things equal"
    chart = regression_chart(answer)
    first, second = chart.specification["data"]["values"]
    assert first["value"] == pytest.approx(np.exp(0.5))
    assert (first["below"], first["noisy"]) == (False, False)
    assert (second["below"], second["noisy"]) == (True, True)
    assert chart.specification["title"]["subtitle"] == [
        "n = 2,423; 95\u00a0% intervals; odds",
        "ratios, log scale",
    ]
    assert "2,423 reports" in chart.sentence


def test_chart_of_nothing_told_names_no_estimate():
    alone = coefficient("gender[T.Male]", 0.1, 0.1)
    assert finding_of(document(alone)).startswith("These answers do not tell")
    noisy = document(alone, too_noisy=["gender[T.Male]"], says="too noisy to tell")
    assert finding_of(noisy) == "Too noisy to tell on what income depends"
    title = regression_chart(noisy).specification["title"]["text"]
    assert title == ["Too noisy to tell on what income", "depends"]
