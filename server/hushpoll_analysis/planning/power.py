"""Power of a fairness audit from records alone, before anybody has answered.

An audit finds a gap if it can conclude and its set leaves out what would be fair. How often it does
is counted over surveys drawn from the law of a population and of the protocols, by the audit's own
rule (:mod:`hushpoll_analysis.planning.expected_audits`).

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
from typing import Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.auditing.moments import RATE_TERMS, TERMS
from hushpoll_analysis.estimates.weight_moments import weight_products
from hushpoll_analysis.planning.expected_audits import finds, share_of_surveys
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.group_metrics import METRICS, Rate
from hushpoll_shared.survey.published import Published

LEVEL: Final = 0.95
INFORMED: Final = 0.4
"""TPR - FPR of the model where no recall is given, or as much of it as the other rates allow."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class AuditAssumptions:
    """What the audit's power is computed for.

    Attributes
    ----------
    gap : float
        True size of the difference that is looked for, in (0, 1); for SPD, P_1 - P_0, and DI is
        then positive/(positive + gap).
    positive : float
        P_0, share predicted positive in the unprivileged group, in [0, 1 - gap].
    unprivileged : float
        Share of the respondents in the unprivileged group, in (0, 1); the rest is privileged.
    base : float
        Share with a positive label, in either group, in (0, 1).
    recall : float or None
        TPR_0, in [0, 1 - gap]; None takes the one at which TPR_0 - FPR_0 is 0.4, or less where the
        rates would leave [0, 1].

    Raises
    ------
    InvalidParameter
        If one is outside its interval, or they contradict each other.
    """

    gap: float = 0.1
    positive: float = 0.3
    unprivileged: float = 0.5
    base: float = 0.3
    recall: float | None = None

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
        """Return the population with another gap, f64[2, 2, 2]; None where there is no room for it.

        Parameters
        ----------
        gap : float
            In (0, 1).
        metric : str
            Of `METRICS`.
        """
        if self.positive > 1 - gap:
            return None
        rates = () if self.recall is None else (self.recall, self.false_positive)
        return (
            None if max(rates, default=0) > 1 - gap else replace(self, gap=gap).population(metric)
        )

    def population(self, metric: str) -> Array | None:
        """Return the shares by group, label and prediction, f64[2, 2, 2]; None if there are none.

        Parameters
        ----------
        metric : str
            Of `METRICS`: whose gap it is that the population has.
        """
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
    has a label.

    Parameters
    ----------
    published : Published
        With a protected attribute. Without a target that has a positive category, metrics that use
        labels are None.
    n : int
        Respondents, at least 1.
    given : AuditAssumptions
        About the population; a metric whose gap it has no room for is None.

    Raises
    ------
    InvalidParameter
        If n is below 1, or there is no protected attribute.
    """
    target = published.target
    labelled = target is not None and target.positive is not None
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


def difference_error(published: Published, n: int, population: Array, metric: str) -> float:
    """Return the standard error of a difference that is expected of n respondents.

    Parameters
    ----------
    published, n
        See :func:`audit_powers`.
    population : f64[2, 2, 2]
        Shares by group, label and prediction, summing to 1.
    metric : str
        A difference of one rate, such as ``SPD``.

    Raises
    ------
    InvalidParameter
        As :func:`audit_powers`.
    """
    if n < 1:
        raise InvalidParameter(f"n is {n}; it must be at least 1 respondent", field="n")
    mean, second = expected_moments(published, population)
    numerator, denominator = RATE_TERMS[METRICS[metric].rates[0].name]
    influence = np.zeros(TERMS)
    for group, sign in ((0, -1.0), (1, 1.0)):
        own = slice(4 * group, 4 * group + 4)
        weight, top = float(mean[own] @ denominator), float(mean[own] @ numerator)
        influence[own] = sign * (numerator - top / weight * denominator) / weight
    return float(np.sqrt(influence @ second @ influence / n))


def expected_moments(published: Published, population: Array) -> tuple[Array, Array]:
    """Return the expected means f64[8] of an audit's terms and of their products f64[8, 8].

    Raises
    ------
    InvalidParameter
        If the survey has no protected attribute.
    """
    protected, target = published.protected, published.target
    if protected is None:
        raise InvalidParameter(
            f"survey {published.name} declares no protected attribute, so there is nothing to "
            "audit; declare one",
            field="protected",
        )
    groups = weight_products(
        published.attribute(protected.attribute).oracle,
        [len(protected.unprivileged), len(protected.privileged)],
        population.sum(axis=(1, 2)),
    )
    labels = weight_products(None, [1, 1], [0.5, 0.5])
    if target is not None and target.positive is not None:
        sizes = [len(target.categories) - 1, 1]
        labels = weight_products(target.oracle, sizes, population.sum(axis=(0, 2)))
    # Terms of a group: y, 1 - y, yhat y, yhat (1 - y).
    group = np.repeat([0, 1], TERMS // 2)
    label = np.tile([1, 0, 1, 0], 2)
    chosen = np.tile([False, False, True, True], 2)
    mean, second = np.zeros(TERMS), np.zeros((TERMS, TERMS))
    for (g, y, predicted), share in np.ndenumerate(population):
        counted = np.where(chosen, predicted, 1)
        mean += share * counted * (group == g) * (label == y)
        second += (
            share
            * np.outer(counted, counted)
            * groups[g][np.ix_(group, group)]
            * labels[y][np.ix_(label, label)]
        )
    return mean, second
