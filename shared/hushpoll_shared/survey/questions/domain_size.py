"""Whether a survey of some size can show the answers to a question, and brackets where it cannot.

A share is told where the half-width of its 95 % interval, all answers being equally frequent, is at
most the share itself, 1/k, and at most .25: wider, and bars of noise would pass for findings. Of
whole numbers the mean is enough: it is told where the half-width is at most a quarter of the scale.
The variance is that of the estimates that the server shows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from hushpoll_protocols import FrequencyOracle, create
from hushpoll_shared.survey.questions.attributes import PublishedAttribute

QUOTED_REPORTS: Final = 10_000
"""Reports for which it is asked where nobody has said how many there will be."""

MOST_BRACKETS: Final = 12
"""Brackets that are proposed at most: as many as fit beside each other on a page."""

_QUANTILE: Final = 1.959963984540054
_WIDEST_SHARE: Final = 0.25
_WIDEST_MEAN: Final = 0.25


@dataclass(frozen=True)
class TooFine:
    """A question with more answers than so many reports can show."""

    n: int
    needed: int
    """Reports at which it would tell."""
    message: str
    """The same in words, with what to write in its place."""


def too_fine(attribute: PublishedAttribute, n: int = QUOTED_REPORTS) -> TooFine | None:
    """Return why a question that is randomised alone has too many answers for n reports, if so."""
    oracle = attribute.oracle
    if oracle is None or attribute.block is not None:
        # The answers to a question of a block are not randomised as one of its k values.
        return None
    answers = attribute.categories
    numbers = _whole_numbers(answers)
    needed = reports_for_shares(oracle)
    what = f"the share of each of its {attribute.k:,} answers"
    if numbers is not None:
        for_mean = reports_for_mean(oracle, len(numbers))
        if for_mean < needed:
            needed = for_mean
            what += ", or even their mean,"
    if needed <= n:
        return None
    told = _proposal(attribute, numbers, n)
    return TooFine(
        n,
        needed,
        f"with {n:,} reports and epsilon {oracle.epsilon:f}, {attribute.name} cannot tell {what} "
        f"from noise; that takes {needed:,} reports. {told}",
    )


def reports_for_shares(oracle: FrequencyOracle) -> int:
    """Return the fewest reports at which the shares of a question are told."""
    k = oracle.k
    return _reports(float(oracle.estimate_variance(Fraction(1, k))), min(1 / k, _WIDEST_SHARE))


def reports_for_mean(oracle: FrequencyOracle, values: int) -> int:
    """Return the fewest reports at which the mean of so many consecutive numbers is told."""
    # Scores from -1/2 to 1/2: their squares have the sum of a uniform population times k.
    squares = values * (values + 1) / (12 * (values - 1))
    noise = float(oracle.estimate_variance(Fraction(0))) * squares
    return _reports(noise + squares / values, _WIDEST_MEAN)


def _reports(variance: float, half_width: float) -> int:
    return math.ceil(variance * (_QUANTILE / half_width) ** 2)


def _whole_numbers(answers: tuple[str, ...]) -> range | None:
    """Return the consecutive numbers that the answers are; None if they are something else."""
    try:
        low, high = int(answers[0]), int(answers[-1])
    except ValueError:
        return None
    numbers = range(low, high + 1)
    if len(numbers) != len(answers) or tuple(map(str, numbers)) != tuple(answers):
        return None
    return numbers


def _proposal(attribute: PublishedAttribute, numbers: range | None, n: int) -> str:
    most = _most_answers(attribute, n)
    if most is None:
        return "Give it a larger part of epsilon, or ask more people"
    if numbers is None:
        return f"Combine answers until there are at most {most}, or ask more people"
    skipped = 0 if attribute.missing is None else 1
    labels = _brackets(numbers, max(2, min(most - skipped, MOST_BRACKETS)))
    written = ", ".join(f'"{label}"' for label in labels)
    return f"Ask for brackets, in place of range: categories: [{written}]"


def _most_answers(attribute: PublishedAttribute, n: int) -> int | None:
    """Return the most answers, up to the brackets and the skipped one, that n reports tell."""
    oracle = attribute.oracle
    if oracle is None:
        return None
    for k in range(min(MOST_BRACKETS + 1, attribute.k - 1), 1, -1):
        if reports_for_shares(create(oracle.name, k=k, epsilon=oracle.epsilon)) <= n:
            return k
    return None


def _brackets(numbers: range, most: int) -> list[str]:
    """Return brackets of a round width that cover whole numbers, at most so many."""
    low, high = numbers[0], numbers[-1]
    width = next(
        factor * 10**power
        for power in range(20)
        for factor in (1, 2, 5)
        if high // (factor * 10**power) - low // (factor * 10**power) < most
    )
    starts = list(range(low // width * width, high + 1, width))
    if len(starts) > 2 and high - starts[-1] < width // 2:  # a small rest joins the one before
        starts.pop()
    ends = [start - 1 for start in starts[1:]] + [high]
    pairs = [(max(first, low), last) for first, last in zip(starts, ends, strict=True)]
    return [str(first) if first == last else f"{first} to {last}" for first, last in pairs]
