"""Weights of rows have the truth as their expectation, and reports have the chances given."""

from fractions import Fraction

import numpy as np
import pytest

from hushpoll_protocols import PROTOCOLS, create
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.kernels import indicators, perturb
from hushpoll_training.learners.evidence import SKIPPED, GroupEvidence
from hushpoll_training.mitigation.report_law import ReportLaw, scaled_tolerance

TWO = ((0,), (1,))
PATTERNS = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], np.uint8)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_reports_of_two_categories_have_their_chances(name):
    oracle, people = create(name, k=2, epsilon="1.5"), 40_000
    law = ReportLaw(oracle, TWO, 2)
    assert law.chances.sum(axis=1) == pytest.approx([1, 1])
    for answer in (0, 1):
        records = perturb(oracle, np.full(people, answer), np.random.default_rng([7, answer]))
        classes = law.classes(indicators(oracle, records))
        shares = np.bincount(classes, minlength=law.chances.shape[1]) / people
        spread = np.sqrt(law.chances[answer] * (1 - law.chances[answer]) / people)
        assert (np.abs(shares - law.chances[answer]) <= 5 * spread + 1e-12).all()


@pytest.mark.parametrize("name", PROTOCOLS)
def test_weights_have_the_one_hot_truth_as_expectation(name):
    oracle = create(name, k=2, epsilon="1")
    law = ReportLaw(oracle, TWO, 2)
    rows = np.eye(2, dtype=np.uint8) if oracle.names_one_value else PATTERNS
    weight = GroupEvidence(rows, oracle, TWO).category_weights()
    assert law.chances @ weight == pytest.approx(np.eye(2), abs=1e-9)


def test_reports_of_sets_of_categories_have_the_chances_of_randomised_response():
    oracle = create("GRR", k=5, epsilon="2")
    law = ReportLaw(oracle, ((0, 1), (3,)), 5)
    p, q = float(oracle.p), float(oracle.q)
    assert law.chances == pytest.approx(np.array([[p + q, q, 2 * q], [2 * q, p, 2 * q]]))
    assert law.classes(np.eye(5, dtype=np.uint8)).tolist() == [0, 0, 2, 1, 2]
    clear = ReportLaw(None, ((0, 1), (3,)), 5)
    assert clear.chances.tolist() == [[1, 0, 0], [0, 1, 0]]
    with pytest.raises(InvalidParameter, match="do not name one category"):
        clear.classes(PATTERNS @ np.ones((2, 5), np.uint8) > 0)


def test_supports_of_many_categories_name_no_group():
    with pytest.raises(InvalidParameter, match="OUE over 3 categories do not name a group"):
        ReportLaw(create("OUE", k=3, epsilon="1"), TWO, 3)


def test_weights_of_a_reported_label_have_the_class_as_expectation():
    oracle = create("GRR", k=3, epsilon="1")
    p, q = float(oracle.p), float(oracle.q)
    evidence = GroupEvidence(np.ones((3, 1), np.uint8), None, ((0,),), p, q)
    weight = evidence.label_weights(np.arange(3), 3)
    law = np.full((3, 3), q) + (p - q) * np.eye(3)
    assert law @ weight == pytest.approx(np.eye(3))
    assert evidence.label_likelihoods(np.arange(3), 3) == pytest.approx(law)


@pytest.mark.parametrize(
    ("rows", "oracle", "groups", "message"),
    [
        (np.eye(2, dtype=np.uint8), None, (), "at least one group"),
        (np.eye(2, dtype=np.uint8), None, ((0,), ()), "at least one code"),
        (np.eye(2, dtype=np.uint8), None, ((0,), (2,)), r"must lie in \[0, 1\]"),
        (np.eye(2, dtype=np.uint8), None, ((0,), (0, 1)), "is in two groups"),
        (np.eye(2, dtype=np.uint8), create("GRR", k=3, epsilon="1"), TWO, "has 3 categories"),
        (PATTERNS, None, TWO, "give the protocol of the records"),
    ],
)
def test_evidence_that_contradicts_itself_is_refused(rows, oracle, groups, message):
    with pytest.raises(InvalidParameter, match=message):
        GroupEvidence(rows, oracle, groups)


@pytest.mark.parametrize("share", [0.5, 0.2])
@pytest.mark.parametrize("name", ["GRR", "SS"])
def test_tolerance_of_two_groups_is_scaled_as_lamy_s(name, share):
    oracle = create(name, k=2, epsilon="1")
    law = ReportLaw(oracle, TWO, 2).chances
    shares = np.array([share, 1 - share])
    given = law * shares[:, None] / (shares @ law)
    wrong = given[1, 0] + given[0, 1]  # chances that a report of either group is wrong
    assert scaled_tolerance(0.1, law, shares) == pytest.approx(0.1 * (1 - wrong))
    rates = np.array([0.3, 0.7])
    reported = rates @ given
    held = scaled_tolerance(0.4, law, shares)
    assert abs(reported[1] - reported[0]) == pytest.approx(held)


def test_scaled_tolerance_bounds_every_pair_of_three_groups():
    oracle = create("GRR", k=3, epsilon="1.5")
    law = ReportLaw(oracle, ((0,), (1,), (2,)), 3).chances
    shares = np.array([0.5, 0.3, 0.2])
    given = law * shares[:, None] / (shares @ law)
    rng = np.random.default_rng(3)
    largest = 0.0
    for rates in rng.random((500, 3)):
        reported = rates @ given
        tolerance = np.ptp(rates)
        largest = max(largest, tolerance * scaled_tolerance(1, law, shares) / np.ptp(reported))
    assert 0.9 < largest <= 1 + 1e-9


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((1.2, np.eye(2), [0.5, 0.5]), r"must lie in \[0, 1\]"),
        ((0.1, np.eye(2), [0.5, 0.2, 0.3]), "give a square"),
        ((0.1, np.eye(2), [1.0, 0.0]), "positive share"),
        ((0.1, np.full((2, 2), 0.5), [0.5, 0.5]), "do not tell the true ones apart"),
    ],
)
def test_tolerances_that_cannot_be_scaled_are_refused(given, message):
    with pytest.raises(InvalidParameter, match=message):
        scaled_tolerance(*given)


def test_clear_reports_leave_the_tolerance():
    assert scaled_tolerance(0.05, np.eye(3), [Fraction(1, 3)] * 3) == pytest.approx(0.05)


@pytest.mark.parametrize("k", [2, 3, 6])
def test_weights_of_a_positive_label_against_all_others_have_the_class_as_expectation(k):
    oracle = create("GRR", k=k, epsilon="1")
    p, q = float(oracle.p), float(oracle.q)
    evidence = GroupEvidence(np.ones((2, 1), np.uint8), None, ((0,),), p, q)
    # Of a truth among the others, one report says positive with q, whichever the others are.
    law = np.array([[1 - q, q], [1 - p, p]])
    labels = np.array([0, 1])
    assert law @ evidence.label_weights(labels, 2) == pytest.approx(np.eye(2))
    assert pytest.approx(law) == evidence.label_likelihoods(labels, 2).T


@pytest.mark.parametrize(("answers", "classes"), [(2, 2), (4, 4), (4, 2)])
def test_weights_of_labels_that_may_be_skipped_count_only_who_answered(answers, classes):
    oracle = create("GRR", k=answers + 1, epsilon="1")
    p, q = float(oracle.p), float(oracle.q)
    among = p + (answers - 1) * q
    row = np.ones((classes + 1, 1), np.uint8)
    evidence = GroupEvidence(row, None, ((0,),), p / among, q / among, True)
    assert evidence.report_law == pytest.approx((p, q))
    labels = np.append(np.arange(classes), SKIPPED)
    law = np.full((answers + 1, answers + 1), q) + (p - q) * np.eye(answers + 1)
    if classes < answers:  # one positive answer, and all others together
        truths = [1, 0, answers]
        law = np.stack(
            [law[truths][:, [0, *range(2, answers)]].sum(axis=1), *law[truths][:, [1, -1]].T],
            axis=1,
        )
        law = law[[1, 0, 2]]
    weight = np.column_stack(
        [evidence.label_weights(labels, classes), evidence.skipped_weights(labels)]
    )
    assert law @ weight == pytest.approx(np.eye(classes + 1), abs=1e-12)
    likely = evidence.label_likelihoods(labels[:-1], classes)
    assert likely == pytest.approx(law.T[:-1])
