"""What is predicted of a lead is what surveys of respondents say, by the analysis itself."""

import itertools

import numpy as np
import pytest

from hushpoll_analysis import ordered_summary
from hushpoll_analysis.planning.expected_leads import (
    Pair,
    lead_sets,
)
from ordered_survey import ordered
from relations_survey import draw

SURVEYS = 50


@pytest.mark.parametrize(
    ("protocol", "k", "missing", "lead"),
    [
        ("GRR", 2, False, 0.15),
        ("SS", 6, True, 0.12),
        ("OLH", 5, True, 0.15),
        ("OUE", 3, False, 0.15),
        (None, 4, False, 0.05),
    ],
)
def test_prediction_is_what_the_analysis_says_of_drawn_respondents(protocol, k, missing, lead):
    published, n = ordered(protocol, k, "2", missing=missing), 600
    share = (1 - lead) / k
    shares = np.full(k + missing, share)
    shares[0] += lead
    shares[k:] = 0.0
    scores, means = [1.0, -1.0, *[0.0] * (k - 2)], []
    for seed in range(SURVEYS):
        _, records = draw(published, shares, n, [5, seed])
        summary = ordered_summary(records, "a", scores=scores, quantiles=[0.5])
        means.append(summary.groups[0].mean)
    pair = Pair(published.attribute("a"), n, share + lead, share)
    found = np.mean([mean.lower > 0 or mean.upper < 0 for mean in means])
    power = lead_sets(pair, 0.95, 6000).share_without_zero()
    assert found == pytest.approx(power, abs=4 * (0.25 / SURVEYS) ** 0.5)
    assert 0.1 < power < 0.9
    widths = np.array([mean.upper - mean.lower for mean in means])
    error = widths.std() / SURVEYS**0.5
    width = lead_sets(pair, 0.95, 6000).mean_width()
    assert widths.mean() == pytest.approx(width, abs=4 * error + 0.001 * width)


@pytest.mark.parametrize("protocol", ["GRR", "SS", "THE", "BLH", None])
def test_drawn_leads_have_the_true_one_as_their_mean(protocol):
    published = ordered(protocol, 5, "3", missing=True)
    sets = lead_sets(Pair(published.attribute("a"), 2000, 0.3, 0.1), 0.95, 3000)
    lead = sets.value[0]
    assert lead.mean() == pytest.approx(0.2, abs=4 * lead.std() / 3000**0.5)


def test_attribute_that_is_taken_as_clear_has_multinomial_counts():
    attribute = ordered("OUE", 3, "1").attribute("a")
    sets = lead_sets(Pair(attribute, 1, 0.5, 0.5, in_clear=True), 0.95, 200)
    assert set(itertools.chain.from_iterable(sets.value.tolist())) == {1.0, -1.0}
