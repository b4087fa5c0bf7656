"""Scoring on clear rows: the right rows, the right groups, never a row that was trained on."""

from dataclasses import replace

import numpy as np
import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.evaluation import evaluation
from hushpoll_training.evaluation.evaluation import cross_validate, evaluate
from hushpoll_training.evaluation.fairness.partition import sides_of
from hushpoll_training.evaluation.metrics import METRICS, measure
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.learners.lightgbm import LightGBM
from hushpoll_training.models.model import fit_clear, take

PARAMETERS = {"n_estimators": 10, "min_child_samples": 30}


@pytest.fixture(scope="module")
def model(survey, people):
    return fit_clear(survey(), people(3000), LightGBM(PARAMETERS), FitOptions(3))


def test_groups_are_those_of_the_manifest(survey):
    codes = {"gender": np.array([0, 1, 2])}
    assert sides_of(survey(), codes).tolist() == [0, 1, -1]
    both = survey(
        protected={
            "attribute": "gender",
            "privileged": "Female",
            "unprivileged": ["Male", "No answer"],
        }
    )
    assert sides_of(both, codes).tolist() == [1, 0, 0]
    assert sides_of(survey(protected=None), codes) is None


def test_metrics_are_those_of_predictions_labels_and_groups(model, people):
    codes = people(800, seed=5)
    found = evaluate(model, codes)
    side = np.array([0, 1, -1])[codes["gender"]]
    scores = model.scores(codes)
    assert found.metrics == measure(codes["income"], scores > 0.5, scores, side)
    assert tuple(found.metrics) == METRICS
    assert found.rows == {
        "tested": 800,
        "unanswered": 0,
        "privileged": int((side == 1).sum()),
        "unprivileged": int((side == 0).sum()),
        "neither": int((side == -1).sum()),
    }
    assert found.to_json()["metrics"]["SPD"] == found.metrics["SPD"].number()


def test_rows_without_a_target_are_counted_and_not_tested(survey, people):
    published = survey(target={"missing": "?"})
    model = fit_clear(published, people(3000), LightGBM(PARAMETERS), FitOptions(3))
    codes = people(600, seed=5)
    silent = np.arange(600) < 100
    hidden = codes | {"income": np.where(silent, 2, codes["income"])}
    found, expected = evaluate(model, hidden), evaluate(model, take(codes, ~silent))
    assert found.metrics == expected.metrics
    assert (found.rows["tested"], found.rows["unanswered"]) == (500, 100)
    with pytest.raises(InvalidParameter, match="no row to test on has an answer to the target"):
        evaluate(model, codes | {"income": np.full(600, 2)})


def test_without_a_protected_attribute_there_are_no_groups(survey, people):
    published = survey(protected=None)
    found = evaluate(
        fit_clear(published, people(2000), LightGBM(PARAMETERS), FitOptions(3)), people(100, seed=5)
    )
    assert found.rows == {"tested": 100, "unanswered": 0}
    assert found.metrics["accuracy"].defined
    assert not found.metrics["DI"].defined


def test_ranking_is_by_raw_scores_and_predicting_by_corrected_ones(model, people):
    codes = people(800, seed=5)
    raw = model.raw_scores(codes)
    # a line that clips every score below 0.4 to 0, which would tie them
    steep = replace(model, target=replace(model.target, p=0.6, q=0.4))
    found, plain = evaluate(steep, codes).metrics, evaluate(model, codes).metrics
    assert (raw < 0.4).mean() > 0.3
    assert found["roc_auc"] == plain["roc_auc"]
    assert found["accuracy"] == plain["accuracy"]  # one half is where the line crosses


def test_every_row_is_scored_once_by_a_model_that_never_saw_it(survey, people, monkeypatch):
    published, codes = survey(), people(203)
    codes["row"] = np.arange(203)
    seen = []

    class Memory:
        def __init__(self, trained):
            self.trained = set(trained["row"].tolist())

        def raw_scores(self, tested, *, threads):
            seen.append(tested["row"])
            # a row that was trained on would be predicted positive
            return np.array([0.9 if row in self.trained else 0.1 for row in tested["row"].tolist()])

    monkeypatch.setattr(evaluation, "fit_clear", lambda _, trained, *a, **k: Memory(trained))
    found = cross_validate(published, codes, LightGBM(PARAMETERS), FitOptions(4))
    assert sorted(np.concatenate(seen).tolist()) == list(range(203))
    assert len(seen) == 5
    assert found.metrics["recall"].number() == 0.0
    assert found.metrics["P1"].number() == 0.0
    assert found.rows["tested"] == 203


def test_cross_validation_is_as_good_as_other_rows_and_reports_every_round(survey, people):
    published, codes = survey(target={"missing": "?"}), people(3000)
    codes["income"][:200] = 2
    told = []
    found = cross_validate(
        published,
        codes,
        LightGBM(PARAMETERS),
        FitOptions(4, on_progress=lambda *done: told.append(done)),
    )
    assert told == [(done, 10) for done in range(1, 11)] * 5
    assert (found.rows["tested"], found.rows["unanswered"]) == (2800, 200)
    model = fit_clear(published, codes, LightGBM(PARAMETERS), FitOptions(4))
    fresh = evaluate(model, people(3000, seed=8)).metrics["roc_auc"].number()
    assert found.metrics["roc_auc"].number() == pytest.approx(fresh, abs=0.04)


def test_a_panel_with_too_few_of_a_class_is_refused(survey, people):
    codes = people(100)
    codes["income"] = (np.arange(100) < 4).astype(np.int64)
    with pytest.raises(InvalidParameter, match=r"4 rows of its rarer class.*at least 5") as caught:
        cross_validate(survey(), codes, LightGBM(PARAMETERS), FitOptions(4))
    assert caught.value.field == "panel"
