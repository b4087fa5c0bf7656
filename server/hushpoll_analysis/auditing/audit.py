"""An audit of a model's group fairness from perturbed records alone: no group is known in clear.

See docs/explanation/fairness-without-the-attribute.md for the derivation and its conditions.

The share of a group has the interval of an estimate. A group is a set of categories, and its weight
is the sum of theirs. Where every row has a label, its share is the sum of their estimates, and its
interval is that of estimates (:mod:`hushpoll_protocols.estimation.score`), with the variance and
the skewness that the law gives the weight of the set. Where the target has a category for missing
answers, the share is of those who gave a label: the mean product of the group's weight and the
label's, as in a cross-table.

Plus or minus 1.96 standard errors, as estimated, covered a group of 1 % in 66 % of the surveys
(OUE, epsilon 8, 200 respondents).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.auditing.group_rate import rates
from hushpoll_analysis.auditing.moments import (
    PEOPLE,
    RATE_TERMS,
    Moments,
    row_terms,
    row_terms_of_cells,
)
from hushpoll_analysis.auditing.poisoning import (
    extreme_rows,
    extreme_rows_of_cells,
    turning_share,
    without_fakes,
)
from hushpoll_analysis.auditing.power import AuditAssumptions, Outlook, outlooks
from hushpoll_analysis.auditing.predictions import (
    AuditPredictions,
    check,
    codes_of_groups,
    codes_of_labels,
    protected_of,
    setting,
    sizes_of_sets,
)
from hushpoll_analysis.auditing.report import (
    NO_LABELS,
    FairnessAudit,
    MetricConclusion,
    Withheld,
    conclusion_of,
)
from hushpoll_analysis.auditing.sets import conclusive, metric_set, p_value
from hushpoll_analysis.estimates.frequencies import require_rows
from hushpoll_analysis.estimates.interval import Interval
from hushpoll_analysis.estimates.joint import common_block, product_limits, product_moments
from hushpoll_analysis.estimates.row_weights import RowWeights
from hushpoll_analysis.estimates.set_shares import group_share, shares_by_law, weight_variances
from hushpoll_analysis.records.answering import (
    audited,
    labelled_target,
    part_answering,
    require_answered,
)
from hushpoll_analysis.records.counts import Counts, count
from hushpoll_analysis.records.laws import cells_of, law_of, members_of_categories
from hushpoll_analysis.records.records import CELLS, Records
from hushpoll_analysis.records.source import OfRecords
from hushpoll_analysis.verdicts.needed import POWER
from hushpoll_protocols import FrequencyOracle, format_epsilon
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_shared.group_metrics import METRICS, RATES
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute

SMALLEST_SHARE = 1e-3
"""Smallest share that an outlook is computed for; an estimated share below it is raised to it."""

PRODUCTS = 64
"""Numbers per row while moments are taken, more or less."""

Terms = Callable[[Records, npt.NDArray[np.int8]], npt.NDArray[np.float64]]
"""From records and their predictions to terms f64[n, 8]."""


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
    perturbed target is debiased like the protected attribute: its noise is independent. Where one
    of the two is in a draw, the audit is of the respondents who answer both, and so is its n.

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
        .check`), no protected attribute, no records, a bad confidence, or if nobody answers both
        the protected attribute and the target.
    """
    published = records.published
    require_rows(len(records))
    predicted = check(published, len(records), predictions)
    answering = part_answering(published, audited(published))
    if published.draws:
        require_answered(published, audited(published))
        predicted = predicted[records.answer(audited(published))]
        records = records.answering(audited(published))
        published = records.published
        require_rows(len(records))
    moments = _moments(records, predicted)
    attribute, protected = protected_of(published), published.protected
    assert protected is not None  # noqa: S101  (protected_of has refused None)
    labelled = labelled_target(published) is not None
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
    metrics: dict[str, MetricConclusion | Withheld] = {}
    for name, metric in METRICS.items():
        metrics[name] = NO_LABELS
        if labelled or not metric.uses_labels:
            estimated = metric_set(moments, name, confidence=confidence)
            poisoning = without_fakes(moments.mean, rows, name, answering=answering)
            if outlook and conclusive(estimated, name):
                turning = turning_share(
                    moments.mean,
                    rows,
                    name,
                    value=float(estimated.value),
                    lower=float(estimated.lower),
                    upper=float(estimated.upper),
                    answering=answering,
                )
                poisoning = replace(poisoning, turning_share=turning)
            metrics[name] = conclusion_of(
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
            group_rates |= {f"{name}1": privileged.interval(), f"{name}0": unprivileged.interval()}
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
    attribute = protected_of(published)
    shares = [float(moments.mean[own] @ PEOPLE) for own in (slice(0, 4), slice(4, 8))]
    codes = codes_of_groups(published)
    groups = _set_of_sets(attribute, codes, shares)
    target = labelled_target(published)
    if target is None:
        return extreme_rows(groups, None, each_value=each_value)
    labels = codes_of_labels(target)
    block = common_block(published, attribute.name, target.name)
    if block is not None:
        members = cells_of(block, [attribute.name, target.name])[0]
        sizes = [int(members[np.ix_(own, of)].sum()) for own in codes for of in labels]
        people = [float(moments.mean[place]) for place in (1, 0, 5, 4)]
        cells = block.oracle, *_with_rest(sizes, people, block.k)
        return extreme_rows_of_cells(cells, each_value=each_value)
    total = moments.mean[:4] + moments.mean[4:]
    of_labels = _set_of_sets(target, labels, [float(total[1]), float(total[0])])
    return extreme_rows(groups, of_labels, each_value=each_value)


def _set_of_sets(
    attribute: PublishedAttribute, sets: Sequence[Sequence[int]], shares: list[float]
) -> tuple[FrequencyOracle | None, list[int], npt.NDArray[np.float64]]:
    """Return the protocol, the values that stand for each set and all others, and shares."""
    whole = sum(members_of_categories(attribute))
    return attribute.oracle, *_with_rest(sizes_of_sets(attribute, sets), shares, whole)


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
    attribute, groups = protected_of(published), codes_of_groups(published)
    target = labelled_target(published)
    terms, width = _terms(records, attribute, target, groups)
    total, start = Moments.none(), 0
    for block in records.blocks(CELLS // max(width, PRODUCTS)):
        total = total + Moments.of(terms(block, predicted[start : start + len(block)]))
        start += len(block)
    return total


def _terms(
    records: Records,
    attribute: PublishedAttribute,
    target: PublishedAttribute | None,
    groups: tuple[list[int], list[int]],
) -> tuple[Terms, int]:
    """Return how terms are made of records and predictions, and how many numbers a row takes."""
    together = (
        None if target is None else common_block(records.published, attribute.name, target.name)
    )
    if target is None or together is None:
        weigh = RowWeights.of_records(records, attribute.name)
        weigh_label = None if target is None else RowWeights.of_records(records, target.name)

        def apart(block: Records, predicted: npt.NDArray[np.int8]) -> npt.NDArray[np.float64]:
            positive, negative = _labels(target, block, weigh_label)
            return row_terms(weigh.rows(block), predicted, groups, positive, negative)

        return apart, sum(members_of_categories(attribute))
    support = OfRecords(records).pair(attribute.name, target.name).both
    names = attribute.name, target.name
    cells = RowWeights.of(records.published, names, support, len(records))
    no, (yes,) = codes_of_labels(target)

    def in_block(block: Records, predicted: npt.NDArray[np.int8]) -> npt.NDArray[np.float64]:
        weights = cells.rows(block)
        labels = np.stack([weights[..., yes], weights[..., no].sum(axis=-1)], axis=-1)
        return row_terms_of_cells(labels, predicted, groups)

    return in_block, together.k


def _labels(
    target: PublishedAttribute | None, block: Records, weigh: RowWeights | None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return what stands for y and 1 - y; without labels all rows count as negative."""
    if target is None or target.positive is None or weigh is None:
        return np.zeros(len(block)), np.ones(len(block))
    label = weigh.rows(block)
    positive = label[:, target.categories.index(target.positive)]
    answered = 1.0 if target.missing is None else 1.0 - label[:, target.k - 1]
    return positive, answered - positive


Array = npt.NDArray[np.float64]


def group_shares(
    records: Records, moments: Moments, *, confidence: float
) -> tuple[Interval, Interval]:
    """Return the shares of the respondents who are in either group and have a label."""
    published = records.published
    group, target = protected_of(published), published.target
    codes = codes_of_groups(published)
    block = None if target is None else common_block(published, group.name, target.name)
    if target is not None and block is not None:
        answers = target.k if target.positive is None else len(target.categories)
        counts = OfRecords(records).pair(group.name, target.name)
        sets = [
            [code * target.k + answer for code in of for answer in range(answers)] for of in codes
        ]
        cells, law = cells_of(block, [group.name, target.name])
        possible = cells.ravel() > 0
        # nobody is in a cell without a combination
        place = np.cumsum(possible) - 1
        sets = [[int(place[code]) for code in of if possible[code]] for of in sets]
        support = counts.both.ravel()[possible]
        low, high = shares_by_law(law, support, counts.n, sets, confidence=confidence)
        return low, high
    names = [group.name, *([] if target is None else [target.name])]
    of_questions = count(records, only=names)
    low, high = (
        _labelled(
            published,
            (group, target),
            of_questions,
            codes[number],
            float(moments.mean[4 * number : 4 * number + 4] @ PEOPLE),
            confidence=confidence,
        )
        for number in (0, 1)
    )
    return low, high


def _labelled(
    published: Published,
    attributes: tuple[PublishedAttribute, PublishedAttribute | None],
    counts: Counts,
    codes: Sequence[int],
    value: float,
    *,
    confidence: float,
) -> Interval:
    (group, target), n = attributes, counts.n
    support = counts.of(published, group.name)
    alone = group_share(group, support, n, codes, confidence=confidence)
    if target is None or target.positive is None or target.missing is None:
        return alone
    answers = range(target.k - 1)
    support = counts.of(published, target.name)
    labelled = group_share(target, support, n, answers, confidence=confidence)
    f1, f2 = (np.clip(share.value, 0.0, 1.0) for share in (alone, labelled))
    of_group, of_answers = (
        (np.asarray(1.0 + inside), np.asarray(outside))
        for inside, outside in (
            weight_variances(law_of(group), group.k, codes, float(f1)),
            weight_variances(law_of(target), target.k, answers, float(f2)),
        )
    )
    numbers = product_limits(
        np.asarray(value),
        n,
        product_moments(f1, f2, of_group, of_answers),
        None,
        least=np.maximum(f1 + f2 - 1.0, 0.0),
        z=normal_quantile(confidence),
    )
    return Interval(value, *(float(number) for number in numbers))
