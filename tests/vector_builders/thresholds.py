"""Thresholds of every protocol, from the smallest epsilon to the largest."""

from __future__ import annotations

from pathlib import Path

from hushpoll_protocols import PROTOCOLS, create
from vector_builders.document import Group, hex64, write

SIZES = (2, 3, 5, 8, 41, 74, 256, 257, 1000, 65536)
EPSILONS = ("0.000001", "0.065573770491", "0.25", "1", "2.426229508196", "4", "10", "20", "64")
GIVEN = (
    ("OLH", 74, "1", {"g": 2}),
    ("OLH", 74, "1", {"g": 65536}),
    ("SS", 74, "1", {"omega": 1}),
    ("SS", 74, "1", {"omega": 73}),
    ("THE", 74, "1", {"theta": "0.5001"}),
    ("THE", 74, "1", {"theta": "0.9999"}),
    ("THE", 74, "1", {"theta": "0.7000"}),
)


def build(folder: Path) -> None:
    """Write thresholds.json."""
    group = Group(
        "thresholds",
        "What (protocol, k, epsilon) resolves to; P and R are rounded so that epsilon only falls.",
        {
            "protocol": "name of the protocol",
            "k": "domain size",
            "epsilon": "decimal string",
            "given": "parameters that were given rather than chosen, if any",
            "parameters": "parameters as published: g (OLH), omega (SS), theta (THE)",
            "thresholds": "P and R out of 2^64, 16 hexadecimal digits each",
            "record_size": "bytes of one record",
            "realized_epsilon": "ln of the exact likelihood ratio, rounded up to 12 places",
            "best_guess": "chance that the best guess from a record is right, uniform prior, "
            "rounded up to 12 places",
            "largest_posterior": "largest posterior of any answer, uniform prior, rounded up to "
            "12 places",
        },
    )
    cases = [(name, k, epsilon, {}) for name in PROTOCOLS for k in SIZES for epsilon in EPSILONS]
    for name, k, epsilon, given in [*cases, *GIVEN]:
        oracle = create(name, k=k, epsilon=epsilon, **given)
        disclosure = oracle.disclosure()
        group.add(
            protocol=name,
            k=k,
            epsilon=epsilon,
            **({"given": given} if given else {}),
            parameters=dict(oracle.parameters),
            thresholds={key: hex64(value) for key, value in oracle.thresholds.items()},
            record_size=oracle.record_size,
            realized_epsilon=format(oracle.realized_epsilon, "f"),
            best_guess=format(disclosure.best_guess, "f"),
            largest_posterior=format(disclosure.largest_posterior, "f"),
        )
    write(folder / "thresholds.json", "Thresholds of every protocol.", [group])
