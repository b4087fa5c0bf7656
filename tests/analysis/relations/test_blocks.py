"""Statistics of two and more questions, where some are randomised together."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations

import numpy as np
import pytest

from analysis.estimates.test_blocks import answered, survey
from hushpoll_analysis import (
    CellValues,
    Records,
    SurveyDesign,
    conditional_shares,
    cross_table,
    dependencies,
    frequencies,
    independence,
    ordered_summary,
    simultaneous_estimates,
    weighted_shares,
)
from hushpoll_analysis.estimates.joint import RowMoments, Side
from hushpoll_analysis.estimates.score_law import RecordLaw
from hushpoll_analysis.estimates.weight_law import weight_law
from hushpoll_analysis.ordered.answers import Answers
from hushpoll_analysis.ordered.ratios import Ratios
from hushpoll_analysis.ordered.statistics import correlations
from hushpoll_analysis.query_results import result_of
from hushpoll_analysis.records.counts import JointCounts, PairCounts, count_pairs
from hushpoll_analysis.records.source import OfCounts
from hushpoll_analysis.relations import block_independence as test_in_block
from hushpoll_analysis.relations.conditional import BlockSharesLaw
from hushpoll_analysis.relations.joint_tables import joint_table
from hushpoll_analysis.relations.three_way import three_way_table
from hushpoll_protocols import create
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.marginals import marginal
from hushpoll_shared.queries.conditional_shares import ConditionalShares
from hushpoll_shared.queries.dependencies import Dependencies
from hushpoll_shared.queries.independence import Independence
from hushpoll_shared.queries.ordered_answers import Ordered
from hushpoll_shared.wire.batch import encode_many

PEOPLE = np.array([[[0.22, 0.05], [0.04, 0.11]], [[0.13, 0.09], [0.16, 0.2]]])
"""Shares by the answers to three yes/no questions of one block."""


@lru_cache(maxsize=1)
def all_records(oracle):
    """The weights of every record of a block and its chance, over all people."""
    shares = PEOPLE.ravel().tolist()
    law = weight_law(oracle, [1] * 8, shares)
    chances = [share * chance for share, (_, chance) in zip(shares, law, strict=True)]
    weights = np.concatenate([weights for weights, _ in law])
    return weights.reshape(-1, 2, 2, 2), np.concatenate(chances)


def expected(oracle, values):
    """The mean over people and records of a number of each record."""
    return float(all_records(oracle)[1] @ values)


@pytest.mark.parametrize("protocol", ["GRR", "SS", "OUE", "RAPPOR"])
def test_moments_of_shares_in_groups_are_those_of_all_records_of_the_block(protocol):
    oracle = create(protocol, k=8, epsilon="1.5")
    table = PEOPLE.sum(axis=2)  # of the first two questions
    law = BlockSharesLaw(1, RecordLaw.of(oracle, 8), table.T, np.full((2, 2), 2.0))
    share = (table / table.sum(axis=0)).T  # [group, answer]
    v0, v1, v2 = law.variance()
    variance, third = v0 + v1 * share + v2 * share**2, law.third(share)
    correlation = law.correlation(share, share[1], 1)

    within = all_records(oracle)[0].sum(axis=3)

    def of(group, answer):
        return within[:, answer, group] - share[group, answer] * within[:, :, group].sum(axis=1)

    for group in (0, 1):
        for answer in (0, 1):
            assert variance[group, answer] == pytest.approx(
                expected(oracle, of(group, answer) ** 2)
            )
            assert third[group, answer] == pytest.approx(expected(oracle, of(group, answer) ** 3))
    for answer in (0, 1):
        product = expected(oracle, of(0, answer) * of(1, answer))
        scale = np.sqrt(variance[0, answer] * variance[1, answer])
        assert correlation[0, answer] == pytest.approx(product / scale)


@pytest.mark.parametrize("protocol", ["GRR", "SS", "OUE", "RAPPOR"])
def test_moments_of_means_in_groups_are_those_of_all_records_of_the_block(protocol):
    published = survey(protocol)
    oracle = create(protocol, k=8, epsilon="1.5")
    table = PEOPLE.sum(axis=2)
    answers = Answers(
        published.attribute("smokes"), 1, RecordLaw.of(oracle, 8), 1.0, table, table.sum(axis=1),
        np.ones(2), published.attribute("gender"), together=True, sizes=np.full((2, 2), 2.0),
    )  # fmt: skip
    scores = np.array([[-1.0, 1.0]])
    ratios = Ratios.of_scores(answers, scores)
    means = ratios.value

    weights = all_records(oracle)[0].sum(axis=3)

    def of(group):
        within = weights[:, :, group]
        return within @ scores[0] - means[0, group] * within.sum(axis=1)

    deviation, skewness = ratios.error(means)
    for group in (0, 1):
        square = expected(oracle, of(group) ** 2)
        cube = expected(oracle, of(group) ** 3)
        assert deviation[0, group] == pytest.approx(np.sqrt(square))
        assert skewness[0, group] == pytest.approx(cube / square**1.5)
    both = expected(oracle, of(0) * of(1))
    found = correlations((ratios, scores, means), (ratios, scores, means), 1)
    assert found[0, 0] == pytest.approx(both / (deviation[0, 0] * deviation[0, 1]))


@pytest.mark.parametrize("protocol", ["GRR", "SS", "OUE", "RAPPOR"])
def test_moments_of_means_are_those_of_all_records_alone_and_in_groups_of_another_block(protocol):
    published = survey(protocol)
    drinks, votes = published.attribute("drinks"), published.attribute("votes")
    blocks = [published.block_of(name) for name in ("drinks", "votes")]
    rng = np.random.default_rng(3)
    people = [rng.dirichlet(np.full(block.k, 2.0)) for block in blocks]
    scores = np.array([[-1.0, 0.25, 1.0]])
    weights = []
    for attribute, block, shares in zip((drinks, votes), blocks, people, strict=True):
        law = weight_law(block.oracle, [1] * block.k, shares.tolist())
        codes = np.frombuffer(block.codes_of(attribute.name), np.uint16)
        belongs = np.eye(attribute.k)[codes]
        weights.append(
            (
                np.concatenate([rows @ belongs for rows, _ in law]),
                np.concatenate(
                    [part * chance for part, (_, chance) in zip(shares, law, strict=True)]
                ),
                shares @ belongs,
            )
        )
    (own, chance, shares), (group, chance_of_group, groups) = weights
    # answers to the two are independent, and each has an estimate that is the truth
    law = RecordLaw.of(drinks.oracle, drinks.k)
    sizes = np.full((3, 1), blocks[0].k / 3)
    n = 10**10  # the one respondent who is added to moments is nobody then
    alone = Answers(drinks, n, law, 1.0, shares[:, None], shares, sizes=sizes)
    ratios = Ratios.of_scores(alone, scores)
    mean = float(scores[0] @ shares)
    centred = own @ scores[0] - mean * own.sum(axis=1)
    deviation, skewness = ratios.error(np.array([[mean]]))
    square, cube = chance @ centred**2, chance @ centred**3
    assert deviation[0, 0] == pytest.approx(np.sqrt(square / n))
    assert skewness[0, 0] == pytest.approx(cube / square**1.5 / np.sqrt(n))
    side = Side.of(marginal(votes.oracle, votes.k))
    moments = RowMoments.at(
        side.law, groups, side.law.shares_at(groups) if side.law.varies else 0 * groups
    )
    within = Answers(
        drinks, n, law, 1.0, np.outer(shares, groups), shares, groups,
        votes, moments, 0 * groups, sizes=sizes,
    )  # fmt: skip
    deviation, _ = Ratios.of_scores(within, scores).error(np.full((1, 2), mean))
    for code in (0, 1):
        expected_square = square * (chance_of_group @ group[:, code] ** 2)
        assert deviation[0, code] == pytest.approx(np.sqrt(expected_square / n))


@pytest.mark.parametrize("protocol", ["SS", "OUE"])
def test_statistics_of_records_and_of_kept_counts_are_the_same_and_agree_with_the_estimates(
    protocol,
):
    records = answered(survey(protocol), 900, 4)
    published = records.published
    packed = count_pairs(records).pack()
    kept = OfCounts(published, PairCounts.unpack(published, 900, *packed))
    for of, given in (("smokes", "gender"), ("drinks", "votes"), ("town", "drinks")):
        found = conditional_shares(records, of, given)
        assert result_of(ConditionalShares(of=of, given=given), kept) == found.result()
        table = cross_table(records, of, given).frequency
        known = np.isfinite(found.shares.value)
        shares = (table / table.sum(axis=0)).T
        assert found.shares.value[known] == pytest.approx(shares[known])
        test = independence(records, of, given)
        assert result_of(Independence(a=of, b=given), kept) == test.result()
    ordered = ordered_summary(records, "drinks", scores=[0, 1, 2], given="gender")
    query = Ordered(attribute="drinks", scores=[0, 1, 2], given="gender")
    assert result_of(query, kept) == ordered.result()
    shares = {one.name: one.frequency for one in frequencies(records)}
    whole = ordered_summary(records, "drinks", scores=[0, 1, 2]).groups[0]
    assert whole.mean.value == pytest.approx(shares["drinks"] @ [0, 1, 2])
    together = simultaneous_estimates(records).attributes
    for name, share in shares.items():
        assert together[name][1].frequency == pytest.approx(share)
        weighted = weighted_shares(records, name)
        assert weighted.shares.value == pytest.approx(share)
        by_records = weighted_shares(records, name, weights=np.ones(900))
        assert by_records.shares.value == pytest.approx(share)
    tests = dependencies(records)
    assert {(one.a, one.b) for one in tests.tests} == set(combinations(shares, 2))
    assert result_of(Dependencies(), kept) == tests.result()


@pytest.mark.parametrize("protocol", ["SS", "OUE"])
def test_tables_of_three_questions_sum_to_those_of_two(protocol):
    records = answered(survey(protocol), 500, 5)
    for names in (
        ("smokes", "drinks", "gender"),
        ("drinks", "age", "smokes"),
        ("town", "votes", "drinks"),
    ):
        table = three_way_table(records, *names).frequency
        for axis, (a, b) in enumerate([names[1:], names[::2], names[:2]]):
            two = cross_table(records, a, b).frequency
            assert table.sum(axis=axis) == pytest.approx(two, abs=1e-12)
    whole = joint_table(records, ["smokes", "gender", "drinks"])
    turned = joint_table(records, ["drinks", "smokes", "gender"])
    assert whole.likelihood is not None
    assert turned.likelihood is not None
    assert turned.likelihood.frequency.transpose(1, 2, 0) == pytest.approx(
        whole.likelihood.frequency, abs=1e-4
    )
    assert abs(whole.likelihood.frequency - whole.unbiased.frequency).max() < 0.1
    with pytest.raises(InvalidParameter, match="together with drinks, in the block habits"):
        joint_table(records, ["smokes", "gender"])
    assert joint_table(records, ["smokes", "gender"], likelihood=False).likelihood is None


@pytest.mark.parametrize(("protocol", "epsilon"), [("OUE", "1"), ("SS", "2")])
def test_statistic_of_independent_questions_of_a_block_is_chi_square(protocol, epsilon):
    oracle = create(protocol, k=6, epsilon=epsilon)
    first, second = np.array([0.6, 0.4]), np.array([0.5, 0.3, 0.2])
    people = np.outer(first, second).ravel()
    rng = np.random.default_rng(7)
    root, _ = test_in_block._whitened(oracle, first, second)
    assert len(root) == 2
    found = []
    for _ in range(400):
        drawn = test_in_block.drawn_counts(oracle, rng.multinomial(2000, people), rng)
        table = test_in_block.cells_of(oracle, drawn.reshape(2, 3), 2000)
        found.append(2000 * np.square(root @ test_in_block.rests(table[None])[0].ravel()).sum())
    # mean 2 and variance 4: four standard errors
    assert np.mean(found) == pytest.approx(2, abs=4 * 2 / np.sqrt(400))
    assert np.mean(np.array(found) > 5.991) == pytest.approx(0.05, abs=4 * 0.011)


def test_rare_combinations_have_a_p_value_by_drawn_tables_whichever_is_named_first():
    published = survey("OUE", "12")
    rng = np.random.default_rng(8)
    codes = {one.name: rng.integers(0, one.k, 300) for one in published.attributes}
    codes["smokes"] = (rng.random(300) < 0.01).astype(int)
    records = Records(published, encode_many(published, codes, rng))
    test = independence(records, "smokes", "gender")
    turned = independence(records, "gender", "smokes")
    assert test.reference == "drawn tables"
    assert test.p_value == turned.p_value
    assert test.statistic == pytest.approx(turned.statistic)
    apart = independence(records, "smokes", "votes")
    assert apart.reference == "drawn tables"
    assert 0 < apart.p_value <= 1


@pytest.mark.parametrize("protocol", ["SS", "RAPPOR", "OLH"])
def test_drawn_supports_of_sets_have_the_counts_that_were_observed(protocol):
    from hushpoll_analysis.relations.reference_distribution import draw_supports

    records = answered(survey(protocol, "1"), 250, 9)
    published = records.published
    counts: JointCounts = count_pairs(records).of_questions(published, "smokes", "votes")
    law = marginal(published.attribute("smokes").oracle, 2)
    rng = np.random.default_rng(1)
    drawn = draw_supports(law, counts.first, counts.n, np.array([0.7, 0.3]), rng)
    assert len(drawn.starts) == counts.n + 1
    assert np.bincount(drawn.categories, minlength=2).tolist() == counts.first.tolist()


def test_what_one_record_cannot_tell_twice_is_refused_by_name():
    records = answered(survey("SS"), 200, 6)
    with pytest.raises(InvalidParameter, match="smokes is randomised together with other questi"):
        simultaneous_estimates(records, only=["smokes"], method="anytime")
    simultaneous_estimates(records, only=["town"], method="anytime")
    design = SurveyDesign(margins=(CellValues(("gender",), {"Female": 0.5, "Male": 0.5}),))
    weighted_shares(records, "votes", design)
    with pytest.raises(InvalidParameter, match="smokes and gender are randomised together") as at:
        weighted_shares(records, "smokes", design)
    assert at.value.field == "margins"
