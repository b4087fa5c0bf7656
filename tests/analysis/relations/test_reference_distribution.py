"""Tables drawn under independence: exact where supports are known, and the same each time."""

from math import comb

import numpy as np
import pytest
from scipy.stats import chi2

from hushpoll_analysis import dependencies, independence
from hushpoll_analysis.multiplicity.dependencies import MOST_TABLES, rare_pairs, tables_for
from hushpoll_analysis.records.counts import Counts, JointCounts, PairCounts, count_pairs
from hushpoll_analysis.records.pairs import joint_counts
from hushpoll_analysis.records.source import OfCounts
from hushpoll_analysis.relations import reference_distribution
from hushpoll_analysis.relations.independence import run_test
from hushpoll_analysis.relations.reference_distribution import ENOUGH, TABLES, draw_supports
from hushpoll_protocols import create
from hushpoll_protocols.kernels import indicators, perturb
from hushpoll_shared.queries.independence import Independence
from relations_survey import draw, survey

STEEP = np.array([0.9, 0.05, 0.03, 0.015, 0.005]), np.array([0.9, 0.06, 0.03, 0.01])
APART = np.outer(*STEEP)
PERTURBED = [("GRR", 5, "2"), ("SS", 5, "1"), ("OUE", 5, "4"), ("OLH", 5, "4"), ("THE", 5, "4")]


@pytest.mark.parametrize(
    ("first", "second", "n"),
    [
        (("GRR", 5, "8"), ("GRR", 4, "8"), 200),
        ((None, 5, ""), ("GRR", 4, "8"), 1000),
        (("OUE", 5, "8"), (None, 4, ""), 200),
    ],
)
def test_level_holds_with_rare_answers_where_chi_square_does_not(first, second, n):
    surveys = 60
    tests = [
        independence(draw(survey(first, second), APART, n, seed)[1], "a", "b")
        for seed in range(surveys)
    ]
    rejected = sum(test.p_value <= 0.01 for test in tests)
    by_chi_square = sum(chi2.sf(test.statistic, test.degrees) <= 0.01 for test in tests)
    assert by_chi_square >= 3
    assert rejected <= 2


def exact(counts):
    """P(X^2 at least the observed) over all 2 x 2 tables with the margins, by enumeration."""
    (a, b), (c, d) = counts
    first, n, people = a + b, a + b + c + d, a + c
    expected = first * people / n
    chances = {
        one: comb(people, one) * comb(n - people, first - one) / comb(n, first)
        for one in range(max(0, first + people - n), min(first, people) + 1)
    }
    observed = abs(a - expected) - 1e-9
    return sum(chance for one, chance in chances.items() if abs(one - expected) >= observed)


@pytest.mark.parametrize("by_pairing", [False, True])
@pytest.mark.parametrize("counts", [((2, 3), (1, 94)), ((1, 4), (30, 65)), ((0, 6), (9, 85))])
def test_p_value_of_a_small_table_is_that_of_enumeration(monkeypatch, counts, by_pairing):
    if by_pairing:
        monkeypatch.setattr(reference_distribution, "_HYPERGEOMETRIC", 1 << 20)
    table = np.array(counts)
    tested = independence_of(table)
    wanted = exact(counts)
    assert tested.reference == "drawn tables"
    error = (wanted * (1 - wanted) / tested.tables) ** 0.5
    assert tested.p_value == pytest.approx(wanted, abs=4 * error + 1 / tested.tables)


def independence_of(table, most=TABLES):
    published = survey((None, len(table), ""), (None, table.shape[1], ""))
    counts = JointCounts(int(table.sum()), table.sum(axis=1), table.sum(axis=0), table)
    return outcome_of(published, counts, most)


def outcome_of(published, counts, most=TABLES):
    support = {"a": counts.first, "b": counts.second}
    kept = PairCounts(Counts(counts.n, support), {("a", "b"): counts.both})
    source = OfCounts(published, kept)
    return run_test(Independence(a="a", b="b"), source, most_tables=most)


def test_no_table_at_least_as_far_gives_the_smallest_p_value():
    tested = independence_of(np.array([[40, 0], [0, 3]]), 499)
    assert (tested.tables, tested.p_value) == (499, 1 / 500)


def test_large_p_value_needs_few_tables():
    tested = independence_of(np.array([[45, 5], [45, 5]]))
    assert (tested.tables, tested.p_value) == (ENOUGH, 1.0)


@pytest.mark.parametrize("question", PERTURBED)
def test_drawn_supports_have_the_support_counts_of_the_records(question):
    oracle = create(question[0], k=question[1], epsilon=question[2])
    rng = np.random.default_rng(3)
    records = indicators(oracle, perturb(oracle, rng.choice(5, 400, p=STEEP[0]), rng))
    support = records.sum(axis=0, dtype=np.int64)
    drawn = draw_supports(oracle, support, 400, STEEP[0], rng)
    assert np.bincount(drawn.categories, minlength=5).tolist() == support.tolist()
    assert len(drawn.starts) == 401
    sizes = np.diff(drawn.starts)
    if oracle.support_size is not None:
        assert set(sizes) == {oracle.support_size}
    rows = np.repeat(np.arange(400), sizes)
    assert len(set(zip(rows.tolist(), drawn.categories.tolist(), strict=True))) == len(rows)


def test_drawn_supports_meet_as_often_as_those_of_records():
    oracle, n = create("OUE", k=3, epsilon="1"), 40_000
    rng = np.random.default_rng(4)
    shares = np.array([0.6, 0.3, 0.1])
    records = indicators(oracle, perturb(oracle, rng.choice(3, n, p=shares), rng))
    drawn = draw_supports(oracle, records.sum(axis=0, dtype=np.int64), n, shares, rng)
    again = np.zeros((n, 3))
    again[np.repeat(np.arange(n), np.diff(drawn.starts)), drawn.categories] = 1
    assert again.T @ again / n == pytest.approx(records.T.astype(float) @ records / n, abs=0.012)


@pytest.mark.parametrize("question", PERTURBED)
def test_same_counts_give_the_same_p_value_whichever_is_named_first(question):
    published = survey(question, (None, 4, ""))
    _, records = draw(published, APART, 150, 5)
    one, two = (independence(records, *names) for names in ("ab", "ba"))
    assert one.reference == "drawn tables"
    assert (one.p_value, one.tables) == (two.p_value, two.tables)
    assert one.p_value == independence(records, "a", "b").p_value


def test_shuffles_are_shared_by_tables_of_many_records(monkeypatch):
    published = survey(("OUE", 5, "8"), (None, 4, ""))
    _, records = draw(published, APART, 300, 6)
    alone = independence(records, "a", "b").p_value
    monkeypatch.setattr(reference_distribution, "_SHUFFLED", 30)
    shared = independence(records, "a", "b").p_value
    assert shared != alone
    assert shared == pytest.approx(alone, abs=0.1)


def test_chi_square_is_kept_where_every_cell_has_many_records():
    published = survey(("OUE", 2, "1"), ("GRR", 2, "1"))
    _, records = draw(published, np.full((2, 2), 0.25), 2000, 7)
    tested = independence(records, "a", "b")
    assert (tested.reference, tested.tables) == ("chi-square", None)
    assert tested.p_value == pytest.approx(chi2.sf(tested.statistic, tested.degrees))
    # .5 x .5 of 2,000 but for the noise of the estimates
    assert 350 < tested.smallest_expected < 550


def test_one_discovery_among_many_pairs_has_tables_enough():
    assert tables_for(1, 0.05) == TABLES
    harmonic = sum(1 / number for number in range(1, 191))
    assert tables_for(190, 0.05) >= 2 * 190 * harmonic / 0.05
    assert tables_for(100_000, 0.05) == MOST_TABLES


def test_dependencies_tell_how_far_they_are_and_count_rare_pairs_beforehand():
    published = survey(("GRR", 5, "8"), (None, 4, ""), ("GRR", 2, "1"))
    joint = APART[:, :, None] * np.array([0.5, 0.5])
    _, records = draw(published, joint, 400, 8)
    looks = []
    found = dependencies(records, on_pair=lambda done, total: looks.append((done, total)))
    assert looks == [(1, 3), (2, 3), (3, 3)]
    drawn = sum(test.tables is not None for test in found.tests)
    assert drawn == rare_pairs(published, count_pairs(records), 0.05) == 3
    assert all(pair["reference"] == "drawn tables" for pair in found.to_dict()["pairs"])


def test_observed_counts_are_not_changed():
    published = survey(("OUE", 5, "8"), ("OUE", 4, "8"))
    _, records = draw(published, APART, 200, 9)
    counts = joint_counts(records, "a", "b")
    before = counts.both.copy(), counts.first.copy(), counts.second.copy()
    outcome_of(published, counts)
    for one, two in zip(before, (counts.both, counts.first, counts.second), strict=True):
        assert (one == two).all()
