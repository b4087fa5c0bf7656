"""Published designs of randomised response for one yes/no question, to read epsilon beside."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final


@dataclass(frozen=True, slots=True)
class PublishedDesign:
    """A design by its law.

    Parameters
    ----------
    name : str
        Its key in words.
    of_yes, of_no : Fraction
        Probability in (0, 1) that a yes is recorded of a person whose answer is yes, or no;
        `of_yes` is the larger one.
    chance : Fraction or None
        The design's own parameter, if it has one.
    """

    name: str
    of_yes: Fraction
    of_no: Fraction
    chance: Fraction | None = None

    @property
    def factor(self) -> Fraction:
        """By which factor the record changes the odds of an answer at most."""
        return max(self.of_yes / self.of_no, (1 - self.of_no) / (1 - self.of_yes))

    @property
    def epsilon(self) -> float:
        """The logarithm of the factor."""
        return math.log(self.factor)


PUBLISHED_DESIGNS: Final = (
    # The respondent draws the statement "I have" with chance p, else "I have not": Warner, Journal
    # of the American Statistical Association 60 (1965).
    PublishedDesign("warner", Fraction(7, 10), Fraction(3, 10), Fraction(7, 10)),
    # Whether the answers to both questions are the same, where the second has a yes of p: Yu, Tian
    # and Tang, Metrika 67 (2008).
    PublishedDesign("crosswise", 1 - Fraction("0.178"), Fraction("0.178"), Fraction("0.178")),
    # A die: 1 forces a yes, 6 a no, else the truth: Blair, Imai and Zhou, Journal of the American
    # Statistical Association 110 (2015), on a survey in Nigeria.
    PublishedDesign("forced", Fraction(5, 6), Fraction(1, 6)),
)
