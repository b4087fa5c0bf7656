"""An audit of fairness from records alone, in one call: cross-fit, then audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from hushpoll_analysis.auditing.audit import audit
from hushpoll_analysis.auditing.groups import GroupsAudit, Together, audit_groups, regrouped
from hushpoll_analysis.auditing.power import AuditAssumptions
from hushpoll_analysis.auditing.predictions import AuditPredictions
from hushpoll_analysis.auditing.report import FairnessAudit
from hushpoll_analysis.frames.tabular import Tabular
from hushpoll_analysis.records.records import Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.group_metrics import CONFIDENCE, FOLDS
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject
from hushpoll_shared.survey.published import Published
from hushpoll_training.audits.dealing import in_order
from hushpoll_training.audits.predictions import cross_fit, external_predictions
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.models.model import Model
from hushpoll_training.models.recipe import Recipe

DECLARED = ("unprivileged", "positive", "base")
"""Shares that can be declared to an audit."""


@dataclass(frozen=True, slots=True)
class RecordsFairness(Tabular):
    """An audit with all that it depends on.

    Attributes
    ----------
    audit : FairnessAudit or GroupsAudit
        The estimates.
    fitting : mapping
        How the audited models were made, JSON: ``folds``, ``seed``, learner, parameters and
        encoding, or the name of an external ``model``; and ``versions``.
    protected_input : str
        ``dropped`` or ``each-value``; see :mod:`hushpoll_training.audits.predictions`.
    """

    statistic_name: ClassVar[str] = "fairness"

    audit: FairnessAudit | GroupsAudit
    fitting: JsonObject
    protected_input: str

    def to_dict(self) -> JsonMembers:
        """Return the report as the API and ``--json`` give it."""
        return {
            **self.audit.to_dict(),
            "protected_input": self.protected_input,
            **self.fitting,
        }


def fairness_of_records(
    records: Records,
    recipe: Recipe,
    options: FitOptions,
    *,
    folds: int = FOLDS,
    protected_input: str = "dropped",
    groups: str | None = None,
    reference: str | None = None,
    confidence: float = CONFIDENCE,
    expected: Mapping[str, float] | None = None,
    together: Together = "each",
) -> RecordsFairness:
    """Estimate a classifier's group fairness from records, the protected attribute unseen.

    Parameters
    ----------
    records : Records
        Records of a survey that declares a protected attribute and a target that gives labels.
    recipe, options, folds, protected_input
        See :func:`hushpoll_training.audits.predictions.cross_fit`.
    groups : str, optional
        An attribute, each of whose categories is compared with `reference`; by default the two
        groups of the manifest are compared.
    reference : str, optional
        A category of `groups`; by default the privileged ones, if it is the protected attribute.
    confidence : float
        Level of the intervals, in (0, 0.999].
    expected : mapping, optional
        ``unprivileged``, ``positive`` and ``base``, shares that were declared or found earlier:
        what a survey of this size can find is said for them. See
        :class:`hushpoll_analysis.auditing.power.AuditAssumptions`.
    together : {"each", "simultaneous", "discoveries"}
        How several groups are taken together; see
        :func:`hushpoll_analysis.auditing.groups.audit_groups`.

    Raises
    ------
    InvalidParameter
        For a bad argument, or a survey or records that cannot be audited: no protected attribute,
        no target, a target that gives no labels, too few records for the folds.
    """
    declared = declared_shares(expected)
    check_together(together, groups)
    records = in_order(records, options.seed)
    compared = records.under(compared_survey(records.published, groups, reference))
    predictions = cross_fit(compared, recipe, options, folds=folds, protected_input=protected_input)
    return RecordsFairness(
        _audited(records, predictions, groups, reference, confidence, declared, together),
        {
            "folds": folds,
            "seed": options.seed,
            **recipe.to_json(),
            "versions": recipe.learner.versions(),
        },
        protected_input,
    )


def fairness_of_model(
    model: Model,
    records: Records,
    *,
    name: str,
    protected_input: str = "dropped",
    groups: str | None = None,
    reference: str | None = None,
    confidence: float = CONFIDENCE,
    expected: Mapping[str, float] | None = None,
    together: Together = "each",
    threads: int = 1,
) -> RecordsFairness:
    """Estimate a fitted model's group fairness from records that it was fitted to none of.

    Parameters
    ----------
    model, records, protected_input, threads
        See :func:`hushpoll_training.audits.predictions.external_predictions`. The attribute that is
        not to be an input is that of `groups`, where they are given.
    name : str
        The model's name, for the report.
    groups, reference, confidence, expected, together
        See :func:`fairness_of_records`.

    Raises
    ------
    InvalidParameter
        As :func:`fairness_of_records`, and for a model of other questions.
    """
    declared = declared_shares(expected)
    check_together(together, groups)
    compared = records.under(compared_survey(records.published, groups, reference))
    predictions = external_predictions(
        model, compared, protected_input=protected_input, threads=threads
    )
    return RecordsFairness(
        _audited(records, predictions, groups, reference, confidence, declared, together),
        {"model": name, "versions": model.fitted.learner.versions()},
        protected_input,
    )


def _audited(
    records: Records,
    predictions: AuditPredictions,
    groups: str | None,
    reference: str | None,
    confidence: float,
    declared: AuditAssumptions | None,
    together: Together,
) -> FairnessAudit | GroupsAudit:
    if groups is None:
        return audit(records, predictions, confidence=confidence, expected=declared)
    return audit_groups(
        records,
        predictions,
        attribute=groups,
        reference=reference,
        confidence=confidence,
        expected=declared,
        together=together,
    )


def compared_survey(published: Published, groups: str | None, reference: str | None) -> Published:
    """Return the survey with the two groups that predictions for an audit must not know of.

    The groups are those of :func:`fairness_of_records`; refuses names that are none of the
    survey's.
    """
    if groups is not None:
        try:
            published.attribute(groups)
        except InvalidParameter as error:
            raise InvalidParameter(f"groups: {error}", field="groups") from None
        return regrouped(published, groups, reference)
    if reference is not None:
        raise InvalidParameter(
            f"reference is {reference!r}, and groups names no attribute that it is a category of; "
            "give both or neither",
            field="reference",
        )
    return published


def check_together(together: str, groups: str | None) -> None:
    """Refuse to take groups together where there are two alone."""
    if together != "each" and groups is None:
        raise InvalidParameter(
            f"together is {together!r}, and groups names no attribute; without it there are two "
            "groups, which need nothing together: give groups, or leave together out",
            field="together",
        )


def declared_shares(expected: Mapping[str, Any] | None) -> AuditAssumptions | None:
    """Return declared shares, in (0, 1), as an audit takes them; None where there are none."""
    if not expected:
        return None
    for name, share in expected.items():
        if name not in DECLARED:
            raise InvalidParameter(
                f"expected has {name!r}; it takes {', '.join(DECLARED)}", field="expected"
            )
        if not isinstance(share, int | float) or not 0 < share < 1:
            raise InvalidParameter(
                f"expected.{name} is {share}; give a share in (0, 1)", field="expected"
            )
    return AuditAssumptions(gap=min(0.1, 1 - expected.get("positive", 0.3)), **expected)
