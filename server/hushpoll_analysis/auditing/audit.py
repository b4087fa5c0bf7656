"""An audit of a model's group fairness from perturbed records alone: no group is known in clear.

See docs/explanation/fairness-without-the-attribute.md for the derivation and its conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.auditing.group_rate import rates
from hushpoll_analysis.auditing.group_shares import group_shares
from hushpoll_analysis.auditing.moments import (
    PEOPLE,
    RATE_TERMS,
    Moments,
    excess_shares,
    row_terms,
    weights,
)
from hushpoll_analysis.auditing.predictions import AuditPredictions, check, protected_of, setting
from hushpoll_analysis.auditing.report import (
    NO_LABELS,
    Compared,
    FairnessAudit,
    Withheld,
    compared,
    interval,
)
from hushpoll_analysis.auditing.sets import conclusive, metric_set, p_value
from hushpoll_analysis.estimates.frequencies import require_rows
from hushpoll_analysis.estimates.intervals import Interval
from hushpoll_analysis.planning.needed import POWER
from hushpoll_analysis.planning.power import AuditAssumptions, Outlook, outlooks
from hushpoll_analysis.poisoning.audits import extreme_rows, turning_share, without_fakes
from hushpoll_analysis.records.records import CELLS, Channel, Records
from hushpoll_protocols import format_epsilon
from hushpoll_shared.group_metrics import METRICS, RATES
from hushpoll_shared.survey.attributes import PublishedAttribute
from hushpoll_shared.survey.published import Published

SMALLEST_SHARE = 1e-3
"""Smallest share that an outlook is computed for; an estimated share below it is raised to it."""

PRODUCTS = 64
"""Numbers per row while moments are taken, more or less."""

Weigh = Callable[[Records], npt.NDArray[np.float64]]
"""From records to one attribute's weights f64[n, k]."""


def audit(
    records: Records,
    predictions: AuditPredictions,
    *,
    confidence: float = 0.95,
    expected: AuditAssumptions | None = None,
    outlook: bool = True,
    p_values: bool = False,
) -> FairnessAudit:
    """Estimate the group metrics and the group rates behind them from records.

    A metric is always answered, by a confidence set (:mod:`hushpoll_analysis.auditing.sets`).
    Where the survey has a target, every number is about the respondents who answered it. A
    perturbed target is debiased like the protected attribute: its noise is independent.

    Parameters
    ----------
    records : Records
        Of a survey that declares a protected attribute.
    predictions : AuditPredictions
        One per record, by a model that never saw the record.
    confidence : float
        In (0, 0.999].
    expected : AuditAssumptions, optional
        Shares that were declared, or estimated earlier, for which the outlook of each metric is
        computed; by default those that these records give. They decide nothing else.
    outlook : bool
        Whether to say what such a survey can find, which takes thousands of simulated audits, a
        second in all, and how many fakes may have made each conclusion; without it, an audit is
        fast enough to be simulated itself.
    p_values : bool
        Whether to give a p-value with each metric, for the test that it has its fair value.

    Raises
    ------
    InvalidParameter
        For predictions that would bias the audit (:func:`hushpoll_analysis.auditing.predictions
        .check`), no protected attribute, no records, or a bad confidence.
    """
    published = records.published
    require_rows(len(records))
    predicted = check(published, len(records), predictions)
    moments = _moments(records, predicted)
    attribute, protected = protected_of(published), published.protected
    assert protected is not None  # noqa: S101  (protected_of has refused None)
    labelled = _positive(published) is not None
    assumptions = expected or _estimated(moments)
    prospects: Mapping[str, Outlook | None] = {}
    if outlook:
        outside = 1 - float((moments.mean[:4] + moments.mean[4:]) @ PEOPLE)
        prospects = outlooks(
            published,
            moments.n,
            assumptions,
            confidence=confidence,
            outside=min(max(outside, 0.0), 1 - SMALLEST_SHARE),
        )
    rows = _fakes(published, moments, each_value=predicted.ndim == 2)
    metrics: dict[str, Compared | Withheld] = {}
    for name, metric in METRICS.items():
        metrics[name] = NO_LABELS
        if labelled or not metric.uses_labels:
            estimated = metric_set(moments, name, confidence=confidence)
            poisoning = without_fakes(moments.mean, rows, name)
            if outlook and conclusive(estimated, name):
                turning = turning_share(
                    moments.mean,
                    rows,
                    name,
                    value=float(estimated.value),
                    lower=float(estimated.lower),
                    upper=float(estimated.upper),
                )
                poisoning = replace(poisoning, turning_share=turning)
            metrics[name] = compared(
                estimated,
                name,
                outlook=prospects.get(name),
                poisoning=poisoning,
                p_value=p_value(moments, name) if p_values else None,
            )
    group_rates: dict[str, Interval | Withheld] = {}
    for name, rate in RATES.items():
        if labelled or not rate.uses_labels:
            unprivileged, privileged = rates(moments, name, confidence=confidence)
            group_rates |= {f"{name}1": interval(privileged), f"{name}0": interval(unprivileged)}
        else:
            group_rates |= {f"{name}1": NO_LABELS, f"{name}0": NO_LABELS}
    names = {1: "privileged", 0: "unprivileged"}
    shares = group_shares(records, moments, confidence=confidence)
    oracle = attribute.oracle
    return FairnessAudit(
        survey=published.name,
        version=published.version,
        digest=published.digest,
        n=moments.n,
        confidence=confidence,
        setting=setting(published, predictions),
        origin=predictions.origin,
        attribute=attribute.name,
        protocol=None if oracle is None else oracle.name,
        epsilon=None if oracle is None else format_epsilon(oracle.epsilon),
        privileged=protected.privileged,
        unprivileged=protected.unprivileged,
        expected={
            "basis": "estimated from these records" if expected is None else "declared",
            "unprivileged": assumptions.unprivileged,
            "positive": assumptions.positive,
            "base": assumptions.base,
            "power": POWER,
        },
        shares={names[group]: shares[group] for group in (1, 0)},
        metrics=metrics,
        rates=group_rates,
    )


def _estimated(moments: Moments) -> AuditAssumptions:
    """Return the shares that the records give."""
    in_groups = moments.mean[:4] + moments.mean[4:]
    people = max(float(in_groups @ PEOPLE), SMALLEST_SHARE)
    return AuditAssumptions(
        gap=SMALLEST_SHARE,
        positive=_share(float(in_groups @ RATE_TERMS["P"][0]) / people),
        unprivileged=_share(float(moments.mean[:4] @ PEOPLE) / people),
        base=_share(float(in_groups[0]) / people),
    )


def _share(value: float) -> float:
    return min(max(value, SMALLEST_SHARE), 1 - 2 * SMALLEST_SHARE)


def _fakes(published: Published, moments: Moments, *, each_value: bool) -> npt.NDArray[np.float64]:
    """Return the extreme rows of a fake report, f64[m, 8]."""
    attribute, protected = protected_of(published), published.protected
    assert protected is not None  # noqa: S101  (protected_of has refused None)
    shares = [float(moments.mean[own] @ PEOPLE) for own in (slice(0, 4), slice(4, 8))]
    sizes = [len(protected.unprivileged), len(protected.privileged)]
    groups = (attribute.oracle, *_with_rest(sizes, shares, attribute.k))
    target = _positive(published)
    if target is None:
        return extreme_rows(groups, None, each_value=each_value)
    answers = len(target.categories)
    total = moments.mean[:4] + moments.mean[4:]
    parts = _with_rest([answers - 1, 1], [float(total[1]), float(total[0])], target.k)
    return extreme_rows(groups, (target.oracle, *parts), each_value=each_value)


def _with_rest(
    sizes: list[int], shares: list[float], k: int
) -> tuple[list[int], npt.NDArray[np.float64]]:
    """Return the sizes and shares of two sets of categories, and of all others if there are."""
    rest = k - sum(sizes)
    if not rest:
        return sizes, np.array(shares)
    return [*sizes, rest], np.array([*shares, 1 - sum(shares)])


def _moments(records: Records, predicted: npt.NDArray[np.int8]) -> Moments:
    published = records.published
    attribute, protected = protected_of(published), published.protected
    assert protected is not None  # noqa: S101  (protected_of has refused None)
    groups = (
        [attribute.domain.index(category) for category in protected.unprivileged],
        [attribute.domain.index(category) for category in protected.privileged],
    )
    target = _positive(published)
    weigh = _weigh(records, attribute)
    weigh_label = None if target is None else _weigh(records, target)
    total, start = Moments.none(), 0
    for block in records.blocks(CELLS // max(attribute.k, PRODUCTS)):
        positive, negative = _labels(target, block, weigh_label)
        terms = row_terms(
            weigh(block), predicted[start : start + len(block)], groups, positive, negative
        )
        total = total + Moments.of(terms)
        start += len(block)
    return total


def _weigh(records: Records, attribute: PublishedAttribute) -> Weigh:
    channel, share = Channel.of(attribute.oracle), excess_shares(records, attribute)
    return lambda block: weights(block.indicators(attribute.name), channel, share)


def _labels(
    target: PublishedAttribute | None, block: Records, weigh: Weigh | None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return what stands for y and 1 - y; without labels all rows count as negative."""
    if target is None or target.positive is None or weigh is None:
        return np.zeros(len(block)), np.ones(len(block))
    label = weigh(block)
    positive = label[:, target.categories.index(target.positive)]
    answered = 1.0 if target.missing is None else 1.0 - label[:, target.k - 1]
    return positive, answered - positive


def _positive(published: Published) -> PublishedAttribute | None:
    """Return the target if it tells positive from negative answers."""
    target = published.target
    return None if target is None or target.positive is None else target
