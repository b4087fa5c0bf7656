"""Studies what each way of estimating a posterior's prior leaves of the truth.

The people of a real file answer two questions of many categories, several times over with other
noise, and each prior is held to their true shares. ``scripts/coverage-study --priors`` runs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import click
import numpy as np
import numpy.typing as npt

from hushpoll_protocols import create
from hushpoll_protocols.estimation.frequencies import estimate
from hushpoll_protocols.estimation.projection import project_simplex
from hushpoll_protocols.estimation.shrinkage import shrunk
from hushpoll_protocols.kernels import perturb, support_counts
from hushpoll_shared.cli.terminal import emit, json_option, reports_errors
from hushpoll_training.data.coded import read_codes

FILE: Final = "adult_26k.csv"
QUESTIONS: Final = ("age", "native-country")
PROTOCOLS: Final = ("GRR", "OLH", "OUE", "SS")
EPSILONS: Final = ("0.25", "1", "4")
SURVEYS: Final = 20
SEED: Final = 2023

METHODS: Final = ("projection", "shrinkage")
"""Before and after."""


@dataclass(frozen=True, slots=True)
class Row:
    """One prior of one question, protocol and epsilon, averaged over surveys.

    Attributes
    ----------
    question, k, protocol, epsilon, method
        What was asked and how the prior was estimated.
    zeros : float
        Categories whose prior is exactly 0.
    ruled_out : float
        Share of the people whose category has a prior of less than a twentieth of its true share.
    distance : float
        Total variation distance of the prior from the truth, in [0, 1].
    """

    question: str
    k: int
    protocol: str
    epsilon: str
    method: str
    zeros: float
    ruled_out: float
    distance: float


def run_study(path: Path, *, surveys: int = SURVEYS, seed: int = SEED) -> list[Row]:
    """Return a row per question, epsilon, protocol and method.

    Parameters
    ----------
    path : Path
        CSV of codes with the columns `QUESTIONS`.
    surveys : int
        Surveys to average over, at least 1; all of them ask the same people.
    seed : int
        Of the noise, at least 0.

    Raises
    ------
    InvalidParameter
        If the file is not understood.
    OSError
        If it cannot be read.
    """
    codes = read_codes(path)
    rows = []
    for number, question in enumerate(QUESTIONS):
        answers = codes[question]
        truth = np.bincount(answers) / len(answers)
        for epsilon in EPSILONS:
            for protocol in PROTOCOLS:
                place = [seed, number, EPSILONS.index(epsilon), PROTOCOLS.index(protocol)]
                rng = np.random.default_rng(place)
                oracle = create(protocol, k=len(truth), epsilon=epsilon)
                drawn = [
                    support_counts(oracle, perturb(oracle, answers, rng)) for _ in range(surveys)
                ]
                for method in METHODS:
                    priors = []
                    for counts in drawn:
                        n = len(answers)
                        if method == "projection":
                            prior = project_simplex(estimate(oracle, counts, n).frequency)
                        else:
                            prior = shrunk(counts, n, p=oracle.p, q=oracle.q)
                        priors.append(prior)
                    measured = np.array([_measured(truth, prior) for prior in priors]).mean(axis=0)
                    rows.append(
                        Row(question, len(truth), protocol, epsilon, method, *measured.tolist())
                    )
    return rows


def _measured(
    truth: npt.NDArray[np.float64], prior: npt.NDArray[np.float64]
) -> tuple[float, float, float]:
    return (
        float((prior == 0).sum()),
        float(truth[prior < truth / 20].sum()),
        float(np.abs(prior - truth).sum() / 2),
    )


def markdown(rows: Sequence[Row]) -> str:
    """Return the study as a table in Markdown, a line per question, epsilon and protocol."""
    lines = [
        "| question | ε | protocol | prior exactly 0, of k | people ruled out | distance from the "
        "truth |",
        "|---|---|---|---|---|---|",
    ]
    for before, after in zip(rows[::2], rows[1::2], strict=True):
        cells = [
            before.question,
            before.epsilon,
            before.protocol,
            f"{before.zeros:.1f} → {after.zeros:.1f} of {before.k}",
            f"{100 * before.ruled_out:.1f} % → {100 * after.ruled_out:.1f} %",
            f"{before.distance:.3f} → {after.distance:.3f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


@click.command()
@click.option(
    "--data",
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help=f"Folder of {FILE}.",
)
@click.option("--surveys", type=click.IntRange(min=1), default=SURVEYS, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=SEED, show_default=True)
@json_option
@reports_errors
def main(data: Path, surveys: int, seed: int, as_json: bool) -> None:
    """Measure what the projected and the shrunk prior leave of the truth."""
    rows = run_study(data / FILE, surveys=surveys, seed=seed)
    document = {"surveys": surveys, "seed": seed, "rows": [asdict(row) for row in rows]}
    emit(document, lambda: markdown(rows), as_json=as_json)


if __name__ == "__main__":
    main()
