"""How often the intervals of an audit cover the truth, in simulated surveys of a known population.

With a protected attribute of two categories and a model fixed beforehand, a row is one of 8 kinds
(group, label, prediction) and its record supports none, one or both categories. An audit sees
nothing else of it. So a survey is one multinomial draw of at most 32 counts, with respondents and
noise drawn anew, and thousands of surveys take a second. The same code then estimates, from the
same moments, as in an audit of rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.auditing.moments import Moments, row_terms, weights
from hushpoll_analysis.auditing.sets import conclusive, disparate, metric_set
from hushpoll_analysis.metrics import combined
from hushpoll_analysis.records.records import Channel
from hushpoll_protocols import FrequencyOracle
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.weights import WeightLaw
from hushpoll_shared.group_metrics import METRICS, RATES
from studies.earlier_rule import ENOUGH, earlier_metric

SURVEYS_AT_A_TIME = 500


@dataclass(frozen=True, slots=True)
class Law:
    """What an audit sees of one row of a population.

    Attributes
    ----------
    label, predicted : int8[m]
        Of each kind of row.
    indicators : uint8[m, 2]
        Support of its record of the protected attribute.
    probability : f64[m]
        Of each kind, summing to 1.
    channel : Channel
        Of the protocol.
    weighting : WeightLaw
        Of the protocol.
    """

    label: npt.NDArray[np.int8]
    predicted: npt.NDArray[np.int8]
    indicators: npt.NDArray[np.uint8]
    probability: npt.NDArray[np.float64]
    channel: Channel
    weighting: WeightLaw

    @classmethod
    def of(cls, population: npt.NDArray[np.float64], oracle: FrequencyOracle) -> Law:
        """Return the law of a row.

        Parameters
        ----------
        population : f64[2, 2, 2]
            Share, or number, of people by group, label and prediction.
        oracle : FrequencyOracle
            Of the protected attribute; k is 2.

        Raises
        ------
        InvalidParameter
            For another shape, a negative share, nobody at all, or a protocol of another k.
        """
        shares = np.asarray(population, dtype=np.float64)
        if shares.shape != (2, 2, 2) or not (shares >= 0).all() or not shares.sum() > 0:
            raise InvalidParameter(
                f"the population has the shape {shares.shape}; give non-negative shares by group, "
                "label and prediction, (2, 2, 2), not all of them 0",
                field="population",
            )
        if oracle.k != 2:
            raise InvalidParameter(
                f"the protocol has k = {oracle.k}; the groups of this simulation are 2", field="k"
            )
        kinds = [
            (label, predicted, support, shares[group, label, predicted] * chance)
            for group, label, predicted in itertools.product((0, 1), repeat=3)
            for support, chance in supports(oracle, group)
        ]
        probability = np.array([kind[3] for kind in kinds])
        return cls(
            label=np.array([kind[0] for kind in kinds], dtype=np.int8),
            predicted=np.array([kind[1] for kind in kinds], dtype=np.int8),
            indicators=np.array([kind[2] for kind in kinds], dtype=np.uint8),
            probability=probability / probability.sum(),
            channel=Channel.of(oracle),
            weighting=WeightLaw.of(oracle),
        )

    def moments(
        self, counts: npt.NDArray[np.float64], n: int, *, debiased_alone: bool = False
    ) -> Moments:
        """Return the moments of surveys from counts, or from shares, f64[..., m] of each kind.

        `debiased_alone` leaves the excess in the weights, to see what its removal gains.
        """
        share = counts / counts.sum(axis=-1, keepdims=True)
        debiased = share @ self.channel.debias(self.indicators)
        excess = self.weighting.excess_shares(debiased)
        if debiased_alone:
            excess = np.zeros(debiased.shape)
        terms = row_terms(
            weights(self.indicators, self.channel, excess[..., None, :]),
            self.predicted,
            ([0], [1]),
            self.label.astype(np.float64),
            1.0 - self.label.astype(np.float64),
        )
        return Moments.weighed(terms, share, n)


def supports(oracle: FrequencyOracle, value: int) -> Iterator[tuple[tuple[int, int], float]]:
    """Yield each support set of a record of one of two values, and its probability.

    GRR and subset selection support exactly one category. In the others the two indicators are
    independent given the value: bits by construction; in local hashing the other category's hash is
    uniform given the value's, hence equal to the report with probability 1/g whatever that is.
    """
    fixed_size = oracle.support_size is not None
    for pair in ((0, 0), (0, 1), (1, 0), (1, 1)):
        if fixed_size and sum(pair) != 1:
            continue
        own = oracle.p if pair[value] else 1 - oracle.p
        other = oracle.q if pair[1 - value] else 1 - oracle.q
        yield pair, float(own if fixed_size else own * other)


def truth(population: npt.NDArray[np.float64]) -> Mapping[str, float]:
    """Return every metric of a population [group, label, prediction]."""
    cells = population.reshape(2, 4)
    rates = [
        {
            name: np.asarray(group @ np.array(rate.hits) / (group @ np.array(rate.rows)))
            for name, rate in RATES.items()
        }
        for group in cells
    ]
    return {
        name: float(
            combined(metric, *([group[rate.name] for rate in metric.rates] for group in rates))
        )
        for name, metric in METRICS.items()
    }


@dataclass(frozen=True, slots=True)
class Coverage:
    """What the confidence sets of one metric did over many surveys.

    Attributes
    ----------
    truth : float
        The population's value.
    covered : float
        Share of all surveys whose set holds the truth; unbounded sets are sets.
    concluded, disparate : float
        Share of all surveys that conclude, and that find a disparity.
    bias, deviation : float
        Mean of the estimates of the surveys that conclude, minus the truth, and their standard
        deviation.
    gain : float or None
        Expected standard error with D alone, over that with weights that sum to one; None where
        one of them is not expected to bound the metric.
    earlier_answered, earlier_covered, earlier_disparate : float
        By the rule of before (:mod:`studies.earlier_rule`): share of all surveys that
        were answered, and of these the shares that covered and that found a disparity; 0 if none.
    """

    truth: float
    covered: float
    concluded: float
    disparate: float
    bias: float
    deviation: float
    gain: float | None
    earlier_answered: float
    earlier_covered: float
    earlier_disparate: float


def coverage(
    population: npt.NDArray[np.float64],
    oracle: FrequencyOracle,
    *,
    respondents: int,
    surveys: int,
    rng: np.random.Generator,
    confidence: float = 0.95,
    names: Collection[str] = tuple(METRICS),
) -> Mapping[str, Coverage]:
    """Draw surveys and count how often the interval of each metric covers the population's value.

    Parameters
    ----------
    population : f64[2, 2, 2]
        People by group, label and prediction.
    oracle : FrequencyOracle
        Of the protected attribute, k = 2.
    respondents, surveys : int
        Rows a survey, and surveys; at least 1 and 2.
    rng : numpy.random.Generator
        Of respondents and noise.
    confidence : float
        In (0, 0.999].
    names : collection of str
        Metrics; all by default.

    Raises
    ------
    InvalidParameter
        As :meth:`Law.of`, or for a number or a confidence out of bounds.
    """
    for name, number, least in (("respondents", respondents, 1), ("surveys", surveys, 2)):
        if number < least:
            raise InvalidParameter(f"{name} is {number}; it must be at least {least}", field=name)
    law = Law.of(population, oracle)
    drawn: dict[str, list[npt.NDArray[np.float64]]] = {name: [] for name in names}
    values = truth(np.asarray(population, dtype=np.float64))
    for start in range(0, surveys, SURVEYS_AT_A_TIME):
        some = min(SURVEYS_AT_A_TIME, surveys - start)
        counts = rng.multinomial(respondents, law.probability, size=some).astype(np.float64)
        moments = law.moments(counts, respondents)
        for name, outcomes in drawn.items():
            outcomes.append(_outcomes(moments, name, values[name], confidence))
    expected = law.moments(law.probability, respondents)
    plain = law.moments(law.probability, respondents, debiased_alone=True)
    return {
        name: _summary(
            values[name],
            np.concatenate(parts, axis=1),
            float(
                metric_set(plain, name, confidence=confidence).standard_error
                / metric_set(expected, name, confidence=confidence).standard_error
            ),
        )
        for name, parts in drawn.items()
    }


def _outcomes(
    moments: Moments, name: str, value: float, confidence: float
) -> npt.NDArray[np.float64]:
    """Return per survey, f64[7, surveys], the estimate and what each rule says of it."""
    estimated = metric_set(moments, name, confidence=confidence)
    now = [
        estimated.value,
        (estimated.lower <= value) & (value <= estimated.upper),
        conclusive(estimated, name),
        disparate(estimated, name),
    ]
    metric = METRICS[name]
    if metric.is_largest:
        # there was no such metric before
        return np.stack([*now, *np.zeros((3, estimated.value.size))])
    earlier = earlier_metric(moments, name, confidence=confidence)
    fair = metric.fair
    return np.stack(
        [
            *now,
            earlier.strength >= ENOUGH,
            (earlier.lower <= value) & (value <= earlier.upper),
            (earlier.lower > fair) | (earlier.upper < fair),
        ]
    )


def _summary(value: float, outcomes: npt.NDArray[np.float64], gain: float) -> Coverage:
    estimate, covered, concluded, unfair, answered, earlier_covered, earlier_unfair = outcomes
    bounded, told = estimate[concluded > 0], answered > 0
    return Coverage(
        truth=value,
        covered=float(covered.mean()),
        concluded=float(concluded.mean()),
        disparate=float(unfair.mean()),
        bias=float(bounded.mean() - value) if bounded.size else 0.0,
        deviation=float(bounded.std()) if bounded.size else 0.0,
        gain=None if math.isnan(gain) else gain,
        earlier_answered=float(told.mean()),
        earlier_covered=float(earlier_covered[told].mean()) if told.any() else 0.0,
        earlier_disparate=float(earlier_unfair[told].mean()) if told.any() else 0.0,
    )
