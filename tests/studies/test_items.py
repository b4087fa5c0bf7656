"""One rule each: what stands now covers, is true, or says how far fakes reach."""

import numpy as np
import pytest

from studies.items import bootstrap_item, poisoning_items, power_items

# shares of 20,000 people by group, label and prediction, as LSAC has them
LIKE_LSAC = np.array([[[9, 134], [8, 458]], [[5, 365], [9, 9225]]], dtype=float)


def test_the_bootstrap_covers_where_a_group_may_have_no_positive():
    item = bootstrap_item(surveys=250, seed=3)
    assert item.before < 0.92
    assert item.now > 0.93


def test_the_power_of_audits_of_small_groups_with_rare_positives_is_the_simulated_one():
    """Within .03, and three standard errors of both simulations."""
    items = power_items(surveys=1500, seed=5)
    for item in items:
        simulated = float(item.should.rsplit(", ", 1)[1].split()[0])
        assert item.now == pytest.approx(simulated, abs=0.03 + 3 * (0.25 / 1500 * 2) ** 0.5 * 0.5)
    # what was predicted before was far from what came out
    earlier = items[0]
    assert earlier.before - float(earlier.should.split()[1]) > 0.15


def test_one_percent_of_fakes_makes_a_disparity_and_the_audit_says_that_it_may_be_none():
    (item,) = poisoning_items(LIKE_LSAC)
    genuine = float(item.should.split()[-1])
    assert item.before > genuine + 0.2
    assert item.now == pytest.approx(genuine, abs=0.001)
