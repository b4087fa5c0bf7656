"""Shares of neighbouring numbers together: few bins tell more than many noisy categories.

A bin's share is that of a set of categories among those who answered, as the share at or above a
threshold is, with the set of :mod:`hushpoll_analysis.ordered.ratios`. Bins are chosen from the
scale alone, never from estimates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.ordered.scales import Scale, is_ordered, scale_of
from hushpoll_analysis.ordered.statistics import Block, Bounded
from hushpoll_analysis.ordered.summary import answers_of
from hushpoll_analysis.records.source import Source
from hushpoll_analysis.verdicts.expected import Expected
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_shared.qualifying.verdict import share_tells
from hushpoll_shared.survey.questions.attributes import PublishedAttribute

Mask = npt.NDArray[np.bool_]
"""Which categories a bin has."""

FEWEST: Final = 21
"""Categories from which on neighbouring numbers are put together."""
MOST_CATEGORIES: Final = 2_000
"""A question with more has no bins: its shares would take seconds."""
MOST: Final = 10
"""Bins of a question."""
_STEPS: Final = (1, 2, 5)


@dataclass(frozen=True)
class Bin:
    """A range of numbers, and the share of those who answered that lies in it."""

    label: str
    """Such as ``20 to 29``, or one number."""
    share: Bounded
    low: int
    """Its ends, both in it."""
    high: int

    @property
    def known(self) -> bool:
        """Whether the records give a share with both ends."""
        return all(
            math.isfinite(one) for one in (self.share.value, self.share.lower, self.share.upper)
        )


@dataclass(frozen=True)
class Bins:
    """The bins of a question, from the lowest; `noisy` if none of them can be told."""

    bins: tuple[Bin, ...]
    noisy: bool


def has_bins(attribute: PublishedAttribute) -> bool:
    """Return whether neighbouring answers of a question can be put together: many whole numbers."""
    if not FEWEST <= attribute.k <= MOST_CATEGORIES or not is_ordered(attribute):
        return False
    scale = scale_of(attribute)
    # Records of a number have anchors beside it, and an interval would be cut.
    whole = not scale.rounded and not scale.has_intervals
    return whole and bool((scale.low == np.round(scale.low)).all())


def binned(source: Source, attribute: str, *, confidence: float) -> Bins:
    """Return the shares of the bins of a question among those who answered it."""
    asked = source.published.attribute(attribute)
    scale = scale_of(asked)
    places = _places(scale)
    shares = _shares(source, attribute, places, confidence)
    # Decided from the number of reports and their law, never from estimates.
    expected = Expected(source.published, source.questions([attribute]).n)
    largest = max(places, key=lambda chosen: int(chosen.sum()))
    (ahead,) = _shares(expected, attribute, [largest], confidence)
    half = (ahead.upper - ahead.lower) / 2
    named = zip(places, shares, strict=True)
    return Bins(
        tuple(_bin(scale, chosen, share) for chosen, share in named),
        # a half-width that is no number tells nothing
        noisy=not half <= share_tells(len(places)),
    )


def _shares(
    source: Source, attribute: str, places: Sequence[Mask], confidence: float
) -> list[Bounded]:
    answers = answers_of(source, attribute, None)
    z = normal_quantile(confidence)
    found = []
    for chosen in places:
        block = Block.of_share(answers, chosen)
        found.append(block.bounded(block.ratios.sets(z))["at_least"][0])
    return found


def _places(scale: Scale) -> list[Mask]:
    """Return which categories each bin has, bool[m]; a bin begins at a multiple of its width."""
    least, most = int(scale.low.min()), int(scale.low.max())
    width = next(
        step * 10**power
        for power in range(20)
        for step in _STEPS
        if most // (step * 10**power) - least // (step * 10**power) < MOST
    )
    numbers = np.floor_divide(scale.low, width)
    return [numbers == one for one in np.unique(numbers)]


def _bin(scale: Scale, chosen: Mask, share: Bounded) -> Bin:
    numbers = scale.low[chosen]
    low, high = int(numbers.min()), int(numbers.max())
    return Bin(f"{low}" if low == high else f"{low} to {high}", share, low, high)
