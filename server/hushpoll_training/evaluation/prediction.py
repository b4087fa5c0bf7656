"""Using a model: a score and a category for each clear row."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

import numpy as np
import numpy.typing as npt

from hushpoll_shared.spelling.csv_cells import escaped
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_training.data.target import THRESHOLD
from hushpoll_training.evaluation.evaluation import Evaluation, evaluate
from hushpoll_training.models.model import Codes, Model


@dataclass(frozen=True, slots=True)
class Predictions:
    """What a model says about clear rows.

    Attributes
    ----------
    score : f64[n]
        Chance that the truth is positive, in [0, 1].
    category : tuple of str, n
        The predicted category of the target.
    evaluation : Evaluation or None
        Metrics, where the rows hold the target.
    """

    score: npt.NDArray[np.float64]
    category: tuple[str, ...]
    evaluation: Evaluation | None

    def rows(self) -> Iterator[tuple[int, float, str]]:
        """Yield row number from 1, score and category."""
        for number, (score, category) in enumerate(
            zip(self.score.tolist(), self.category, strict=True), start=1
        ):
            yield number, score, category

    def to_json(self) -> list[JsonMembers]:
        """Return one object per row, in order."""
        return [{"score": score, "predicted": category} for _, score, category in self.rows()]


def predict_rows(model: Model, codes: Codes, *, threads: int = 1) -> Predictions:
    """Predict the target of clear rows.

    Parameters
    ----------
    model : Model
        Fitted.
    codes : mapping of str to int64[n]
        Codes in [0, k) of every feature; of the target too, if the model is to be scored on them.
    threads : int
        For scoring.

    Raises
    ------
    InvalidParameter
        If the rows hold the target's column and no answer in it.
    """
    score = model.scores(codes, threads=threads)
    names = (model.target.negative, model.target.positive)
    return Predictions(
        score,
        tuple(names[positive] for positive in (score > THRESHOLD).tolist()),
        evaluate(model, codes, threads=threads) if model.target.name in codes else None,
    )


def write_predictions(predictions: Predictions, stream: IO[str]) -> None:
    """Write CSV with the columns ``row`` (from 1), ``score`` and ``predicted``; no formulas."""
    writer = csv.writer(stream)
    writer.writerow(["row", "score", "predicted"])
    writer.writerows((row, score, escaped(category)) for row, score, category in predictions.rows())


def save_predictions(predictions: Predictions, path: Path) -> None:
    """Write the CSV file, replacing an older one only when all is written."""
    with TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as draft:
        written = Path(draft) / path.name
        with written.open("w", encoding="utf-8", newline="") as stream:
            write_predictions(predictions, stream)
        written.replace(path)


def summary(predictions: Predictions) -> Mapping[str, int]:
    """Return how many rows were given each category."""
    categories, counts = np.unique(
        np.array(predictions.category, dtype=np.str_), return_counts=True
    )
    return dict(zip(categories.tolist(), counts.tolist(), strict=True))
