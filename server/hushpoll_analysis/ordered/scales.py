"""Scales: the number, or the interval of numbers, that each category of an attribute stands for.

A manifest keeps the order of categories, not numbers. Where every category is written as a number
(a manifest's `range` is) or as an interval such as ``18-24``, and everybody reads these numbers
alike, the scale is read from the labels. Otherwise the analyst gives one: nothing is guessed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.queries.parts import Score as ScoreRow
from hushpoll_shared.spelling.scores import Score, are_numbers, scores_of_labels
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.questions.attributes import PublishedAttribute

Array = npt.NDArray[np.float64]
LARGEST_SCORE: Final = 1e12
"""Beyond it, differences of scores would be lost in rounding."""


@dataclass(frozen=True, eq=False)
class Scale:
    """The scores of an attribute's categories; the missing one has none."""

    categories: tuple[str, ...]
    """In code order, without the missing one."""
    low: Array
    """f64[m], ends of what each stands for; equal where it is a number."""
    high: Array
    rounded: bool = False
    """Whether the categories are anchors of a number, of which each respondent's device has drawn
    one of the two beside the answer, that is the answer on average."""

    @cached_property
    def middle(self) -> Array:
        """The number, or the middle of the interval, of each category, f64[m]."""
        return np.asarray(self.low + (self.high - self.low) / 2)

    @property
    def has_intervals(self) -> bool:
        """Whether some category stands for more than one number."""
        return bool((self.high > self.low).any())

    @cached_property
    def ranks(self) -> npt.NDArray[np.int64]:
        """Level of each category, int64[m], 0 the lowest; equal scores have one level."""
        _, ranks = np.unique(np.stack([self.low, self.high], axis=1), axis=0, return_inverse=True)
        return ranks.reshape(-1).astype(np.int64)

    @property
    def levels(self) -> int:
        """Number of different scores."""
        return int(self.ranks.max()) + 1

    def of_level(self, level: int) -> tuple[str, float, float]:
        """Return a level's categories and its ends; an anchor's are the anchors beside it."""
        places = np.flatnonzero(self.ranks == level)
        names = " or ".join(self.categories[place] for place in places.tolist())
        if self.rounded:
            before, behind = max(level - 1, 0), min(level + 1, self.levels - 1)
            return names, float(self.low[before]), float(self.high[behind])
        return names, float(self.low[places[0]]), float(self.high[places[0]])

    @property
    def is_net_promoter(self) -> bool:
        """Whether the categories are the whole numbers 0 to 10, each once."""
        whole = np.arange(11.0)
        return not self.has_intervals and np.array_equal(np.sort(self.low), whole)

    def at_least(self, threshold: float) -> npt.NDArray[np.bool_]:
        """Return which categories are at or above a threshold, bool[m].

        It refuses one not above the lowest score, above the highest, or inside of an interval.
        """
        if self.rounded:
            raise InvalidParameter(
                f"threshold is {threshold:g}, and the answers are numbers of which records have an "
                "anchor beside them: no record says on which side of it an answer is; leave "
                "threshold out, and ask for quantiles",
                field="threshold",
            )
        least, most = float(self.low.min()), float(self.high.max())
        if not least < threshold <= most:
            raise InvalidParameter(
                f"threshold is {threshold:g}, outside ({least:g}, {most:g}]; everybody who "
                "answered would be on one side of it: give a number inside",
                field="threshold",
            )
        above = self.low >= threshold
        # an end that two intervals share belongs to the upper one
        shared = (self.high == threshold) & bool((self.low == threshold).any())
        split = ~above & (self.high >= threshold) & ~shared
        if split.any():
            place = int(split.argmax())
            raise InvalidParameter(
                f"threshold is {threshold:g}, inside of {show(self.categories[place])}, which "
                f"stands for {self.low[place]:g} to {self.high[place]:g}: no record says on which "
                "side of it such an answer is; give a number where an interval begins",
                field="threshold",
            )
        return np.asarray(above)

    def rows(self) -> tuple[ScoreRow, ...]:
        """Return what each category stands for, as rows of a result."""
        ends = zip(self.categories, self.low.tolist(), self.high.tolist(), strict=True)
        return tuple(ScoreRow(category=name, low=low, high=high) for name, low, high in ends)


def scale_of(
    attribute: PublishedAttribute, scores: Sequence[Score] | None = None, field: str = "scores"
) -> Scale:
    """Return the scale of an attribute.

    There is a score per category in code order, without the missing one: a number, or an interval's
    ends; by default they are read from the labels. It refuses, naming `field`, a wrong number of
    them, intervals that overlap, and a single score.
    """
    if attribute.number is not None:
        return _of_number(attribute, scores, field)
    return _of_labels(attribute, field) if scores is None else _of_scores(attribute, scores, field)


@lru_cache(maxsize=256)
def _of_labels(attribute: PublishedAttribute, field: str) -> Scale:
    # a page asks several times, and an attribute may have ten thousand labels
    return _of_scores(attribute, _scores_of_labels(attribute, field), field)


def _of_scores(attribute: PublishedAttribute, scores: Sequence[Score], field: str) -> Scale:
    name, m = attribute.name, len(attribute.categories)
    if len(scores) != m:
        raise InvalidParameter(
            f"{field} has {len(scores)} entries, and {name} has {m} categories"
            + (f" besides {show(attribute.missing)}" if attribute.missing is not None else "")
            + "; give one score for each of them, in the order of the manifest",
            field=field,
        )
    ends = [score if isinstance(score, tuple) else (score, score) for score in scores]
    for place, (begin, end) in enumerate(ends):
        if not (math.isfinite(begin) and math.isfinite(end) and begin <= end) or (
            max(abs(begin), abs(end)) > LARGEST_SCORE
        ):
            raise InvalidParameter(
                f"{field}[{place}] is {begin:g} to {end:g}; give numbers in [{-LARGEST_SCORE:g}, "
                f"{LARGEST_SCORE:g}], the lower end of an interval first",
                field=field,
            )
    low, high = (np.array(side, dtype=np.float64) for side in zip(*ends, strict=True))
    order = np.lexsort((high, low))
    below, above = order[:-1], order[1:]
    same = (low[below] == low[above]) & (high[below] == high[above])
    crossed = (high[below] > low[above]) & ~same
    if crossed.any():
        place = int(crossed.argmax())
        first, second = (
            f"{low[at]:g} to {high[at]:g} ({show(attribute.categories[at])})"
            for at in (below[place], above[place])
        )
        raise InvalidParameter(
            f"the scores {first} and {second} of {name} overlap, so their answers have no order; "
            "give intervals that meet at their ends at most",
            field=field,
        )
    if len(set(low.tolist())) == 1 or len(set(high.tolist())) == 1:
        raise InvalidParameter(
            f"all scores of {name} begin at {low.min():g} or all end at {high.max():g}; a scale "
            "has at least two scores that begin and end at different numbers",
            field=field,
        )
    return Scale(attribute.categories, low, high)


def _of_number(attribute: PublishedAttribute, scores: Sequence[Score] | None, field: str) -> Scale:
    if scores is not None:
        raise InvalidParameter(
            f"{field} is given, and {attribute.name} is answered by a number, which is its own "
            f"score; leave {field} out",
            field=field,
        )
    values = np.array(attribute.anchors, dtype=np.float64)
    return Scale(attribute.categories, values, values, attribute.rounded)


def is_ordered(attribute: PublishedAttribute) -> bool:
    """Return whether the labels of an attribute's categories give a scale."""
    try:
        scale_of(attribute)
    except InvalidParameter:
        return False
    return True


def doubtful(attribute: PublishedAttribute) -> str | None:
    """Return why labels that are all numbers give no scale, and what to do; None of others."""
    labels = [one for one in attribute.categories if one != attribute.missing]
    if not are_numbers(labels):
        return None
    try:
        scale_of(attribute)
    except InvalidParameter as error:
        return str(error)
    return None


def _besides_missing(attribute: PublishedAttribute) -> str:
    return "" if attribute.missing is None else f", and none for {show(attribute.missing)}"


def _scores_of_labels(attribute: PublishedAttribute, field: str) -> list[Score]:
    try:
        return scores_of_labels(attribute.categories)
    except InvalidParameter as unreadable:
        raise InvalidParameter(
            f"{attribute.name} has {unreadable}; give {len(attribute.categories)} scores "
            f"(--{field.replace('_', '-')} on the command line, {field} elsewhere), one for each "
            "category in the order of the manifest" + _besides_missing(attribute),
            field=field,
        ) from None
