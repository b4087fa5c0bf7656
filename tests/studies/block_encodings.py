"""Studies which columns of a block help a model: of combinations, or of single questions.

The people of a real file answer gender, race and age group together, or each apart with a third of
epsilon, and two questions in clear. LightGBM learns from the records to predict their income.
``scripts/coverage-study --encodings`` runs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import click
import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

from hushpoll_analysis import Records
from hushpoll_shared import Manifest
from hushpoll_shared.cli.terminal import emit, json_option, reports_errors
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire.batch import encode_many
from hushpoll_training import fit_records
from hushpoll_training.data.coded import read_codes
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.models.recipe import Recipe

FILE: Final = "adult_26k.csv"
TOGETHER: Final = ("gender", "race", "age")
PROTOCOLS: Final = ("SS", "OUE")
EPSILONS: Final = ("1", "2", "4")
TRAINED: Final = 30_000
SURVEYS: Final = 3
SEED: Final = 2023

Codes = Mapping[str, npt.NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class Row:
    """One way to ask and to encode, averaged over surveys.

    Attributes
    ----------
    protocol, epsilon, asked, encoding
        How the three questions were asked, ``together`` or ``apart``, and made columns of.
    of_people, of_records : float
        Area under the ROC curve on other people: their answers in clear, or their records.
    """

    protocol: str
    epsilon: str
    asked: str
    encoding: str
    of_people: float
    of_records: float


def read_people(path: Path) -> Codes:
    """Return the answers of a file's people: three questions to be randomised, two in clear."""
    given = read_codes(path)
    hours = np.digitize(given["hours-per-week"], [30, 39, 45])
    return {
        "gender": given["gender"],
        "race": given["race"],
        "age": np.minimum(given["age"] // 15, 4),
        "education": given["education"],
        "hours": hours,
        "income": given["income"],
    }


def survey(people: Codes, protocol: str, epsilon: str, *, together: bool) -> Published:
    """Return the survey that asks them."""
    attributes: list[dict[str, object]] = []
    for name, codes in people.items():
        role = "sensitive" if name in TOGETHER else "plain"
        categories = [f"{name} {code}" for code in range(int(codes.max()) + 1)]
        attributes.append({"name": name, "role": role, "categories": categories})
    attributes[-1] |= {"role": "target", "positive": "income 1"}
    draft: dict[str, object] = {
        "name": "income",
        "version": 1,
        "title": "Income",
        "epsilon": epsilon,
        "protocol": protocol,
        "attributes": attributes,
    }
    if together:
        draft["together"] = [{"name": "who", "attributes": list(TOGETHER)}]
    return Manifest.from_dict(draft).resolve()


def run_study(
    people: Codes,
    *,
    surveys: int = SURVEYS,
    seed: int = SEED,
    protocols: Sequence[str] = PROTOCOLS,
    epsilons: Sequence[str] = EPSILONS,
    trained: int = TRAINED,
) -> list[Row]:
    """Return the rows of the study."""
    order = np.random.default_rng(seed).permutation(len(people["income"]))
    known, others = (
        {name: codes[part] for name, codes in people.items()}
        for part in (order[:trained], order[trained:])
    )
    rows = []
    for protocol in protocols:
        for epsilon in epsilons:
            for asked, encodings in (
                ("together", ("indicator", "question", "posterior")),
                ("apart", ("indicator",)),
            ):
                published = survey(people, protocol, epsilon, together=asked == "together")
                for encoding in encodings:
                    areas = [
                        _areas(published, encoding, known, others, seed + number)
                        for number in range(surveys)
                    ]
                    of_people, of_records = np.mean(areas, axis=0).tolist()
                    rows.append(Row(protocol, epsilon, asked, encoding, of_people, of_records))
    return rows


def _areas(
    published: Published, encoding: str, known: Codes, others: Codes, seed: int
) -> tuple[float, float]:
    first, second = np.random.SeedSequence(seed).spawn(2)
    model = fit_records(
        Records(published, encode_many(published, known, np.random.default_rng(first))),
        Recipe.of({"n_estimators": 60}, encoding=encoding),
        FitOptions(seed),
    )
    truth = others["income"]
    asked = {name: codes for name, codes in others.items() if name != "income"}
    records = Records(published, encode_many(published, others, np.random.default_rng(second)))
    from_records = model.fitted.scores(model.features.from_records(records))
    return (
        float(roc_auc_score(truth, model.scores(asked))),
        float(roc_auc_score(truth, from_records)),
    )


def markdown(rows: Sequence[Row]) -> str:
    """Return the rows as a table."""
    lines = [
        "| protocol | ε | asked | encoding | people in clear | records |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.protocol} | {row.epsilon} | {row.asked} | {row.encoding} "
        f"| {row.of_people:.3f} | {row.of_records:.3f} |"
        for row in rows
    ]
    return "\n".join(lines)


@click.command(help="Study which columns of a block help a model.")
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--surveys", type=click.IntRange(min=1), default=SURVEYS, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=SEED, show_default=True)
@json_option
@reports_errors
def main(data: Path, surveys: int, seed: int, as_json: bool) -> None:
    """Run the study on a file of the folder `data`."""
    rows = run_study(read_people(data / FILE), surveys=surveys, seed=seed)
    document = {"surveys": surveys, "seed": seed, "rows": [asdict(row) for row in rows]}
    emit(document, lambda: markdown(rows), as_json=as_json)


if __name__ == "__main__":
    main()
