"""The dashboard's pages of audits, without a browser."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hushpoll_analysis.auditing.groups import audit_groups
from hushpoll_analysis.auditing.predictions import AuditPredictions
from hushpoll_analysis.records.records import Records
from hushpoll_server.charts.fairness import fairness_chart
from hushpoll_server.dashboard.fairness import figure_of
from hushpoll_server.services.results.kept_results import summary_of_audit
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.group_metrics import METRICS
from hushpoll_shared.wire.batch import encode_many
from sample_survey import make_draft, make_report

AUDITS = "/surveys/work/versions/1/fairness"
AUDIT = {"learner": "lightgbm", "encoding": "indicator", "seed": "3", "folds": "2"}


@pytest.fixture
def filled(site):
    for name in ("work", "home"):
        published = site.publish(name=name, title=f"Title of {name}")
        incomes = ["poor", "rich"] * 40
        site.send_batch(published, [make_report(published, income=income) for income in incomes])
    return site


@pytest.fixture(scope="module")
def several() -> dict:
    """An audit of the ages, each beside one of them."""
    published = Manifest.from_dict(make_draft(protocol="GRR", epsilon="16")).resolve()
    rng = np.random.default_rng(5)
    n = 4000
    codes = {one.name: rng.integers(0, one.k, n) for one in published.attributes}
    codes["age"] = rng.choice([1, 2, 3, 7], n, p=[0.4, 0.4, 0.19, 0.01])
    predicted = (rng.random(n) < np.where(codes["age"] == 2, 0.7, 0.3)).astype(np.int8)
    records = Records(published, encode_many(published, codes, rng))
    return audit_groups(
        records, AuditPredictions(predicted, (), "external"), attribute="age", reference="20s",
        outlook=False, together="simultaneous",
    ).to_dict()  # fmt: skip


def kept(site, report):
    """An audit that a worker has finished with this report."""
    store = site.services.job_store
    job = site.add_job("fairness", {"seed": 4, "groups": "age", "reference": "20s"})
    assert store.claim("worker", now=0, lease=9, attempts=3, running=9) == job
    assert store.finish(
        job, "worker", attempt=1, now=9, media_type="application/json", file_name="a.json",
        parts=[json.dumps({**report, "protected_input": "dropped"}).encode()],
        card=json.dumps(summary_of_audit(report, {"released_at": None})),
    )  # fmt: skip
    return job


@pytest.mark.sqlite
def test_analyst_audits_reads_downloads_and_deletes(filled, visit, several):
    analyst, reader = visit("ada", work="analyst"), visit("eve", work="reader")
    stranger = visit("bob", home="admin")
    assert "There is no audit yet" in reader.get(AUDITS).text
    # readers see audits of answers in clear as they are at the end
    filled.close()
    filled.clock.advance(1)
    filled.services.sealing.sweep(filled.services.surveys.now())
    assert analyst.send(AUDITS, AUDITS, **AUDIT).headers["Location"] == f"/dashboard{AUDITS}"
    page = analyst.get(AUDITS)
    assert "1 of these jobs waits or runs" in page.text
    assert "dashboard/live.js" in page.text
    filled.run_jobs()
    (entry,) = filled.get(f"/api/v1{AUDITS.replace('fairness', 'audits')}").json["audits"]
    job, audit = entry["job"], entry["audit"]
    assert job["parameters"]["folds"] == 2
    assert (audit["n"], audit["attribute"], audit["privileged"]) == (80, "gender", ["Male"])
    report = json.loads(filled.job_result(job["id"]).data)
    assert {name: one["conclusion"] for name, one in audit["metrics"].items()} == {
        name: one["conclusion"] for name, one in report["metrics"].items()
    }
    address = f"{AUDITS}/{job['id']}"
    for visitor in (analyst, reader):
        page = visitor.get(AUDITS).text
        assert job["created_at"][:10] in page
        assert job["created_at"] not in page
        assert ("Start the audit" in page) == (visitor is analyst)
        page = visitor.get(address).text
        assert "cross-fitted in 2 parts, seed 3" in page
        assert ("Delete this audit" in page) == (visitor is analyst)
        assert all(metric.name in page for metric in METRICS.values())
    lines = reader.get(f"{address}/chart.csv").text.splitlines()
    assert lines[0].startswith('"group","statistic","name","value"')
    # The oldest results go, and an audit stays.
    filled.services.job_store.forget(before=10**12)
    assert reader.get(address).status_code == 200
    many = kept(filled, several)
    refused = reader.get(f"{AUDITS}/{many}?metric=DI")
    assert refused.status_code == 403
    assert "was made before the end of collection was reached" in refused.text
    assert "was made before the end of collection was reached" in reader.get(AUDITS).text
    page = analyst.get(f"{AUDITS}/{many}?metric=DI").text
    assert "The intervals hold together." in page
    assert "largest of all groups" in page
    assert analyst.get(f"{AUDITS}/{many}?metric=X").status_code == 422
    assert "disparity: " in analyst.get(AUDITS).text
    compared = AUDITS.replace("fairness", "models/compare")
    assert reader.get(f"{compared}?model={many}&model={job['id']}").status_code == 404
    delete = f"{address}/delete"
    assert reader.send(delete, AUDITS).status_code == 403
    for path in (AUDITS, address, f"{address}/chart.csv"):
        assert stranger.get(path).status_code == 404
    across = address.replace("work", "home")
    assert stranger.get(across).status_code == 404
    assert stranger.send(f"{across}/delete", "/").status_code == 404
    assert analyst.send(delete, address).status_code == 303
    assert analyst.get(address).status_code == 404
    assert analyst.send(f"{AUDITS}/{many}/delete", AUDITS).status_code == 403  # another's
    assert filled.app.test_client().delete(f"/api/v1/audits/{many}").status_code == 401
    answer = filled.client().delete(f"/api/v1/audits/{many}", headers=filled.admin)
    assert answer.status_code == 204
    acts = {(line.actor, line.act) for line in filled.services.actions.newest(20)}
    assert {("user:ada", "asked-for-fairness"), ("user:ada", "deleted-audit")} <= acts


@pytest.mark.sqlite
def test_audit_that_cannot_be_done_is_refused_in_words(filled, visit):
    analyst, reader = visit("ada", work="analyst"), visit("eve", work="reader")
    assert reader.send(AUDITS, AUDITS.removesuffix("/fairness"), **AUDIT).status_code == 403
    for changes, words in (
        ({"folds": "1"}, "olds is 1; give at least 2"),
        ({"folds": "x"}, "olds is &#39;x&#39;; give a whole number"),
        ({"confidence": "x"}, "onfidence is &#39;x&#39;; give a number"),
        ({"groups": "age"}, "give one as reference"),
        ({"groups": "age", "reference": "x"}, "no category of age"),
        ({"model": "0" * 32}, "there is no model"),
    ):
        answer = analyst.send(AUDITS, AUDITS, **AUDIT | changes)
        assert answer.status_code in (404, 422)
        assert words.lower() in answer.text.lower(), answer.text
    form = analyst.get(f"{AUDITS}?groups=education").text
    assert 'name="reference"' in form
    assert "as the survey says" not in form
    assert filled.services.jobs.newest(lambda _: True) == []


def test_audit_takes_over_the_settings_of_a_model(filled, visit):
    analyst = visit("ada", work="analyst")
    store = filled.services.job_store
    settings = {"seed": 4, "parameters": {"n_estimators": 7}, "encoding": "posterior"}
    model = filled.add_job("train", settings)
    assert store.claim("worker", now=0, lease=9, attempts=3, running=9) == model
    assert store.finish(
        model, "worker", attempt=1, now=9, media_type="application/zip", file_name="m.zip",
        parts=[b"PK"], card="{}",
    )  # fmt: skip
    form = f"{AUDITS}?model={model}"
    assert "parameters are those of the model" in analyst.get(form).text
    assert analyst.send(AUDITS, form, model=model, folds="3", seed="1").status_code == 303
    (audit,) = filled.services.jobs.newest(lambda _: True, kind="fairness")
    asked = json.loads(audit.parameters)
    assert (asked["parameters"], asked["encoding"]) == ({"n_estimators": 7}, "posterior")
    assert (asked["folds"], asked["seed"]) == (3, 1)


def number(value, lower, upper, conclusion, **more):
    bound = "bounded" if upper is not None else "no upper bound"
    absent = dict.fromkeys(("smallest_detectable", "chance_to_conclude", "poisoning"))
    return {
        "value": value, "lower": lower, "upper": upper, "bound": bound, "conclusion": conclusion,
        **absent, **more,
    }  # fmt: skip


def test_figure_says_what_follows_and_what_does_not():
    fakes = {"fake_share": 0.01, "lowest": -0.2, "highest": None, "turning_share": 0.0125}
    report = {
        "protected": {"privileged": ["Male"], "unprivileged": ["Female", "Other"]},
        "metrics": {
            "DI": number(None, 0.0, None, "cannot conclude"),
            "SPD": number(-0.2, -0.3, -0.1, "disparity", poisoning=fakes),
            "EOD": number(
                0.01, -0.1, 0.12, "no disparity found", smallest_detectable=0.25,
                chance_to_conclude=0.9, seldom_concludes=False,
                poisoning={**fakes, "turning_share": None},
            ),
            "EODDS": number(
                0.01, 0.0, 0.1, "no disparity found", poisoning={**fakes, "turning_share": None}
            ),
            "OAD": {"withheld": "undefined", "reason": "nobody knows"},
        },
    }  # fmt: skip
    figure = figure_of(report, None)
    di, spd, eod, eodds = figure.lines
    assert (di.value, di.limits) == ("unknown", "0.000 to no bound")
    assert (spd.fakes, spd.turning) == ("\u22120.200 to no bound", "1.25 %")
    assert (eod.found, eod.turning, eodds.turning) == ("0.25", "more than 50 %", "")
    about_di, about_spd, about_eod, _ = figure.conclusions
    assert "that there is no disparity does not follow" in about_di
    assert about_spd == (
        "Statistical parity difference (SPD): the shares predicted positive differ. That of Male "
        "is smaller than that of Female or Other, by 0.100 to 0.300."
    )
    assert "This does not show that there is none" in about_eod
    assert "those from 0.25 on, four times in five" in about_eod
    assert figure.withheld == ["nobody knows"]
    assert "there is a disparity, of statistical parity difference." in figure.chart.sentence
    ratio, differences = figure.chart.specification["vconcat"]
    (unbounded,) = ratio["data"]["values"]
    assert (unbounded["above"], unbounded["below"], "value" in unbounded) == (True, False, False)
    assert [one["label"] for one in differences["data"]["values"]] == [
        "Statistical parity difference (SPD)",
        "Equal opportunity difference (EOD)",
        "Equalised odds difference (EODDS)",
    ]


def test_names_written_from_right_to_left_move_no_words_of_a_conclusion():
    about = {"privileged": ["לא"], "unprivileged": ["כן"]}
    found = {"SPD": number(-0.2, -0.3, -0.1, "disparity")}
    (words,) = figure_of({"protected": about, "metrics": found}, None).conclusions
    assert (
        "That of \u2068לא\u2069 is smaller than that of \u2068כן\u2069, by 0.100 to 0.300" in words
    )


def test_chart_is_cut_at_fifty_rows_and_at_what_a_metric_can_be():
    rows = [
        {"label": f"group {n}", "value": 0.0, "lower": -7.0, "upper": 0.5, "conclusion": ""}
        for n in range(60)
    ]
    chart = fairness_chart([(0.0, rows)], "many")
    assert (chart.shown, chart.total) == (50, 60)
    values = chart.specification["vconcat"][0]["data"]["values"]
    assert len(values) == 50
    assert (values[0]["from"], values[0]["below"], values[0]["above"]) == (-1.0, True, False)


def test_figure_of_several_groups_counts_conclusions_and_shows_the_largest(several):
    figure = figure_of(several, "SPD")
    labels = [line.label for line in figure.lines]
    assert labels[-1] == "largest of all groups"
    assert "20s" not in labels
    differs = [line.label for line in figure.lines if line.conclusion == "disparity"]
    assert "30s" in differs
    assert f"a disparity in {len(differs)}," in figure.chart.sentence
    assert len(figure.conclusions) == len(labels) - 1
