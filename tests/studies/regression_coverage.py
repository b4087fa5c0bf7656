"""How often a regression's intervals hold the slope, by simulation.

Outcome and predictor are perturbed, the predictor depends on the covariate in clear, and all slopes
are known. ``python -m studies.regression_coverage`` prints the shares of the cases below.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hushpoll_analysis.regression.answers import (
    Answers,
    Numbers,
    Question,
    Unit,
    patterns_of,
)
from hushpoll_analysis.regression.model import fit
from hushpoll_analysis.regression.result import Regression
from hushpoll_protocols import PROTOCOLS, create
from hushpoll_protocols.kernels import perturb

SLOPES = {"x[T.1]": 0.6, "z": 0.4}
"""The true slopes; those of other categories of x are 0."""


@dataclass(frozen=True)
class Case:
    """One design: the outcome has 2 answers, the predictor k."""

    protocol: str
    k: int
    epsilon: str
    n: int


CASES = tuple(
    Case(protocol, k, epsilon, n)
    for protocol in PROTOCOLS
    for k, epsilon, n in ((2, "2", 4_000), (2, "1", 1_000), (4, "4", 4_000), (10, "4", 10_000))
)


def _unit(name: str, k: int, values: np.ndarray, case: Case, rng: np.random.Generator) -> Unit:
    oracle = create(case.protocol, k=k, epsilon=case.epsilon)
    patterns, places = patterns_of(oracle, perturb(oracle, values, rng))
    return Unit(name, (Question(name, tuple(map(str, range(k)))),), patterns, places)


def survey(case: Case, rng: np.random.Generator) -> Answers:
    """Draw one survey: z in clear, x that depends on it, y that depends on both."""
    z = rng.integers(-2, 3, case.n) / 1.0
    noise = rng.gumbel(size=(case.n, case.k))
    noise[:, 1] += 0.5 * z
    x = noise.argmax(axis=1)
    eta = -0.3 + SLOPES["x[T.1]"] * (x == 1) + SLOPES["z"] * z
    y = (rng.random(case.n) < 1 / (1 + np.exp(-eta))).astype(np.int64)
    units = (_unit("x", case.k, x, case, rng), _unit("y", 2, y, case, rng))
    return Answers(case.n, {"z": Numbers("z", z)}, units)


def fits(case: Case, repeats: int, seed: int) -> Iterator[Regression]:
    """Yield the fits of surveys drawn one after the other."""
    rng = np.random.default_rng(seed)
    for _ in range(repeats):
        yield fit("y ~ x + z", survey(case, rng), plain=False, effects=False)


@dataclass
class Coverage:
    """How often the intervals of one slope held it, in each region of expected errors."""

    fits: int = 0
    held: int = 0
    unbounded: int = 0
    noisy: int = 0


def coverage_of(case: Case, repeats: int, seed: int) -> dict[str, Coverage]:
    """Return, by slope, how often its interval held it."""
    found = {name: Coverage() for name in SLOPES}
    for result in fits(case, repeats, seed):
        for one in result.coefficients:
            if one.name not in found:
                continue
            truth, counts = SLOPES[one.name], found[one.name]
            low = -np.inf if one.lower is None else one.lower
            high = np.inf if one.upper is None else one.upper
            counts.fits += 1
            counts.held += bool(low <= truth <= high)
            counts.unbounded += one.lower is None or one.upper is None
            counts.noisy += one.method != "Wald"
    return found


def main() -> None:
    """Print the shares of all cases."""
    import sys

    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for number, case in enumerate(CASES):
        for name, one in coverage_of(case, repeats, 100 + number).items():
            print(
                f"{case.protocol:7} k {case.k:3} epsilon {case.epsilon} n {case.n:6} {name:7} "
                f"held {one.held / one.fits:.3f} unbounded {one.unbounded / one.fits:.3f} "
                f"by profile {one.noisy / one.fits:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
