"""Models over HTTP: trained, measured on records, listed, read, fetched, deleted, and tuned for."""

from __future__ import annotations

import io
import zipfile

import pytest

from sample_survey import SURVEYS, VERSION, bearer, make_draft, make_report

BODY = {"seed": 3, "parameters": {"n_estimators": 4}}


def fill(site, name="work", **draft):
    published = site.publish(name=name, **draft)
    incomes = ["poor", "rich"] * 40
    site.send_batch(published, [make_report(published, income=income) for income in incomes])
    return published


def train(site, **body):
    job = site.add_job("train", BODY | body)
    site.run_jobs()
    assert site.job(job)["state"] == "done", site.job(job)
    return job


@pytest.mark.sqlite
def test_model_is_measured_listed_read_and_fetched(site):
    published = fill(site)
    waiting = site.add_job("train", BODY)
    site.post(f"/api/v1/jobs/{waiting}/cancel")
    site.clock.advance(1)
    job = train(site, folds=2)
    done, cancelled = site.get(f"{VERSION}/models").json["runs"]
    assert (cancelled["job"]["id"], cancelled["job"]["state"]) == (waiting, "cancelled")
    assert "model" not in cancelled
    model = done["model"]
    assert (model["encoding"], model["parameters"]["n_estimators"], model["seed"]) == (
        "indicator", 4, 3,
    )  # fmt: skip
    assert (model["rows"], model["local_epsilon"]) == (80, "4")
    assert "epsilon" not in model
    assert model["protections"][0]["from_whom"] == "everybody, the server included"
    measured = model["on_records"]
    assert (measured["n"], measured["folds"]) == (80, 2)
    accuracy = measured["accuracy"]
    assert accuracy["lower"] <= accuracy["value"] <= accuracy["upper"]
    assert measured["gain"]["lower"] <= measured["gain"]["value"] <= measured["gain"]["upper"]
    assert measured["verdict"].endswith("than always the more frequent class")
    assert set(measured["fairness"]) >= {"DI", "SPD", "EOD", "OAD"}
    answer = site.get(f"/api/v1/models/{job}").json
    assert answer["card"]["survey"]["digest"] == published.digest
    assert answer["card"]["on_records"] == measured
    assert not any(limit.startswith("Nothing was measured") for limit in answer["card"]["limits"])
    file = site.get(f"/api/v1/models/{job}/file")
    with zipfile.ZipFile(io.BytesIO(file.data)) as archive:
        assert "model.json" in archive.namelist()
        assert b"Measured on perturbed records" in archive.read("card.html")


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("learner", "file"),
    [("lightgbm-reweighed", "reweighing.json"), ("lightgbm-thresholds", "thresholds.json")],
)
def test_model_is_mitigated_with_groups_that_only_records_tell(site, learner, file):
    published = fill(site, epsilon="64", allow_weak=True)
    genders = published.attribute("gender").categories[:2]
    reports = [
        make_report(published, income=income, gender=gender)
        for gender in genders
        for income in ["poor", "rich"] * 40
    ]
    site.send_batch(published, reports)
    job = train(site, learner=learner)
    said = site.get(f"/api/v1/models/{job}").json["card"]["protections"]
    asked = any(one["what"] == "the gender of each person who is predicted" for one in said)
    assert asked is (learner == "lightgbm-thresholds")
    with zipfile.ZipFile(io.BytesIO(site.get(f"/api/v1/models/{job}/file").data)) as archive:
        assert file in archive.namelist()


def test_model_is_kept_until_the_analyst_or_an_administrator_deletes_it(site):
    fill(site)
    cancelled, job = (site.add_job("train", BODY) for _ in range(2))
    site.post(f"/api/v1/jobs/{cancelled}/cancel")
    store = site.services.job_store
    assert store.claim("worker", now=0, lease=9, attempts=3, running=9) == job
    kept = {"media_type": "application/zip", "file_name": "m.zip", "parts": [b"PK"]}
    assert store.finish(job, "worker", attempt=1, now=9, card='{"title": "a model"}', **kept)
    path = f"/api/v1/models/{job}"
    site.clock.advance(99)
    assert store.forget(before=site.services.surveys.now()) == 1
    assert site.get(path).json == {"id": job, "card": {"title": "a model"}}
    assert site.problem(site.client().delete(path, headers=site.analyst("train")))[0] == 403
    assert site.client().delete(path, headers=site.admin).status_code == 204
    assert site.problem(site.get(path))[:2] == (404, "not-found")
    assert site.get(f"{VERSION}/models").json == {"runs": []}
    for table in ("models", "jobs", "job_results"):
        assert site.scalars(f"SELECT count(*) FROM {table}") == [0]
    line = site.services.actions.newest(1)[0]
    assert (line.act, line.survey, line.subject) == ("deleted-model", "work", job)


@pytest.mark.sqlite
def test_parameters_are_searched_on_records_within_the_server_s_limits(make_site):
    site = make_site(JOB_PARAMETER_LIMITS="n_estimators=60,max_depth=4")
    fill(site)
    found = site.run_job("tune", {"trials": 2, "folds": 2, "seed": 1})
    assert (found["trials"], found["learner"], found["folds"]) == (2, "lightgbm", 2)
    assert found["parameters"]["n_estimators"] == 50
    assert found["parameters"]["max_depth"] in (3, 4)
    assert set(found["score"]) == {"accuracy_on_records"}
    assert found["interval"].startswith("none")
    job = site.add_job("train", {"parameters": found["parameters"]})
    assert site.job(job)["state"] == "queued"


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("kind", "body", "field", "said"),
    [
        ("tune", {"trials": 0}, "trials", "trials is 0; give at least 1"),
        ("tune", {"folds": 81}, "folds", "folds is 81; give at most 20"),
        ("tune", {"learner": "functional-mechanism"}, "learner", "is private itself"),
        ("tune", {"learner": "lightgbm-parity"}, "learner", "rows in clear"),
        ("train", {"folds": 81}, "folds", "there are 80 records"),
        ("train", {"learner": "functional-mechanism", "folds": 2}, "learner", "private itself"),
        ("train", {"learner": "lightgbm-parity"}, "learner", "rows in clear"),
        ("train", {"learner": "fairfm"}, "learner", "collects gender perturbed"),
        ("train", {"learner": "lightgbm-thresholds", "folds": 2}, "learner", "group in clear when"),
        ("tune", {"learner": "lightgbm-thresholds"}, "learner", "group in clear when predicting"),
        ("fairness", {"learner": "lightgbm-thresholds"}, "learner", "group in clear when"),
    ],
)
def test_training_that_cannot_be_done_is_refused_at_the_request(site, kind, body, field, said):
    fill(site)
    answer = site.ask_for_job(kind, body)
    assert site.problem(answer) == (422, "invalid-request", field)
    assert said in answer.json["detail"]


@pytest.mark.sqlite
def test_learners_are_told_with_their_intervals_and_why_some_cannot_run_here(make_site):
    site = make_site(JOB_PARAMETER_LIMITS="n_estimators=60")
    fill(site)
    found = site.get(f"{VERSION}/learners").json
    assert found["target"]["name"] == "income"
    learners = {one["name"]: one for one in found["learners"]}
    boosting = learners["lightgbm"]
    assert (boosting["private"], boosting["can_be_tuned"], "reason" in boosting) == (
        False, True, False,
    )  # fmt: skip
    trees = next(one for one in boosting["parameters"] if one["name"] == "n_estimators")
    assert (trees["kind"], trees["low"], trees["high"], trees["default"]) == (
        "whole number", 1, 60, 100,
    )  # fmt: skip
    assert "rows in clear" in learners["lightgbm-parity"]["reason"]
    assert learners["functional-mechanism"]["private"]
    assert "each record's group in clear" in learners["fairfm"]["reason"]
    attributes = make_draft()["attributes"]
    attributes[-1] = {"name": "income", "role": "plain", "categories": ["poor", "rich"]}
    site.publish(name="home", attributes=attributes)
    found = site.get(f"{SURVEYS}/home/versions/1/learners").json
    assert "target" not in found
    assert "role target" in found["reason"]


@pytest.mark.sqlite
def test_no_model_of_another_survey_is_reached_and_none_that_is_not_done_is_read(site):
    fill(site)
    fill(site, "home")
    job = site.add_job("train", BODY, name="home")
    token = site.services.access.issue(["read", "train"], surveys=["work"]).token
    headers = bearer(token)
    for path in (f"/api/v1/models/{job}", f"/api/v1/models/{job}/file"):
        assert site.get(path, headers=headers).status_code == 403
        assert site.problem(site.get(path))[:2] == (409, "job-not-done")
    assert site.client().delete(f"/api/v1/models/{job}", headers=headers).status_code == 403
    answer = site.client().delete(f"/api/v1/models/{job}", headers=site.admin)
    assert site.problem(answer)[:2] == (409, "job-not-done")
    assert site.get(f"{SURVEYS}/home/versions/1/models", headers=headers).status_code == 403
    export = site.add_job("export")
    assert site.problem(site.get(f"/api/v1/models/{export}"))[:2] == (404, "not-found")
