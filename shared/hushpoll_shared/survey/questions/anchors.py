"""Which anchors a randomised number gets when it is published, where its author names none.

They are equally spaced. For the mean their number is the one at which the variance of one record's
part of the mean, at the answer where that is largest, is least: few anchors keep noise small, and
many keep the drawn anchor near the answer. For quantiles it is the largest at which the variance of
a cumulated share, of half of the respondents, is at most `MOST_NOISE` times that at three anchors:
answers are told apart as finely as noise allows.

Only drafts are resolved, so a device never imports this.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Final

from hushpoll_protocols import FrequencyOracle, create
from hushpoll_shared.survey.questions.attributes import Attribute
from hushpoll_shared.survey.questions.number import MEAN, Number

MOST_ANCHORS: Final = 101
"""Anchors that are chosen; an author may name more."""
PATIENCE: Final = 3
"""Numbers of anchors in a row that are no better, after which none further is tried."""
MOST_NOISE: Final = 2.0


def choose_anchors(
    attribute: Attribute, number: Number, protocol: str, epsilon: Decimal
) -> tuple[int, ...]:
    """Return the anchors of a number at a protocol and the epsilon that the question is charged.

    Its missing category and that of who is not asked are categories beside the anchors.
    """
    if number.anchors:
        return number.anchors
    beside = attribute.k - len(attribute.categories)
    oracles = (
        (count, create(protocol, k=count + beside, epsilon=epsilon))
        for count in range(2, min(number.values, MOST_ANCHORS) + 1)
    )
    best = _for_mean(oracles) if number.aim == MEAN else _for_quantiles(oracles)
    return spaced(number, best)


def spaced(number: Number, count: int) -> tuple[int, ...]:
    """Return so many anchors, as equally spaced as whole numbers are."""
    span, steps = number.high - number.low, count - 1
    return tuple(number.low + (2 * span * step + steps) // (2 * steps) for step in range(count))


def variance(oracle: FrequencyOracle, scores: Sequence[float], code: int) -> float:
    """Return the variance of one record's unbiased score, of a respondent with a code.

    That is ``sum(scores[v] * (I_v - q)) / (p - q)``. Supports of a fixed size are uniform among
    those with, and among those without the true value; others have independent indicators.
    """
    p, q, k = float(oracle.p), float(oracle.q), oracle.k
    size = oracle.support_size
    if size is None:
        with_true, of_two_others = p * q, q * q
    else:
        with_true = p * (size - 1) / (k - 1)
        pairs = p * (size - 1) * (size - 2) + (1 - p) * size * (size - 1)
        of_two_others = pairs / ((k - 1) * (k - 2)) if k > 2 else 0.0
    own = scores[code]
    rest, squares = sum(scores) - own, sum(score * score for score in scores) - own * own
    whole = (
        p * (1 - p) * own * own
        + q * (1 - q) * squares
        + 2 * (with_true - p * q) * own * rest
        + (of_two_others - q * q) * (rest * rest - squares)
    )
    return float(whole / (p - q) ** 2)


def variance_at(oracle: FrequencyOracle, anchors: Sequence[float], value: float) -> float:
    """Return the variance of one record's part of the mean, of a respondent with a value.

    The oracle's first categories are the anchors, which increase and hold the value between their
    ends; others have the score 0.
    """
    scores = [*anchors, *[0.0] * (oracle.k - len(anchors))]
    place = max(i for i in range(len(anchors) - 1) if anchors[i] <= value)
    low, high = anchors[place], anchors[place + 1]
    upper = (value - low) / (high - low)
    drawn = (value - low) * (high - value)
    return (
        (1 - upper) * variance(oracle, scores, place)
        + upper * variance(oracle, scores, place + 1)
        + drawn
    )


def worst_variance(oracle: FrequencyOracle, anchors: Sequence[float]) -> float:
    """Return the largest `variance_at`, over all real values between the outermost anchors.

    Between two anchors it is a parabola that opens downwards, so three values give its top.
    """
    worst = 0.0
    for low, high in pairwise(anchors):
        first, last = variance_at(oracle, anchors, low), variance_at(oracle, anchors, high)
        # first + (last - first) * t + (high - low)^2 * t * (1 - t), t in [0, 1]
        bow = (high - low) ** 2
        t = min(max(0.5 + (last - first) / (2 * bow), 0.0), 1.0)
        worst = max(worst, first + (last - first) * t + bow * t * (1 - t))
    return worst


def unit_anchors(count: int) -> list[float]:
    """Return so many equally spaced numbers from -1 to 1."""
    return [2 * step / (count - 1) - 1 for step in range(count)]


def _for_mean(oracles: Iterator[tuple[int, FrequencyOracle]]) -> int:
    best, least, since = 2, float("inf"), 0
    for count, oracle in oracles:
        worst = worst_variance(oracle, unit_anchors(count))
        # A tie is rounding: fewer anchors tell as much, and reveal less of where noise is not.
        if worst < least * (1 - 1e-9):
            best, least, since = count, worst, 0
            continue
        since += 1
        if since == PATIENCE:
            break
    return best


def _for_quantiles(oracles: Iterator[tuple[int, FrequencyOracle]]) -> int:
    best, most = 2, float("inf")
    for count, oracle in oracles:
        below = (count + 1) // 2
        scores = [1.0] * below + [0.0] * (oracle.k - below)
        # That of who was asked, and the noise.
        noise = 0.25 + max(variance(oracle, scores, code) for code in (0, below))
        if count == 3:
            most = MOST_NOISE * noise
        if noise > most:
            break
        best = count
    return best
