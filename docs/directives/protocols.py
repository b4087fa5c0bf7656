"""The figures of protocols, computed from their laws while the site is built."""

from __future__ import annotations

from fractions import Fraction

from directives.markdown import table
from hushpoll_protocols import PROTOCOLS, FrequencyOracle, create

DOMAINS = (2, 16, 128)
EPSILONS = ("0.5", "1", "2", "4")


def text(name: str) -> str:
    """Return the table of one protocol: its law at several domain sizes and epsilons.

    Parameters
    ----------
    name : str
        Of the protocol.
    """
    return _table(
        ("k", "epsilon", "p", "q", "standard error", "realized epsilon", "bytes", "parameters"),
        [(k, epsilon, create(name, k=k, epsilon=epsilon)) for k in DOMAINS for epsilon in EPSILONS],
    )


def table_of(k: str, epsilon: str) -> str:
    """Return a table of all protocols at one domain size and epsilon."""
    oracles = [create(name, k=int(k), epsilon=epsilon) for name in PROTOCOLS]
    return table(
        ("protocol", "p", "q", "standard error", "realized epsilon", "bytes", "best guess"),
        (
            (
                oracle.name,
                *_law(oracle),
                oracle.record_size,
                f"{oracle.disclosure().best_guess:.4f}",
            )
            for oracle in oracles
        ),
    )


def _table(head: tuple[str, ...], rows: list[tuple[int, str, FrequencyOracle]]) -> str:
    return table(
        head,
        (
            (
                k,
                epsilon,
                *_law(oracle),
                oracle.record_size,
                ", ".join(f"{name} = {value}" for name, value in oracle.parameters.items())
                or "none",
            )
            for k, epsilon, oracle in rows
        ),
    )


def _law(oracle: FrequencyOracle) -> tuple[str, str, str, str]:
    # Of the share of a category whose share is 1/k, among 10,000 reports.
    variance = oracle.estimate_variance(Fraction(1, oracle.k)) / 10_000
    return (
        f"{float(oracle.p):.5f}",
        f"{float(oracle.q):.5f}",
        f"{float(variance) ** 0.5:.5f}",
        f"{float(oracle.realized_epsilon):.6f}",
    )
