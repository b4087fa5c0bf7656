"""What a model says about rows, in memory and in files."""

import csv
import io

import numpy as np
import pytest

from hushpoll_training.evaluation.evaluation import evaluate
from hushpoll_training.evaluation.prediction import (
    Predictions,
    predict_rows,
    save_predictions,
    summary,
    write_predictions,
)
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.learners.lightgbm import LightGBM
from hushpoll_training.models.model import fit_clear


@pytest.fixture(scope="module")
def model(survey, people):
    return fit_clear(survey(), people(3000), LightGBM({"n_estimators": 15}), FitOptions(3))


def test_the_category_is_positive_above_one_half(model, people):
    codes = people(300, seed=4)
    found = predict_rows(model, codes)
    assert found.score.tolist() == model.scores(codes).tolist()
    names = ("low", "high")
    assert found.category == tuple(names[positive] for positive in model.predict(codes))
    assert summary(found) == {name: found.category.count(name) for name in ("high", "low")}
    assert found.to_json()[7] == {"score": found.score[7], "predicted": found.category[7]}


def test_metrics_need_the_target_and_prediction_does_not(model, people):
    codes = people(300, seed=4)
    assert predict_rows(model, codes).evaluation == evaluate(model, codes)
    del codes["income"]
    assert predict_rows(model, codes).evaluation is None


def test_the_file_gives_back_every_score_exactly(model, people, tmp_path):
    found = predict_rows(model, people(50, seed=4))
    path = tmp_path / "out.csv"
    path.write_text("old")
    save_predictions(found, path)
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [int(row["row"]) for row in rows] == list(range(1, 51))
    assert [float(row["score"]) for row in rows] == found.score.tolist()
    assert tuple(row["predicted"] for row in rows) == found.category
    assert [one.name for one in tmp_path.iterdir()] == ["out.csv"]
    stream = io.StringIO(newline="")
    write_predictions(found, stream)
    assert stream.getvalue().encode() == path.read_bytes()


def test_a_predicted_category_that_looks_like_a_formula_is_written_as_a_text():
    stream = io.StringIO(newline="")
    write_predictions(Predictions(np.array([0.5, 0.25]), ("=1+1", "no"), None), stream)
    assert stream.getvalue() == "row,score,predicted\r\n1,0.5,'=1+1\r\n2,0.25,no\r\n"


def test_a_failed_write_leaves_the_old_file(model, people, tmp_path, monkeypatch):
    found = predict_rows(model, people(50, seed=4))
    path = tmp_path / "out.csv"
    path.write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hushpoll_training.evaluation.prediction.write_predictions", full)
    with pytest.raises(OSError, match="No space left"):
        save_predictions(found, path)
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["out.csv"]
