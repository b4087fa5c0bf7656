"""What a fitted model says of its coefficients: errors, tests, intervals and sets.

Standard errors come from the observed information at the estimates, or from the sandwich of it and
of the products of the scores, over rows or over clusters of rows with the factor m / (m - 1)
(Binder 1983, as R's survey computes it). Where the standard error of a slope, expected before any
answer is known, is above .5, the normal approximation is not trusted: the sets of the profile
likelihood are given for all slopes (in large fits, for that one), which may have no end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import stats
from scipy.linalg import eigh

from hushpoll_analysis.regression.answers import Unit, even_products_of_cells, patterns_of
from hushpoll_analysis.regression.fitting import FLAT, Maximum, climb, covariance_of, profile
from hushpoll_analysis.regression.likelihood import Likelihood, required_sums
from hushpoll_analysis.regression.terms.coding import Column
from hushpoll_analysis.regression.variances import Variance
from hushpoll_protocols import EPSILON_MAX, create
from hushpoll_protocols.kernels import perturb
from hushpoll_protocols.oracle import FrequencyOracle

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

NOISY: Final = 0.5
"""Expected standard error of a slope, in logits, above which it is too noisy to tell."""
WALD: Final = "Wald"
PROFILE: Final = "profile likelihood"
SETS_WORK: Final = 1e9
"""Products of an information, of all coefficients, above which their sets take hours."""
TOO_LARGE: Final = "none: too noisy for Wald's, and too large for sets"
UNTOLD: Final = "the whole line: too noisy for sets"
TRUSTED: Final = 0.8
"""Expected standard error of a slope above which no slope has a set if predictors are perturbed: in
simulations the sets held as few as 65 percent of slopes where they say 95."""
OBSERVED: Final = "observed information"
SANDWICH: Final = "sandwich"
CLUSTERED: Final = "sandwich over clusters"
_MOST_TIMES: Final = 16.0
"""By how many times a larger epsilon is looked for."""
_DRAWN: Final = 2_000
"""Records of a protocol that say how many answers each supports."""
_LOADED: Final = 0.1
"""Share of a flat direction from which a coefficient counts as flat."""


@dataclass(frozen=True)
class Coefficient:
    """One coefficient with what is known of it."""

    name: str
    term: str
    category: str | None
    """Category of the outcome that it compares with the reference, where there are several."""
    estimate: float | None
    """None, as its error, where the likelihood has no finite maximum."""
    standard_error: float | None
    statistic: float | None
    """The statistic of the test that it is 0: Wald's, or the root of the likelihood ratio."""
    p_value: float | None
    lower: float | None
    """None: the interval has no end on that side."""
    upper: float | None
    method: str
    """`WALD`, `PROFILE`, `TOO_LARGE` or `UNTOLD`."""
    simultaneous_lower: float | None
    """The end of intervals that all hold together."""
    simultaneous_upper: float | None
    expected_standard_error: float | None
    """Known before the outcome is looked at; None for intercepts and thresholds."""
    bias: float | None = None
    """What was taken off the maximum, where the estimates are bias-reduced."""


@dataclass(frozen=True)
class Test:
    """A test that all coefficients of a term, or all slopes, are 0."""

    term: str
    kind: str
    statistic: float
    degrees_of_freedom: int
    p_value: float


@dataclass(frozen=True, eq=False)
class Covariance:
    """The covariance of the estimates."""

    matrix: Array
    """f64[q, q], of all parameters; directions in which the likelihood is flat are held."""
    flat: Flags
    """bool[q], parameters without a finite maximum."""
    kind: str
    """Where it comes from."""
    freedom: float
    """Degrees of freedom of its tests; inf for the normal distribution."""
    inflation: Array
    """f64[q], each variance, to the one of the observed information alone: by so much a fall of the
    likelihood counts less (Rao and Scott, Annals of Statistics 1984)."""
    inverse: Array
    """f64[q, q], inverse of the observed information, in directions in which the likelihood is not
    flat."""

    def quantile(self, confidence: float) -> float:
        """Return the two-sided quantile."""
        tail = (1 + confidence) / 2
        return float(stats.norm.ppf(tail) if np.isinf(self.freedom) else self._t.ppf(tail))

    def p_value(self, statistic: float) -> float:
        """Return the two-sided p-value of a standardised estimate."""
        tail = stats.norm if np.isinf(self.freedom) else self._t
        return float(2 * tail.sf(abs(statistic)))

    def p_of_square(self, statistic: float, df: int) -> float:
        """Return the p-value of a sum of squares."""
        if np.isinf(self.freedom):
            return float(stats.chi2.sf(statistic, df))
        return float(stats.f.sf(statistic / df, df, self.freedom))

    @property
    def _t(self) -> stats.rv_frozen:
        return stats.t(self.freedom)


def covariance(
    likelihood: Likelihood, maximum: Maximum, *, robust: bool, estimates: Array | None = None
) -> Covariance:
    """Return the covariance of the estimates; the sandwich if `robust`, weighted or clustered."""
    at, slopes, complete = maximum.parameters, maximum.slopes, maximum.complete
    if estimates is not None:
        at, slopes = estimates, likelihood.at(estimates, complete=False)
    sizes, directions = eigh(required_sums(slopes.observed), complete)
    kept = sizes > FLAT
    inverse = directions[:, kept] / sizes[kept] @ directions[:, kept].T
    load = np.abs(directions[:, ~kept]) * np.sqrt(np.diag(complete))[:, None]
    flat = np.zeros(likelihood.size, bool)
    if load.size:
        flat = (load > _LOADED * load.max(axis=0)).any(axis=1)
    weighted = not np.array_equal(likelihood.rows.weight, likelihood.rows.square)
    cluster = likelihood.rows.cluster
    if not (robust or weighted or cluster is not None):
        return Covariance(inverse, flat, OBSERVED, np.inf, np.ones(likelihood.size), inverse)
    crossed = likelihood.crossed(at)
    return sandwich(inverse, crossed, flat, cluster, n=likelihood.n, size=likelihood.outcome_size)


def sandwich(
    inverse: Array,
    crossed: Array,
    flat: Flags,
    cluster: npt.NDArray[np.int64] | None,
    *,
    n: int,
    size: int,
) -> Covariance:
    """Return the covariance of `size` estimates from the products of n rows' or clusters' scores.

    `inverse` is that of the information, `crossed` has the sums of the products.
    """
    units = n if cluster is None else len(np.unique(cluster))
    matrix = inverse @ crossed @ inverse * (units / max(units - 1, 1))
    own = np.diag(inverse)
    inflation = np.where(own > 0, np.diag(matrix) / np.where(own > 0, own, 1.0), 1.0)
    if cluster is None:
        return Covariance(matrix, flat, SANDWICH, np.inf, inflation, inverse)
    freedom = float(max(units - size, 1))
    return Covariance(matrix, flat, CLUSTERED, freedom, inflation, inverse)


def expected_errors(likelihood: Likelihood, even: Sequence[Array] | None = None) -> Array:
    """Return the standard errors of the outcome's parameters if nothing depended on anything.

    All categories of the outcome and all combinations of perturbed predictors are taken as alike,
    and the information is its expectation over the records that there would be: so they are known
    before the answers are. inf where the records would say nothing. With `even` they are those of
    records that tell so much of two answers (:meth:`Likelihood.expected`).
    """
    expected, complete = likelihood.expected(even)
    sizes, directions = eigh(expected, complete)
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = np.where(sizes > FLAT, 1 / np.maximum(sizes, FLAT), np.inf)
        squares = np.square(directions)
        variance = np.where(squares > 0, squares * inverse, 0.0).sum(axis=1)
    design_effect = likelihood.rows.square.sum() / likelihood.total
    return np.asarray(np.sqrt(variance * design_effect)[: likelihood.outcome_size])


def telling_epsilon(sample: Likelihood, total: float) -> float | None:
    """Return by how many times a larger epsilon of each question would tell all slopes.

    Rounded up to two digits; None where no epsilon is known to do it, as of laws that are tables.

    The sample is of all rows, or of many; `total` is the weight of all.
    """
    oracles = [unit.oracle for unit in sample.units if unit.oracle is not None]
    if not oracles or len(oracles) < len(sample.units):
        return None
    family, wide = sample.family, spreads(sample)
    places = [place for place, one in enumerate(family.coefficients) if _slope(one, family.columns)]
    factor = np.array([wide[family.coefficients[place].column or 0] for place in places])
    factor *= np.sqrt(sample.total / total)

    def tells(times: float) -> bool:
        even = [
            _even(unit, oracle, times) for unit, oracle in zip(sample.units, oracles, strict=True)
        ]
        return bool((expected_errors(sample, even)[places] * factor <= NOISY).all())

    low, high = 1.0, min(_MOST_TIMES, *(float(EPSILON_MAX / one.epsilon) for one in oracles))
    if high <= low or not tells(high):
        return None
    while high / low > 1.02:
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if tells(middle) else (middle, high)
    step = 0.1 if high < 10 else 1.0
    return float(round(np.ceil(high / step) * step, 1))


def _even(unit: Unit, oracle: FrequencyOracle, times: float) -> Array:
    """Return what records of a unit's protocol at another epsilon would tell of two answers."""
    epsilon = f"{float(oracle.epsilon) * times:.6f}"
    other = create(oracle.name, k=oracle.k, epsilon=epsilon)
    if unit.cells is not None:
        return even_products_of_cells(other, unit.cells)
    rng = np.random.default_rng(20_262)
    records = perturb(other, rng.integers(0, other.k, _DRAWN), rng)
    patterns, places = patterns_of(other, records)
    return patterns.even_products(places, np.ones(_DRAWN))


def spreads(likelihood: Likelihood) -> Array:
    """Return by how much each column changes: 1, or a standard deviation of numbers."""
    design = likelihood.design
    sizes = likelihood.group_sizes
    found = []
    for place, column in enumerate(likelihood.family.columns):
        if column.dummy:
            found.append(1.0)
            continue
        x = design.u[:, place][:, None] * design.v[:, place]
        share = np.broadcast_to((sizes / sizes.sum() / x.shape[1])[:, None], x.shape)
        mean = float((share * x).sum())
        found.append(float(np.sqrt((share * np.square(x - mean)).sum())) or 1.0)
    return np.array(found)


def expected_of_slopes(likelihood: Likelihood, sample: Likelihood) -> dict[int, float]:
    """Return, by parameter, expected errors, of a sample of rows, to be compared with `NOISY`."""
    family, wide = likelihood.family, spreads(likelihood)
    errors = expected_errors(sample) * np.sqrt(sample.total / likelihood.total)
    return {
        place: float(errors[place] * wide[one.column])
        for place, one in enumerate(family.coefficients)
        if one.column is not None and _slope(one, family.columns)
    }


def coefficients(
    likelihood: Likelihood,
    maximum: Maximum,
    known: Covariance,
    *,
    confidence: float,
    expected_of: Mapping[int, float],
    bias: Array | None = None,
    changes: Array | None = None,
    tell: Callable[[], object] | None = None,
) -> list[Coefficient]:
    """Return the coefficients of the outcome's model.

    `bias` f64[outcome_size] is taken off estimates with Wald's intervals; `changes`
    f64[outcome_size, 2] are those of their variances to both sides
    (:mod:`hushpoll_analysis.regression.variances`). `tell` is called at each point of a profile.
    """
    family = likelihood.family
    z = known.quantile(confidence)
    slopes = list(expected_of)
    # where one slope is too noisy the others are far from normal, too
    without = no_sets(likelihood)
    untold = likelihood.c > 1 and any(one > TRUSTED for one in expected_of.values())
    all_sets = untold or (not without and any(one > NOISY for one in expected_of.values()))
    together = known.quantile(confidence ** (1 / max(len(slopes), 1)))
    found = []
    for place, one in enumerate(family.coefficients):
        slope = place in slopes
        column = None if one.column is None else family.columns[one.column]
        expected = expected_of.get(place)
        estimate = float(maximum.parameters[place] - (0.0 if bias is None else bias[place]))
        error = float(np.sqrt(known.matrix[place, place]))
        flat = bool(known.flat[place])
        noisy = expected is not None and (expected > NOISY or flat or all_sets)
        varies = None
        if not flat and error:
            varies = Variance(estimate, error, *((1.0, 1.0) if changes is None else changes[place]))
        statistic = None if varies is None else varies.distance()
        limits, far = (
            [
                (None if flat else estimate) if varies is None else varies.end(quantile, side)
                for side in (-1, 1)
            ]
            for quantile in (z, together)
        )
        p_value = None if statistic is None else known.p_value(statistic)
        method = WALD
        if untold or (noisy and without):
            method, statistic, p_value = UNTOLD if untold else TOO_LARGE, None, None
            limits, far = [None, None], [None, None]
        elif noisy:
            method = PROFILE
            less = float(known.inflation[place])
            limits, far = (
                [
                    profile(likelihood, maximum, place, less * square / 2, side, tell)
                    for side in (-1, 1)
                ]
                for square in (z * z, together**2)
            )
            ratio = likelihood_ratio(likelihood, maximum, np.array([place])) / less
            statistic = float(np.sqrt(ratio) * (1 if estimate > 0 else -1))
            p_value = known.p_value(statistic)
        found.append(
            Coefficient(
                name=one.name,
                term=column.term if column is not None else "threshold",
                category=one.category if family.predictors > 1 else None,
                estimate=None if flat else estimate,
                standard_error=None if flat else error,
                statistic=statistic,
                p_value=p_value,
                lower=limits[0],
                upper=limits[1],
                method=method,
                simultaneous_lower=far[0] if slope else None,
                simultaneous_upper=far[1] if slope else None,
                expected_standard_error=expected
                if expected is None or np.isfinite(expected)
                else None,
                bias=None if bias is None else float(bias[place]),
            )
        )
    return found


def no_sets(likelihood: Likelihood) -> bool:
    """Return whether a fit is too large for sets of the profile likelihood."""
    work = float(len(likelihood.rows.group)) * likelihood.size**2 * likelihood.outcome_size
    return likelihood.prior > 0 or work > SETS_WORK


def likelihood_ratio(
    likelihood: Likelihood,
    maximum: Maximum,
    places: npt.NDArray[np.int64],
    value: float = 0.0,
) -> float:
    """Return twice the fall of the log-likelihood where some parameters are 0, or a value."""
    fixed = np.zeros(likelihood.size, bool)
    fixed[places] = True
    best = -np.inf
    # from the maximum the climb may end at a lower one, and the ratio would be too large
    starts = [maximum.parameters] if likelihood.convex else [maximum.parameters, maximum.origin]
    for start in starts:
        begin = np.where(fixed, value, start)
        if np.isfinite(likelihood.value(begin)):
            best = max(best, climb(likelihood, begin, fixed=fixed).slopes.value)
    return max(0.0, 2 * (maximum.slopes.value - best))


def tests(
    likelihood: Likelihood,
    maximum: Maximum,
    known: Covariance,
    *,
    estimates: Array,
    table: Sequence[Coefficient],
    ratios: bool,
) -> list[Test]:
    """Return the tests of each term, and of all slopes together; none where slopes are untold.

    A term with one coefficient has the test of its row of `table`. Likelihood ratios fit the model
    once more for each test; they hold without weights and clusters alone.
    """
    family = likelihood.family
    found: list[Test] = []
    if any(one.method == UNTOLD for one in table):
        return found
    columns = (
        None if one.column is None else family.columns[one.column] for one in family.coefficients
    )
    for term, places in tested(columns):
        chosen = np.array(places)
        own = table[places[0]]
        if len(places) == 1 and own.method == WALD and own.statistic is not None:
            square = own.statistic**2
            found.append(Test(term, WALD, square, 1, known.p_of_square(square, 1)))
        elif not known.flat[chosen].any():
            found += wald(term, estimates[chosen], known, chosen)
        if ratios and known.kind == OBSERVED:
            statistic = likelihood_ratio(likelihood, maximum, chosen)
            p = float(stats.chi2.sf(statistic, len(places)))
            found.append(Test(term, "likelihood ratio", statistic, len(places), p))
    return found


def tested(columns: Iterable[Column | None]) -> list[tuple[str, list[int]]]:
    """Return the places of the slopes of each term, and of all, from all coefficients' columns."""
    by_term: dict[str, list[int]] = {}
    for place, column in enumerate(columns):
        if column is not None and column.parts:
            by_term.setdefault(column.term, []).append(place)
    parts = list(by_term.items())
    if len(parts) > 1:
        parts.append(("all slopes", [place for _, places in parts for place in places]))
    return parts


def wald(
    term: str, values: Array, known: Covariance, places: npt.NDArray[np.int64]
) -> Iterator[Test]:
    """Yield Wald's test that coefficients are 0, where their covariance has an inverse."""
    inverse = covariance_of(known.matrix[np.ix_(places, places)])
    if inverse is not None:
        statistic = float(values @ inverse @ values)
        yield Test(term, "Wald", statistic, len(places), known.p_of_square(statistic, len(places)))


def _slope(one: object, columns: Sequence[Column]) -> bool:
    column = getattr(one, "column", None)
    return column is not None and bool(columns[column].parts)
