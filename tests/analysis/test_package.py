"""The public names of analysis, and what happens without what it stands on."""

import subprocess
import sys

import hushpoll_analysis

PUBLIC = {
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
}


def test_the_public_names_are_these():
    assert set(hushpoll_analysis.__all__) == PUBLIC
    assert len(hushpoll_analysis.__all__) == len(PUBLIC)
    for name in PUBLIC:
        assert getattr(hushpoll_analysis, name).__module__.startswith("hushpoll_analysis.")


def test_without_the_extra_the_import_names_it():
    program = "import sys; sys.modules['pandas'] = None; import hushpoll_analysis"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert "MissingExtra" in done.stderr
    assert "pip install . ./server" in done.stderr
