"""The indicator of a record's support: the paper's one-hot and indicator-vector encodings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from hushpoll_training.encodings.encoding import Encoding, Features, feature_attributes


@dataclass(frozen=True)
class Indicator(Encoding):
    """1 for each category that the record supports, else 0.

    Questions that are randomised together have a column for each combination of answers.
    """

    name: ClassVar[str] = "indicator"
    description: ClassVar[str] = (
        "one column per category, or, of questions that are randomised together, per combination "
        "of answers: whether the randomised record supports it"
    )
    keeps_combinations: ClassVar[bool] = True

    def encode(
        self,
        attribute: PublishedAttribute,
        indicators: npt.NDArray[np.uint8],
        prior: tuple[float, ...] | None,
    ) -> npt.NDArray[np.uint8]:
        """Return the indicators as they are, uint8[n, k]."""
        del attribute, prior
        return indicators


def one_hot_features(published: Published) -> Features:
    """Return the features of clear rows: a column per category, which needs no records."""
    # deferred: a question's columns are those of indicators, but for blocks
    from hushpoll_training.encodings.question import Question

    encoding = Question() if published.together else Indicator()
    return Features(published, encoding, feature_attributes(published), {})
