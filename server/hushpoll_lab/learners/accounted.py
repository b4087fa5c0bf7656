"""What learners share whose noise an accountant of Opacus chooses (extra ``dpsgd``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Self

from hushpoll_lab.central.accounting import (
    ACCOUNTANTS,
    NEIGHBOURS,
    Schedule,
    accounted_claim,
    noise_for,
)
from hushpoll_training.learners.claim import PrivacyClaim
from hushpoll_training.learners.learner import Learner
from hushpoll_training.learners.parameters import Choice

ACCOUNTANT: Final = Choice(tuple(ACCOUNTANTS), "prv")
"""The parameter `accountant` of each of these learners."""


@dataclass(frozen=True)
class AccountedLearner(Learner):
    """A learner with the least noise that `accountant` allows for its epsilon and delta.

    Attributes
    ----------
    noiseless : bool
        Whether the noise is left out, for the NonDP baseline; gradients are clipped all the same.
    neighbours : str
        Which data sets count as neighbours.
    composition : str
        What follows the accountant's name in the claim.
    """

    noiseless: bool = False

    neighbours: ClassVar[str] = NEIGHBOURS
    composition: ClassVar[str] = ""
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

    def without_privacy(self) -> Self:
        """Return the same learner without noise."""
        return replace(self, noiseless=True)

    def noise(self, schedules: Sequence[Schedule], epsilon: float | None = None) -> float:
        """Return the noise multiplier that these steps need; 0 without noise.

        Parameters
        ----------
        schedules : sequence of Schedule
            Sampling rates and numbers of steps.
        epsilon : float, optional
            What the steps may spend; the learner's epsilon by default.

        Raises
        ------
        InvalidParameter
            If no noise of at most 10,000 clipping norms is enough.
        MissingExtra
            Without the extra ``dpsgd``.
        """
        if self.noiseless:
            return 0.0
        spent = float(self.parameters["epsilon"]) if epsilon is None else epsilon
        accountant = str(self.parameters["accountant"])
        return noise_for(accountant, list(schedules), spent, float(self.parameters["delta"]))
