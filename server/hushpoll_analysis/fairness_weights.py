"""Debiased indicators that sum to one: the weights by which a row counts in each category.

The indicators of one record may support none, some or all categories, so that D sums to 1 only in
expectation. The excess T = sum_v D_v - 1 is noise alone: its expectation is 0 whatever the truth
and whatever the respondent's other records say. So D_v - c_v T is as unbiased as D_v, for any
constants c, and c_v = Cov(I_v, S)/Var(S), S being the size of the support, makes its variance the
smallest (a regression estimator: Cochran, Sampling Techniques, 1977, chapter 7). These c sum to 1,
hence the weights do so in every row. Where every support has the same size (GRR, subset selection,
an attribute in clear) T is 0 and nothing changes.

c is estimated from the same records. As T has mean 0, an error of order n^-1/2 in c moves an
estimate by the order of 1/n only.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.channel import Channel
from hushpoll_analysis.counts import CELLS, chunks
from hushpoll_analysis.decode import indicator_matrix
from hushpoll_shared.attributes import PublishedAttribute
from hushpoll_shared.published import Published


def excess_shares(
    published: Published, records: npt.NDArray[np.uint8], attribute: PublishedAttribute
) -> npt.NDArray[np.float64]:
    """Return c, f64[k], which sum to 1, or are 0 where every support has the same size.

    Parameters
    ----------
    published : Published
        The survey.
    records : uint8[n, L]
        Its well-formed records; read in chunks.
    attribute : PublishedAttribute
        One of its attributes, perturbed or in clear.
    """
    support = np.zeros(attribute.k, dtype=np.int64)
    sizes = np.zeros(attribute.k, dtype=np.int64)
    for chunk in chunks(published, records, max(1, CELLS // attribute.k)):
        indicators = indicator_matrix(published, chunk, attribute)
        size = indicators.sum(axis=1, dtype=np.int64)
        support += indicators.sum(axis=0, dtype=np.int64)
        sizes += size @ indicators
    return shares_from_sums(float(len(records)), support, sizes)


def shares_from_sums(
    n: float, support: npt.NDArray[np.generic], sizes: npt.NDArray[np.generic]
) -> npt.NDArray[np.float64]:
    """Return c from sums over rows, or from expectations with n = 1.

    Parameters
    ----------
    n : float
        Rows.
    support : array[..., k]
        Sum of I_v.
    sizes : array[..., k]
        Sum of I_v S, S being the row's number of supported categories.

    Returns
    -------
    f64[..., k]
        Zero where S does not vary.
    """
    mean = np.asarray(support, dtype=np.float64) / n
    covariance = np.asarray(sizes, dtype=np.float64) / n
    covariance = covariance - mean * mean.sum(axis=-1, keepdims=True)
    variance = covariance.sum(axis=-1, keepdims=True)
    # S is a whole number: a variance that is not 0 is at least (n-1)/n^2, far above rounding
    constant = np.abs(variance) <= 1e-12 * np.square(1 + mean.sum(axis=-1, keepdims=True))
    shares: npt.NDArray[np.float64] = np.where(
        constant, 0.0, covariance / np.where(constant, 1.0, variance)
    )
    return shares


def weights(
    indicators: npt.NDArray[np.uint8], channel: Channel, shares: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return D_v - c_v T, f64[..., k]: its expectation given the truth is the one-hot truth.

    Parameters
    ----------
    indicators : uint8[..., k]
        Support of each record.
    channel : Channel
        Its law.
    shares : f64[..., k]
        The constants c.
    """
    debiased = channel.debias(indicators)
    if not shares.any():
        return debiased
    excess = debiased.sum(axis=-1, keepdims=True) - 1.0
    weight: npt.NDArray[np.float64] = debiased - shares * excess
    return weight
