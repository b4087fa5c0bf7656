"""The record of a run explains itself, and its report says all that it measured."""

import json
import platform
from dataclasses import replace
from importlib.metadata import version

import pytest

from hushpoll_analysis import Records
from hushpoll_shared.spelling.clock import FixedClock
from hushpoll_training.evaluation.documents import RunRecord
from hushpoll_training.evaluation.metrics import METRICS
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.learners.lightgbm import LightGBM
from hushpoll_training.models.recipe import Recipe
from hushpoll_training.reports.training_report import metrics_table, training_report
from hushpoll_training.runs.record import run_record
from hushpoll_training.runs.training_run import train_collected, train_simulated

PARAMETERS = {"n_estimators": 30, "min_child_samples": 30}


@pytest.fixture(scope="module")
def outcome(survey, people):
    return train_simulated(survey(epsilon="4"), people(4000), Recipe.of(PARAMETERS), FitOptions(3))


@pytest.fixture(scope="module")
def record(outcome):
    clock = FixedClock("2026-01-02T03:04:05Z")
    return run_record(outcome, {"data": "people.csv"}, clock=clock)


def test_every_key_is_there_and_survives_json(record, outcome):
    assert list(record) == [
        *("format", "kind", "mode", "finished", "survey", "protocol", "split", "epsilon"),
        *("inputs", "seed", "test_size", "learner", "learner_is", "privacy"),
        *("calibration", "parameters"),
        *("encoding", "target", "rows", "tested_on"),
        *("baseline_is", "unmeasured", "ldp", "baseline", "confidence", "intervals", "fairness"),
        *("timings", "versions", "manifest"),
    ]
    assert RunRecord.__required_keys__ <= set(record)
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    published = outcome.model.published
    assert record["survey"] == {"name": "small", "version": 1, "digest": published.digest}
    assert record["manifest"] == published.to_dict()
    assert (record["protocol"], record["split"], record["epsilon"]) == ("GRR", "uniform", "4")
    assert record["finished"] == "2026-01-02T03:04:05Z"
    assert (record["seed"], record["test_size"], record["mode"]) == (3, 0.2, "simulation")
    assert record["inputs"] == {"data": "people.csv"}
    assert record["encoding"] == "indicator"


def test_parameters_are_complete_and_versions_those_that_ran(record):
    assert list(record["parameters"]) == list(LightGBM.bounds)
    assert record["parameters"]["n_estimators"] == 30
    assert record["parameters"]["learning_rate"] == 0.1
    assert record["versions"] == {
        "hushpoll": version("hushpoll"),
        "lightgbm": version("lightgbm"),
        "numpy": version("numpy"),
        "scikit-learn": version("scikit-learn"),
        "python": platform.python_version(),
    }


def test_metrics_stand_side_by_side(record, outcome):
    for name, found in (("ldp", outcome.ldp), ("baseline", outcome.baseline)):
        assert tuple(record[name]) == METRICS
        assert record[name]["SPD"] == found.metrics["SPD"].number()
    assert record["ldp"] != record["baseline"]


def test_undefined_metrics_carry_their_reason(survey, people):
    outcome = train_simulated(
        survey(protected=None), people(500), Recipe.of(PARAMETERS), FitOptions(3)
    )
    reason = {"undefined": "the manifest declares no protected attribute"}
    record = run_record(outcome, {})
    assert record["ldp"]["DI"] == record["baseline"]["OAD"] == reason
    text = training_report(record)
    assert text.count("undefined (1)") == 2 * 12
    assert "\n(1) undefined: the manifest declares no protected attribute" in text
    assert "(2)" not in text


def test_groups_of_few_rows_have_no_interval_and_the_report_says_why(survey, people):
    outcome = train_simulated(survey(), people(200), Recipe.of(PARAMETERS), FitOptions(3))
    text = training_report(run_record(outcome, {}))
    rows = {line.split("│")[1].split()[0]: line for line in text.splitlines() if "│" in line}
    (reason,) = [line for line in text.splitlines() if line.startswith("(1) no interval: ")]
    assert "rows" in reason
    assert rows["SPD"].count("none (") == 1
    assert " to " in rows["accuracy"]


def test_the_report_shows_every_metric_of_both_models(record):
    text = training_report(record)
    lines = text.splitlines()
    assert "small version 1: GRR, epsilon 4, split uniform" in lines[0]
    assert "fitted to 3200 of 3200 records" in lines[1]
    assert "Tested on 800 rows in clear" in lines[2]
    found = [tuple(cell.strip() for cell in line.split("│")[1:-1]) for line in lines]
    numbers = [cells[1:3] for cells in found if len(cells) == 4 and cells[1]]
    assert numbers == [
        (f"{record['baseline'][name]:.4f}", f"{record['ldp'][name]:.4f}") for name in METRICS
    ]
    assert max(map(len, lines)) <= 100


def test_rows_without_a_target_are_reported(outcome):
    rows = {**outcome.rows, "unanswered": 17}
    text = training_report(run_record(replace(outcome, rows=rows), {}))
    assert "17 of them have no target and are left out." in text


def test_without_metrics_the_report_says_why(survey, people, perturbed):
    published = survey(epsilon="2")
    records = perturbed(published, people(500))
    record = run_record(
        train_collected(Records(published, records), Recipe.of(PARAMETERS), FitOptions(3)), {}
    )
    assert record["ldp"] is record["baseline"] is None
    text = training_report(record)
    assert "not measured: no panel was given" in text
    assert "│" not in text


def test_reasons_are_numbered_once_each():
    one = dict.fromkeys(METRICS, 0.5) | {"DI": {"undefined": "x"}, "EOD": {"undefined": "y"}}
    two = dict.fromkeys(METRICS, 0.25) | {"DI": {"undefined": "y"}}
    lines = metrics_table({"one": one, "two": two}).splitlines()
    assert lines[-2:] == ["(1) undefined: x", "(2) undefined: y"]
    (row,) = [line for line in lines if "DI =" in line]
    assert "undefined (1)" in row
    assert "undefined (2)" in row
    (row,) = [line for line in lines if "EOD =" in line]
    assert row.split("│")[2:4] == [" undefined (2) ", "        0.2500 "]


def test_the_report_shows_intervals_and_the_groups_that_were_asked_for(outcome):
    found = run_record(outcome, {}, groupings=[("gender", "job")])
    text = training_report(found)
    assert "95 % of LDP" in text
    assert "Groups by gender and job" in text
    assert "Groups by gender:" not in text
    for name in ("accuracy", "f1"):
        limits = found["intervals"]["ldp"][name]
        assert f"{limits['lower']:.4f} to {limits['upper']:.4f}" in text
    rates = found["fairness"]["ldp"][0]["groups"][0]["rates"]
    limits = rates["TPR"]["closed_form"]
    assert f"{limits['lower']:.4f} to {limits['upper']:.4f}" in text
