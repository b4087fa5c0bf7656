"""The posterior that a record leaves: how likely each category is, given the record and a prior.

A record's likelihood takes two values, `likelihood_ratio` times as large inside the support as
outside (see :mod:`hushpoll_protocols.oracle`), so by Bayes' rule the posterior is exact given the
prior:

    P(v | z) = prior_v r^[v in S(z)] / sum_u prior_u r^[u in S(z)].

A debiased indicator D = (I - q)/(p - q) would not be a third encoding: it maps 0 and 1 to two other
numbers per column, in the same order, and a tree splits on order alone. The posterior is no such
map: a column's value depends on what else the record supports.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from hushpoll_protocols import FrequencyOracle
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from hushpoll_training.encodings.encoding import Encoding


@dataclass(frozen=True)
class Posterior(Encoding):
    """P(v | record) for each category v, under the shares estimated from the training records."""

    name: ClassVar[str] = "posterior"
    description: ClassVar[str] = (
        "one column per category: how likely the category is, given the randomised record and the "
        "categories' estimated shares"
    )
    needs_prior: ClassVar[bool] = True
    leaves_missing: ClassVar[bool] = False

    def encode(
        self,
        attribute: PublishedAttribute,
        indicators: npt.NDArray[np.uint8],
        prior: tuple[float, ...] | None,
    ) -> npt.NDArray[np.float32]:
        """Return the posterior, float32[n, k]."""
        assert attribute.oracle is not None  # noqa: S101  (it is perturbed)
        assert prior is not None  # noqa: S101  (the encoding needs one)
        return posterior(indicators, attribute.oracle, prior)

    def unanswered(self, columns: int, prior: tuple[float, ...] | None) -> npt.NDArray[np.float32]:
        """Return the prior: without an answer nothing was learned."""
        del columns
        assert prior is not None  # noqa: S101  (the encoding needs one)
        return np.array([prior], np.float32)


def posterior(
    indicators: npt.NDArray[np.uint8], oracle: FrequencyOracle, prior: tuple[float, ...]
) -> npt.NDArray[np.float32]:
    """Return P(v | record), float32[n, k], of supports, uint8[n, k], under a prior of sum 1.

    Its rows sum to 1 up to rounding; a category of prior 0 has posterior 0.
    """
    ratio = float(oracle.likelihood_ratio)
    shares = np.asarray(prior, dtype=np.float64)
    inside = indicators @ shares
    # divided by r throughout, so that an epsilon of 64 does not cost digits
    outside_weight = 1.0 / ratio
    total = inside + outside_weight * (1.0 - inside)
    weight = np.where(indicators, shares, outside_weight * shares)
    # no support and, up to rounding, no prior outside it either: nothing was learned
    certain = total > 0
    chances = np.where(
        certain[:, None], weight / np.where(certain, total, 1.0)[:, None], shares[None, :]
    )
    return chances.astype(np.float32)
