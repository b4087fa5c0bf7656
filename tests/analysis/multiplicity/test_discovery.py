"""Adjusted p-values against scipy's."""

import numpy as np
import pytest
from scipy.stats import false_discovery_control

from hushpoll_analysis.multiplicity.discovery import adjusted
from hushpoll_protocols.errors import InvalidParameter


@pytest.mark.parametrize("number", [1, 2, 30])
def test_adjusted_p_values_are_scipy_s(number):
    values = np.random.default_rng(number).random(number) ** 3
    assert adjusted(values) == pytest.approx(false_discovery_control(values, method="by"))


def test_no_test_has_no_discovery():
    assert adjusted([]).shape == (0,)


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_value_that_is_no_chance_is_refused(value):
    with pytest.raises(InvalidParameter, match="outside"):
        adjusted([0.5, value])
