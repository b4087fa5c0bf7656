"""An audit of more than two groups from LDP records alone: each against one reference group.

The weights of the categories of one attribute are unbiased for each category by itself, and they
sum to one (:mod:`hushpoll_analysis.auditing.moments`), so any two disjoint sets of categories make
the two groups of an audit, whatever the manifest's groups are. The condition on predictions is then
about this attribute: none of them may use its record.

Many groups mean many intervals. By themselves, one of twenty at 95 % is to be expected to miss. So
for each metric the intervals of all groups can be asked to hold together (Bonferroni), or few of
the disparities that are found to be false (Benjamini and Yekutieli, over the groups).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, get_args

import numpy as np

from hushpoll_analysis.auditing.audit import audit
from hushpoll_analysis.auditing.power import AuditAssumptions
from hushpoll_analysis.auditing.predictions import AuditPredictions, protected_of
from hushpoll_analysis.auditing.report import FairnessAudit, MetricConclusion
from hushpoll_analysis.estimates.interval import Interval
from hushpoll_analysis.frames.tabular import Tabular
from hushpoll_analysis.metrics import largest_limits
from hushpoll_analysis.multiplicity.discovery import adjusted
from hushpoll_analysis.records.records import Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.group_metrics import LARGEST_CONFIDENCE, METRICS
from hushpoll_shared.spelling.intervals import how_to_read
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.protected import Protected

Together = Literal["each", "simultaneous", "discoveries"]
TOGETHER = (
    "For each metric, rate and share the intervals of all groups hold together with this "
    "confidence. They hold for one look at the results, decided on beforehand."
)
DISCOVERIES = (
    "Of the disparities that are listed as discoveries, for each metric over the groups, at most "
    "the part `rate` is expected to be false (Benjamini and Yekutieli)."
)


@dataclass(frozen=True, slots=True)
class GroupsAudit(Tabular):
    """Group fairness of several groups, estimated from records.

    Attributes
    ----------
    attribute : str
        Whose categories are the groups.
    reference : tuple of str
        Categories of group 1.
    audits : mapping of str to FairnessAudit
        By category: that group as group 0, beside the reference as group 1.
    together : str
        How the groups are taken together; see :func:`audit_groups`.
    confidence : float
        That was asked for; of each pair's own sets it is larger if they hold together.
    adjusted : mapping of (str, str) to float
        By group and metric: the adjusted p-value, where discoveries were asked for.
    """

    statistic_name: ClassVar[str] = "fairness"

    attribute: str
    reference: tuple[str, ...]
    audits: Mapping[str, FairnessAudit]
    together: Together
    confidence: float
    adjusted: Mapping[tuple[str, str], float] = field(default_factory=dict)

    @property
    def largest(self) -> Mapping[str, Interval]:
        """The largest disparity of any group from the reference, by metric.

        Of a difference its size, of a ratio the smallest. Its interval is the one that follows from
        sets that hold together, so there is none unless they do.
        """
        if self.together != "simultaneous":
            return {}
        found = {}
        for name, metric in METRICS.items():
            sets = [pair.metrics[name] for pair in self.audits.values()]
            known = [one for one in sets if isinstance(one, Interval)]
            if not known:
                continue
            values = [one.value for one in known]
            if metric.is_ratio:
                worst = int(np.argmin(values))
                lower, upper = (min(getattr(one, end) for one in known) for end in ENDS)
            else:
                worst = int(np.argmax(np.abs(values)))
                limits = [(np.asarray(one.lower), np.asarray(one.upper)) for one in known]
                lower, upper = map(float, largest_limits(limits))
            value = values[worst] if metric.is_ratio else abs(values[worst])
            found[name] = Interval(value, known[worst].standard_error, lower, upper)
        return found

    def to_dict(self) -> JsonMembers:
        """Return the audits as the API and ``--json`` give them."""
        one = next(iter(self.audits.values()))
        first = one.to_dict()
        shown = sum(pair.intervals for pair in self.audits.values())
        reading = how_to_read(shown, self.confidence)
        more: JsonMembers = {}
        if self.together == "simultaneous":
            reading = TOGETHER
            more["largest"] = {name: one.to_dict() for name, one in self.largest.items()}
        elif self.together == "discoveries":
            reading += f" {DISCOVERIES}"
            more["rate"] = 1 - self.confidence
            more["discoveries"] = [
                {"group": group, "metric": name, "adjusted_p_value": value}
                for (group, name), value in self.adjusted.items()
                if value <= 1 - self.confidence
            ]
        if more:
            more["together"] = self.together
        return {
            "kind": "fairness audit of several groups",
            **{name: first[name] for name in ("survey", "n")},
            "confidence": self.confidence,
            **{name: first[name] for name in ("setting", "origin")},
            "intervals": reading,
            **more,
            "protected": {
                "attribute": self.attribute,
                "protocol": one.protocol,
                "epsilon": one.epsilon,
                "reference": list(self.reference),
            },
            "groups": [
                {"group": name, **{part: pair.to_dict()[part] for part in _PARTS}}
                for name, pair in self.audits.items()
            ],
        }


ENDS = ("lower", "upper")
_PARTS = ("expected", "shares", "metrics", "rates")


def regrouped(
    published: Published, attribute: str | None = None, reference: str | None = None
) -> Published:
    """Return a survey whose groups are one reference, and all other categories of an attribute.

    It serves to make predictions for :func:`audit_groups` that do without the attribute's record.
    The result is no published survey: no respondent has seen it, and its digest means nothing.

    Parameters
    ----------
    published : Published
        The survey.
    attribute : str, optional
        By default its protected attribute.
    reference : str, optional
        A category; by default the privileged ones of the protected attribute.

    Raises
    ------
    InvalidParameter
        For an attribute or category that is not there, no reference where the manifest has none, or
        no group besides the reference.
    """
    own = published.protected
    compared = protected_of(published) if attribute is None else published.attribute(attribute)
    answers = tuple(compared.categories)
    if reference is not None:
        privileged: tuple[str, ...] = (reference,)
    elif own is not None and own.attribute == compared.name:
        privileged = own.privileged
    else:
        raise InvalidParameter(
            f"{compared.name} is not the manifest's protected attribute, so it has no privileged "
            f"categories to compare with; give one as reference: {', '.join(answers[:12])}",
            field="reference",
        )
    if reference is not None and reference not in compared.domain:
        raise InvalidParameter(
            f"reference is {reference!r}, no category of {compared.name}; give one of "
            f"{', '.join(answers[:12])}",
            field="reference",
        )
    others = tuple(category for category in answers if category not in privileged)
    if not others:
        raise InvalidParameter(
            f"{compared.name} has no category besides the reference, so there is nothing to "
            "compare; give another attribute or reference",
            field="reference",
        )
    return replace(published, protected=Protected(compared.name, privileged, others))


def audit_groups(
    records: Records,
    predictions: AuditPredictions,
    *,
    attribute: str | None = None,
    reference: str | None = None,
    confidence: float = 0.95,
    expected: AuditAssumptions | None = None,
    outlook: bool = True,
    together: Together = "each",
) -> GroupsAudit:
    """Audit every category of an attribute against a reference, from records alone.

    A missing answer is no group. The audit of each pair is that of
    :func:`hushpoll_analysis.auditing.audit.audit`, conditions included.

    Parameters
    ----------
    records : Records
        Of the survey.
    predictions : AuditPredictions
        One per record, by a model that never saw the record, made for :func:`regrouped`.
    attribute, reference
        See :func:`regrouped`.
    confidence : float
        Of each interval, in (0, 0.999], or that they hold together.
    expected, outlook
        See :func:`hushpoll_analysis.auditing.audit.audit`; of each pair. What such a survey can
        find is said at the level of its own intervals.
    together : {"each", "simultaneous", "discoveries"}
        Each interval by itself; for each metric those of all groups together, and the largest
        disparity with them; or each by itself, with p-values adjusted over the groups.

    Raises
    ------
    InvalidParameter
        As :func:`regrouped` and :func:`hushpoll_analysis.auditing.audit.audit`; for another word
        in `together`, or so many groups that their intervals cannot hold together.
    """
    if together not in get_args(Together):
        raise InvalidParameter(
            f"together is {together!r}; it must be one of {', '.join(get_args(Together))}",
            field="together",
        )
    published = records.published
    groups = regrouped(published, attribute, reference).protected
    assert groups is not None  # noqa: S101  (regrouped has set it)
    level = confidence
    if together == "simultaneous":
        level = 1 - (1 - confidence) / len(groups.unprivileged)
        if confidence <= LARGEST_CONFIDENCE < level:
            raise InvalidParameter(
                f"confidence is {confidence}; so that {len(groups.unprivileged)} groups hold "
                f"together, each needs {level:.6g}, above {LARGEST_CONFIDENCE}, where intervals of "
                "audits are not known to hold: lower the confidence, or ask for discoveries",
                field="confidence",
            )
    audits = {}
    for category in groups.unprivileged:
        pair = replace(
            published, protected=Protected(groups.attribute, groups.privileged, (category,))
        )
        result = audit(
            records.under(pair),
            predictions,
            confidence=level,
            expected=expected,
            outlook=outlook,
            p_values=together == "discoveries",
        )
        audits[category] = replace(result, digest=published.digest)
    return GroupsAudit(
        groups.attribute, groups.privileged, audits, together, confidence, _adjusted(audits)
    )


def _adjusted(audits: Mapping[str, FairnessAudit]) -> dict[tuple[str, str], float]:
    """Return the adjusted p-value of each group and metric that has a p-value."""
    found = {}
    for name in METRICS:
        p_values = {}
        for group, pair in audits.items():
            metric = pair.metrics[name]
            if isinstance(metric, MetricConclusion) and metric.p_value is not None:
                p_values[group] = metric.p_value
        values = adjusted(list(p_values.values()))
        for group, value in zip(p_values, values, strict=True):
            found[group, name] = float(value)
    return found
