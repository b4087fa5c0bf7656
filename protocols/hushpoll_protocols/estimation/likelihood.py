"""Maximum likelihood frequencies (extra ``kernels``).

A record's likelihood takes two values, so the log-likelihood of frequencies f is, up to a constant,

    L(f) = sum over records z of ln(1/r + (1 - 1/r) * f(S(z))),   r = likelihood_ratio,

concave in f. Expectation-maximisation multiplies each f_v by m_v, the mean over records of the
likelihood at v over the likelihood at f, and never lowers L (iterative Bayesian update: Agrawal and
Aggarwal, PODS 2001; ElSalamouny and Palamidessi, EuroS&P 2020). At any f the maximum is at most
n * ln(max m) above L(f) (Cover, IEEE Trans. Inf. Theory 1984): that bound, not the length of the
last step, decides when to stop.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.errors import HushpollError, refusal_of
from hushpoll_protocols.estimation.projection import project_simplex
from hushpoll_protocols.kernels import indicators, support_counts
from hushpoll_protocols.kernels.blocks import CELLS_PER_BLOCK, read_only, run, spans
from hushpoll_protocols.oracle import FrequencyOracle

_MOST_BLOCKS = 64
"""Each block has k sums of its own, added in order: the result does not depend on the threads."""

_FLATTEST = 1e-16
"""Curvature below which a direction counts as flat; at epsilon 1e-6 it is about 1e-12."""

_ARMIJO = 1e-4
"""Share of the promised gain that a step must make, the usual one."""

_TRIALS = 4
"""Lengths tried before EM goes on alone: where the likelihood is far from round, none may do."""

Floats = npt.NDArray[np.float64]
Supports = npt.NDArray[np.uint8]


class NotConverged(HushpollError):
    """The iteration cap was reached first, after `iterations` passes over the records.

    `frequency`, f64[k], are the best frequencies so far, and `deficit` bounds how far their
    log-likelihood is below the maximum, in nats.
    """

    def __init__(
        self, frequency: Floats, deficit: float, iterations: int, tolerance: float
    ) -> None:
        super().__init__(
            f"the likelihood may still be {deficit:.3g} nats below its maximum after {iterations} "
            f"iterations (tolerance {tolerance:g}); raise max_iterations or the tolerance"
        )
        self.frequency = frequency
        self.deficit = deficit
        self.iterations = iterations


def maximum_likelihood(
    oracle: FrequencyOracle,
    records: npt.NDArray[np.uint8],
    *,
    tolerance: float = 1e-4,
    max_iterations: int = 2_000,
) -> npt.NDArray[np.float64]:
    """Return the frequencies f64[k] under which the records uint8[n, record_size] are likeliest.

    They are in [0, 1] and sum to 1 up to rounding. `tolerance` is the accepted deficit of the whole
    log-likelihood in nats, positive; the default leaves the result within sqrt(2e-4) = 0.014
    standard errors of the maximum. Raises `NotConverged` at the cap, `MalformedRecord`, and
    `InvalidParameter` for no record, a wrong shape or a parameter outside its interval.
    """
    if not tolerance > 0:
        raise refusal_of("tolerance")(
            f"is {tolerance!r}, not positive; give nats of log-likelihood such as 1e-4"
        )
    if max_iterations < 1:
        raise refusal_of("max_iterations")(f"is {max_iterations!r}; give at least 1")
    supports, weights = _grouped(oracle, records)
    if not len(supports):
        raise refusal_of("records")("is empty; give at least one record")
    return _maximise(_Likelihood(oracle, supports, weights), tolerance, max_iterations)


class _Likelihood:
    """The log-likelihood of grouped supports."""

    def __init__(self, oracle: FrequencyOracle, supports: Supports, weights: Floats) -> None:
        self.k = oracle.k
        self.n = float(weights.sum())
        self._supports = read_only(supports)
        self._weights = read_only(weights)
        # Both lie in [0, 1] at every epsilon; the second cancels unless it is taken exactly.
        self._outside = float(1 / oracle.likelihood_ratio)
        self._gain = float(1 - 1 / oracle.likelihood_ratio)

    def deficit(self, multipliers: Floats) -> float:
        """Return the bound n * ln(max m) on the distance to the maximum, in nats."""
        return self.n * float(np.log(max(multipliers.max(), 1.0)))

    def multipliers(self, frequency: Floats) -> tuple[Floats, float]:
        """Return m, shape (k,), and L(frequency)."""
        # Here, so that a server starts without a compiler: the module loads numba.
        from hushpoll_protocols.kernels.likelihood import add_likelihoods

        groups = len(self._supports)
        rows_each = max(CELLS_PER_BLOCK // self.k, -(-groups // _MOST_BLOCKS))
        blocks = list(spans(groups, rows_each))
        sums = np.zeros((len(blocks), self.k + 2))
        prior = read_only(frequency)

        def block(index: int, rows: slice) -> None:
            add_likelihoods(
                self._supports[rows],
                self._weights[rows],
                prior,
                self._outside,
                self._gain,
                sums[index],
            )

        run(partial(block, index, rows) for index, rows in enumerate(blocks))
        total = sums.sum(0)
        supported, inverse, logarithm = total[: self.k], total[self.k], total[self.k + 1]
        return (self._outside * inverse + self._gain * supported) / self.n, float(logarithm)


def _grouped(oracle: FrequencyOracle, records: npt.NDArray[np.uint8]) -> tuple[Supports, Floats]:
    """Return distinct supports and how often each occurs, or all of them where k is large."""
    if oracle.names_one_value:
        counts = support_counts(oracle, records)
        named = np.flatnonzero(counts)
        supports = np.zeros((len(named), oracle.k), np.uint8)
        supports[np.arange(len(named)), named] = 1
        return supports, counts[named].astype(np.float64)
    return distinct_supports(indicators(oracle, records))


def distinct_supports(supports: Supports) -> tuple[Supports, Floats]:
    """Return distinct rows uint8[n, k] of 0 and 1 and their numbers; all rows where k is above 64.

    Of so many categories hardly two records support the same.
    """
    if supports.shape[1] > 64:
        return supports, np.ones(len(supports))
    packed = np.zeros((len(supports), 8), np.uint8)
    bits = np.packbits(supports, axis=1)
    packed[:, : bits.shape[1]] = bits
    _, first, counts = np.unique(
        packed.view(np.uint64)[:, 0], return_index=True, return_counts=True
    )
    return supports[first], counts.astype(np.float64)


def _maximise(likelihood: _Likelihood, tolerance: float, cap: int) -> Floats:
    """Alternate a step of EM with a longer step uphill.

    EM alone needs tens of thousands of passes at a small epsilon. There the likelihood is close to
    a round quadratic, which suits a projected gradient step of spectral length (Birgin, Martinez
    and Raydan, SIAM J. Optim. 2000). At a large epsilon it is round in EM's own metric, where the
    long step is EM's direction, over-relaxed. Which holds is not known, so they take turns; a long
    step is kept only where it raises the likelihood.
    """
    current = np.full(likelihood.k, 1 / likelihood.k)
    multipliers, _ = likelihood.multipliers(current)
    passes = 1
    scaled = False
    while (deficit := likelihood.deficit(multipliers)) > tolerance:
        if passes >= cap:
            raise NotConverged(current, deficit, passes, tolerance)
        before, slope_before = current, multipliers
        current = before * slope_before
        current /= current.sum()
        multipliers, reached = likelihood.multipliers(current)
        passes += 1
        # Up to a constant, which the simplex ignores, the multipliers are the gradient of L/n.
        moved, bent = current - before, slope_before - multipliers
        square = float(moved @ (slope_before - 1)) if scaled else float(moved @ moved)
        curvature = float(moved @ bent) / square if square else 0.0
        length = 1 / max(curvature, _FLATTEST)
        for _ in range(min(_TRIALS, cap - passes)):
            if scaled:
                bold = current + length * current * (multipliers - 1)
            else:
                bold = project_simplex(current + length * multipliers)
            # EM cannot leave 0, so a frequency nears it by a factor and is never set to it.
            bold = np.maximum(bold, current / 100)
            bold /= bold.sum()
            bold_multipliers, bold_reached = likelihood.multipliers(bold)
            passes += 1
            promised = likelihood.n * float(multipliers @ (bold - current))
            if promised > 0 and bold_reached >= reached + _ARMIJO * promised:
                current, multipliers = bold, bold_multipliers
                break
            length /= 8
        scaled = not scaled
    return current
