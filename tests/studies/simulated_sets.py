"""How often a regression's sets would hold the slope with a quantile by simulation.

Where predictors are randomised and noisy, the likelihood ratio has not its limit, and sets by the
quantile of chi-square hold too seldom. Here a value whose ratio is above that quantile is refused
only if at most one of 39 surveys, drawn at the constrained maximum, has a ratio as large: a
parametric bootstrap (Davison and Hinkley, "Bootstrap methods and their application", 1997, section
4.2) by ranks, drawn until two ratios are as large (Besag and Clifford, Biometrika 1991).
``scripts/coverage-study --simulated`` runs it at the true slopes. The product does not use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import chi2

from hushpoll_analysis.regression.answers import Answers, patterns_of
from hushpoll_analysis.regression.fitting import Climbed, climb, maximise
from hushpoll_analysis.regression.likelihood import Likelihood
from hushpoll_analysis.regression.starts import with_shares
from hushpoll_protocols.kernels import perturb
from likelihoods import likelihood_of
from studies.command import study_command
from studies.regression_coverage import DESIGNS, FORMULA, SLOPES, WHOLE, Case, survey

SEED = 902
NOISIEST = ("126", "289")
"""OLH and SS, k 4, epsilon 1: places in the whole of the designs of regressions."""
_DRAWS, _ABOVE = 39, 2
_QUANTILE = float(chi2.ppf(0.95, 1))
_NEAR = 1e-3
"""Squared length, in standard errors, of the step that a climb may leave."""


def drawn(likelihood: Likelihood, parameters: np.ndarray, rng: np.random.Generator) -> Likelihood:
    """Return the likelihood of a survey of the same people, if the parameters were true."""
    b, mixing = likelihood.split(parameters)
    design = likelihood.design
    chance = likelihood.family.chances(likelihood.linear(b, design.u))
    joint = np.moveaxis(chance, 2, 1) * np.exp(likelihood.shares(mixing, design.z))[:, None, :]
    below = joint.reshape(len(joint), -1).cumsum(axis=1)
    cell = (below[design.group] < rng.random(len(design.group))[:, None]).sum(axis=1)
    y, c = np.divmod(np.minimum(cell, below.shape[1] - 1), likelihood.c)
    units = []
    for unit, codes in zip(likelihood.units, likelihood._codes, strict=True):
        assert unit.oracle is not None
        values = codes[y if len(codes) > 1 else 0, c]
        patterns, places = patterns_of(unit.oracle, perturb(unit.oracle, values, rng))
        units.append(replace(unit, patterns=patterns, places=places))
    hidden = replace(design.hidden, units=tuple(units[: len(design.hidden.units)]))
    outcome = next(unit for unit in units if likelihood.own and unit.name == likelihood.own.name)
    return Likelihood(
        replace(design, hidden=hidden),
        likelihood.family,
        Answers(likelihood.n, {}, tuple(units)),
        outcome,
        likelihood.name,
        likelihood._order,
    )


def highest(
    likelihood: Likelihood, starts: Sequence[np.ndarray], fixed: np.ndarray | None = None
) -> Climbed:
    """Return the highest maximum to which starts lead."""
    found = [
        climb(likelihood, start, fixed=fixed, enough=_NEAR)
        for start in starts
        if np.isfinite(likelihood.value(start))
    ]
    return max(found, key=lambda one: one.slopes.value)


def ratio(likelihood: Likelihood, truth: np.ndarray, place: int) -> float:
    """Return the likelihood ratio at the value of a parameter of which the survey was drawn."""
    fixed = np.arange(likelihood.size) == place
    again = with_shares(
        likelihood, np.where(np.arange(likelihood.size) < likelihood.outcome_size, truth, 0.0)
    )
    full = highest(likelihood, [truth, again])
    held = np.where(fixed, truth, full.parameters)
    constrained = highest(likelihood, [truth, again, held], fixed)
    full = highest(likelihood, [full.parameters, constrained.parameters])
    return 2 * (full.slopes.value - constrained.slopes.value)


def told(case: Case, rng: np.random.Generator, number: int) -> dict[str, tuple[bool, bool]]:
    """Return, by slope, whether its set holds it: by chi-square, and by drawn surveys."""
    likelihood = likelihood_of(FORMULA, survey(case, rng))
    maximum = maximise(likelihood, np.zeros(likelihood.size))
    names = [one.name for one in likelihood.family.coefficients]
    found = {}
    for name, value in SLOPES.items():
        place = names.index(name)
        fixed = np.arange(likelihood.size) == place
        starts = (maximum.parameters, maximum.origin)
        held = highest(likelihood, [np.where(fixed, value, start) for start in starts], fixed)
        full = highest(likelihood, [maximum.parameters, held.parameters])
        seen = 2 * (full.slopes.value - held.slopes.value)
        draws = np.random.default_rng([number, place])
        above = done = 0
        while seen > _QUANTILE and done < _DRAWS and above < _ABOVE:
            one = ratio(drawn(likelihood, held.parameters, draws), held.parameters, place)
            above, done = above + (one >= seen), done + 1
        found[name] = seen <= _QUANTILE, seen <= _QUANTILE or above >= _ABOVE
    return found


@dataclass(frozen=True)
class Row:
    """Of one slope of one design: the shares of surveys whose set holds it."""

    case: Case
    slope: str
    surveys: int
    by_limit: float
    by_draws: float


def run_study(*, surveys: int, seed: int = SEED, designs: Sequence[str] = NOISIEST) -> list[Row]:
    """Return the rows of all slopes of designs."""
    found = []
    for place in map(int, designs):
        rng = np.random.default_rng([seed, place])
        told_of = [told(WHOLE[place], rng, number) for number in range(surveys)]
        for slope in SLOPES:
            shares = np.mean([one[slope] for one in told_of], axis=0)
            found.append(Row(WHOLE[place], slope, surveys, float(shares[0]), float(shares[1])))
    return found


def markdown(rows: Sequence[Row]) -> str:
    """Return the table in Markdown; shares in percent."""
    lines = [
        "| design | slope | surveys | held by chi-square | by draws |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        case = row.case
        design = f"{case.protocol}, k {case.k}, epsilon {case.epsilon}, n {case.n:,}"
        lines.append(
            f"| {design}{', block' if case.block else ''} | {row.slope} | {row.surveys} "
            f"| {100 * row.by_limit:.1f} | {100 * row.by_draws:.1f} |"
        )
    return "\n".join(lines)


main = study_command(
    run_study,
    markdown,
    help="Measure how often sets with a quantile by simulation would hold a regression's slopes.",
    seed=SEED,
    surveys=60,
    cells={"designs": DESIGNS},
)


if __name__ == "__main__":
    main()
