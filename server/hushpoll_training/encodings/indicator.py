"""The indicators of a record's support: the paper's one-hot and indicator-vector encodings.

Questions randomised together have a column for each combination, or each answer.
"""

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


@dataclass(frozen=True)
class Question(Indicator):
    """1 for each category that the record supports, else 0.

    A question that is randomised with others has the number of combinations with its category.
    """

    name: ClassVar[str] = "question"
    description: ClassVar[str] = (
        "one column per category: whether the randomised record supports it, or, of questions "
        "that are randomised together, how many combinations with it the record supports"
    )
    keeps_combinations: ClassVar[bool] = False


def one_hot_features(published: Published) -> Features:
    """Return the features of clear rows: a column per category, which needs no records."""
    encoding = Question() if published.together else Indicator()
    return Features(published, encoding, feature_attributes(published), {})
