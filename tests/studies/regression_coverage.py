"""How often a regression's intervals hold the slope, by simulation.

Outcome and predictor are perturbed, alone or together in a block; the predictor depends on the
covariate in clear; all slopes are known. Where the expected standard error of a slope is at most
.5, its interval is to hold it in 94 to 96 % of surveys, with a bias below a tenth of its standard
deviation; elsewhere its set is to hold it in at least 94 %. A test of a slope that is 0 is to
refuse at most 5 %. ``scripts/coverage-study --regression`` prints the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import click
import numpy as np
from scipy.stats import chi2

from hushpoll_analysis.regression.answers import (
    Answers,
    Numbers,
    Unit,
    patterns_of,
)
from hushpoll_analysis.regression.combinations import Question
from hushpoll_analysis.regression.fitting import maximise
from hushpoll_analysis.regression.inference import (
    NOISY,
    WALD,
    expected_of_slopes,
    likelihood_ratio,
)
from hushpoll_analysis.regression.model import fit
from hushpoll_protocols import PROTOCOLS, create
from hushpoll_protocols.kernels import perturb
from likelihoods import likelihood_of
from studies.command import study_command

SEED = 20_100
FORMULA = "y ~ x + z + w"
SLOPES = {"x[T.1]": 0.6, "z": 0.4, "w": 0.0}
"""The true slopes of y by x, z and w; those of other categories of x are 0."""
_LEVEL = 0.05
LARGE = 10_000
"""Respondents from which a design has a third of the surveys: each takes a fifth of a second."""


@dataclass(frozen=True)
class Case:
    """One design: the outcome has 2 answers, the predictor k; both in one block, or apart."""

    protocol: str
    k: int
    epsilon: str
    n: int
    block: bool = False


SHORT = (
    *(Case(protocol, 2, "2", 4_000) for protocol in PROTOCOLS),
    Case("GRR", 2, "4", 1_000),
    Case("SS", 2, "1", 50_000),
    Case("GRR", 4, "2", 1_000),
    Case("GRR", 4, "1", 50_000),
    Case("BLH", 4, "4", 50_000),
    Case("OLH", 4, "2", 50_000),
    Case("OUE", 4, "4", 10_000),
    Case("GRR", 10, "4", 20_000),
    Case("RAPPOR", 10, "4", 20_000),
    Case("SS", 10, "2", 50_000),
    Case("GRR", 2, "2", 4_000, block=True),
    Case("BLH", 2, "4", 10_000, block=True),
    Case("THE", 2, "4", 10_000, block=True),
    Case("OLH", 2, "1", 50_000, block=True),
    Case("SS", 4, "2", 10_000, block=True),
    Case("OUE", 10, "4", 10_000, block=True),
    Case("SS", 2, "1", 1_000),
)
"""Of the table in the docs: one axis after the other; the last is too noisy."""
WHOLE = tuple(
    Case(protocol, k, epsilon, n, block)
    for protocol in PROTOCOLS
    for k in (2, 4, 10)
    for epsilon in ("1", "2", "4")
    for n in (1_000, 10_000, 50_000)
    for block in (False, True)
)
DESIGNS = tuple(map(str, range(len(WHOLE))))
"""Places of designs in a part."""
TELLING, NOISIER, SMALL = "telling", "noisy", "small"
"""The whole in two, designs whose slopes have Wald's intervals, and those that have sets; and the
first with 1,000 respondents, where a bias is largest beside the standard error."""
GRID = tuple(
    Case(
        protocol,
        k,
        ("1", "2", "4")[(i + j) % 3],
        (1_000, 10_000, 50_000)[(2 * i + j) % 3],
        (i + j) % 2 == 1,
    )
    for i, protocol in enumerate(PROTOCOLS)
    for j, k in enumerate((2, 4, 10))
)
"""A part of the whole in which each level of each axis stands beside each of every other axis."""
BIASED = (Case("SS", 10, "2", 10_000), Case("GRR", 4, "2", 1_000))
"""Where maximum likelihood misses z's slope by more than a tenth of its standard error."""
PARTS = {
    "short": SHORT,
    "bias": BIASED,
    "grid": GRID,
    SMALL: WHOLE,
    TELLING: WHOLE,
    NOISIER: WHOLE,
    "whole": WHOLE,
}


def _unit(
    name: str,
    sizes: Sequence[tuple[str, int]],
    values: np.ndarray,
    case: Case,
    rng: np.random.Generator,
) -> Unit:
    k = int(np.prod([size for _, size in sizes]))
    oracle = create(case.protocol, k=k, epsilon=case.epsilon)
    patterns, places = patterns_of(oracle, perturb(oracle, values, rng))
    questions = (Question(one, tuple(map(str, range(size)))) for one, size in sizes)
    return Unit(name, tuple(questions), patterns, places, oracle)


def survey(case: Case, rng: np.random.Generator) -> Answers:
    """Draw one survey: z and w in clear, x that depends on z, y that depends on x and z."""
    z, w = rng.integers(-2, 3, case.n) / 1.0, rng.integers(0, 2, case.n) / 1.0
    noise = rng.gumbel(size=(case.n, case.k))
    noise[:, 1] += 0.5 * z
    x = noise.argmax(axis=1)
    eta = -0.3 + SLOPES["x[T.1]"] * (x == 1) + SLOPES["z"] * z
    y = (rng.random(case.n) < 1 / (1 + np.exp(-eta))).astype(np.int64)
    units: tuple[Unit, ...]
    if case.block:
        units = (_unit("both", (("x", case.k), ("y", 2)), 2 * x + y, case, rng),)
    else:
        units = (
            _unit("x", (("x", case.k),), x, case, rng),
            _unit("y", (("y", 2),), y, case, rng),
        )
    return Answers(case.n, {"z": Numbers("z", z), "w": Numbers("w", w)}, units)


class Slope(NamedTuple):
    """What one survey says of one slope; a `Row` has the means."""

    expected: float
    by_set: bool
    held: bool
    unbounded: float
    refused: bool
    error: float
    standardised: float
    unconverged: bool


@dataclass(frozen=True)
class Row:
    """One slope of one design.

    Attributes
    ----------
    case : Case
    slope : str
    surveys : int
        That were drawn.
    expected : float
        Mean expected standard error, in units in which .5 is the most that tells something.
    by_set : float
        Share of surveys in which it was above that, so that the slope has a set.
    held, unbounded, refused : float
        Shares of surveys whose interval holds the slope, has no end on a side (NaN of sets, whose
        ends are not looked for), and leaves 0 out.
    bias : float
        Mean error over the standard deviation of the estimates; of those with a finite maximum.
    standardised : float
        Mean of errors over the standard errors that the fits gave.
    unconverged : float
        Share of fits that did not show to have reached the maximum.
    """

    case: Case
    slope: str
    surveys: int
    expected: float
    by_set: float
    held: float
    unbounded: float
    refused: float
    bias: float
    standardised: float
    unconverged: float


def rows_of(case: Case, surveys: int, seed: int | Sequence[int]) -> list[Row]:
    """Return, by slope, how often its interval, or its set, held it; of large designs a third."""
    surveys = max(surveys // 3 if case.n >= LARGE else surveys, 2)
    rng = np.random.default_rng(seed)
    drawn = (survey(case, rng) for _ in range(surveys))
    told = map(by_intervals if tells(case) else by_sets, drawn)
    kept: dict[str, list[Slope]] = {name: [] for name in SLOPES}
    for slopes in told:
        for name, values in slopes.items():
            kept[name].append(values)
    found = []
    for name, values in kept.items():
        table = np.array(values, np.float64)
        expected, by_set, held, unbounded, refused, _, _, unconverged = table.mean(axis=0)
        errors, relative = (table[:, place][np.isfinite(table[:, place])] for place in (5, 6))
        standardised = float(relative.mean()) if len(relative) else 0.0
        spread = errors.std(ddof=1) if len(errors) > 1 else 0.0
        bias = float(errors.mean() / spread) if spread else 0.0
        shares = (held, unbounded, refused, bias, standardised, unconverged)
        found.append(Row(case, name, len(table), expected, by_set, *shares))
    return found


def by_intervals(answers: Answers) -> dict[str, Slope]:
    """Return of each slope what is averaged, by the intervals that a fit gives."""
    result = fit(FORMULA, answers, plain=False, effects=False, ratios=False)
    found = {}
    for one in result.coefficients:
        if one.name not in SLOPES:
            continue
        truth = SLOPES[one.name]
        low = -np.inf if one.lower is None else one.lower
        high = np.inf if one.upper is None else one.upper
        expected = one.expected_standard_error
        error = np.nan if one.estimate is None else one.estimate - truth
        found[one.name] = Slope(
            np.inf if expected is None else expected,
            one.method != WALD,
            bool(low <= truth <= high),
            float(np.isinf(low) or np.isinf(high)),
            one.p_value is not None and one.p_value < _LEVEL,
            error,
            error / one.standard_error if one.standard_error else np.nan,
            not result.converged,
        )
    return found


def by_sets(answers: Answers) -> dict[str, Slope]:
    """Return of each slope what is averaged, by the likelihood ratio at it.

    A set holds each value whose ratio is below the quantile, and more where it has holes. So this
    is the least share, and takes a hundredth of the time in which the ends of sets are found.
    """
    likelihood = likelihood_of(FORMULA, answers)
    maximum = maximise(likelihood, np.zeros(likelihood.size))
    most = chi2.ppf(1 - _LEVEL, 1)
    expected = expected_of_slopes(likelihood, likelihood)
    found = {}
    for place, one in enumerate(likelihood.family.coefficients):
        if one.name not in SLOPES:
            continue
        truth = SLOPES[one.name]
        at_truth, at_null = (
            likelihood_ratio(likelihood, maximum, np.array([place]), value)
            for value in (truth, 0.0)
        )
        found[one.name] = Slope(
            expected[place],
            True,
            bool(at_truth <= most),
            np.nan,
            bool(at_null > most),
            float(maximum.parameters[place] - truth),
            np.nan,
            not maximum.converged,
        )
    return found


def tells(case: Case) -> bool:
    """Whether a design's slopes have Wald's intervals, which is decided before any answer."""
    answers = survey(case, np.random.default_rng(SEED))
    likelihood = likelihood_of(FORMULA, answers)
    return max(expected_of_slopes(likelihood, likelihood).values()) <= NOISY


def run_study(
    *, surveys: int, seed: int = SEED, part: str | None = None, designs: Sequence[str] = DESIGNS
) -> list[Row]:
    """Return the rows of designs of a part, by default all of the short one; say which are done."""
    chosen = [one for one in enumerate(PARTS[part or "short"]) if str(one[0]) in designs]
    if part == SMALL:
        chosen = [one for one in chosen if one[1].n == 1_000 and tells(one[1])]
    elif part in (TELLING, NOISIER):
        chosen = [one for one in chosen if tells(one[1]) == (part == TELLING)]
    found: list[Row] = []
    for done, (number, case) in enumerate(chosen, 1):
        rows = rows_of(case, surveys, [seed, number])
        click.echo(f"{done} of {len(chosen)}", err=True)
        for row in rows:
            click.echo(_line(row), err=True)
        found += rows
    return found


def markdown(rows: Sequence[Row]) -> str:
    """Return the study as two tables in Markdown; shares in percent.

    The second has all designs of a region together. A standard error there takes the slopes of one
    survey as one, so that it is no smaller than it is.
    """
    lines = [
        "| design | slope | surveys | expected std. error | held | no end | test refuses 0 "
        "| bias / std. error | not converged |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += map(_line, rows)
    lines += [
        "",
        "| slopes | surveys | held | test of w, which is 0, refuses it |",
        "|---|---|---|---|",
    ]
    for words, by_set in (
        (f"expected at most {NOISY:g}: Wald's intervals", False),
        ("above: sets", True),
    ):
        chosen = [row for row in rows if bool(row.by_set) == by_set]
        null = [row for row in chosen if SLOPES[row.slope] == 0]
        if chosen:
            held = _pooled([(row.held, row.surveys) for row in chosen], len(SLOPES))
            refused = _pooled([(row.refused, row.surveys) for row in null], 1)
            surveys = sum(row.surveys for row in null)
            lines.append(f"| {words} | {surveys:,} | {held} | {refused} |")
    lines += [
        "",
        "| slope, Wald's intervals | designs | mean bias / std. error | the largest |",
        "|---|---|---|---|",
    ]
    for slope in SLOPES:
        told = [row for row in rows if row.slope == slope and not row.by_set]
        if told:
            surveys = sum(row.surveys for row in told)
            mean = sum(row.bias * row.surveys for row in told) / surveys
            worst = max(told, key=lambda row: abs(row.bias))
            lines.append(
                f"| {slope} | {len(told)} | {mean:+.3f} ± {surveys**-0.5:.3f} "
                f"| {worst.bias:+.2f} ± {worst.surveys**-0.5:.2f} |"
            )
    return "\n".join(lines)


def _line(row: Row) -> str:
    case = row.case
    design = f"{case.protocol}, k {case.k}, epsilon {case.epsilon}, n {case.n:,}"
    expected = f"{row.expected:.2f}" + (" (set)" if row.by_set else "")
    no_end = "–" if row.by_set else f"{100 * row.unbounded:.1f}"
    return (
        f"| {design}{', block' if case.block else ''} | {row.slope} | {row.surveys} "
        f"| {expected} | {100 * row.held:.1f} | {no_end} "
        f"| {100 * row.refused:.1f} | {row.bias:+.2f} | {100 * row.unconverged:.1f} |"
    )


def _pooled(shares: Sequence[tuple[float, int]], alike: int) -> str:
    """Return the mean share with its Monte-Carlo error, both in percent."""
    number = sum(surveys for _, surveys in shares)
    mean = sum(share * surveys for share, surveys in shares) / number
    error = (mean * (1 - mean) / (number / alike)) ** 0.5
    return f"{100 * mean:.1f} ± {100 * error:.1f}"


main = study_command(
    run_study,
    markdown,
    help="Measure how often intervals and sets of a regression hold its slopes.",
    seed=SEED,
    surveys=320,
    parts=tuple(PARTS),
    cells={"designs": DESIGNS},
)


if __name__ == "__main__":
    main()
