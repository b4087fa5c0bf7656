"""Estimators of one attribute's distribution by name: unbiased, projected, likelihood and shrunk.

`unbiased` is the one to draw conclusions from, and the only one with an interval. The others lower
the error of the whole distribution at the price of a bias of each share, which no interval of
theirs is known to cover; :data:`hushpoll_shared.estimators.ESTIMATOR_TERMS` says so in words. Which
of them has the smaller error is measured in tests/studies/estimators.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.fields import over_others
from hushpoll_analysis.records.laws import law_of
from hushpoll_analysis.records.records import Channel, Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.frequencies import Estimate as WithLimits
from hushpoll_protocols.estimation.frequencies import estimate, estimate_proportion
from hushpoll_protocols.estimation.likelihood import maximum_likelihood
from hushpoll_protocols.estimation.marginals import AnyLaw
from hushpoll_protocols.estimation.projection import project_simplex
from hushpoll_protocols.estimation.shrinkage import shrunk
from hushpoll_shared.estimators import ESTIMATOR_TERMS, UNBIASED, EstimatorTerms
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from hushpoll_shared.survey.randomization.blocks import Block
from hushpoll_shared.survey.randomization.draws import Draw

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """The shares of an attribute's categories by one estimator."""

    estimator: str
    frequency: Array
    """f64[k] in code order. Unbiased ones may lie outside [0, 1]; all sum to 1."""
    standard_error: Array | None = None
    """f64[k], as are the limits; None where the estimator has no interval."""
    lower: Array | None = None
    upper: Array | None = None


@dataclass(frozen=True, slots=True)
class AttributeData:
    """What an estimator works on."""

    attribute: PublishedAttribute
    support: npt.NDArray[np.int64]
    """int64[k]; see :meth:`~hushpoll_analysis.records.counts.Counts.of`."""
    n: int
    confidence: float
    """The intervals' confidence, in (0, 1)."""
    records: Records | None = None
    """The records themselves, for an estimator that needs them."""
    block: Block | None = None
    """Given for a question that is randomised with others."""
    of_block: npt.NDArray[np.int64] | None = None
    """int64[K], the support of its combinations."""
    drawn: Draw | None = None
    """The draw that it is in, of whose blocks those behind these counts answered this one."""


def estimate_by(
    law: AnyLaw | None, support: npt.NDArray[np.int64], n: int, confidence: float
) -> WithLimits:
    """Return the estimates of what a law describes, or of answers in clear, with intervals."""
    if law is None:
        return estimate_proportion(support, n, p=1, q=0, confidence=confidence)
    return estimate(law, support, n, confidence=confidence)


def unbiased(data: AttributeData) -> Estimate:
    """Return the weighted unbiased estimate with its score interval."""
    found = estimate_by(law_of(data.attribute), data.support, data.n, data.confidence)
    return Estimate(UNBIASED, found.frequency, found.standard_error, found.lower, found.upper)


def projected(data: AttributeData) -> Estimate:
    """Return the distribution nearest to the question's own unbiased estimate (Euclidean)."""
    return Estimate("projected", project_simplex(unbiased(data).frequency))


def likelihood(data: AttributeData) -> Estimate:
    """Return the maximum likelihood estimate, of a question in a block the block's, summed."""
    oracle = data.attribute.oracle
    if oracle is None:
        return Estimate("likelihood", data.support / data.n)
    if data.records is None:
        raise InvalidParameter(
            "estimator is 'likelihood', which needs the records themselves; give them, or choose "
            f"one of {', '.join(name for name in ESTIMATORS if not needs_records(name))}",
            field="estimator",
        )
    published = data.records.published
    field = published.layout.field(data.attribute.block or data.attribute.name)
    column = np.ascontiguousarray(data.records.of_field(field))
    return Estimate("likelihood", _of_question(data, maximum_likelihood(oracle, column)))


def empirical_bayes(data: AttributeData) -> Estimate:
    """Return the shrunk estimate, whose strength the counts alone choose, of a block summed."""
    channel = Channel.of(data.attribute.oracle)
    support = data.support if data.of_block is None else data.of_block
    return Estimate("shrunk", _of_question(data, shrunk(support, data.n, p=channel.p, q=channel.q)))


def _of_question(
    data: AttributeData, frequency: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the shares of a question, from those of its block if it is in one with others."""
    if data.block is None:
        return frequency
    return over_others(frequency, data.block, [data.attribute.name])


ESTIMATORS: Final[Mapping[str, Callable[[AttributeData], Estimate]]] = MappingProxyType(
    {
        UNBIASED: unbiased,
        "projected": projected,
        "likelihood": likelihood,
        "shrunk": empirical_bayes,
    }
)
"""By name; what is said of each is in `ESTIMATOR_TERMS`."""


def terms_of(name: str) -> EstimatorTerms:
    """Return what is said of an estimator; refuses another name."""
    if name not in ESTIMATORS:
        raise InvalidParameter(
            f"estimator is {name!r}; it must be one of {', '.join(ESTIMATORS)}", field="estimator"
        )
    return ESTIMATOR_TERMS[name]


def needs_records(name: str) -> bool:
    """Return whether an estimator needs more than the kept counts."""
    return terms_of(name).needs_records
