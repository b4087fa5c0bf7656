"""The law of every protocol: enumerated over every record, and derived from the code that draws."""

from __future__ import annotations

import pytest
from conformance import (
    check_epsilon,
    check_fakes,
    check_law,
    check_other_support,
    check_randomize,
    check_supports,
    prefix_size,
)

from hushpoll_protocols import PROTOCOLS, FrequencyOracle, create

EPSILONS = ["0.000001", "0.3", "1", "3.7", "6", "64"]


def _small(name: str, epsilon: str) -> list[FrequencyOracle]:
    oracles = [create(name, k=k, epsilon=epsilon) for k in (2, 3, 4, 5)]
    # With a hash, a record's law has as many entries as buckets (here up to 65536) at any k.
    if prefix_size(oracles[0]):
        return oracles[:1] if oracles[0].parameters.get("g") == 65536 else oracles[1:2]
    return oracles


@pytest.mark.no_cover
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", PROTOCOLS)
def test_probability_over_every_record_is_the_law_of_p_q_and_epsilon(
    name: str, epsilon: str
) -> None:
    for oracle in _small(name, epsilon):
        check_law(oracle)
        check_epsilon(oracle)


@pytest.mark.no_cover
@pytest.mark.parametrize("epsilon", ["0.3", "3.7"])
@pytest.mark.parametrize("name", PROTOCOLS)
def test_probability_over_every_record_of_nine_values(name: str, epsilon: str) -> None:
    oracle = create(name, k=9, epsilon=epsilon)
    check_law(oracle, seeds=4)
    check_epsilon(oracle)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", PROTOCOLS)
def test_randomize_draws_from_probability_exactly(name: str, epsilon: str) -> None:
    for oracle in _small(name, epsilon):
        if oracle.parameters.get("g") == 65536:
            # As many ways as buckets, all alike: fewer buckets show the same code.
            oracle = create(name, k=oracle.k, epsilon=epsilon, g=1000)
        check_randomize(oracle)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_randomize_draws_from_probability_exactly_over_nine_values(name: str) -> None:
    # Both ends of the domain; the last is the first bit of a second byte.
    check_randomize(create(name, k=9, epsilon="0.3"), [0, 8])


@pytest.mark.parametrize(
    ("name", "k", "parameters"),
    [
        ("SS", 5, {"omega": 1}),
        ("SS", 5, {"omega": 4}),
        ("SS", 6, {"omega": 3}),
        ("OLH", 3, {"g": 2}),
        ("OLH", 3, {"g": 7}),
        ("THE", 3, {"theta": "0.5001"}),
        ("THE", 3, {"theta": "0.9999"}),
    ],
)
def test_law_holds_for_parameters_that_a_manifest_chose(
    name: str, k: int, parameters: dict[str, object]
) -> None:
    for epsilon in ("0.000001", "1.5", "64"):
        oracle = create(name, k=k, epsilon=epsilon, **parameters)
        check_law(oracle)
        check_epsilon(oracle)
        check_randomize(oracle)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_other_values_are_supported_with_q_over_hash_seeds(name: str) -> None:
    for k in (2, 5):
        check_other_support(create(name, k=k, epsilon="1"))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", PROTOCOLS)
def test_sizes_and_covariances_of_supports_are_those_of_every_record(
    name: str, epsilon: str
) -> None:
    for oracle in _small(name, epsilon):
        check_supports(oracle)


@pytest.mark.parametrize("omega", [1, 2, 4, 5])
def test_covariances_hold_for_every_size_of_subset(omega: int) -> None:
    check_supports(create("SS", k=6, epsilon="1.5", omega=omega))


@pytest.mark.parametrize("name", PROTOCOLS)
def test_fakes_are_well_formed_and_support_their_value(name: str) -> None:
    for k in (2, 5, 9):
        check_fakes(create(name, k=k, epsilon="1"))
