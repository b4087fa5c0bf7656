"""What records say about their population: frequencies, cross-tables, and how precise they are.

Everything follows from the debiased indicator D = (I - q)/(p - q), whose expectation given the
truth is the one-hot truth. Estimates are not projected; the bias of the weighted
ones is of the order of n^-2.
"""

from importlib.util import find_spec

from hushpoll_protocols.errors import MissingExtra

try:
    import numpy
except ImportError as error:
    raise MissingExtra("server", "the analysis of records") from error
# pandas is slow to import, so it is looked for here and loaded with the first frame.
if find_spec("pandas") is None:
    raise MissingExtra("server", "the analysis of records")

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
from hushpoll_analysis.estimates.intervals import Interval
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
from hushpoll_analysis.ordered.results import OrderedSummary
from hushpoll_analysis.ordered.summary import ordered_summary
from hushpoll_analysis.ordered.together import SimultaneousMeans, simultaneous_means
from hushpoll_analysis.records.counts import Counts, count
from hushpoll_analysis.records.records import Channel, Records, RecordStream
from hushpoll_analysis.relations.changes import Change, change
from hushpoll_analysis.relations.conditional import ConditionalShares, conditional_shares
from hushpoll_analysis.relations.independence import IndependenceTest, independence
from hushpoll_analysis.relations.joint_tables import JointTable, joint_table
from hushpoll_analysis.relations.likelihood_table import LikelihoodTable, likelihood_table
from hushpoll_analysis.relations.three_way import UnbiasedTable, three_way_table
from hushpoll_analysis.shuffling.guarantee import ShuffleGuarantee, shuffle_guarantee
from hushpoll_analysis.survey_design.cell_values import CellValues
from hushpoll_analysis.survey_design.design import SurveyDesign
from hushpoll_analysis.survey_design.estimation import weighted_shares
from hushpoll_analysis.survey_design.several import (
    SeveralWeightedShares,
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
