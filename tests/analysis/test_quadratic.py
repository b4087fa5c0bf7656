"""The score interval's special cases are Wilson's, plain and mapped through a protocol."""

import numpy as np
import pytest
from scipy.stats import binomtest

from hushpoll_analysis.channel import Channel
from hushpoll_analysis.quadratic import score_interval
from hushpoll_protocols import PROTOCOLS, create
from hushpoll_protocols.estimation import estimate_proportion

COUNTS = np.array([0, 1, 17, 200, 399, 400])


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_a_proportion_has_wilsons_interval(confidence):
    share = COUNTS / 400
    _, lower, upper = score_interval(
        share, 400, c0=np.zeros(6), c1=np.ones(6), confidence=confidence
    )
    for place, count in enumerate(COUNTS.tolist()):
        wilson = binomtest(count, 400).proportion_ci(confidence, method="wilson")
        assert (lower[place], upper[place]) == pytest.approx((wilson.low, wilson.high), abs=1e-12)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_debiased_indicator_has_wilsons_interval_mapped(protocol):
    channel = Channel.of(create(protocol, k=5, epsilon="0.9"))
    e = channel.moment_elsewhere
    ours = score_interval(
        (COUNTS / 400 - float(channel.q)) / channel.gap,
        400,
        c0=np.full(6, e),
        c1=np.full(6, channel.moment_at_match - e),
        confidence=0.9,
    )
    theirs = estimate_proportion(COUNTS, 400, p=channel.p, q=channel.q, confidence=0.9)
    # a count of 0 or n leaves a variance of 0, of which rounding keeps some 1e-8
    for found, expected in zip(
        ours, (theirs.standard_error, theirs.lower, theirs.upper), strict=True
    ):
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-7)
