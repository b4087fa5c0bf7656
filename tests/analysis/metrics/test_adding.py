"""A metric that is added to the table is everywhere at once: nothing else names metrics."""

import numpy as np
import pytest

from hushpoll_analysis import AuditPredictions, Records, audit
from hushpoll_analysis.auditing.power import AuditAssumptions, audit_powers
from hushpoll_shared import Manifest
from hushpoll_shared.cli.statistic_texts import fairness_text
from hushpoll_shared.group_metrics import METRICS, RATES, GroupMetric
from hushpoll_shared.wire.batch import encode_many
from hushpoll_training.evaluation.fairness.partition import partition_by
from hushpoll_training.evaluation.fairness.report import fairness_report
from hushpoll_training.reports.pages import fairness_page
from hushpoll_training.reports.training_report import report_text

ADDED = GroupMetric(
    "TPRR", "true positive rate ratio", (RATES["TPR"],), "ratio", "true_positive_rate_ratio"
)
N = 4_000


@pytest.fixture
def added(monkeypatch):
    monkeypatch.setitem(METRICS, ADDED.name, ADDED)


@pytest.fixture
def survey():
    label = {"name": "label", "role": "target", "categories": ["no", "yes"], "positive": "yes"}
    group = {"name": "group", "role": "sensitive", "categories": ["F", "M"]}
    return Manifest.from_dict(
        {
            "name": "added",
            "version": 1,
            "title": "Added",
            "epsilon": "4",
            "protocol": "OUE",
            "attributes": [group, label],
            "protected": {"attribute": "group", "unprivileged": ["F"], "privileged": ["M"]},
        }
    ).resolve()


@pytest.fixture
def people():
    rng = np.random.default_rng(3)
    group, label = rng.integers(0, 2, N), rng.integers(0, 2, N)
    return group, label, (rng.random(N) < 0.2 + 0.3 * label + 0.2 * group).astype(np.int8)


def recall_ratio(group, label, predicted):
    low, high = (predicted[(group == code) & (label == 1)].mean() for code in (0, 1))
    return low / high


def test_an_added_metric_is_reported_of_clear_rows(added, people):
    group, label, predicted = people
    partition = partition_by({"sex": np.array(["F", "M"])[group]}, reference="sex=M")
    report = fairness_report(label, predicted, partition, resamples=100)
    estimate = report.comparisons[0].metrics["TPRR"]
    assert estimate.value == pytest.approx(recall_ratio(*people))
    assert estimate.closed_form.lower < estimate.value < estimate.closed_form.upper < 1
    assert report.spreads["true_positive_rate_ratio"].value == pytest.approx(estimate.value)
    document = report.to_dict()
    assert "TPRR" in report_text(document)
    assert "ratio of the true positive rates; alike at 1" in fairness_page("t", "i", [document])


def test_an_added_metric_is_audited_planned_and_shown(added, survey, people):
    group, label, predicted = people
    codes = {"group": group, "label": label}
    records = encode_many(survey, codes, np.random.default_rng(5))
    result = audit(Records(survey, records), AuditPredictions(predicted, (), "external"))
    metric = result.metrics["TPRR"]
    assert abs(metric.value - recall_ratio(*people)) < 4 * metric.standard_error
    assert metric.conclusion == "disparity"
    assert metric.poisoning.lowest < metric.value < metric.poisoning.highest
    assert 0 < metric.outlook.smallest_detectable < 1
    assert "TPRR =" in fairness_text(result.to_dict())
    powers = audit_powers(survey, N, AuditAssumptions())
    # found as often as the difference of the same rate, give or take the surveys' draws
    assert powers["TPRR"] == pytest.approx(powers["EOD"], abs=0.06)
