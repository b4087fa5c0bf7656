"""The power of a slope that plans predict, beside that of simulated surveys.

Predictions are to be within .03 of simulation. ``scripts/coverage-study --slopes`` runs it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hushpoll_analysis.planning.expected_slopes import Slope, slope_power
from hushpoll_analysis.records.records import Records
from hushpoll_analysis.regression.inference import Coefficient
from hushpoll_analysis.regression.model import fit
from hushpoll_analysis.regression.survey import answers_of
from hushpoll_shared import Manifest
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire.batch import encode_many
from studies.command import study_command

SEED = 3
_LEVEL = 0.05
_GROUP = 0.4
"""Part of the respondents with the predictor's second answer."""


@dataclass(frozen=True)
class Case:
    """One slope: of a randomised predictor with two answers, or of a number from 1 to 6 in clear.

    Attributes
    ----------
    share : float
        Of the outcome's second answer, where the predictor has its first one, or its mean.
    block : bool
        Whether outcome and predictor are randomised as one value.
    number : bool
        Whether the predictor is the number in clear.
    clear : bool
        Whether the outcome is asked in clear.
    """

    protocol: str
    epsilon: str
    n: int
    value: float
    share: float = 0.3
    block: bool = False
    number: bool = False
    clear: bool = False

    @property
    def predictor(self) -> str:
        """Return the predictor's name."""
        return "age" if self.number else "gender"

    @property
    def formula(self) -> str:
        """Return the regression that is planned."""
        return f"smokes ~ {self.predictor} + area"


CASES = (
    Case("GRR", "4", 1500, 0.6),
    Case("SS", "4", 1500, 0.5),
    Case("OUE", "6", 2500, 0.6),
    Case("GRR", "3", 1000, 1.0),
    Case("OLH", "4", 6000, 0.8, share=0.05),
    Case("GRR", "4", 500, 0.6, block=True),
    Case("RAPPOR", "4", 1500, 0.15, number=True),
    Case("GRR", "4", 3000, 0.7, share=0.1),
    Case("GRR", "4", 6000, 0.7, share=0.9),
    Case("GRR", "4", 2500, 0.25, share=0.05, number=True),
    Case("GRR", "4", 1200, 0.25, share=0.1, number=True),
    Case("GRR", "4", 3000, 0.25, share=0.95, number=True),
    Case("GRR", "3", 2500, 0.6, share=0.05, clear=True),
    Case("GRR", "3", 1500, 0.6, share=0.9, clear=True),
)
NUMBERS = tuple(map(str, range(len(CASES))))


def survey_of(case: Case) -> Published:
    """Return the survey."""
    return Manifest.from_dict(
        {
            "name": "s",
            "version": 1,
            "title": "S",
            "epsilon": case.epsilon,
            "protocol": case.protocol,
            "attributes": [
                {
                    "name": "smokes",
                    "role": "plain" if case.clear else "sensitive",
                    "categories": ["no", "yes"],
                },
                {"name": "gender", "role": "sensitive", "categories": ["F", "M"]},
                {"name": "area", "role": "plain", "categories": ["town", "land", "coast"]},
                {"name": "age", "role": "plain", "range": [1, 6]},
            ],
            **(
                {"together": [{"name": "both", "attributes": ["smokes", "gender"]}]}
                if case.block
                else {}
            ),
        }
    ).resolve()


def predicted(case: Case) -> float:
    """Return the power that a plan predicts."""
    published = survey_of(case)
    slope = Slope(
        published.digest,
        "smokes",
        (case.predictor, "area"),
        case.value,
        case.share,
        _GROUP,
        published=published,
    )
    return slope_power(slope, case.n, 1 - _LEVEL)


def simulated(case: Case, rng: np.random.Generator) -> Coefficient:
    """Draw a survey, and return the slope that its regression finds."""
    published = survey_of(case)
    codes = {
        "gender": rng.choice(2, case.n, p=[1 - _GROUP, _GROUP]),
        "area": rng.integers(0, 3, case.n),
        "age": rng.integers(0, 6, case.n),
    }
    above = codes["age"] - 2.5 if case.number else codes["gender"]
    eta = math.log(case.share / (1 - case.share)) + case.value * above
    codes["smokes"] = (rng.random(case.n) < 1 / (1 + np.exp(-eta))).astype(int)
    records = Records(published, encode_many(published, codes, rng))
    answers = answers_of(records, case.formula)
    found = fit(case.formula, answers, plain=False, effects=False, ratios=False)
    return next(one for one in found.coefficients if one.term == case.predictor)


@dataclass(frozen=True)
class Row:
    """One power; both are shares of surveys."""

    case: Case
    surveys: int
    predicted: float
    simulated: float


def run_study(*, surveys: int, seed: int = SEED, cases: Sequence[str] = NUMBERS) -> list[Row]:
    """Return the powers of some cases, by their places; by default of all."""
    found = []
    for number, case in enumerate(CASES):
        if str(number) not in cases:
            continue
        rng = np.random.default_rng([seed, number])
        slopes = [simulated(case, rng) for _ in range(surveys)]
        share = np.mean([one.p_value is not None and one.p_value < _LEVEL for one in slopes])
        found.append(Row(case, surveys, predicted(case), float(share)))
    return found


def markdown(rows: Sequence[Row]) -> str:
    """Return the table in Markdown; a simulated power has its Monte-Carlo error."""
    lines = ["| design | slope | surveys | predicted | simulated |", "|---|---|---|---|---|"]
    for row in rows:
        case, share = row.case, row.simulated
        error = math.sqrt(share * (1 - share) / row.surveys)
        block = ", block" if case.block else ""
        block += ", outcome in clear" if case.clear else ""
        rare = f", share {case.share:g}" if case.share != 0.3 else ""
        lines.append(
            f"| {case.protocol}, epsilon {case.epsilon}, n {case.n:,}{block}{rare} "
            f"| {case.predictor} {case.value:g} | {row.surveys} | {row.predicted:.3f} "
            f"| {share:.3f} ± {error:.3f} |"
        )
    return "\n".join(lines)


main = study_command(
    run_study,
    markdown,
    help="Measure how well plans predict the power of a regression's slope.",
    seed=SEED,
    surveys=800,
    cells={"cases": NUMBERS},
)


if __name__ == "__main__":
    main()
