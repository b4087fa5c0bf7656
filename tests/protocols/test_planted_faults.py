"""The suite sees what it is there to see: each planted fault fails each check that it names."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import conformance
import pytest
from conformance import SeededBits
from planted_faults import EVERYWHERE, FAULTS, Fault

from hushpoll_protocols import PROTOCOLS

DRAWS = 6000
"""As many as the tests of devices draw (test_sampling.py)."""
MORE_DRAWS = 30_000
"""What shows that a device spends a tenth too much; 6,000 do not."""


def _draws(oracle: Any, n: int = DRAWS) -> None:
    for value in (oracle.k - 1, 0):
        bits = SeededBits(value)
        records = [oracle.randomize(value, bits) for _ in range(n)]
        conformance.check_draws(oracle, value, records)


def _draws_for(case: str) -> int:
    return MORE_DRAWS if "overspent" in case else DRAWS


CHECKS: dict[str, Callable[[Any], None]] = {
    "check_law": conformance.check_law,
    "check_epsilon": conformance.check_epsilon,
    "check_other_support": conformance.check_other_support,
    "check_randomize": conformance.check_randomize,
    "check_supports": conformance.check_supports,
    "check_fakes": conformance.check_fakes,
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
        check = CHECKS.get(name) or partial(_draws, n=_draws_for(case))
        with pytest.raises(AssertionError):
            check(fault.faulty())


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
