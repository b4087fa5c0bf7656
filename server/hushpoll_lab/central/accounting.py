"""What the steps of DP-SGD spend together, by the accountants of Opacus (extra ``dpsgd``).

Each accountant composes Gaussian mechanisms on Poisson samples. Neighbouring data sets differ in
one row, which is added or removed. ``prv`` (Gopi et al. 2021) and ``rdp`` (the moments accountant,
Abadi et al. 2016) are upper bounds; ``gdp`` (Bu et al. 2020) is a limit theorem that can say too
little (Gopi et al. 2021, section 5, show by how much), and is here since papers report it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from hushpoll_protocols.errors import InvalidParameter, MissingExtra
from hushpoll_training.learners.claim import PrivacyClaim

ACCOUNTANTS: Final[Mapping[str, str]] = {
    "prv": "PRV accountant",
    "rdp": "RDP (moments) accountant",
    "gdp": "GDP accountant",
}
APPROXIMATE: Final = frozenset({"gdp"})
"""Accountants whose epsilon is no upper bound."""

NEIGHBOURS: Final = "add or remove one row; the number of rows is public"

PRV_ERROR: Final = 0.01
"""The error in epsilon that the PRV accountant allows itself, beside one of delta/1000 in delta.

Its result is an upper bound: this much is added to an epsilon that may itself be this much above
the truth (Gopi, Lee and Wutschitz, Numerical Composition of Differential Privacy, NeurIPS 2021). So
it is never below the epsilon of delta, and at most twice this above that of 0.998 delta.
"""

NOISE_WIDTH: Final = 1.0001
"""The noise that is chosen is at most this many times the least."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The steps of DP-SGD, as an accountant sees them; batches are Poisson samples."""

    sample_rate: float
    """Chance of each row to be in a step's batch, in (0, 1]."""
    steps: int
    """At least 1."""

    def __post_init__(self) -> None:
        if not 0 < self.sample_rate <= 1:
            raise InvalidParameter(
                f"sample_rate is {self.sample_rate}; it must lie in (0, 1]", field="sample_rate"
            )
        if self.steps < 1:
            raise InvalidParameter(f"steps is {self.steps}; it must be at least 1", field="steps")


def epsilon_spent(
    accountant: str, schedules: Sequence[Schedule], noise_multiplier: float, delta: float
) -> float:
    """Return the epsilon of all steps together, at a delta in (0, 1).

    The accountant is "prv", "rdp" or "gdp"; the noise multiplier is the standard deviation of the
    noise in a sum of gradients over their clipping norm. There is a schedule for each part of the
    training, for ``gdp`` with the same sampling rate in all. Refuses values outside these
    intervals; needs the extra ``dpsgd``.
    """
    _check(accountant, delta)
    rates = {schedule.sample_rate for schedule in schedules}
    if accountant == "gdp" and len(rates) > 1:
        raise InvalidParameter(
            f"the GDP accountant takes one sampling rate, but there are {len(rates)}; use prv",
            field="accountant",
        )
    if len(rates) == 1:
        schedules = [replace(schedules[0], steps=sum(part.steps for part in schedules))]
    if not noise_multiplier > 0:
        raise InvalidParameter(
            f"noise_multiplier is {noise_multiplier}; without noise there is no epsilon to state. "
            "It must be positive",
            field="noise_multiplier",
        )
    try:
        from opacus.accountants import create_accountant
    except ImportError as error:
        raise MissingExtra("dpsgd", "accounting for DP-SGD") from error
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # of the GDP accountant: its claim says what is wrong with it
        composed = create_accountant(mechanism=accountant)
        composed.history = [
            (noise_multiplier, schedule.sample_rate, schedule.steps) for schedule in schedules
        ]
        options: dict[str, float] = {"eps_error": PRV_ERROR} if accountant == "prv" else {}
        return float(composed.get_epsilon(delta, **options))


def noise_for(
    accountant: str, schedules: Sequence[Schedule], epsilon: float, delta: float
) -> float:
    """Return the least noise multiplier, to 4 digits, that spends at most epsilon, in (0, 64].

    Refuses what :func:`epsilon_spent` refuses, and a need of more than 10,000 clipping norms.
    """
    _check(accountant, delta)
    if not 0 < epsilon <= 64:
        raise InvalidParameter(f"epsilon is {epsilon}; it must lie in (0, 64]", field="epsilon")

    return _least_noise(accountant, tuple(schedules), epsilon, delta)


@lru_cache(maxsize=256)  # an experiment asks for the same noise in each of its cells
def _least_noise(
    accountant: str, schedules: tuple[Schedule, ...], epsilon: float, delta: float
) -> float:
    def spent(noise: float) -> float:
        return epsilon_spent(accountant, schedules, noise, delta)

    high, at_high = 1.0, spent(1.0)
    low, at_low = high, at_high
    while at_high > epsilon:
        low, at_low, high = high, at_high, 2 * high
        if high > 10_000:
            raise InvalidParameter(
                f"epsilon is {epsilon}; {sum(part.steps for part in schedules)} steps would need "
                "noise of more than 10,000 clipping norms. Use a larger epsilon, fewer steps or "
                "smaller batches",
                field="epsilon",
            )
        at_high = spent(high)
    while at_low <= epsilon:  # accountants slow down where there is far too little noise
        high, at_high, low = low, at_low, low / 2
        at_low = spent(low)
    lifted = False
    while high / low > NOISE_WIDTH:
        # Epsilon is nearly a power of the noise, so a line through both ends, in logarithms, meets
        # it closely; a little above and a little below, in turns, both ends come near.
        share = 0.5
        if 0 < at_high < epsilon and at_low < math.inf:
            share = math.log(at_low / epsilon) / math.log(at_low / at_high)
        aside = NOISE_WIDTH**0.45
        guess = low * (high / low) ** share * (aside if lifted else 1 / aside)
        middle = min(max(guess, low * aside), high / aside)
        at_middle = spent(middle)
        if at_middle <= epsilon:
            high, at_high, lifted = middle, at_middle, False
        else:
            low, at_low, lifted = middle, at_middle, True
    return high


def share_noise(noise_multiplier: float, ratio: float) -> tuple[float, float]:
    """Return the noise sigma_1 and sigma_2 of two sums of one batch that spend what one would.

    Two Gaussian mechanisms on one batch, the second of which may depend on the outcome of the
    first, are no easier to tell apart than one with 1 / sigma^2 = 1 / sigma_1^2 + 1 / sigma_2^2
    (Dong, Roth and Su 2022, Corollary 3.3); sampling the batch changes nothing about that, since
    both outcomes come from the same sample. Each sigma is over the clipping norm of its own sum;
    ratio is sigma_2 / sigma_1, positive.
    """
    first = noise_multiplier * math.hypot(1.0, 1.0 / ratio)
    return first, ratio * first


def accounted_claim(
    accountant: str, epsilon: float, delta: float, neighbours: str = NEIGHBOURS, *, note: str = ""
) -> PrivacyClaim:
    """Return the claim of a training whose noise :func:`noise_for` chose.

    The claim of ``gdp`` says that it is no bound; the note follows the accountant's name.
    """
    return PrivacyClaim(
        epsilon,
        delta,
        f"the {ACCOUNTANTS[accountant]} of Opacus{note}",
        neighbours,
        proven=accountant not in APPROXIMATE,
    )


def _check(accountant: str, delta: float) -> None:
    if accountant not in ACCOUNTANTS:
        raise InvalidParameter(
            f"accountant is {accountant!r}; it must be one of {', '.join(ACCOUNTANTS)}",
            field="accountant",
        )
    if not 0 < delta < 1:
        raise InvalidParameter(f"delta is {delta}; it must lie in (0, 1)", field="delta")
