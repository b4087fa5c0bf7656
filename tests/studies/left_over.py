"""What do thresholds leave of a disparity, by size, where groups are known through records alone?

Each training draws people and noise anew. The rule is tested on people in clear. Signed rests of
several trainings cancel in their mean, so their mean size stands beside it: one training leaves a
rest of about that size, in either direction. ``scripts/coverage-study --left-over`` runs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from hushpoll_protocols import InvalidParameter, create
from hushpoll_protocols.kernels import indicators, perturb
from hushpoll_training import ThresholdClassifier
from studies.command import study_command

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

SEED = 2028
TESTED = 20_000
"""People in clear on whom each rule is tested."""

SETTINGS: tuple[tuple[str | None, str, float, int], ...] = (
    (None, "", 0.5, 10_000),
    ("GRR", "1", 0.5, 10_000),
    ("OUE", "1", 0.5, 10_000),
    (None, "", 0.1, 10_000),
    ("GRR", "1", 0.1, 10_000),
    ("OUE", "1", 0.1, 10_000),
    ("GRR", "2", 0.1, 10_000),
    ("OUE", "2", 0.1, 10_000),
    ("OUE", "1", 0.1, 5_000),
    ("OUE", "1", 0.1, 40_000),
)
"""Protocol and epsilon of the group, its share, and respondents."""


@dataclass(frozen=True, slots=True)
class Row:
    """One setting.

    Attributes
    ----------
    setting : str
        In words.
    before, mean, size : float
        Difference of positive rates: the mean without mitigation; with thresholds for demographic
        parity the signed mean, and the mean of the sizes.
    error : float
        Standard error of `size`.
    refused : int
        Trainings that were refused, because the records cannot tell the groups; not in the means.
    """

    setting: str
    before: float
    mean: float
    size: float
    error: float
    refused: int


def run_study(*, surveys: int, seed: int = SEED) -> list[Row]:
    """Return a row for each setting of so many trainings."""
    return [row_of(number, setting, surveys, seed) for number, setting in enumerate(SETTINGS)]


def row_of(
    number: int, setting: tuple[str | None, str, float, int], surveys: int, seed: int
) -> Row:
    """Return the row of one setting."""
    protocol, epsilon, share, n = setting
    generators = (np.random.default_rng([seed, number, each]) for each in range(surveys))
    rests = np.array(list(_rests(setting, generators)))
    sizes = np.abs(rests[:, 1])
    how = f"{protocol}, ε = {epsilon}" if protocol else "group in clear"
    return Row(
        f"{how}; a group of {100 * share:.0f} %; n = {n:,}",
        float(rests[:, 0].mean()),
        float(rests[:, 1].mean()),
        float(sizes.mean()),
        float(sizes.std(ddof=1)) / len(sizes) ** 0.5,
        surveys - len(sizes),
    )


def _rests(
    setting: tuple[str | None, str, float, int], generators: Iterator[np.random.Generator]
) -> Iterator[tuple[float, float]]:
    """Yield the difference of positive rates without mitigation, and with thresholds."""
    protocol, epsilon, share, n = setting
    oracle = None if protocol is None else create(protocol, k=2, epsilon=epsilon)
    for rng in generators:
        group, features, label = _people(share, n, rng)
        tested, others, _ = _people(share, TESTED, rng)
        known = np.eye(2)[group]
        records = known if oracle is None else indicators(oracle, perturb(oracle, group, rng))
        before = LogisticRegression().fit(features, label).predict(others)
        made = ThresholdClassifier(LogisticRegression(), protected=(0, 1), oracle=oracle)
        try:
            made.fit(np.column_stack([records, features]), label)
        except InvalidParameter:
            continue
        after = made.predict(np.column_stack([np.eye(2)[tested], others]))
        yield _gap(before, tested), _gap(after, tested)


def _people(share: float, n: int, rng: np.random.Generator) -> tuple[Codes, Array, Codes]:
    group = (rng.random(n) < share).astype(np.int64)
    features = rng.normal(size=(n, 3)) - np.outer(group, [0.9, 0.0, 0.0])
    label = (features.sum(axis=1) + rng.normal(size=n) > 0).astype(np.int64)
    return group, features, label


def _gap(predicted: Codes, group: Codes) -> float:
    return float(predicted[group == 0].mean() - predicted[group == 1].mean())


def markdown(rows: Sequence[Row]) -> str:
    """Return the study as a table in Markdown."""
    lines = [
        "| records | without mitigation | left, mean | left, mean size | its standard error "
        "| refused |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.setting} | {row.before:.3f} | {row.mean:+.3f} | {row.size:.3f} | {row.error:.3f} "
        f"| {row.refused} |"
        for row in rows
    ]
    return "\n".join(lines)


main = study_command(
    run_study,
    markdown,
    help="Measure what thresholds leave of a disparity, by size.",
    seed=SEED,
    surveys=50,
)


if __name__ == "__main__":
    main()
