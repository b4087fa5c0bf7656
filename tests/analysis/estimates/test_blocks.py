"""Estimates and cross-tables of questions that are randomised together."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from hushpoll_analysis import Records, cross_table, frequencies
from hushpoll_analysis.query_results import result_of
from hushpoll_analysis.records import counts as counting
from hushpoll_analysis.records.counts import PairCounts, count_pairs
from hushpoll_analysis.records.records import RecordStream
from hushpoll_analysis.records.source import OfCounts, OfRecords
from hushpoll_protocols.kernels import indicators
from hushpoll_shared import Manifest
from hushpoll_shared.queries.cross_tables import CrossTable
from hushpoll_shared.queries.estimates import Estimates
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire.batch import encode_many
from sample_survey import make_draft

PROTOCOLS = ("SS", "OUE")
QUESTIONS = [
    {"name": "gender", "role": "sensitive", "categories": ["Female", "Male"]},
    {"name": "town", "role": "plain", "categories": ["a", "b"]},
    {"name": "age", "role": "sensitive", "range": [1, 3]},
    {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"]},
    {"name": "drinks", "role": "sensitive", "categories": ["never", "rarely", "often"]},
    {"name": "votes", "role": "sensitive", "categories": ["no", "yes"]},
]
TOGETHER = [
    {"name": "habits", "attributes": ["smokes", "gender", "drinks"]},
    {"name": "rest", "attributes": ["age", "votes"]},
]


def survey(protocol: str, epsilon: str = "4", **changes: object) -> Published:
    draft = {"epsilon": epsilon, "protocol": protocol, "attributes": QUESTIONS, "target": None,
             "protected": None, "together": TOGETHER} | changes  # fmt: skip
    given = {name: value for name, value in make_draft(**draft).items() if value is not None}
    return Manifest.from_dict(given).resolve()


def answered(published: Published, n: int, seed: int) -> Records:
    """Records of people whose answers depend on each other."""
    rng = np.random.default_rng(seed)
    mood = rng.random(n)
    codes = {
        one.name: np.minimum((mood * one.k + rng.random(n) * 0.8).astype(int), one.k - 1)
        for one in published.attributes
    }
    return Records(published, encode_many(published, codes, rng))


def numbers(records: Records, name: str) -> np.ndarray:
    """How many combinations with each category each record supports, one by one."""
    published = records.published
    block = published.block_of(name)
    if block is None:
        return np.eye(published.attribute(name).k, dtype=int)[records.codes(name)]
    supported = indicators(block.oracle, records.of_field(published.layout.field(block.name)))
    codes = np.frombuffer(block.codes_of(name), np.uint16)
    found = [supported[:, codes == code].sum(axis=1) for code in range(codes.max() + 1)]
    return np.stack(found, axis=1).astype(int)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_counts_of_questions_are_those_of_the_records_one_by_one(protocol, monkeypatch):
    records = answered(survey(protocol), 400, 1)
    published = records.published
    names = [one.name for one in published.attributes]
    kept = count_pairs(records)
    monkeypatch.setattr(counting, "PAIRED_CATEGORIES", 4)
    few = count_pairs(records)
    assert few.joint == {}  # the smallest fields have 2 and 6
    for name in names:
        expected = numbers(records, name).sum(axis=0)
        assert kept.counts.of(published, name).tolist() == expected.tolist()
        assert few.counts.of(published, name).tolist() == expected.tolist()
    for a, b in combinations(names, 2):
        for first, second in ((a, b), (b, a)):
            both = numbers(records, first).T @ numbers(records, second)
            block = published.block_of(first)
            if block is not None and block is published.block_of(second):
                oracle, field = block.oracle, published.layout.field(block.name)
                cells = indicators(oracle, records.of_field(field)).sum(axis=0)
                both = np.zeros_like(both)
                for combination, support in enumerate(cells):
                    codes = block.part(combination)
                    both[codes[block.place(first)], codes[block.place(second)]] += support
            for counts in (
                kept.of_questions(published, first, second),
                OfRecords(records).pair(first, second),
                OfRecords(RecordStream(published, [records])).pair(first, second),
            ):
                assert counts.both.tolist() == both.tolist(), (first, second)
                assert counts.first.tolist() == numbers(records, first).sum(axis=0).tolist()
                assert counts.second.tolist() == numbers(records, second).sum(axis=0).tolist()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_records_and_kept_counts_say_the_same_and_tables_sum_to_estimates(protocol):
    records = answered(survey(protocol), 600, 2)
    published = records.published
    packed = count_pairs(records).pack()
    kept = OfCounts(published, PairCounts.unpack(published, 600, *packed))
    shares = {one.name: one for one in frequencies(records)}
    assert (
        result_of(Estimates(), kept).to_dict()
        == result_of(Estimates(), OfRecords(records)).to_dict()
    )
    for a, b in combinations(shares, 2):
        table = cross_table(records, a, b)
        assert table.to_dict() == result_of(CrossTable(a=a, b=b), kept).to_dict()
        assert table.frequency.sum(axis=1) == pytest.approx(shares[a].frequency, abs=1e-9)
        assert table.frequency.sum(axis=0) == pytest.approx(shares[b].frequency, abs=1e-9)
        assert (table.lower <= table.frequency).all()
        assert (table.frequency <= table.upper).all()


@pytest.mark.parametrize("estimator", ["projected", "likelihood", "shrunk"])
def test_other_estimators_are_distributions_near_the_unbiased_estimate(estimator):
    records = answered(survey("SS", epsilon="12"), 4000, 3)
    for found, unbiased in zip(
        frequencies(records, estimator=estimator), frequencies(records), strict=True
    ):
        assert found.frequency.sum() == pytest.approx(1)
        assert found.frequency.min() >= 0
        assert found.frequency == pytest.approx(unbiased.frequency, abs=0.08)


TWO = [QUESTIONS[0], QUESTIONS[3]]
SHARES = np.array([[0.35, 0.15], [0.2, 0.3]])


def drawn(published: Published, n: int, rng: np.random.Generator) -> Records:
    codes = rng.choice(4, size=n, p=SHARES.ravel())
    return Records(
        published, encode_many(published, {"gender": codes // 2, "smokes": codes % 2}, rng)
    )


@pytest.mark.parametrize("protocol", ["SS", "OUE"])
def test_errors_of_a_table_are_those_of_repeated_surveys(protocol):
    """150 surveys of 500, seeded; the bounds are five standard deviations of 150 repeats."""
    together = [{"name": "both", "attributes": ["gender", "smokes"]}]
    published = survey(protocol, "2", attributes=TWO, together=together)
    rng = np.random.default_rng(5)
    tables = [cross_table(drawn(published, 500, rng), "gender", "smokes") for _ in range(150)]
    errors = np.array([table.frequency - SHARES for table in tables])
    predicted = np.mean([table.standard_error for table in tables], axis=0)
    assert errors.std(axis=0) == pytest.approx(predicted, rel=0.29)
    assert (abs(errors.mean(axis=0)) < 5 * predicted / np.sqrt(150)).all()
    covered = np.mean(
        [(table.lower <= SHARES) & (table.upper >= SHARES) for table in tables], axis=0
    )
    assert (covered > 0.95 - 5 * np.sqrt(0.05 * 0.95 / 150)).all()


def test_a_cell_of_two_questions_has_half_the_error_of_the_split_survey():
    rng = np.random.default_rng(6)
    together = [{"name": "both", "attributes": ["gender", "smokes"]}]
    one = survey("SS", "2", attributes=TWO, together=together)
    split = survey("SS", "2", attributes=TWO, together=None, split="uniform")
    errors = [
        cross_table(drawn(published, 20_000, rng), "gender", "smokes").standard_error
        for published in (one, split)
    ]
    assert (errors[0] <= 0.55 * errors[1]).all()


def test_a_verdict_on_a_block_is_of_its_own_table():
    together = [{"name": "both", "attributes": ["gender", "smokes"]}]
    rng = np.random.default_rng(7)
    n = 5_000
    one = drawn(survey("SS", "0.5", attributes=TWO, together=together), n, rng)
    split = drawn(survey("SS", "0.5", attributes=TWO, together=None), n, rng)
    found = [cross_table(records, "gender", "smokes").verdict for records in (one, split)]
    assert [verdict.says for verdict in found] == ["informative", "too noisy to tell"]
