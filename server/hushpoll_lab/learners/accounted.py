"""What learners share whose noise an accountant of Opacus chooses (extra ``dpsgd``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from hushpoll_lab.central.accounting import (
    ACCOUNTANTS,
    NEIGHBOURS,
    Schedule,
    accounted_claim,
    noise_for,
)
from hushpoll_lab.learners.network_learner import NetworkLearner
from hushpoll_training.learners.claim import PrivacyClaim
from hushpoll_training.learners.parameters import Choice

ACCOUNTANT: Final = Choice(tuple(ACCOUNTANTS), "prv")
"""The parameter `accountant` of each of these learners."""


@dataclass(frozen=True)
class AccountedLearner(NetworkLearner):
    """A learner with the least noise that `accountant` allows for its epsilon and delta.

    Without noise, gradients are clipped all the same.
    """

    neighbours: ClassVar[str] = NEIGHBOURS
    """Which data sets count as neighbours."""
    composition: ClassVar[str] = ""
    """What follows the accountant's name in the claim."""
    progress_unit: ClassVar[str] = "fits"
    distributions: ClassVar[tuple[str, ...]] = ("opacus", "torch")
    extra: ClassVar[str | None] = "dpsgd"

    @property
    def claim(self) -> PrivacyClaim:
        """The claim of what the fitted model saves; none without noise."""
        if self.noiseless:
            return PrivacyClaim()
        return accounted_claim(
            str(self.parameters["accountant"]),
            float(self.parameters["epsilon"]),
            float(self.parameters["delta"]),
            self.neighbours,
            note=self.composition,
        )

    def noise(self, schedules: Sequence[Schedule], epsilon: float | None = None) -> float:
        """Return the noise multiplier of these steps for an epsilon, the learner's by default.

        It is 0 without noise; refuses a need of more than 10,000 clipping norms.
        """
        if self.noiseless:
            return 0.0
        spent = float(self.parameters["epsilon"]) if epsilon is None else epsilon
        accountant = str(self.parameters["accountant"])
        return noise_for(accountant, list(schedules), spent, float(self.parameters["delta"]))
