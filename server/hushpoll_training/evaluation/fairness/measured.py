"""Rates of groups and their comparisons, each with its intervals or the reason why not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.auditing.report import Withheld
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_training.evaluation.fairness import closed_form
from hushpoll_training.evaluation.fairness.bootstrap import Statistic, bca, resample
from hushpoll_training.evaluation.fairness.counts import RATES, ROWS_OF, GroupCounts
from hushpoll_training.evaluation.fairness.estimates import (
    NOT_RESAMPLED,
    ONE_CONSTANT,
    UNVARIED,
    Estimate,
    Finding,
    Limits,
)
from hushpoll_training.evaluation.fairness.partition import Partition

COMPARED: Final[Mapping[str, str]] = {"DI": "P", "SPD": "P", "EOD": "TPR", "OAD": "ACC"}
"""Each metric and the rate that it compares."""


class Measured:
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
        self._z = normal_quantile(confidence)
        self._limits = {
            rate: closed_form.wilson(counts.hits(rate), counts.rows(rate), self._z)
            for rate in RATES
        }
        self._boot: dict[str, tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]] = {}
        if resamples:
            # groups without a row have nothing to draw from, and their numbers are withheld
            filled = GroupCounts(np.where(counts.n[:, None] > 0, counts.cells, 1))
            drawn = resample(filled, resamples, np.random.default_rng(seed))
            for name in (*RATES, *COMPARED):
                self._boot[name] = bca(filled, drawn, self._statistic(name), confidence)

    def rate(self, rate: str, place: int) -> Finding:
        """Return a group's rate."""
        short = self._too_small(rate, place)
        if short is not None:
            return short
        value = float(self._counts.rate(rate)[place])
        lower, upper = (limits[place] for limits in self._limits[rate])
        return self._estimate(rate, place, value, self._error(rate, place), lower, upper)

    def metric(self, metric: str, place: int) -> Finding:
        """Return a comparison of a group with the reference."""
        rate, against = COMPARED[metric], self._reference
        short = self._too_small(rate, place) or self._too_small(rate, against)
        if short is not None:
            return short
        values = self._counts.rate(rate)
        (zero, low), (one, high) = (
            (values[at], (self._limits[rate][0][at], self._limits[rate][1][at]))
            for at in (place, against)
        )
        errors = self._error(rate, place), self._error(rate, against)
        if metric != "DI":
            limits = closed_form.difference(one, high, zero, low)
            error = float(np.hypot(*errors))
            lower, upper = map(float, limits)
            return self._estimate(metric, place, float(one - zero), error, lower, upper)
        if one == 0:
            return Withheld(
                "undefined", f"no row of {self._names[against]} is predicted positive, so P1 is 0"
            )
        value = float(zero / one)
        error = float(np.hypot(errors[0], value * errors[1]) / one)
        lower, upper = map(float, closed_form.ratio(zero, low, one, high))
        return self._estimate(metric, place, value, error, lower, upper)

    def _estimate(
        self, name: str, place: int, value: float, error: float, lower: float, upper: float
    ) -> Estimate:
        boot: Limits | Withheld = NOT_RESAMPLED
        if name in self._boot:
            from_, to = (float(limits[place]) for limits in self._boot[name])
            boot = UNVARIED if np.isnan(from_) else Limits(from_, to)
            if self._constant(name, place):
                boot = ONE_CONSTANT
        return Estimate(value, error, Limits(float(lower), float(upper)), boot)

    def _constant(self, name: str, place: int) -> bool:
        """Return whether a compared group has no row, or only rows, that count as hits."""
        if name in RATES:
            return False
        rate = COMPARED[name]
        hits, rows = self._counts.hits(rate), self._counts.rows(rate)
        return any(hits[at] in (0, rows[at]) for at in (place, self._reference))

    def _error(self, rate: str, place: int) -> float:
        value, rows = self._counts.rate(rate)[place], self._counts.rows(rate)[place]
        return float(np.sqrt(value * (1 - value) / rows))

    def _too_small(self, rate: str, place: int) -> Withheld | None:
        rows = int(self._counts.rows(rate)[place])
        if rows >= self._smallest:
            return None
        return Withheld(
            "not-enough-data",
            f"{self._names[place]} has {rows} {ROWS_OF[rate]}, and a rate needs at least "
            f"{self._smallest}",
        )

    def _statistic(self, name: str) -> Statistic:
        if name in RATES:
            return lambda counts: counts.rate(name)
        rate, against = COMPARED[name], self._reference

        def compared(counts: GroupCounts) -> npt.NDArray[np.float64]:
            values = counts.rate(rate)
            one = values[..., against, None]
            if name != "DI":
                return np.asarray(one - values)
            return np.asarray(np.where(one > 0, values / np.where(one > 0, one, 1.0), np.nan))

        return compared
