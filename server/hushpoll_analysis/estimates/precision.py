"""How wide an interval will be, before anybody has answered: for warnings at publishing time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.combination_sums import variance_coefficients as of_sets
from hushpoll_analysis.records.laws import law_of
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_protocols.estimation.marginals import Law, UnevenSets
from hushpoll_protocols.estimation.score import score_limits
from hushpoll_protocols.estimation.weights import WeightLaw
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ExpectedWidth:
    """The interval that a category of one attribute will have.

    Attributes
    ----------
    attribute : str
        Name.
    n : int
        Respondents.
    confidence : float
        Of the interval.
    width : float
        Upper minus lower limit, at the frequency in [0, 1] for which it is widest.
    """

    attribute: str
    n: int
    confidence: float
    width: float


def expected_width(
    published: Published, name: str, n: int, *, confidence: float = 0.95
) -> ExpectedWidth:
    """Return the interval width of an attribute's category after n respondents, at its widest.

    Raises
    ------
    InvalidParameter
        For an unknown attribute, n below 1, or a confidence outside (0, 1).
    """
    if n < 1:
        raise InvalidParameter(f"n is {n}; it must be at least 1 respondent", field="n")
    respondents = n
    n = max(1, int(n * published.share_answering([name])))  # who answer it, of a draw
    attribute = published.answering([name]).attribute(name)
    terms = _coefficients(attribute)
    _, c1, c2 = terms
    widest = min(max(-c1 / (2 * c2), 0.0), 1.0)
    return ExpectedWidth(name, respondents, confidence, _width(terms, widest, n, confidence))


def width_at(oracle: Law | None, frequency: float, n: int, *, confidence: float) -> float:
    """Return the width of a category's interval where the estimate is this frequency.

    Its correction for skewness moves the interval more than it stretches it, and is left out.

    The frequency is in [0, 1]; no law is in clear.
    """
    return _width(variance_coefficients(oracle), frequency, n, confidence)


def widest(attribute: PublishedAttribute, frequency: float, n: int, confidence: float) -> float:
    """Return the width of the widest interval, as `ask_if` leaves combinations of a block out."""
    law = law_of(attribute)
    laws = [law.of_size(size) for size in set(law.sizes)] if isinstance(law, UnevenSets) else [law]
    return max(width_at(one, frequency, n, confidence=confidence) for one in laws)


def width_of(
    attribute: PublishedAttribute, code: int, frequency: float, n: int, confidence: float
) -> float:
    """Return the width of the interval of one of an attribute's categories at a frequency."""
    law = law_of(attribute)
    of_one = law.of_size(law.sizes[code]) if isinstance(law, UnevenSets) else law
    return width_at(of_one, frequency, n, confidence=confidence)


def _width(
    coefficients: tuple[float, float, float], frequency: float, n: int, confidence: float
) -> float:
    lower, upper = score_limits(
        np.asarray(frequency),
        n,
        variance=_as_arrays(coefficients),
        z=normal_quantile(confidence),
    )
    return float(upper - lower)


def _coefficients(attribute: PublishedAttribute) -> tuple[float, float, float]:
    """Return those of a question's category, which in a block is a set of combinations."""
    if attribute.block is None or attribute.oracle is None:
        return variance_coefficients(attribute.oracle)
    return of_sets(attribute.oracle, attribute.k)


def variance_coefficients(oracle: Law | None) -> tuple[float, float, float]:
    """Return c0, c1 and c2: n times the variance of an estimate is c0 + c1 f + c2 f^2."""
    return WeightLaw.of(oracle).variance_coefficients()


def _as_arrays(coefficients: tuple[float, float, float]) -> tuple[Array, Array, Array]:
    c0, c1, c2 = coefficients
    return np.asarray(c0), np.asarray(c1), np.asarray(c2)


def protected_width(
    published: Published, n: int, *, confidence: float = 0.95
) -> ExpectedWidth | None:
    """Return :func:`expected_width` of the protected attribute; None if none is declared."""
    if published.protected is None:
        return None
    return expected_width(published, published.protected.attribute, n, confidence=confidence)


def respondents_for_width(
    published: Published, name: str, width: float, *, confidence: float = 0.95
) -> int:
    """Return the fewest respondents after which no interval of an attribute is wider than `width`.

    Raises
    ------
    InvalidParameter
        For an unknown attribute, a width outside (0, 1], or a confidence outside (0, 1).
    """
    if not 0 < width <= 1:
        raise InvalidParameter(
            f"width is {width}; it must lie in (0, 1], such as 0.04 for plus or minus 2 points",
            field="width",
        )
    low, high = 0, 1
    while expected_width(published, name, high, confidence=confidence).width > width:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        wide = expected_width(published, name, middle, confidence=confidence).width > width
        low, high = (middle, high) if wide else (low, middle)
    return high
