"""What records say about their population: frequencies, cross-tables, and how precise they are.

Everything follows from the debiased indicator D = (I - q)/(p - q), whose expectation given the
truth is the one-hot truth. Estimates are not projected; the bias of the weighted
ones is of the order of n^-2. Each name is loaded when it is first used (PEP 562), so that a
command pays for what it needs.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from hushpoll_protocols.errors import MissingExtra

try:
    import numpy
except ImportError as error:
    raise MissingExtra("server", "the analysis of records") from error
# pandas is slow to import, so it is looked for here and loaded with the first frame.
if find_spec("pandas") is None:
    raise MissingExtra("server", "the analysis of records")

if TYPE_CHECKING:
    from hushpoll_analysis.auditing.audit import audit
    from hushpoll_analysis.auditing.groups import GroupsAudit, audit_groups, regrouped
    from hushpoll_analysis.auditing.predictions import AuditPredictions
    from hushpoll_analysis.auditing.report import FairnessAudit, Withheld
    from hushpoll_analysis.estimates.cross_table import CrossTable, cross_table
    from hushpoll_analysis.estimates.frequencies import (
        AttributeEstimate,
        Estimates,
        frequencies,
        frequencies_from_counts,
    )
    from hushpoll_analysis.estimates.interval import Interval
    from hushpoll_analysis.estimates.precision import (
        ExpectedWidth,
        expected_width,
        protected_width,
        respondents_for_width,
    )
    from hushpoll_analysis.multiplicity.dependencies import Dependencies, dependencies
    from hushpoll_analysis.multiplicity.simultaneous import (
        SimultaneousEstimates,
        simultaneous_estimates,
    )
    from hushpoll_analysis.ordered.answered import AnsweredShares, answered_shares
    from hushpoll_analysis.ordered.changes import OrderedChange, ordered_change
    from hushpoll_analysis.ordered.summary import OrderedSummary, ordered_summary
    from hushpoll_analysis.ordered.together import SimultaneousMeans, simultaneous_means
    from hushpoll_analysis.records.counts import Counts, count
    from hushpoll_analysis.records.records import Channel, Records, RecordStream
    from hushpoll_analysis.relations.changes import Change, change
    from hushpoll_analysis.relations.conditional import ConditionalShares, conditional_shares
    from hushpoll_analysis.relations.independence import IndependenceTest, independence
    from hushpoll_analysis.relations.joint_tables import (
        JointTable,
        LikelihoodTable,
        joint_table,
        likelihood_table,
    )
    from hushpoll_analysis.relations.three_way import UnbiasedTable, three_way_table
    from hushpoll_analysis.shuffling import ShuffleGuarantee, shuffle_guarantee
    from hushpoll_analysis.survey_design.cell_values import CellValues
    from hushpoll_analysis.survey_design.design import SurveyDesign
    from hushpoll_analysis.survey_design.estimation import (
        SeveralWeightedShares,
        weighted_shares,
        weighted_shares_of_several,
    )
    from hushpoll_analysis.survey_design.shares import WeightedShares

del find_spec, numpy

__all__ = [
    "AnsweredShares",
    "AttributeEstimate",
    "AuditPredictions",
    "CellValues",
    "Change",
    "Channel",
    "ConditionalShares",
    "Counts",
    "CrossTable",
    "Dependencies",
    "Estimates",
    "ExpectedWidth",
    "FairnessAudit",
    "GroupsAudit",
    "IndependenceTest",
    "Interval",
    "JointTable",
    "LikelihoodTable",
    "OrderedChange",
    "OrderedSummary",
    "RecordStream",
    "Records",
    "SeveralWeightedShares",
    "ShuffleGuarantee",
    "SimultaneousEstimates",
    "SimultaneousMeans",
    "SurveyDesign",
    "UnbiasedTable",
    "WeightedShares",
    "Withheld",
    "answered_shares",
    "audit",
    "audit_groups",
    "change",
    "conditional_shares",
    "count",
    "cross_table",
    "dependencies",
    "expected_width",
    "frequencies",
    "frequencies_from_counts",
    "independence",
    "joint_table",
    "likelihood_table",
    "ordered_change",
    "ordered_summary",
    "protected_width",
    "regrouped",
    "respondents_for_width",
    "shuffle_guarantee",
    "simultaneous_estimates",
    "simultaneous_means",
    "three_way_table",
    "weighted_shares",
    "weighted_shares_of_several",
]

_HOME = {
    "AnsweredShares": "hushpoll_analysis.ordered.answered",
    "AttributeEstimate": "hushpoll_analysis.estimates.frequencies",
    "AuditPredictions": "hushpoll_analysis.auditing.predictions",
    "CellValues": "hushpoll_analysis.survey_design.cell_values",
    "Change": "hushpoll_analysis.relations.changes",
    "Channel": "hushpoll_analysis.records.records",
    "ConditionalShares": "hushpoll_analysis.relations.conditional",
    "Counts": "hushpoll_analysis.records.counts",
    "CrossTable": "hushpoll_analysis.estimates.cross_table",
    "Dependencies": "hushpoll_analysis.multiplicity.dependencies",
    "Estimates": "hushpoll_analysis.estimates.frequencies",
    "ExpectedWidth": "hushpoll_analysis.estimates.precision",
    "FairnessAudit": "hushpoll_analysis.auditing.report",
    "GroupsAudit": "hushpoll_analysis.auditing.groups",
    "IndependenceTest": "hushpoll_analysis.relations.independence",
    "Interval": "hushpoll_analysis.estimates.interval",
    "JointTable": "hushpoll_analysis.relations.joint_tables",
    "LikelihoodTable": "hushpoll_analysis.relations.joint_tables",
    "OrderedChange": "hushpoll_analysis.ordered.changes",
    "OrderedSummary": "hushpoll_analysis.ordered.summary",
    "RecordStream": "hushpoll_analysis.records.records",
    "Records": "hushpoll_analysis.records.records",
    "SeveralWeightedShares": "hushpoll_analysis.survey_design.estimation",
    "ShuffleGuarantee": "hushpoll_analysis.shuffling",
    "SimultaneousEstimates": "hushpoll_analysis.multiplicity.simultaneous",
    "SimultaneousMeans": "hushpoll_analysis.ordered.together",
    "SurveyDesign": "hushpoll_analysis.survey_design.design",
    "UnbiasedTable": "hushpoll_analysis.relations.three_way",
    "WeightedShares": "hushpoll_analysis.survey_design.shares",
    "Withheld": "hushpoll_analysis.auditing.report",
    "answered_shares": "hushpoll_analysis.ordered.answered",
    "audit": "hushpoll_analysis.auditing.audit",
    "audit_groups": "hushpoll_analysis.auditing.groups",
    "change": "hushpoll_analysis.relations.changes",
    "conditional_shares": "hushpoll_analysis.relations.conditional",
    "count": "hushpoll_analysis.records.counts",
    "cross_table": "hushpoll_analysis.estimates.cross_table",
    "dependencies": "hushpoll_analysis.multiplicity.dependencies",
    "expected_width": "hushpoll_analysis.estimates.precision",
    "frequencies": "hushpoll_analysis.estimates.frequencies",
    "frequencies_from_counts": "hushpoll_analysis.estimates.frequencies",
    "independence": "hushpoll_analysis.relations.independence",
    "joint_table": "hushpoll_analysis.relations.joint_tables",
    "likelihood_table": "hushpoll_analysis.relations.joint_tables",
    "ordered_change": "hushpoll_analysis.ordered.changes",
    "ordered_summary": "hushpoll_analysis.ordered.summary",
    "protected_width": "hushpoll_analysis.estimates.precision",
    "regrouped": "hushpoll_analysis.auditing.groups",
    "respondents_for_width": "hushpoll_analysis.estimates.precision",
    "shuffle_guarantee": "hushpoll_analysis.shuffling",
    "simultaneous_estimates": "hushpoll_analysis.multiplicity.simultaneous",
    "simultaneous_means": "hushpoll_analysis.ordered.together",
    "three_way_table": "hushpoll_analysis.relations.three_way",
    "weighted_shares": "hushpoll_analysis.survey_design.estimation",
    "weighted_shares_of_several": "hushpoll_analysis.survey_design.estimation",
}


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
