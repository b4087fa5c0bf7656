"""The indicator encoding with a column for each answer, also of questions randomised together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hushpoll_training.encodings.indicator import Indicator


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
