"""The law of questions whose answers stand for different numbers of combinations of their block."""

from __future__ import annotations

import numpy as np
import pytest

from hushpoll_analysis import Records, conditional_shares, cross_table, dependencies, independence
from hushpoll_analysis.estimates.joint import RowMoments, Side
from hushpoll_analysis.estimates.row_weights import RowWeights
from hushpoll_analysis.estimates.set_shares import shares_of_sets
from hushpoll_analysis.estimates.weight_covariances import WeightCovariances
from hushpoll_analysis.estimates.weight_law import weight_law
from hushpoll_analysis.query_results import result_of
from hushpoll_analysis.records.counts import count_pairs
from hushpoll_analysis.records.laws import cells_of, law_of
from hushpoll_analysis.records.source import OfCounts, OfRecords
from hushpoll_analysis.relations import block_independence as in_block
from hushpoll_analysis.relations.conditional import SharesLaw
from hushpoll_analysis.relations.joint_tables import joint_table
from hushpoll_analysis.relations.reference_distribution import draw_supports
from hushpoll_analysis.relations.three_way import three_way_table
from hushpoll_analysis.survey_design.samples import _forms
from hushpoll_protocols import InvalidParameter, create
from hushpoll_protocols.estimation.marginals import UnevenSets
from hushpoll_shared import Manifest
from hushpoll_shared.queries.conditional_shares import ConditionalShares
from hushpoll_shared.queries.cross_tables import CrossTable
from hushpoll_shared.queries.independence import Independence
from hushpoll_shared.queries.ordered_answers import Ordered
from hushpoll_shared.wire.batch import encode_many
from studies import blocks

SIZES = (1, 3, 2)
PEOPLE = np.array([0.2, 0.11, 0.25, 0.09, 0.3, 0.05])
"""Shares of the values of the whole domain, set by set."""
EXACT = ["GRR", "SS", "OUE", "RAPPOR"]


def every_record(protocol):
    """The law, the weights of every record in each set by its truth, and the chances of these."""
    oracle = create(protocol, k=6, epsilon="1.5")
    belongs = np.repeat(np.eye(3), SIZES, axis=0)
    law = weight_law(oracle, [1] * 6, PEOPLE.tolist())
    weights = [rows @ belongs for rows, _ in law]
    chances = [share * chance for share, (_, chance) in zip(PEOPLE, law, strict=True)]
    return UnevenSets(oracle, SIZES), belongs, weights, chances


@pytest.mark.parametrize("protocol", EXACT)
def test_moments_of_sets_of_different_sizes_are_those_of_all_records(protocol):
    sets, belongs, weights, chances = every_record(protocol)
    shares = PEOPLE @ belongs
    law = Side.of(sets).law
    constants = law.shares_at(shares) if law.varies else np.zeros(3)
    moments = RowMoments.at(law, shares, constants)
    covariances = WeightCovariances.of(sets)
    rows, chance = np.concatenate(weights), np.concatenate(chances)
    assert chance @ rows == pytest.approx(shares)
    matrix = (rows * chance[:, None]).T @ rows - np.outer(shares, shares)
    assert covariances.over_population(shares) == pytest.approx(matrix)
    others = np.array([0, 2, 1])
    at_own, at_theirs, elsewhere = covariances.given_truth(constants, constants[0], 0)
    first = np.repeat(np.arange(3), SIZES)
    for value, (of_one, part) in enumerate(zip(weights, chances, strict=True)):
        truth, odds = first[value], part / part.sum()
        for number in others:
            match = number == truth
            second = moments.second[number] if match else moments.other[number]
            third = moments.third[number] if match else moments.other_third[number]
            assert odds @ of_one[:, number] ** 2 == pytest.approx(second)
            assert odds @ of_one[:, number] ** 3 == pytest.approx(third)
            if number == 0:
                continue
            centred = of_one - np.eye(3)[truth]
            product = odds @ (centred[:, number] * centred[:, 0])
            found = at_own if match else at_theirs if truth == 0 else elsewhere
            assert found[number] == pytest.approx(product)


@pytest.mark.parametrize("protocol", EXACT)
def test_squares_of_sums_of_weights_are_those_of_all_records(protocol):
    sets, belongs, weights, chances = every_record(protocol)
    law, shares = Side.of(sets).law, PEOPLE @ belongs
    constants = law.shares_at(shares) if law.varies else np.zeros(3)
    first, second = np.array([0.5, -1.0, 2.0]), np.array([1.0, 0.3, -0.7])
    forms = _forms(WeightCovariances.of(sets), constants, first[:, None], second[:, None])
    for truth, value in enumerate((0, 1, 4)):
        odds = chances[value] / chances[value].sum()
        x, y = weights[value] @ first, weights[value] @ second
        for form, product in zip(forms, (x * x, x * y, y * y), strict=True):
            assert form[truth, 0] == pytest.approx(odds @ product)


@pytest.mark.parametrize("protocol", EXACT)
def test_moments_of_shares_in_groups_of_another_block_are_those_of_all_records(protocol):
    sets, belongs, weights, chances = every_record(protocol)
    shares, rows = PEOPLE @ belongs, np.concatenate(weights)
    chance = np.concatenate(chances)
    law = Side.of(sets).law
    constants = law.shares_at(shares) if law.varies else np.zeros(3)
    moments = RowMoments.at(law, shares, constants)
    # the same sets as outcome and as groups, of people whose answers to both are independent
    table = np.outer(shares, shares)
    found = SharesLaw(
        1, table, shares[:, None], moments, moments.rows(slice(None)),
        WeightCovariances.of(sets), constants[:, None],
    )  # fmt: skip
    r = np.broadcast_to(shares, (3, 3))
    terms = [np.broadcast_to(part, (3, 3)) for part in found.variance()]
    both = np.outer(chance, chance)
    for group in range(3):
        for answer in range(3):
            numbers = np.outer(rows[:, group], rows[:, answer] - shares[answer])
            square = (both * numbers**2).sum()
            at = shares[answer]
            variance = sum(part[group, answer] * at**power for power, part in enumerate(terms))
            assert variance == pytest.approx(square)
            cube = (both * numbers**3).sum()
            assert found.third(r)[group, answer] == pytest.approx(cube)
            other = np.outer(rows[:, 2], rows[:, answer] - shares[answer])
            scale = np.sqrt(square * (both * other**2).sum())
            if group != 2:
                correlation = (both * numbers * other).sum() / scale
                assert found.correlation(r, r, 2)[group, answer] == pytest.approx(correlation)


@pytest.fixture(scope="module", params=["SS", "OUE"])
def drawn(request):
    return blocks.draw(request.param, blocks.population(), 2_000, np.random.default_rng(5))


def test_statistics_of_records_and_of_kept_counts_are_the_same(drawn):
    records = drawn.records()
    kept = OfCounts(records.published, count_pairs(records))
    table = cross_table(records, "amount", "gender")
    by_counts = result_of(CrossTable(a="amount", b="gender"), kept).to_dict()
    assert [cell["frequency"] for cell in by_counts["cells"]] == pytest.approx(
        table.frequency.ravel().tolist()
    )
    shares = conditional_shares(records, "gender", "amount", reference="not asked")
    query = ConditionalShares(of="gender", given="amount", reference="not asked")
    assert result_of(query, kept).to_dict() == shares.result().to_dict()
    for query in (
        Independence(a="amount", b="income"),
        Independence(a="amount", b="age"),
        Ordered(attribute="income", given="smokes", reference="no"),
    ):
        assert result_of(query, kept).to_dict() == result_of(query, OfRecords(records)).to_dict()


def test_a_table_with_another_block_sums_to_the_estimates_of_both(drawn):
    records = drawn.records()
    table = cross_table(records, "amount", "gender").frequency
    asked = cross_table(records, "amount", "smokes").frequency
    assert table.sum(axis=1) == pytest.approx(asked.sum(axis=1))
    three = three_way_table(records, "gender", "smokes", "amount")
    assert pytest.approx(table) == three.frequency.sum(axis=1).T
    impossible = np.array([[True, True, True, False], [False, False, False, True]])
    for part in (three.frequency, three.lower, three.upper, three.standard_error):
        assert not part[:, impossible].any()


def test_questions_are_tested_unless_some_answers_cannot_be_given_together(drawn):
    records = drawn.records()
    with pytest.raises(InvalidParameter, match="years and amount always depend") as refused:
        independence(records, "years", "amount")
    assert refused.value.field == "b"
    found = dependencies(records)
    tested = {frozenset((test.a, test.b)) for test in found.tests}
    assert len(tested) == 21 - 3
    assert frozenset(("amount", "age")) in tested
    assert frozenset(("amount", "gender")) in tested
    assert "smokes and amount, smokes and years, amount and years are not" in found.left_out[0]


def test_merged_answers_of_a_tree_have_the_share_of_their_combinations(drawn):
    """Answers that are merged until they are one answer to the router are estimated as that."""
    records = drawn.records()
    published, kept = records.published, count_pairs(records).counts
    amount, smokes = (published.attribute(name) for name in ("amount", "smokes"))
    merged = shares_of_sets(
        amount, kept.of(published, "amount"), kept.n, [[0, 1, 2], [3]], confidence=0.9
    )
    of_router = shares_of_sets(
        smokes, kept.of(published, "smokes"), kept.n, [[1], [0]], confidence=0.9
    )
    for one, other in zip(merged, of_router, strict=True):
        for part in ("value", "standard_error", "lower", "upper"):
            assert getattr(one, part) == pytest.approx(getattr(other, part))


def test_row_weights_have_the_table_as_their_mean(drawn):
    records = drawn.records()
    published, kept = records.published, count_pairs(records)
    joint = kept.of_questions(published, "amount", "smokes")
    assert joint is not None
    weigh = RowWeights.of(published, ["amount", "smokes"], joint.both, joint.n)
    table = cross_table(records, "amount", "smokes").frequency
    assert weigh.rows(records).mean(axis=0) == pytest.approx(table)


@pytest.mark.parametrize("protocol", ["GRR", "SS", "RAPPOR", "OLH"])
def test_rare_answers_have_drawn_tables_with_the_counts_that_were_observed(protocol):
    table = blocks.population()
    table[:, 2] *= 0.004
    few = blocks.draw(protocol, table, 150, np.random.default_rng(3)).records()
    published = few.published
    counts = count_pairs(few).of_questions(published, "amount", "income")
    assert counts is not None
    law, rng = law_of(published.attribute("amount")), np.random.default_rng(1)
    shares = np.array([0.2, 0.2, 0.01, 0.59])
    supports = draw_supports(law, counts.first, counts.n, shares, rng)
    assert len(supports.starts) == counts.n + 1
    assert np.bincount(supports.categories, minlength=4).tolist() == counts.first.tolist()
    people = rng.multinomial(20_000, np.full(8, 1 / 8))
    _, of_cells = cells_of(published.block_of("age"), ["amount", "age"])
    expected = Side.of(of_cells).channel
    support = in_block.drawn_counts(of_cells, people, rng)
    mean = 20_000 * expected.elsewhere + expected.gap * people
    assert support == pytest.approx(mean, abs=6 * np.sqrt(20_000))


def test_the_likelihood_takes_all_questions_of_a_block_with_follow_ups(drawn):
    records = drawn.records()
    with pytest.raises(InvalidParameter, match="is randomised together with"):
        joint_table(records, ["amount", "gender"])
    assert joint_table(records, ["amount", "gender"], likelihood=False).likelihood is None


def test_records_of_a_tree_without_another_question_have_a_likelihood():
    draft = {
        "name": "s", "version": 1, "title": "S", "epsilon": "8", "protocol": "SS",
        "attributes": [
            {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"]},
            {"name": "amount", "role": "sensitive", "range": [1, 3], "ask_if": {"smokes": ["yes"]}},
            {"name": "town", "role": "plain", "categories": ["a", "b"]},
        ],
        "together": [{"name": "both", "attributes": ["smokes", "amount"]}],
    }  # fmt: skip
    published = Manifest.from_dict(draft).resolve()
    rng = np.random.default_rng(2)
    amount = rng.choice(4, 3_000, p=[0.2, 0.1, 0.1, 0.6])
    codes = {
        "smokes": (amount < 3).astype(int),
        "amount": amount,
        "town": rng.integers(0, 2, 3_000),
    }
    records = Records(published, encode_many(published, codes, rng))
    found = joint_table(records, ["smokes", "town", "amount"])
    assert found.likelihood is not None
    assert abs(found.likelihood.frequency - found.unbiased.frequency).max() < 0.03
    assert not found.likelihood.frequency[0, :, :3].any()


def test_statistic_of_independent_questions_of_a_tree_is_chi_square():
    block = blocks.survey("OUE").block_of("age")
    _, law = cells_of(block, ["amount", "age"])
    people = blocks.margin(blocks.population(), "amount", "age")
    root, _ = in_block._whitened(law, people.sum(axis=1), people.sum(axis=0))
    assert len(root) == 3
    rng, found = np.random.default_rng(7), []
    for _ in range(400):
        drawn = in_block.drawn_counts(law, rng.multinomial(3_000, people.ravel()), rng)
        table = in_block.cells_of(law, drawn.reshape(4, 2), 3_000)
        found.append(3_000 * np.square(root @ in_block.rests(table[None])[0].ravel()).sum())
    # mean 3 and variance 6: four standard errors
    assert np.mean(found) == pytest.approx(3, abs=4 * np.sqrt(6 / 400))
    assert np.mean(np.array(found) > 7.815) == pytest.approx(0.05, abs=4 * 0.011)
