"""What an audit from records alone can say, from what is known beforehand: power and outlook.

An audit finds a gap if it can conclude and its set leaves out what would be fair. How often it does
is counted over surveys drawn from the law of a population and of the protocols, by the audit's own
rule (:mod:`hushpoll_analysis.auditing.expected_audits`). The planner shows this power before a
survey begins. The outlook stands beside each result and decides nothing: whether there is a
conclusion follows from the confidence set alone.

The population is as simple as the metrics allow. Both groups have the same share of positive
labels, and in the unprivileged group the model has a selection rate P_0 and a recall TPR_0, hence
FPR_0. For most metrics everybody in the privileged group is predicted positive more often by the
gap, whatever the label; for OAD every error is more frequent there by the gap; for PPD as many are
predicted positive there, but the share of them that is right is smaller by the gap
(:meth:`hushpoll_shared.group_metrics.Rate.step`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.auditing.expected_audits import concludes, finds, share_of_surveys
from hushpoll_analysis.records.answering import audited, labelled_target, of_respondents
from hushpoll_analysis.verdicts.needed import POWER
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.group_metrics import METRICS, Rate
from hushpoll_shared.survey.published import Published

LEVEL: Final = 0.95
INFORMED: Final = 0.4
"""TPR - FPR of the model where no recall is given, or as much of it as the other rates allow."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class AuditAssumptions:
    """What the audit's power is computed for; refuses what contradicts itself."""

    gap: float = 0.1
    """True size of the difference that is looked for, in (0, 1); for SPD, P_1 - P_0, and DI is then
    positive/(positive + gap)."""
    positive: float = 0.3
    """P_0, share predicted positive in the unprivileged group, in [0, 1 - gap]."""
    unprivileged: float = 0.5
    """Share of the respondents in the unprivileged group, in (0, 1); the rest is privileged."""
    base: float = 0.3
    """Share with a positive label, in either group, in (0, 1)."""
    recall: float | None = None
    """TPR_0, in [0, 1 - gap]; None takes the one at which TPR_0 - FPR_0 is 0.4, or less where the
    rates would leave [0, 1]."""

    def __post_init__(self) -> None:
        if not 0 < self.gap < 1 or not 0 <= self.positive <= 1 - self.gap:
            raise InvalidParameter(
                f"gap is {self.gap} and positive {self.positive}; give a gap in (0, 1) and a share "
                "in [0, 1 - gap]",
                field="gap",
            )
        for name in ("unprivileged", "base"):
            if not 0 < getattr(self, name) < 1:
                raise InvalidParameter(
                    f"{name} is {getattr(self, name)}; give a share in (0, 1)", field=name
                )
        if self.recall is None:
            return
        if not 0 <= self.recall <= 1 - self.gap or not 0 <= self.false_positive <= 1 - self.gap:
            raise InvalidParameter(
                f"recall is {self.recall}, which with positive {self.positive} and base "
                f"{self.base} makes a false positive rate of {self.false_positive:.3f}; both must "
                "lie in [0, 1 - gap]",
                field="recall",
            )

    @property
    def true_positive(self) -> float:
        """TPR_0."""
        if self.recall is not None:
            return self.recall
        most = (1 - self.gap - self.positive) / (1 - self.base)
        return self.positive + (1 - self.base) * min(INFORMED, self.positive / self.base, most)

    @property
    def false_positive(self) -> float:
        """FPR_0."""
        return (self.positive - self.base * self.true_positive) / (1 - self.base)

    def with_gap(self, gap: float, metric: str) -> Array | None:
        """Return the population with another gap, f64[2, 2, 2]; None if there is no room for it."""
        if self.positive > 1 - gap:
            return None
        rates = () if self.recall is None else (self.recall, self.false_positive)
        return (
            None if max(rates, default=0) > 1 - gap else replace(self, gap=gap).population(metric)
        )

    def population(self, metric: str) -> Array | None:
        """Return the shares by group, label and prediction, f64[2, 2, 2]; None without any."""
        # by label: negative, positive
        own = np.array([self.false_positive, self.true_positive])
        step = self.gap * np.array(METRICS[metric].rates[0].step(self.base, self.positive))
        rates = np.stack([own, own + step])
        if (rates < -1e-12).any() or (rates > 1 + 1e-12).any():
            return None
        rates = np.clip(rates, 0.0, 1.0)
        people = np.array([self.unprivileged, 1 - self.unprivileged])[:, None] * [
            1 - self.base,
            self.base,
        ]
        return np.asarray(people[..., None] * np.stack([1 - rates, rates], axis=-1))

    def rate(self, rate: Rate) -> float:
        """Return a rate of the unprivileged group; 0 where it has no such row."""
        wrong, right = self.false_positive, self.true_positive
        cells = (1 - self.base) * (1 - wrong), (1 - self.base) * wrong
        return rate.of((*cells, self.base * (1 - right), self.base * right)) or 0.0


def audit_powers(
    published: Published, n: int, given: AuditAssumptions
) -> Mapping[str, float | None]:
    """Return the chance that an audit at 95 % finds the gap, per metric.

    Respondents are spread over the groups' categories; nobody is in neither group, and everybody
    has a label. Of questions in a draw it is an audit of those who answer both.

    Without a target that has a positive category, metrics that use labels are None, as is one whose
    gap the population has no room for. It refuses a survey of which nobody answers both.
    """
    published, n = of_respondents(published, audited(published), n, field="draws")
    labelled = labelled_target(published) is not None
    powers: dict[str, float | None] = dict.fromkeys(METRICS)
    # metrics whose populations differ in the same way are counted in the same surveys
    together: dict[tuple[float, float], list[str]] = {}
    for name, metric in METRICS.items():
        if labelled or not metric.uses_labels:
            step = metric.rates[0].step(given.base, given.positive)
            together.setdefault(step, []).append(name)
    for names in together.values():
        population = given.population(names[0])
        if population is not None:
            powers |= share_of_surveys(
                finds, published, n, population, tuple(names), confidence=LEVEL
            )
    return powers


SELDOM: Final = 0.5
"""Share of the surveys below which they conclude seldom."""

SURVEYS: Final = 500
SMALLEST_GAP: Final = 1e-4
PRECISION: Final = 0.05
"""Relative, of the smallest difference that is found."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What surveys of this n, epsilon and shares can say of a metric."""

    concludes: float
    """Share of them that conclude, if there is no disparity."""
    smallest_detectable: float | None
    """Smallest true difference of the two rates that is found with power `POWER`, for a ratio the
    ratio that this difference makes; None if not even the largest is found so often."""


def outlooks(
    published: Published,
    n: int,
    given: AuditAssumptions,
    *,
    confidence: float,
    outside: float = 0.0,
) -> Mapping[str, Outlook | None]:
    """Return the outlook of each metric; None where the shares leave no room for a disparity.

    Without a target that has a positive category, metrics that use labels are None. The gap of
    `given` plays no part; `outside`, in [0, 1), is the share in neither group.
    """
    labelled = labelled_target(published) is not None
    return {
        name: _outlook(published, n, given, name, confidence, outside)
        if labelled or not metric.uses_labels
        else None
        for name, metric in METRICS.items()
    }


def _outlook(
    published: Published,
    n: int,
    given: AuditAssumptions,
    metric: str,
    confidence: float,
    outside: float,
) -> Outlook | None:
    ends = _gaps(given, metric)
    if ends is None:
        return None
    fair = given.with_gap(SMALLEST_GAP, metric)
    assert fair is not None  # noqa: S101  (there is room)
    conclusive = share_of_surveys(
        concludes,
        published,
        n,
        fair,
        (metric,),
        confidence=confidence,
        outside=outside,
        surveys=SURVEYS,
    )[metric]
    high = smallest_gap(published, n, given, metric, confidence=confidence, outside=outside)
    if high is None or not METRICS[metric].is_ratio:
        return Outlook(conclusive, high)
    value = given.rate(METRICS[metric].rates[0])
    return Outlook(conclusive, value / (value + high))


def smallest_gap(
    published: Published,
    n: int,
    given: AuditAssumptions,
    metric: str,
    *,
    confidence: float,
    outside: float = 0.0,
) -> float | None:
    """Return the smallest true difference of rates that is found with `POWER`, to 5 %, or None."""
    ends = _gaps(given, metric)
    if ends is None:
        return None
    low, high = ends

    def power(gap: float) -> float:
        population = given.with_gap(gap, metric)
        assert population is not None  # noqa: S101  (there is room for more)
        return share_of_surveys(
            finds,
            published,
            n,
            population,
            (metric,),
            confidence=confidence,
            outside=outside,
            surveys=SURVEYS,
        )[metric]

    below, above = power(low), power(high)
    if above < POWER:
        return None
    while high - low > PRECISION * high:
        # where the power's normal quantile would reach the aim if it were straight between the two
        part = (_probit(POWER) - _probit(below)) / max(_probit(above) - _probit(below), 1e-9)
        middle = low + min(max(part, 0.1), 0.9) * (high - low)
        at = power(middle)
        if at >= POWER:
            high, above = middle, at
        else:
            low, below = middle, at
    return high


def _gaps(given: AuditAssumptions, metric: str) -> tuple[float, float] | None:
    """Return the smallest and the largest gap that is looked at; None where there is no room."""
    low, high = SMALLEST_GAP, _largest_gap(given, metric)
    if given.with_gap(low, metric) is None or given.with_gap(high, metric) is None:
        return None
    return low, high


def _largest_gap(given: AuditAssumptions, metric: str) -> float:
    low, high = SMALLEST_GAP, 1.0
    while high - low > PRECISION * low:
        middle = (low + high) / 2
        low, high = (low, middle) if given.with_gap(middle, metric) is None else (middle, high)
    return low


def _probit(chance: float) -> float:
    return NormalDist().inv_cdf(min(max(chance, 1e-3), 1 - 1e-3))
