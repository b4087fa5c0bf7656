"""The share of the respondents in a set of categories, with the interval of an estimate.

The weight of a set is the sum of those of its categories, so its share is the sum of their
estimates. The interval is that of estimates (:mod:`hushpoll_protocols.estimation.score`), with the
variance and the skewness that the law gives the weight of the set.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.interval import Interval
from hushpoll_analysis.estimates.joint import Side, debiased_means
from hushpoll_analysis.estimates.weight_law import weight_products
from hushpoll_analysis.records.laws import law_of
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_protocols.estimation.marginals import AnyLaw, UnevenSets, members_of, oracle_of
from hushpoll_protocols.estimation.score import score_limits
from hushpoll_protocols.estimation.weights import WeightLaw
from hushpoll_shared.survey.questions.attributes import PublishedAttribute

Array = npt.NDArray[np.float64]


def group_share(
    attribute: PublishedAttribute,
    support: npt.NDArray[np.int64],
    n: int,
    codes: Sequence[int],
    *,
    confidence: float,
) -> Interval:
    """Return the share of the respondents in a set of categories: at least one and not all."""
    (share,) = shares_of_sets(attribute, support, n, [codes], confidence=confidence)
    return share


def shares_of_sets(
    attribute: PublishedAttribute,
    support: npt.NDArray[np.int64],
    n: int,
    sets: Sequence[Sequence[int]],
    *,
    confidence: float,
) -> list[Interval]:
    """Return the share of each of several sets; limits of sets of a size are found together."""
    return shares_by_law(law_of(attribute), support, n, sets, confidence=confidence)


def shares_by_law(
    protocol: AnyLaw | None,
    support: npt.NDArray[np.int64],
    n: int,
    sets: Sequence[Sequence[int]],
    *,
    confidence: float,
) -> list[Interval]:
    """Return the shares of sets of what one law describes: categories, or cells of a block."""
    z, law = normal_quantile(confidence), WeightLaw.of(protocol)
    debiased = debiased_means(support, n, Side.of(protocol))
    frequencies = law.frequencies(debiased)
    if isinstance(protocol, UnevenSets):
        # a set of categories is a set of values, whose weights are those of the protocol
        law, members, k = WeightLaw.of(protocol.oracle), protocol.sizes, protocol.oracle.k
        protocol = protocol.oracle
    else:
        members, k = (1,) * len(support), len(support)
    scale = float(1.0 + law.slope * (debiased.sum() - 1.0 if law.varies else 0.0))
    sizes = [sum(members[code] for code in codes) for codes in sets]
    shares: dict[int, Interval] = {}
    for size in sorted(set(sizes)):
        places = [place for place, other in enumerate(sizes) if other == size]
        values = np.array([frequencies[list(sets[place])].sum() for place in places])
        c0, c1, c2 = _coefficients(protocol, k, size)
        limits = score_limits(
            values,
            n,
            variance=(np.asarray(c0), np.asarray(c1), np.asarray(c2)),
            z=z,
            scale=scale,
            third=partial(law.third_moment, size=size) if law.varies else None,
        )
        at = np.clip(values, 0.0, 1.0)
        errors = np.sqrt(np.maximum(c0 + c1 * at + c2 * np.square(at), 0.0) / n) / scale
        for place, *numbers in zip(places, values, errors, *limits, strict=True):
            shares[place] = Interval(*(float(number) for number in numbers))
    return [shares[place] for place in range(len(sets))]


def _coefficients(protocol: AnyLaw | None, k: int, size: int) -> tuple[float, float, float]:
    """Return c0, c1 and c2 of the variance of the weight of a set of so many categories."""
    law = WeightLaw.of(protocol)
    if law.varies:
        return law.variance_coefficients(size)
    inside, outside = weight_variances(protocol, k, range(size))
    return outside, 1.0 + inside - outside, -1.0


def weight_variances(
    law: AnyLaw | None, k: int, codes: Sequence[int], frequency: float = 0.5
) -> tuple[float, float]:
    """Return the variance of a set's weight where the truth is in the set, and where it is not.

    The frequency of the set plays a part only where the size of the support varies.
    """
    if len(codes) == k:
        return 0.0, 0.0
    members = members_of(law, k)
    size = sum(members[code] for code in codes)
    sizes = [size, sum(members) - size]
    products = weight_products(oracle_of(law), sizes, [frequency, 1 - frequency])
    return float(products[0, 0, 0]) - 1.0, float(products[1, 0, 0])
