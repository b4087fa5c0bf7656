"""Rates of groups and their comparisons: with intervals, or with the reason why there are none.

The widest spread over all groups says how far apart the two that differ most are. Its names are
those of the literature (:attr:`hushpoll_shared.group_metrics.GroupMetric.spread`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.auditing.report import Withheld
from hushpoll_analysis.metrics import (
    GroupCounts,
    combined,
    difference_limits,
    largest_limits,
    level_of_each,
    rate_limits,
    ratio_limits,
    spread_limits,
)
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_shared.group_metrics import METRICS, RATES, GroupMetric, Rate
from hushpoll_training.evaluation.documents import LimitsDocument, NumberDocument
from hushpoll_training.evaluation.fairness.bootstrap import Statistic, bca, resample
from hushpoll_training.evaluation.fairness.partition import Partition


@dataclass(frozen=True, slots=True)
class Bounds:
    """An interval; `upper` is infinite where the data bounds nothing."""

    lower: float
    upper: float

    def to_dict(self) -> LimitsDocument:
        """Return the limits as JSON, which has no infinity: null where there is no bound."""
        return {"lower": self.lower, "upper": self.upper if math.isfinite(self.upper) else None}


@dataclass(frozen=True, slots=True)
class GroupEstimate:
    """A rate of a group, or a comparison of two groups."""

    value: float
    standard_error: float
    """By the delta method."""
    closed_form: Bounds
    """See :mod:`hushpoll_analysis.metrics`."""
    bootstrap: Bounds | Withheld
    """See :mod:`hushpoll_training.evaluation.fairness.bootstrap`."""

    def to_dict(self) -> NumberDocument:
        """Return the estimate as JSON."""
        bootstrap = self.bootstrap
        return {
            "value": self.value,
            "standard_error": self.standard_error,
            "closed_form": self.closed_form.to_dict(),
            "bootstrap": LimitsDocument(withheld=bootstrap.code, reason=bootstrap.reason)
            if isinstance(bootstrap, Withheld)
            else bootstrap.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Spread:
    """How far apart the groups are that differ most."""

    value: float
    """max - min or min / max."""
    limits: Bounds
    """Simultaneous over all pairs of groups, hence conservative."""
    lowest: str
    highest: str

    def to_dict(self) -> NumberDocument:
        """Return the spread as JSON."""
        return {
            "value": self.value,
            "closed_form": self.limits.to_dict(),
            "lowest": self.lowest,
            "highest": self.highest,
        }


UNVARIED = Withheld(
    "undefined",
    "every resample gives the same value or none, and what never happened cannot be resampled; the "
    "closed form stands",
)
ONE_CONSTANT = Withheld(
    "undefined",
    "one of the groups has no such row, or only such rows, so that none of its resamples differs "
    "from another and the interval would know of the other group alone; the closed form stands",
)
NOT_REGULAR = Withheld(
    "undefined",
    "no bootstrap covers the largest of several differences where groups are alike; the closed "
    "form stands",
)
NOT_RESAMPLED = Withheld("undefined", "no resamples were asked for")


def spreads(
    counts: GroupCounts, names: Sequence[str], *, confidence: float, smallest: int
) -> dict[str, Spread | Withheld]:
    """Return the spread of every metric, over the groups that have enough rows for its rates.

    The confidence, in (0, 1), is the level of each interval; a group must have `smallest` rows.
    """
    return {
        metric.spread: _spread(counts, names, metric, confidence, smallest)
        for metric in METRICS.values()
    }


def _spread(
    counts: GroupCounts, names: Sequence[str], metric: GroupMetric, confidence: float, smallest: int
) -> Spread | Withheld:
    parts = []
    for rate in metric.rates:
        part = _of_rate(
            counts,
            names,
            rate,
            level_of_each(metric, confidence),
            smallest,
            ratio=metric.is_ratio,
        )
        if isinstance(part, Withheld):
            return part
        parts.append(part)
    widest = max(parts, key=lambda part: part.value)
    limits = Bounds(
        max(part.limits.lower for part in parts), max(part.limits.upper for part in parts)
    )
    return Spread(widest.value, limits, widest.lowest, widest.highest)


def _of_rate(
    counts: GroupCounts,
    names: Sequence[str],
    rate: Rate,
    confidence: float,
    smallest: int,
    *,
    ratio: bool,
) -> Spread | Withheld:
    large = np.flatnonzero(counts.rows(rate) >= smallest)
    if len(large) < 2:
        return Withheld(
            "not-enough-data", f"fewer than two groups have at least {smallest} {rate.rows_of}"
        )
    hits, rows = counts.hits(rate)[large], counts.rows(rate)[large]
    if ratio and not hits.any():
        return Withheld("undefined", f"no {rate.row} of any group {rate.hit}")
    value = hits / rows
    least, most = float(value.min()), float(value.max())
    return Spread(
        least / most if ratio else most - least,
        Bounds(*spread_limits(hits, rows, confidence, ratio=ratio)),
        names[large[int(value.argmin())]],
        names[large[int(value.argmax())]],
    )


Array = npt.NDArray[np.float64]


class CountEstimates:
    """Estimates from counts; the bootstrap of all of them from the same resamples."""

    def __init__(
        self,
        counts: GroupCounts,
        partition: Partition,
        confidence: float,
        resamples: int,
        seed: int,
        smallest: int,
    ) -> None:
        self._counts, self._names, self._smallest = counts, partition.names, smallest
        self._reference, self._confidence = partition.reference, confidence
        self._boot: dict[str, tuple[Array, Array]] = {}
        if resamples:
            # groups without a row have nothing to draw from, and their numbers are withheld
            filled = GroupCounts(np.where(counts.n[:, None] > 0, counts.cells, 1))
            drawn = resample(filled, resamples, np.random.default_rng(seed))
            for rate in RATES.values():
                self._boot[rate.name] = bca(filled, drawn, _rate_of(rate), confidence)
            for metric in METRICS.values():
                if not metric.is_largest:
                    compared = _metric_of(metric, self._reference)
                    self._boot[metric.name] = bca(filled, drawn, compared, confidence)
        self._resampled = bool(resamples)

    def rate(self, rate: Rate, place: int) -> GroupEstimate | Withheld:
        """Return a group's rate."""
        short = self._too_small(rate, place)
        if short is not None:
            return short
        lower, upper = self._limits(rate, place, self._confidence)
        value = float(self._counts.rate(rate)[place])
        return GroupEstimate(
            value,
            self._error(rate, place),
            Bounds(float(lower), float(upper)),
            self._bootstrap(rate.name, place),
        )

    def metric(self, metric: GroupMetric, place: int) -> GroupEstimate | Withheld:
        """Return a comparison of a group with the reference."""
        against = self._reference
        for rate in metric.rates:
            short = self._too_small(rate, place) or self._too_small(rate, against)
            if short is not None:
                return short
        value, error, limits = self._compare(metric, place)
        if np.isnan(value):
            rate = metric.rates[0]
            return Withheld(
                "undefined",
                f"no {rate.row} of {self._names[against]} {rate.hit}, so {rate.name}1 is 0",
            )
        bootstrap: Bounds | Withheld = self._bootstrap(metric.name, place)
        if self._resampled and metric.is_largest:
            bootstrap = NOT_REGULAR
        elif self._resampled and any(self._constant(rate, place) for rate in metric.rates):
            bootstrap = ONE_CONSTANT
        return GroupEstimate(value, error, limits, bootstrap)

    def _compare(self, metric: GroupMetric, place: int) -> tuple[float, float, Bounds]:
        """Return value, standard error and limits of a metric; the value is nan if undefined."""
        against, level = self._reference, level_of_each(metric, self._confidence)
        low, high = (
            [np.asarray(self._counts.rate(rate)[at]) for rate in metric.rates]
            for at in (place, against)
        )
        value = float(combined(metric, low, high))
        if np.isnan(value):
            return value, np.nan, Bounds(np.nan, np.nan)
        errors, limits = [], []
        for rate, own, other in zip(metric.rates, low, high, strict=True):
            at = self._limits(rate, place, level), self._limits(rate, against, level)
            below, above = self._error(rate, place), self._error(rate, against)
            if metric.is_ratio:
                errors.append(float(np.hypot(below, value * above) / other))
                limits.append(ratio_limits(own, at[0], other, at[1]))
            else:
                errors.append(float(np.hypot(below, above)))
                limits.append(difference_limits(other, at[1], own, at[0]))
        if not metric.is_largest:
            return value, errors[0], _as_limits(limits[0])
        # the error is that of the difference which is the largest
        widest = int(np.argmax([abs(other - own) for own, other in zip(low, high, strict=True)]))
        return value, errors[widest], _as_limits(largest_limits(limits))

    def _limits(self, rate: Rate, place: int, confidence: float) -> tuple[Array, Array]:
        hits, rows = self._counts.hits(rate)[place], self._counts.rows(rate)[place]
        return rate_limits(hits, rows, normal_quantile(confidence))

    def _bootstrap(self, name: str, place: int) -> Bounds | Withheld:
        if name not in self._boot:
            return NOT_RESAMPLED
        lower, upper = (float(limits[place]) for limits in self._boot[name])
        return UNVARIED if np.isnan(lower) else Bounds(lower, upper)

    def _constant(self, rate: Rate, place: int) -> bool:
        """Return whether a compared group has no row, or only rows, that count as hits."""
        hits, rows = self._counts.hits(rate), self._counts.rows(rate)
        return any(hits[at] in (0, rows[at]) for at in (place, self._reference))

    def _error(self, rate: Rate, place: int) -> float:
        value, rows = self._counts.rate(rate)[place], self._counts.rows(rate)[place]
        return float(np.sqrt(value * (1 - value) / rows))

    def _too_small(self, rate: Rate, place: int) -> Withheld | None:
        rows = int(self._counts.rows(rate)[place])
        if rows >= self._smallest:
            return None
        return Withheld(
            "not-enough-data",
            f"{self._names[place]} has {rows} {rate.rows_of}, and a rate needs at least "
            f"{self._smallest}",
        )


def _rate_of(rate: Rate) -> Statistic:
    return lambda counts: counts.rate(rate)


def _metric_of(metric: GroupMetric, reference: int) -> Statistic:
    def compared(counts: GroupCounts) -> Array:
        low = [counts.rate(rate) for rate in metric.rates]
        return combined(metric, low, [values[..., reference, None] for values in low])

    return compared


def _as_limits(limits: tuple[Array, Array]) -> Bounds:
    return Bounds(float(limits[0]), float(limits[1]))
