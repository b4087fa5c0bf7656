"""Local hashing: its hash family is pairwise independent, and OLH's g has the least variance."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from exact_law import Q

from hushpoll_protocols import create
from hushpoll_protocols.oracles.local_hashing import bucket, finalise


def test_finaliser_is_murmurs() -> None:
    # fmix32 of MurmurHash3 (Appleby, public domain), from its definition on unsigned 32-bit words.
    codes = np.arange(65536, dtype=np.uint32)
    h = codes.copy()
    with np.errstate(over="ignore"):
        h ^= h >> np.uint32(16)
        h *= np.uint32(0x85EBCA6B)
        h ^= h >> np.uint32(13)
        h *= np.uint32(0xC2B2AE35)
        h ^= h >> np.uint32(16)
    assert [finalise(code) for code in range(65536)] == h.tolist()
    assert finalise(1) == 0x514E28B7
    assert finalise(0) == 0


def test_finaliser_is_a_bijection() -> None:
    def inverse(h: int) -> int:
        h ^= h >> 16
        h = h * pow(0xC2B2AE35, -1, 1 << 32) & 0xFFFFFFFF
        h ^= h >> 13 ^ h >> 26
        h = h * pow(0x85EBCA6B, -1, 1 << 32) & 0xFFFFFFFF
        return h ^ h >> 16

    drawn = random.Random(32)
    for code in (0, 1, 65535, 0xFFFFFFFF, *(drawn.getrandbits(32) for _ in range(2000))):
        assert inverse(finalise(code)) == code


@pytest.mark.parametrize("g", [2, 3, 4, 17, 65535, 65536])
def test_every_pair_of_hashes_comes_from_equally_many_seeds(g: int) -> None:
    """Let x = m(v), x' = m(v') and 2^t the largest power of 2 that divides x - x', so t <= 31.

    The seeds (a, b) with a*x + b = u and a*x' + b = u' are exactly 2^t for each (u, u') congruent
    modulo 2^t, and none otherwise. So the upper 32 bits of u and u' are independent and uniform.
    """
    drawn = random.Random(g)
    for v, other in ((0, 1), (1, 0), (0, 65535), (73, 12), (40000, 40001), *_far_pairs()):
        x, y = finalise(v), finalise(other)
        t = ((x - y) & -(x - y)).bit_length() - 1
        assert 0 <= t <= 31
        for _ in range(40):
            i, j = drawn.randrange(g), drawn.randrange(g)
            # Any upper halves that fall into buckets i and j, with lower bits that may follow.
            u = drawn.choice(_halves(i, g)) << 32 | drawn.getrandbits(32)
            w = drawn.choice(_halves(j, g)) << 32 | drawn.getrandbits(32)
            w = w >> t << t | u % (1 << t)
            a = (u - w >> t) * pow(x - y >> t, -1, Q >> t) % (Q >> t)
            for lift in {0, (1 << t) - 1}:
                seed = a + lift * (Q >> t)
                b = (u - seed * x) % Q
                assert (seed * y + b) % Q == w
                assert bucket(seed, b, v, g) == i
                assert bucket(seed, b, other, g) == j


def _far_pairs() -> list[tuple[int, int]]:
    # Pairs whose images share their low bits: t is large.
    last = {finalise(v) % 8192: v for v in range(65536)}
    pairs = [(v, last[finalise(v) % 8192]) for v in range(40)]
    return [(v, other) for v, other in pairs if v != other]


def _halves(i: int, g: int) -> list[int]:
    """The smallest and largest 32-bit number that falls into bucket i."""
    return [-(-(i << 32) // g), -(-((i + 1) << 32) // g) - 1]


@pytest.mark.parametrize("g", [2, 3, 17, 1000, 65535, 65536])
def test_buckets_are_equal_up_to_one_part_in_2_to_32(g: int) -> None:
    starts = [-(-(i << 32) // g) for i in range(g + 1)]
    sizes = {end - start for start, end in pairwise(starts)}
    assert sizes <= {(1 << 32) // g, (1 << 32) // g + 1}
    for i in (0, 1, g // 2, g - 1):
        for half in _halves(i, g):
            assert bucket(0, half << 32, 0, g) == i
            assert bucket(0, half << 32 | 0xFFFFFFFF, 0, g) == i


@pytest.mark.parametrize("epsilon", ["0.000001", "0.7", "3"])
@pytest.mark.parametrize("g", [2, 3, 7, 21, 64])
def test_q_is_1_over_g_up_to_far_less_than_2_to_minus_32(g: int, epsilon: str) -> None:
    oracle = create("OLH", k=5, epsilon=epsilon, g=g)
    lie = Fraction(oracle.thresholds["R"], Q)
    sizes = [Fraction(-(-((i + 1) << 32) // g) - -(-(i << 32) // g), 1 << 32) for i in range(g)]
    # Hashes of two values are independent, each with these bucket probabilities.
    exact = sum(
        sizes[i] * sizes[j] * (oracle.p if i == j else lie) for i in range(g) for j in range(g)
    )
    assert sum(sizes) == 1
    # Each bucket is off by less than 2^-32, and only the squares of that matter. The factor p - lie
    # keeps the estimator's bias as small at any epsilon.
    assert 0 <= exact - oracle.q <= (oracle.p - lie) * Fraction(g, Q)
    if math.log2(g).is_integer():
        assert exact == oracle.q


def _variance(k: int, epsilon: str, g: int) -> Fraction:
    return create("OLH", k=k, epsilon=epsilon, g=g).variance(Fraction(1, k))


def _chosen(k: int, epsilon: str) -> int:
    g = create("OLH", k=k, epsilon=epsilon).parameters["g"]
    assert isinstance(g, int)
    return g


@pytest.mark.parametrize("epsilon", ["0.000001", "0.1", "0.5", "1", "1.5", "2.3", "3", "4.1"])
@pytest.mark.parametrize("k", [2, 3, 5, 74, 65536])
def test_no_number_of_buckets_has_less_variance(k: int, epsilon: str) -> None:
    everything = range(2, 3 + 3 * math.ceil(math.exp(float(epsilon))))
    assert _chosen(k, epsilon) == min(everything, key=lambda g: _variance(k, epsilon, g))


@pytest.mark.parametrize(
    ("k", "epsilon"),
    [
        *((2, epsilon) for epsilon in ("16", "20", "21.9", "22.1", "22.1807", "22.2", "23", "45")),
        *((3, epsilon) for epsilon in ("21.4", "21.48", "21.49", "22", "64")),
        *((74, epsilon) for epsilon in ("12", "17.88", "17.9", "18")),
        *((65536, epsilon) for epsilon in ("10", "11.4", "11.44", "11.5", "30")),
    ],
)
def test_large_epsilon_is_given_the_least_variance_although_thresholds_are_coarse(
    k: int, epsilon: str
) -> None:
    chosen = _chosen(k, epsilon)
    near = range(max(2, chosen - 40), min(65536, chosen + 40) + 1)
    others = (2, 3, chosen // 4 + 2, chosen // 2 + 2, min(chosen * 2, 65536), 65535, 65536)
    assert chosen == min(sorted({*near, *others}), key=lambda g: _variance(k, epsilon, g))


@pytest.mark.parametrize(
    ("k", "epsilon", "g"),
    [
        (74, "0.000001", 2),
        (74, "0.25", 2),
        (74, "0.5", 3),
        (74, "1", 4),
        (74, "2", 8),
        (74, "4", 42),
        (2, "0.5", 2),
        (2, "1", 3),
        (2, "4", 8),
        (5, "4", 15),
        (65536, "4", 56),
        (2, "22.18", 65514),
        (2, "64", 65536),
    ],
)
def test_buckets_by_domain_and_epsilon(k: int, epsilon: str, g: int) -> None:
    assert _chosen(k, epsilon) == g


@pytest.mark.parametrize(
    ("k", "epsilon", "formula", "saved"),
    [(65536, "0.5", 2, 5.1), (74, "1", 3, 1.8), (5, "4", 55, 27.4), (2, "4", 55, 47.4)],
)
def test_buckets_save_the_variance_that_the_rounded_formula_costs(
    k: int, epsilon: str, formula: int, saved: float
) -> None:
    """Per cent less than with floor(e^epsilon + 1)."""
    ratio = _variance(k, epsilon, _chosen(k, epsilon)) / _variance(k, epsilon, formula)
    assert round(100 * (1 - float(ratio)), 1) == saved
