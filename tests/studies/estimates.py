"""Do the intervals of estimates and cross-tables cover? Before (``raw``) and after, by simulation.

A category against the rest has a law of few numbers: how many respondents gave it, how many of
their records support it, and how large the supports are. So surveys of any size are drawn from
binomial and multinomial laws, respondents and noise anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.joint import Side, estimate_joint
from hushpoll_analysis.records.counts import JointCounts
from hushpoll_analysis.records.records import Channel
from hushpoll_protocols import FrequencyOracle, create
from hushpoll_protocols.estimation.frequencies import estimate_proportion, normal_quantile, weighted
from hushpoll_protocols.estimation.score import score_limits
from hushpoll_protocols.estimation.weights import WeightLaw
from studies.command import study_command

Array = npt.NDArray[np.float64]

SEED = 2023

SINGLE = (
    ("OUE", 2, "1", 2000, 0.3),
    ("RAPPOR", 2, "1", 2000, 0.3),
    ("OLH", 5, "1", 2000, 0.2),
    ("OUE", 74, "1", 2000, 0.01),
    ("OUE", 2, "8", 200, 0.01),
    ("OUE", 2, "8", 200, 0.005),
    ("OUE", 2, "8", 200, 0.001),
    ("BLH", 2, "8", 200, 0.001),
)
"""Protocol, k, epsilon, respondents and frequency of one category."""

CELLS = (
    ("OUE", 2, "1", 2000, 0.3, 0.09),
    ("OUE", 5, "2", 1000, 0.05, 0.0),
    ("OUE", 5, "8", 200, 0.01, 0.0),
    ("GRR", 5, "4", 2000, 0.05, 0.0),
    ("GRR", 5, "8", 5000, 0.05, 0.0),
    ("SS", 5, "8", 5000, 0.05, 0.0),
)
"""The same of both attributes, the frequency of both categories, and that of their cell."""


@dataclass(frozen=True, slots=True)
class Row:
    """What the intervals of one setting did.

    Attributes
    ----------
    setting : str
        In words.
    estimator : str
        ``raw`` or ``weighted``.
    covered, too_high, too_low : float
        Share of the surveys whose interval held the truth, whose lower limit was above it and whose
        upper limit was below it.
    deviation, error : float
        Standard deviation of the estimates, and mean printed standard error.
    """

    setting: str
    estimator: str
    covered: float
    too_high: float
    too_low: float
    deviation: float
    error: float


def run_study(*, surveys: int, seed: int = SEED) -> list[Row]:
    """Return the rows of all settings, before and after.

    Parameters
    ----------
    surveys : int
        Of each setting, at least 2.
    seed : int
        Of respondents and noise.
    """
    rows: list[Row] = []
    for number, (name, k, epsilon, n, f) in enumerate(SINGLE):
        oracle = create(name, k=k, epsilon=epsilon)
        drawn = np.random.default_rng([seed, 0, number])
        counts = draw_supports(oracle, n, f, surveys, drawn)
        title = f"{name}, k = {k}, ε = {epsilon}, n = {n:,}, share {f:g}"
        raw = estimate_proportion(counts, n, p=oracle.p, q=oracle.q)
        for estimator, estimate in (
            ("raw", raw),
            ("weighted", weighted(WeightLaw.of(oracle), raw)),
        ):
            columns = (estimate.frequency, estimate.standard_error, estimate.lower, estimate.upper)
            values = np.stack([column[:, 0] for column in columns], axis=1)
            rows.append(_row(title, estimator, values, f))
    for number, (name, k, epsilon, n, f, cell) in enumerate(CELLS):
        oracle = create(name, k=k, epsilon=epsilon)
        drawn = np.random.default_rng([seed, 1, number])
        tables = _tables(oracle, n, f, cell, surveys, drawn)
        title = f"cell, {name}, k = {k}, ε = {epsilon}, n = {n:,}, {f:g} and {f:g}, both {cell:g}"
        rows.append(_row(title, "raw", _raw_cells(oracle, tables), cell))
        side = Side.of(oracle)
        joint = [estimate_joint(table, side, side, confidence=0.95) for table in tables]
        values = np.array(
            [
                [e.frequency[0, 0], e.standard_error[0, 0], e.lower[0, 0], e.upper[0, 0]]
                for e in joint
            ]
        )
        rows.append(_row(title, "weighted", values, cell))
    return rows


def _row(title: str, estimator: str, values: Array, truth: float) -> Row:
    value, error, lower, upper = values.T
    high, low = float((lower > truth).mean()), float((upper < truth).mean())
    return Row(title, estimator, 1 - high - low, high, low, float(value.std()), float(error.mean()))


def _raw_cells(oracle: FrequencyOracle, tables: Sequence[JointCounts]) -> Array:
    """Return value, error and limits of the first cell as they were: D1 D2, no correction."""
    channel, n = Channel.of(oracle), tables[0].n
    p, q, gap = float(channel.p), float(channel.q), channel.gap
    # E[D^2] where the category is not the answer, and where it is
    e, at_match = q * (1 - q) / gap**2, (p * (1 - 2 * q) + q * q) / gap**2
    pi1, pi2, both = (
        np.array(column, dtype=np.float64) / n
        for column in (
            [table.first[0] for table in tables],
            [table.second[0] for table in tables],
            [table.both[0, 0] for table in tables],
        )
    )
    value = (both - q * (pi1 + pi2) + q * q) / gap**2
    rise = at_match - e
    none = ((pi1 + pi2 - 2 * q) / gap) * rise * e + e * e
    spread = np.maximum(none + rise**2 * value - value**2, 0.0)
    lower, upper = score_limits(
        value,
        n,
        variance=(none, np.full_like(value, rise**2), np.asarray(-1.0)),
        z=normal_quantile(0.95),
    )
    return np.stack([value, np.sqrt(spread / n), lower, upper], axis=1)


def _population(k: int, f: float) -> Array:
    return np.array([f, *[(1 - f) / (k - 1)] * (k - 1)])


def _patterns(oracle: FrequencyOracle) -> npt.NDArray[np.uint8]:
    k, size = oracle.k, oracle.support_size
    every = np.array(list(product((0, 1), repeat=k)), dtype=np.uint8)
    return every if size is None else every[every.sum(axis=1) == size]


def _law(oracle: FrequencyOracle, patterns: npt.NDArray[np.uint8]) -> Array:
    """Return the probability of each support given each truth, f64[k, m]; k is small."""
    p, q = float(oracle.p), float(oracle.q)
    laws = []
    for truth in range(oracle.k):
        chance = np.full(oracle.k, q)
        chance[truth] = p
        if oracle.support_size is None:
            laws.append(np.where(patterns == 1, chance, 1 - chance).prod(axis=1))
        else:
            hit = patterns[:, truth] == 1
            laws.append(np.where(hit, p / hit.sum(), (1 - p) / (~hit).sum()))
    return np.array(laws)


def draw_supports(
    oracle: FrequencyOracle, n: int, f: float, surveys: int, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Draw support counts int64[surveys, k], each category's by its own law.

    Bits and hashes are independent given the truth. The counts of GRR and SS are not, but each
    category's estimate needs its own count alone.

    Parameters
    ----------
    oracle : FrequencyOracle
        The protocol.
    n : int
        Respondents a survey, at least 1.
    f : float
        Frequency of the first category, in [0, 1]; the others share the rest equally.
    surveys : int
        Drawn.
    rng : numpy.random.Generator
        Of respondents and noise.
    """
    people = rng.multinomial(n, _population(oracle.k, f), size=surveys)
    p, q = float(oracle.p), float(oracle.q)
    support: npt.NDArray[np.int64] = rng.binomial(people, p) + rng.binomial(n - people, q)
    return support


def draw_all_supports(
    oracle: FrequencyOracle, n: int, shares: Array, surveys: int, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Draw support counts int64[surveys, k] of all categories together; k is at most about 10.

    Parameters
    ----------
    oracle, n, surveys, rng
        See :func:`draw_supports`.
    shares : f64[k]
        Of the population, summing to 1.
    """
    patterns = _patterns(oracle)
    chance = shares @ _law(oracle, patterns)
    drawn = rng.multinomial(n, chance / chance.sum(), size=surveys)
    support: npt.NDArray[np.int64] = drawn @ patterns.astype(np.int64)
    return support


def _tables(
    oracle: FrequencyOracle,
    n: int,
    f: float,
    cell: float,
    surveys: int,
    rng: np.random.Generator,
) -> list[JointCounts]:
    patterns = _patterns(oracle)
    law = _law(oracle, patterns)
    k, rest = oracle.k, oracle.k - 1
    truth = np.full((k, k), (1 - 2 * f + cell) / rest**2)
    truth[0, 1:] = truth[1:, 0] = (f - cell) / rest
    truth[0, 0] = cell
    chance = (law.T @ truth @ law).ravel()
    drawn = rng.multinomial(n, chance / chance.sum(), size=surveys)
    counts = []
    for table in drawn.reshape(surveys, len(patterns), len(patterns)):
        counts.append(
            JointCounts(
                n,
                table.sum(axis=1) @ patterns,
                table.sum(axis=0) @ patterns,
                patterns.T.astype(np.int64) @ table @ patterns,
            )
        )
    return counts


def markdown(rows: Sequence[Row]) -> str:
    """Return the study as a table in Markdown; shares in percent."""
    lines = [
        "| setting | estimator | covered | lower limit too high | upper limit too low "
        "| sd of the estimate | mean standard error |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.setting} | {row.estimator} | {100 * row.covered:.1f} | {100 * row.too_high:.1f} "
        f"| {100 * row.too_low:.1f} | {row.deviation:.2g} | {row.error:.2g} |"
        for row in rows
    ]
    return "\n".join(lines)


main = study_command(
    run_study,
    markdown,
    help="Measure how often the intervals of estimates and cells cover, raw and weighted.",
    seed=SEED,
)


if __name__ == "__main__":
    main()
