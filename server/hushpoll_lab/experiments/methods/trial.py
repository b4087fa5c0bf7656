"""One cell of an experiment on methods: a method, what it spends, and a seed."""

from __future__ import annotations

from typing import NamedTuple

NONE = "none"
ENDLESS = "inf"
"""Epsilon where nothing is promised."""


class Trial(NamedTuple):
    """One training, as results.csv names it; numbers are texts in their one spelling.

    Attributes
    ----------
    method : str
        Its name in the configuration.
    protocol, split, local_epsilon : str
        What the training records were perturbed by; ``none``, ``none`` and ``inf`` for rows in
        clear.
    epsilon, delta : str
        Those of central differential privacy, for what the curator computes; ``inf`` and ``0``
        where nothing is claimed.
    accountant : str
        What computed epsilon; ``none`` without a claim.
    seed : int
        What the split, the noise and the learner drew by.
    """

    method: str
    protocol: str
    split: str
    local_epsilon: str
    epsilon: str
    delta: str
    accountant: str
    seed: int

    def place(self) -> tuple[str, str, str, float, float, float, str, int]:
        """Return the key that results are sorted by."""
        return (
            *(self.method, self.protocol, self.split, float(self.local_epsilon)),
            *(float(self.epsilon), float(self.delta), self.accountant, self.seed),
        )

    def __str__(self) -> str:
        parts = [self.method]
        if self.protocol != NONE:
            parts.append(f"{self.protocol} {self.split} epsilon {self.local_epsilon}")
        if self.epsilon != ENDLESS:
            parts.append(f"epsilon {self.epsilon} delta {self.delta} by {self.accountant}")
        return f"{' '.join(parts)} seed {self.seed}"
