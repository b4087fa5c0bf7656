"""Samples of `randomize` and of `kernels.perturb` against the law: each bit, both ends, every k."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from conformance import check_counts, check_draws

from hushpoll_protocols import PROTOCOLS, FrequencyOracle, SecureBits, create
from hushpoll_protocols.kernels import perturb

SMALL = [(2, "0.5"), (5, "1"), (8, "3")]


def _perturbed(oracle: FrequencyOracle, value: int, n: int, seed: int) -> list[bytes]:
    rows = perturb(oracle, np.full(n, value), np.random.default_rng([seed, value]))
    return [row.tobytes() for row in rows]


@pytest.mark.no_cover
@pytest.mark.parametrize(("k", "epsilon"), SMALL)
@pytest.mark.parametrize("name", PROTOCOLS)
def test_randomize_with_secure_bits_fits_the_law(name: str, k: int, epsilon: str) -> None:
    oracle, bits = create(name, k=k, epsilon=epsilon), SecureBits()
    for value in (0, k - 1):
        check_draws(oracle, value, [oracle.randomize(value, bits) for _ in range(6000)])


@pytest.mark.parametrize("name", PROTOCOLS)
def test_randomize_with_secure_bits_fits_the_law_in_every_bit_of_a_wide_record(name: str) -> None:
    oracle, bits = create(name, k=74, epsilon="2"), SecureBits()
    for value in (0, 73):
        check_counts(oracle, value, [oracle.randomize(value, bits) for _ in range(1500)])


@pytest.mark.no_cover
@pytest.mark.parametrize(("k", "epsilon"), SMALL)
@pytest.mark.parametrize("name", PROTOCOLS)
def test_perturb_fits_the_law(name: str, k: int, epsilon: str) -> None:
    oracle = create(name, k=k, epsilon=epsilon)
    for value in {0, k // 2, k - 1}:
        check_draws(oracle, value, _perturbed(oracle, value, 10_000, seed=1))


@pytest.mark.no_cover
@pytest.mark.parametrize("name", PROTOCOLS)
def test_perturb_fits_the_law_in_every_bit_of_a_wide_record(name: str) -> None:
    oracle = create(name, k=74, epsilon="2")
    for value in (0, 7, 8, 63, 64, 73):
        check_counts(oracle, value, _perturbed(oracle, value, 1500, seed=2))


# Faults planted in what `perturb` returns: the samples above are large enough to show them.


def _thresholds_swapped(oracle: FrequencyOracle, value: int, n: int) -> list[bytes]:
    swapped = replace(oracle, P=oracle.thresholds["R"], R=oracle.thresholds["P"])
    return _perturbed(swapped, value, n, seed=3)


def _last_bit_not_randomized(oracle: FrequencyOracle, value: int, n: int) -> list[bytes]:
    last = oracle.k - 1
    rows = np.frombuffer(b"".join(_perturbed(oracle, value, n, seed=3)), np.uint8)
    rows = rows.reshape(n, -1).copy()
    rows[:, last >> 3] &= ~np.uint8(1 << (last & 7))
    rows[:, last >> 3] |= np.uint8((value == last) << (last & 7))
    return [row.tobytes() for row in rows]


def _same_words_for_every_row(oracle: FrequencyOracle, value: int, n: int) -> list[bytes]:
    return _perturbed(oracle, value, 1, seed=3) * n


def _other_value(oracle: FrequencyOracle, value: int, n: int) -> list[bytes]:
    return _perturbed(oracle, (value + 1) % oracle.k, n, seed=3)


def _overspent(oracle: FrequencyOracle, value: int, n: int) -> list[bytes]:
    spent = create(oracle.name, k=oracle.k, epsilon=str(float(oracle.epsilon) * 1.1))
    return _perturbed(spent, value, n, seed=3)


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("plant", [_same_words_for_every_row, _other_value])
def test_faults_of_any_kernel_are_caught(name: str, plant) -> None:
    oracle = create(name, k=5, epsilon="1")
    with pytest.raises(AssertionError):
        check_draws(oracle, 0, plant(oracle, 0, 10_000))


@pytest.mark.parametrize("name", PROTOCOLS)
def test_ten_percent_overspent_by_a_kernel_is_caught(name: str) -> None:
    oracle = create(name, k=5, epsilon="2")
    with pytest.raises(AssertionError):
        check_draws(oracle, 0, _overspent(oracle, 0, 60_000))


@pytest.mark.parametrize("name", ["RAPPOR", "OUE", "THE"])
@pytest.mark.parametrize("plant", [_thresholds_swapped, _last_bit_not_randomized])
@pytest.mark.parametrize("k", [5, 74])
def test_faults_of_bit_kernels_are_caught(name: str, plant, k: int) -> None:
    oracle = create(name, k=k, epsilon="2")
    with pytest.raises(AssertionError):
        check_counts(oracle, 0, plant(oracle, 0, 1500))
