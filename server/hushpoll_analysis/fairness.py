"""Fairness without ever seeing the protected attribute: an audit from LDP records alone.

See docs/explanation/fairness-without-the-attribute.md for the derivation and its conditions.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from hushpoll_analysis import fairness_rates
from hushpoll_analysis.channel import Channel
from hushpoll_analysis.counts import CELLS, chunks
from hushpoll_analysis.decode import check_records, indicator_matrix
from hushpoll_analysis.fairness_moments import RATES, Moments, row_terms
from hushpoll_analysis.fairness_predictions import AuditPredictions, check, protected_of, setting
from hushpoll_analysis.fairness_rates import METRICS, Estimated
from hushpoll_analysis.fairness_report import NO_LABELS, FairnessAudit, Finding, finding
from hushpoll_analysis.fairness_weights import excess_shares, weights
from hushpoll_analysis.frequencies import require_rows
from hushpoll_analysis.group_shares import group_shares
from hushpoll_protocols import format_epsilon
from hushpoll_shared.attributes import PublishedAttribute
from hushpoll_shared.published import Published

PRODUCTS = 64
"""Numbers per row while moments are taken, more or less."""

Weigh = Callable[[npt.NDArray[np.uint8]], npt.NDArray[np.float64]]
"""From records uint8[n, L] to one attribute's weights f64[n, k]."""


def audit(
    published: Published,
    records: npt.NDArray[np.uint8],
    predictions: AuditPredictions,
    *,
    confidence: float = 0.95,
) -> FairnessAudit:
    """Estimate DI, SPD, EOD, OAD and the group rates behind them from records.

    Every number is about the people who answered the target, where the survey has one. A perturbed
    target is debiased like the protected attribute: its noise is independent.

    Parameters
    ----------
    published : Published
        The survey; it declares a protected attribute.
    records : uint8[n, L]
        Well-formed records.
    predictions : AuditPredictions
        One per record, by a model that never saw the record.
    confidence : float
        In (0, 0.999].

    Raises
    ------
    InvalidParameter
        For predictions that would bias the audit (:func:`hushpoll_analysis.fairness_predictions
        .check`), no protected attribute, no records, or a bad confidence.
    MalformedRecord
        If a record is malformed.
    """
    check_records(published, records)
    require_rows(len(records))
    predicted = check(published, len(records), predictions)
    moments = _moments(published, records, predicted)
    attribute, protected = protected_of(published), published.protected
    assert protected is not None  # noqa: S101  (protected_of has refused None)
    names = {1: "privileged", 0: "unprivileged"}
    labelled = _positive(published) is not None

    def told(found: Estimated, rate: str, *groups: int, also: str = "") -> Finding:
        if rate != "P" and not labelled:
            return NO_LABELS
        of = {"TPR": " with a positive label", "FPR": " with a negative label"}.get(rate, "")
        who = " or the ".join(names[group] for group in groups)
        return finding(found, f"the share of the {who} group{of}{also}", moments.n)

    metrics = {
        name: told(
            fairness_rates.metric(moments, name, confidence=confidence),
            rate,
            1,
            0,
            also=", or P1, which DI divides by," if name == "DI" else "",
        )
        for name, rate in METRICS.items()
    }
    rates: dict[str, Finding] = {}
    for rate in RATES:
        unprivileged, privileged = fairness_rates.rates(moments, rate, confidence=confidence)
        rates[f"{rate}1"] = told(privileged, rate, 1)
        rates[f"{rate}0"] = told(unprivileged, rate, 0)
    shares = group_shares(published, records, moments, confidence=confidence)
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
        shares={names[group]: shares[group] for group in (1, 0)},
        metrics=metrics,
        rates=rates,
    )


def _moments(
    published: Published,
    records: npt.NDArray[np.uint8],
    predicted: npt.NDArray[np.int8],
) -> Moments:
    attribute, protected = protected_of(published), published.protected
    assert protected is not None  # noqa: S101  (protected_of has refused None)
    groups = (
        [attribute.domain.index(category) for category in protected.unprivileged],
        [attribute.domain.index(category) for category in protected.privileged],
    )
    target = _positive(published)
    weigh = _weigh(published, records, attribute)
    weigh_label = None if target is None else _weigh(published, records, target)
    total, start = Moments.none(), 0
    for chunk in chunks(published, records, CELLS // max(attribute.k, PRODUCTS)):
        positive, negative = _labels(target, chunk, weigh_label)
        terms = row_terms(
            weigh(chunk), predicted[start : start + len(chunk)], groups, positive, negative
        )
        total = total + Moments.of(terms)
        start += len(chunk)
    return total


def _weigh(
    published: Published, records: npt.NDArray[np.uint8], attribute: PublishedAttribute
) -> Weigh:
    channel = Channel.of(attribute.oracle)
    share = excess_shares(published, records, attribute)
    return lambda chunk: weights(indicator_matrix(published, chunk, attribute), channel, share)


def _labels(
    target: PublishedAttribute | None, chunk: npt.NDArray[np.uint8], weigh: Weigh | None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return what stands for y and 1 - y; without labels all rows count as negative."""
    if target is None or target.positive is None or weigh is None:
        return np.zeros(len(chunk)), np.ones(len(chunk))
    label = weigh(chunk)
    positive = label[:, target.categories.index(target.positive)]
    answered = 1.0 if target.missing is None else 1.0 - label[:, target.k - 1]
    return positive, answered - positive


def _positive(published: Published) -> PublishedAttribute | None:
    """Return the target if it tells positive from negative answers."""
    target = published.target
    return None if target is None or target.positive is None else target
