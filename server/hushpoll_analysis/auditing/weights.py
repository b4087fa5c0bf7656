"""The weights of an audit's rows: those of the estimates, so that both give the same shares.

The maths is in :mod:`hushpoll_protocols.estimation.weights`. The respondent's other records say
nothing of the excess either, so the weights stay unbiased when predictions and labels are
multiplied in.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.channel import Channel
from hushpoll_analysis.records.counts import count
from hushpoll_analysis.records.records import Records
from hushpoll_protocols.estimation.frequencies import estimate_proportion
from hushpoll_protocols.estimation.weights import WeightLaw
from hushpoll_shared.survey.attributes import PublishedAttribute


def excess_shares(records: Records, attribute: PublishedAttribute) -> npt.NDArray[np.float64]:
    """Return c, f64[k], which sum to 1, or are 0 where every support has the same size.

    Parameters
    ----------
    records : Records
        At least one.
    attribute : PublishedAttribute
        Perturbed or in clear.
    """
    law = WeightLaw.of(attribute.oracle)
    if not law.varies:
        return np.zeros(attribute.k)
    channel = Channel.of(attribute.oracle)
    support = count(records, only=[attribute.name]).support[attribute.name]
    debiased = estimate_proportion(support, len(records), p=channel.p, q=channel.q).frequency
    return law.excess_shares(debiased)


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
