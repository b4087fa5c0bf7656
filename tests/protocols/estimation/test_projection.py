"""Projections against brute force over supports, and their defining properties."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushpoll_protocols import InvalidParameter
from hushpoll_protocols.estimation.projection import project_simplex
from studies.norm_sub import norm_sub

FUNCTIONS = (project_simplex, norm_sub)

estimates = st.lists(st.floats(-3, 3), min_size=1, max_size=40).map(np.array)
short_estimates = st.lists(st.floats(-3, 3), min_size=1, max_size=6).map(np.array)


def nearest_by_enumeration(frequency: np.ndarray) -> np.ndarray:
    """Try every set of coordinates that could be positive; the best feasible point is nearest."""
    best, distance = frequency, math.inf
    places = range(len(frequency))
    for size in range(1, len(frequency) + 1):
        for kept in map(list, combinations(places, size)):
            point = np.zeros(len(frequency))
            point[kept] = frequency[kept] + (1 - frequency[kept].sum()) / size
            if point.min() >= 0 and np.sum((point - frequency) ** 2) < distance:
                best, distance = point, np.sum((point - frequency) ** 2)
    return best


def norm_sub_as_published(frequency: np.ndarray) -> np.ndarray:
    """Zero the negatives and shift the positives to the sum 1, again and again."""
    current = np.maximum(frequency, 0)
    for _ in range(len(frequency) + 1):
        positive = current > 0
        current[positive] += (1 - current.sum()) / positive.sum()
        if (current >= 0).all():
            break
        current = np.maximum(current, 0)
    return current


@given(short_estimates)
def test_projection_is_the_nearest_point(frequency):
    assert project_simplex(frequency) == pytest.approx(nearest_by_enumeration(frequency), abs=1e-12)


@given(estimates)
def test_norm_sub_is_the_published_procedure(frequency):
    if (frequency > 0).any():
        expected = norm_sub_as_published(frequency)
        # Stopping may be decided by the last digit of a value at 0.
        assert norm_sub(frequency) == pytest.approx(expected, abs=1e-12)


@given(estimates)
def test_both_return_frequencies_and_keep_the_order(frequency):
    for function in FUNCTIONS:
        before = frequency.copy()
        result = function(frequency)
        assert np.array_equal(frequency, before)
        assert result.dtype == np.float64
        assert (result >= 0).all()
        assert result.sum() == pytest.approx(1, abs=1e-12)
        order = np.argsort(frequency, kind="stable")
        assert (np.diff(result[order]) >= 0).all()


@given(estimates)
def test_both_leave_frequencies_alone(frequency):
    for function in FUNCTIONS:
        once = function(frequency)
        assert function(once) == pytest.approx(once, abs=1e-12)


@given(estimates)
def test_they_agree_where_the_positive_estimates_reach_1(frequency):
    if frequency[frequency > 0].sum() >= 1:
        assert norm_sub(frequency) == pytest.approx(project_simplex(frequency), abs=1e-12)


@pytest.mark.parametrize(
    ("frequency", "projected", "shifted"),
    [
        ([0.5, 0.5], [0.5, 0.5], [0.5, 0.5]),
        ([1.5, -0.5], [1, 0], [1, 0]),
        ([1.0, 0.5, -0.25], [0.75, 0.25, 0], [0.75, 0.25, 0]),
        # Positive estimates that sum to less than 1: only norm-sub keeps the negative one at 0.
        ([0.5, -0.25], [0.875, 0.125], [1, 0]),
        ([0.25, 0.25, 0.0], [5 / 12, 5 / 12, 1 / 6], [0.5, 0.5, 0]),
        ([0.0, 0.0], [0.5, 0.5], [0.5, 0.5]),
        ([-1.0, -1.0, -9.0], [0.5, 0.5, 0], [0.5, 0.5, 0]),
        ([7.0], [1], [1]),
        # The first shift leaves 0.25 below zero, and a second one is needed.
        ([2.0, 0.25, 0.125], [1, 0, 0], [1, 0, 0]),
    ],
)
def test_by_hand(frequency, projected, shifted):
    assert project_simplex(frequency) == pytest.approx(projected, abs=1e-15)
    assert norm_sub(frequency) == pytest.approx(shifted, abs=1e-15)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("offset", [1e6, -1e6, 1e12])
def test_estimates_of_a_tiny_epsilon_do_not_lose_the_sum(function, offset):
    noisy = offset * np.array([1.0, -0.5, 0.25, 1.0])
    result = function(noisy)
    assert result.sum() == pytest.approx(1, abs=1e-12)
    assert result == pytest.approx([0.5, 0, 0, 0.5] if offset > 0 else [0, 1, 0, 0], abs=1e-12)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("wrong", [[], [[0.5, 0.5]], 1.0, [0.5, math.nan], [math.inf, 0.5]])
def test_only_a_finite_vector_is_projected(function, wrong):
    with pytest.raises(InvalidParameter) as caught:
        function(wrong)
    assert caught.value.field == "frequency"
