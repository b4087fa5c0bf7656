"""Group fairness on rows in clear: any number of groups, with intervals.

The audit from randomised records alone, which sees no group at all, is
:func:`hushpoll_analysis.auditing.audit.audit`.
"""

from hushpoll_analysis.metrics.group_counts import GroupCounts
from hushpoll_training.evaluation.fairness.estimates import Bounds, GroupEstimate, Spread
from hushpoll_training.evaluation.fairness.partition import (
    Partition,
    partition_by,
    partition_of,
    protected_partition,
)
from hushpoll_training.evaluation.fairness.report import (
    Comparison,
    FairnessReport,
    Group,
    fairness_report,
)

__all__ = [
    "Bounds",
    "Comparison",
    "FairnessReport",
    "Group",
    "GroupCounts",
    "GroupEstimate",
    "Partition",
    "Spread",
    "fairness_report",
    "partition_by",
    "partition_of",
    "protected_partition",
]
