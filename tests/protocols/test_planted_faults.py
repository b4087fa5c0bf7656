"""The suite sees what it is there to see: each planted fault fails each check that it names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import conformance
import pytest
from conformance import SeededBits
from planted_faults import EVERYWHERE, FAULTS, Fault

from hushpoll_protocols import PROTOCOLS

DRAWS = 30_000


def _draws(oracle: Any, n: int = DRAWS) -> None:
    for value in (oracle.k - 1, 0):
        bits = SeededBits(value)
        records = [oracle.randomize(value, bits) for _ in range(n)]
        conformance.check_draws(oracle, value, records)


CHECKS: dict[str, Callable[[Any], None]] = {
    "check_law": conformance.check_law,
    "check_epsilon": conformance.check_epsilon,
    "check_other_support": conformance.check_other_support,
    "check_randomize": conformance.check_randomize,
    "check_supports": conformance.check_supports,
    "check_fakes": conformance.check_fakes,
    "check_draws": _draws,
}

_CASES: dict[str, Fault] = FAULTS | {
    f"{name}: {what}": Fault(name, plant, checks, epsilon="2")
    for name in PROTOCOLS
    for what, (plant, checks) in EVERYWHERE.items()
}


@pytest.mark.no_cover
@pytest.mark.parametrize("case", _CASES)
def test_fault_is_caught(case: str) -> None:
    fault = _CASES[case]
    for name in fault.checks:
        with pytest.raises(AssertionError):
            CHECKS[name](fault.faulty())


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("protocol", "k", "epsilon", "omega"),
    sorted({(f.protocol, f.k, f.epsilon, bool(f.parameters)) for f in _CASES.values()}),
)
def test_the_same_oracle_without_the_fault_passes(
    protocol: str, k: int, epsilon: str, omega: bool
) -> None:
    parameters = {"omega": 2} if omega else None
    oracle = Fault(protocol, lambda healthy: healthy, (), k, epsilon, parameters).healthy()
    for check in (
        conformance.check_law,
        conformance.check_epsilon,
        conformance.check_other_support,
        conformance.check_supports,
        conformance.check_fakes,
        conformance.check_randomize,
    ):
        check(oracle)
    _draws(oracle)
