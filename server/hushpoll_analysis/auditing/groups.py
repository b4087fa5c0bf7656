"""An audit of more than two groups from LDP records alone: each against one reference group.

The weights of the categories of one attribute are unbiased for each category by itself, and they
sum to one (:mod:`hushpoll_analysis.auditing.moments`), so any two disjoint sets of categories make
the two groups of an audit, whatever the manifest's groups are. The condition on predictions is then
about this attribute: none of them may use its record. Every interval holds by itself; of twenty at
95 % one is to be expected to miss.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hushpoll_analysis.auditing.audit import audit
from hushpoll_analysis.auditing.predictions import AuditPredictions, protected_of
from hushpoll_analysis.auditing.report import FairnessAudit
from hushpoll_analysis.estimates.frequencies import how_to_read
from hushpoll_analysis.planning.power import AuditAssumptions
from hushpoll_analysis.records.records import Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.protected import Protected
from hushpoll_shared.survey.published import Published


@dataclass(frozen=True, slots=True)
class GroupsAudit:
    """Group fairness of several groups, estimated from records.

    Attributes
    ----------
    attribute : str
        Whose categories are the groups.
    reference : tuple of str
        Categories of group 1.
    audits : mapping of str to FairnessAudit
        By category: that group as group 0, beside the reference as group 1.
    """

    attribute: str
    reference: tuple[str, ...]
    audits: Mapping[str, FairnessAudit]

    def to_dict(self) -> dict[str, Any]:
        """Return the audits as the API and ``--json`` give them."""
        first = next(iter(self.audits.values())).to_dict()
        shown = sum(pair.intervals for pair in self.audits.values())
        return {
            "kind": "fairness audit of several groups",
            **{name: first[name] for name in ("survey", "n", "confidence", "setting", "origin")},
            "intervals": how_to_read(shown, first["confidence"]),
            "protected": {
                "attribute": self.attribute,
                "protocol": first["protected"]["protocol"],
                "epsilon": first["protected"]["epsilon"],
                "reference": list(self.reference),
            },
            "groups": [
                {"group": name, **{part: pair.to_dict()[part] for part in _PARTS}}
                for name, pair in self.audits.items()
            ],
        }


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
        Of each interval, in (0, 0.999].
    expected, outlook
        See :func:`hushpoll_analysis.auditing.audit.audit`; of each pair.

    Raises
    ------
    InvalidParameter
        As :func:`regrouped` and :func:`hushpoll_analysis.auditing.audit.audit`.
    """
    published = records.published
    groups = regrouped(published, attribute, reference).protected
    assert groups is not None  # noqa: S101  (regrouped has set it)
    audits = {}
    for category in groups.unprivileged:
        pair = replace(
            published, protected=Protected(groups.attribute, groups.privileged, (category,))
        )
        result = audit(
            records.under(pair),
            predictions,
            confidence=confidence,
            expected=expected,
            outlook=outlook,
        )
        audits[category] = replace(result, digest=published.digest)
    return GroupsAudit(groups.attribute, groups.privileged, audits)
