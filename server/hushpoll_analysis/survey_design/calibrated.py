"""Shares of the population by weights, strata and known margins, with intervals.

**Estimate.** Record i has the weight a_i, scaled to sum to 1, and the unbiased weights W_i of the
outcome's categories. Margins give each cell c a factor d_c
(:mod:`hushpoll_analysis.survey_design.raking`). With the record's scores S_i of the cells
(:mod:`hushpoll_analysis.survey_design.samples`) the share is the sum of a_i d'S_i W_i: Hájek's
estimate without margins, the post-stratified one with one, the raked one with several. All are
consistent where the answers depend on the attributes of the margins alone. Where the margin is that
of a perturbed attribute b, it is the sum over categories of known share times P(outcome | b).

**Variance.** To first order the error is that of the sum of residuals

    u_i = a_i (d'S_i W_i - (d e)'S_i),

e_c being what the margins explain of the outcome in cell c (Deville and Särndal, JASA 87, 1992;
Särndal, Swensson and Wretman, Model Assisted Survey Sampling, 1992, section 6.5 for g-weighted
residuals). The factors d are functions of sums of scores, and (d e)'S is their part of the
differential; so this holds for perturbed scores as well. Noise is independent between records, and
n/(n-1) times the centred sum of u_i^2 has as its expectation the variance of sampling plus that of
noise, each in full. Strata are centred each by itself.

**Finite population.** Let a stratum have n of N people, drawn without replacement. Given the
sample, the noise is that of n devices, whatever N is; so the correction 1 - n/N belongs to the
variance of sampling alone (the law of total variance). With s = the sum over the stratum of
(E[u_i | truth])^2, for which the sums of a_i^2 over cells are unbiased,

    variance = sum over strata of n/(n-1) (sum of u_i^2 - (sum of u_i)^2/n - n/N s).

**Interval.** The score interval of :mod:`hushpoll_protocols.estimation.score`, for as many rows as
would have this variance if all had one weight (Franco, Little, Louis and Slud, Journal of Survey
Statistics and Methodology 7, 2019, for shares in clear): the variance is taken at the hypothesis,
and it is c0 + c1 f of noise plus f(1 - f) of sampling, the latter after the correction.

**Small categories.** A share given a perturbed category is a ratio. Where the denominator is x
standard errors above 0, its part of the interval is divided by (1 - (z/x)^2)^(1/2), as Fieller's
theorem has it to first order (JRSS B 16, 1954). Where x is below `SURE` times z, no share is given,
and a sentence says why. Both numbers are chosen so that the answers that are given cover (see
docs/explanation/representative-samples.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.estimators import AttributeData, unbiased
from hushpoll_analysis.estimates.interval import Sets
from hushpoll_analysis.estimates.joint import Margin, RowMoments, Side
from hushpoll_analysis.records.laws import law_of
from hushpoll_analysis.survey_design.design import CheckedDesign, Target
from hushpoll_analysis.survey_design.raking import (
    Factors,
    Grouping,
    NotCalibrated,
    fitted,
    rake,
)
from hushpoll_analysis.survey_design.samples import Sample
from hushpoll_analysis.survey_design.shares import WeightedShares
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_protocols.estimation.score import score_limits
from hushpoll_shared.survey.questions.attributes import PublishedAttribute

Array = npt.NDArray[np.float64]

SURE: Final = 1.28
"""Half-widths of its interval by which a perturbed category's sum must be above 0."""

_ROUNDING: Final = 1e-10
"""Part of a variance below which a difference is none."""


def estimated(
    sample: Sample,
    outcome: PublishedAttribute,
    support: npt.NDArray[np.int64],
    plan: CheckedDesign,
    confidence: float,
    *,
    weighted: bool,
) -> WeightedShares:
    """Return the weighted shares of the outcome.

    `support` is without weights; with `weighted` the sample's weights are the user's, so that they
    count people. It refuses a population smaller than the sample, a stratum with a single record,
    and margins in clear that no factors give.
    """
    z = normal_quantile(confidence)
    found = unbiased(AttributeData(outcome, support, sample.n, confidence))
    columns = (found.standard_error, found.lower, found.upper)
    plain = Sets(found.frequency, *(np.asarray(column) for column in columns))
    alone = Grouping(np.zeros(len(sample.tables.cells), np.int64), np.ones(1))
    names = [attribute.name for attribute in sample.attributes]
    shape = tuple(attribute.k for attribute in sample.attributes)
    margins = [
        Grouping(target.places(names, shape), target.shares.ravel()) for target in plan.targets
    ]
    # the strata's own margin is the first
    strata = _Strata.of(sample, plan, margins[0] if plan.strata is not None else alone)
    errors = [
        sample.errors(margin) if _perturbed(target, sample) else None
        for target, margin in zip(plan.targets, margins, strict=True)
    ]
    words, factors = _too_small(sample, plan, margins, errors, z), None
    if words is None:
        try:
            factors = rake(sample.tables.cells, margins or [alone], plan.bounds)
        except NotCalibrated as error:
            words = _words(error, sample, plan)
    shares, totals = plain.known(np.zeros(outcome.k, np.bool_)), None
    effective, limits = np.nan, (np.nan, np.nan)
    if factors is not None:
        tables, factor = sample.tables, factors.factor
        # a sum of squares over cells that are estimates may fall below 0
        squares = float(np.square(factor) @ tables.square_cells)
        effective = 1 / squares if squares > 0 else float(sample.n)
        limits = float(factor[factor > 0].min()), float(factor.max())
        law = _Law.of(outcome, support, sample.n)
        explained = fitted(tables.cells, tables.outcome, margins or [alone], factors)
        variance, kept = strata.variance(sample, factors, explained)
        cautious = _cautious(factors, sample.tables.cells, margins, errors, z)
        wide = variance
        if cautious is not factors:
            wide, _ = strata.variance(sample, cautious, explained)
        shares = replace(
            law.column(factor @ tables.outcome, np.maximum(wide, variance), kept, effective, z),
            standard_error=np.sqrt(np.maximum(variance, 0.0)),
        )
        if weighted and not margins and plan.population is None and tables.total_error is not None:
            of_total = np.square(tables.total_error / tables.weight)
            totals = law.column(shares.value, of_total, np.ones(outcome.k), effective, z).scaled(
                tables.weight
            )
    if plan.population is not None:
        totals = shares.scaled(plan.population)
    return WeightedShares(
        attribute=outcome.name,
        categories=outcome.domain,
        n=sample.n,
        confidence=confidence,
        shares=shares,
        unweighted=plain,
        totals=totals,
        effective_n=effective,
        population=plan.population,
        factors=limits,
        rounds=0 if factors is None else factors.rounds,
        cannot_conclude=words,
    )


@dataclass(frozen=True, slots=True)
class _Strata:
    """Parts that are drawn from each by itself: their cells, records and sampling fractions."""

    grouping: Grouping
    records: Array
    fractions: Array

    @classmethod
    def of(cls, sample: Sample, plan: CheckedDesign, grouping: Grouping) -> _Strata:
        if plan.strata is None:
            people = np.array([np.inf if plan.population is None else plan.population])
            records = np.array([float(sample.n)])
        else:
            people = plan.strata.shares.ravel()
            records = sample.counts(grouping.places, len(people))
        for place in np.flatnonzero(people > 0).tolist():
            where = "" if plan.strata is None else f" of {_cell(plan.strata, sample, place)}"
            if records[place] > people[place]:
                raise InvalidParameter(
                    f"there are {records[place]:g} records{where}, more than the population of "
                    f"{people[place]:g} people; give the number of people, not a share",
                    field="population" if plan.strata is None else "strata",
                )
            if plan.strata is not None and records[place] == 1:
                raise InvalidParameter(
                    f"there is a single record{where}, which has no variance; join this stratum "
                    "with another one",
                    field="strata",
                )
        safe = np.where(people > 0, people, 1.0)
        return cls(grouping, records, np.where(people > 0, records / safe, 0.0))

    def variance(self, sample: Sample, factors: Factors, explained: Array) -> tuple[Array, Array]:
        """Return the variance, f64[k], and what is left of that of sampling, in [0, 1]."""
        tables, groups = sample.tables, len(self.records)
        squares, sums = sample.variance(factors, explained, self.grouping.places, groups)
        rows = self.records[:, None]
        inflation = np.where(rows > 1, rows / np.maximum(rows - 1, 1), 1.0)
        whole = inflation * np.maximum(squares - np.square(sums) / np.maximum(rows, 1), 0.0)
        by_cell = np.square(factors.factor)[:, None] * (
            tables.square_outcome * (1 - 2 * explained)
            + tables.square_cells[:, None] * np.square(explained)
        )
        drawn = np.zeros_like(whole)
        np.add.at(drawn, self.grouping.places, by_cell)
        drawn = np.clip(inflation * drawn, 0.0, whole)
        corrected = self.fractions @ drawn
        known = drawn.sum(axis=0) > 0
        part = corrected / np.where(known, drawn.sum(axis=0), 1.0)
        mean = float(self.fractions @ self.records / self.records.sum())
        left = whole.sum(axis=0) - corrected
        # a census in clear leaves nothing but rounding
        left = np.where(left > _ROUNDING * whole.sum(axis=0), left, 0.0)
        return left, 1.0 - np.where(known, part, mean)


@dataclass(frozen=True, slots=True)
class _Law:
    """Moments of one record's weights in each category: where it is the truth, and elsewhere."""

    moments: RowMoments
    perturbed: bool

    @classmethod
    def of(cls, outcome: PublishedAttribute, support: npt.NDArray[np.int64], n: int) -> _Law:
        side = Side.of(law_of(outcome))
        return cls(Margin.of(support, n, side).moments(), side.perturbed)

    def column(
        self, value: Array, variance: Array, kept: Array, effective: float, z: float
    ) -> Sets:
        """Return estimates with score intervals.

        `kept` f64[k] is what the finite population leaves of the variance of sampling, in [0, 1];
        `effective` is Kish's effective sample size.
        """
        law = self.moments
        c0, c1, c2 = law.other, law.second - 1.0 - law.other + kept, -kept
        inside = np.clip(value, 0.0, 1.0)
        of_row = np.maximum(c0 + c1 * inside + c2 * np.square(inside), 0.0)
        known = (variance > 0) & (of_row > 0)
        rows = np.where(known, of_row / np.where(known, variance, 1.0), effective)

        def third(f: Array) -> Array:
            square = law.other + (law.second - law.other) * f
            cube = law.other_third + (law.third - law.other_third) * f
            return np.asarray(cube - 3 * f * square + 2 * f**3)

        n = max(round(effective), 1)
        lower, upper = score_limits(
            value,
            n,
            variance=(c0, c1, c2),
            z=z,
            scale=np.sqrt(rows / n),
            third=third if self.perturbed else None,
        )
        return Sets(value, np.sqrt(np.maximum(variance, 0.0)), lower, upper)


def _cell(target: Target, sample: Sample, place: int) -> str:
    """Return a category of a margin, or a cell, in words."""
    domains = {attribute.name: attribute.domain for attribute in sample.attributes}
    codes = np.unravel_index(place, target.shares.shape)
    return ", ".join(
        f"{name} = {domains[name][code]}"
        for name, code in zip(target.attributes, codes, strict=True)
    )


def _perturbed(target: Target, sample: Sample) -> bool:
    return any(
        attribute.oracle is not None
        for attribute in sample.attributes
        if attribute.name in target.attributes
    )


def _too_small(
    sample: Sample,
    plan: CheckedDesign,
    margins: Sequence[Grouping],
    errors: Sequence[Array | None],
    z: float,
) -> str | None:
    """Return why a perturbed category cannot be divided by, or None."""
    for target, margin, error in zip(plan.targets, margins, errors, strict=True):
        if error is None:
            continue
        sums = margin.sums(sample.tables.cells)
        lacking = np.where(margin.shares > 0, SURE * z * error - sums, -np.inf)
        place = int(np.argmax(lacking))
        if lacking[place] > 0:
            return (
                f"Of {_cell(target, sample, place)} the records are too few or too noisy: its "
                f"share among the respondents is estimated as {sums[place]:.4f} with a standard "
                f"error of {error[place]:.4f}, and a weighted share needs at least "
                f"{SURE * z:.2g} standard errors. More records could tell, or an attribute with "
                "fewer categories."
            )
    return None


def _cautious(
    factors: Factors,
    cells: Array,
    margins: Sequence[Grouping],
    errors: Sequence[Array | None],
    z: float,
) -> Factors:
    """Return the factors for intervals: larger where a perturbed category's sum is uncertain."""
    cautious = factors
    for margin, error in zip(margins, errors, strict=True):
        if error is not None:
            sums, used = margin.sums(cells), margin.shares > 0
            part = np.where(used, z * error / np.where(used, sums, 1.0), 0.0)
            rise = 1 / np.sqrt(1 - np.square(part))
            cautious = replace(cautious, factor=cautious.factor * rise[margin.places])
    return cautious


def _words(error: NotCalibrated, sample: Sample, plan: CheckedDesign) -> str:
    """Return why estimated cells cannot be raked; refuse where cells are in clear."""
    target = plan.targets[error.margin]
    where = _cell(target, sample, error.category)
    if error.reason == "empty" and not _perturbed(target, sample):
        raise InvalidParameter(
            f"{where} has the share {error.apart:.6g} in the population, and no record in the "
            "sample that counts; leave this margin out, or give one of an attribute in which every "
            "category was answered",
            field="margins",
        )
    if plan.bounds is not None:
        raise InvalidParameter(
            f"no factors from {plan.bounds[0]:g} to {plan.bounds[1]:g} give all margins: the share "
            f"of {where} is missed by {error.apart:.2g}; widen the bounds",
            field="bounds",
        )
    if not any(_perturbed(one, sample) for one in plan.targets):
        raise InvalidParameter(
            f"no weights give all margins together: the share of {where} is missed by "
            f"{error.apart:.2g}, because cells that would be needed have no record; leave a margin "
            "out, or give the margins of attributes with fewer categories",
            field="margins",
        )
    return (
        f"The estimated cells cannot be given all margins: the share of {where} is missed by "
        f"{error.apart:.2g}. More records could tell, or fewer margins."
    )
