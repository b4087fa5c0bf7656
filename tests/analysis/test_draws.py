"""Statistics of questions in draws: n is the number who answered, and nothing is said of nobody."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hushpoll_analysis import shuffle_guarantee
from hushpoll_analysis.estimates.cross_table import cross_table
from hushpoll_analysis.estimates.frequencies import frequencies, frequencies_from_counts
from hushpoll_analysis.query_results import result_of
from hushpoll_analysis.records.counts import PairCounts, count_pairs
from hushpoll_analysis.records.records import Records, RecordStream
from hushpoll_analysis.records.source import OfCounts, OfRecords
from hushpoll_analysis.relations.joint_tables import joint_table
from hushpoll_analysis.relations.three_way import three_way_table
from hushpoll_analysis.report_shape import report_shape
from hushpoll_analysis.survey_design.design import CellValues, SurveyDesign, checked
from hushpoll_analysis.survey_design.estimation import (
    shares_from_counts,
    weighted_shares,
    weighted_shares_of_several,
)
from hushpoll_analysis.verdicts.expected import Expected
from hushpoll_fleet.behaviour import Behaviour, poisoned_record
from hushpoll_protocols import InvalidParameter, MalformedRecord
from hushpoll_shared import Manifest, Published
from hushpoll_shared.cli.result_text import text_of_result
from hushpoll_shared.queries.answered_shares import Answered
from hushpoll_shared.queries.conditional_shares import ConditionalShares
from hushpoll_shared.queries.cross_tables import CrossTable
from hushpoll_shared.queries.dependencies import Dependencies
from hushpoll_shared.queries.estimates import Estimates
from hushpoll_shared.queries.independence import Independence
from hushpoll_shared.queries.ordered_answers import Ordered
from hushpoll_shared.queries.simultaneous_estimates import Simultaneous
from hushpoll_shared.queries.simultaneous_means import SimultaneousMeans
from hushpoll_shared.wire.batch import answered, encode_many

ATTRIBUTES = [
    {"name": "town", "role": "plain", "categories": ["a", "b"]},
    {"name": "gender", "role": "sensitive", "categories": ["f", "m"]},
    {"name": "age", "role": "sensitive", "range": [1, 3], "protocol": "OUE"},
    {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"]},
    {"name": "drinks", "role": "sensitive", "categories": ["no", "yes"]},
    {"name": "sleep", "role": "sensitive", "categories": ["bad", "good"]},
]


def draft_of(answer: int = 2, epsilon: str = "6") -> dict[str, Any]:
    return {
        "name": "habits",
        "version": 1,
        "title": "Habits",
        "epsilon": epsilon,
        "protocol": "GRR",
        "attributes": ATTRIBUTES,
        "together": [{"name": "pair", "attributes": ["smokes", "drinks"]}],
        "draws": [{"name": "rota", "blocks": ["sleep", "pair", "age"], "answer": answer}],
    }


def survey(answer: int = 2, epsilon: str = "6", **changes: Any) -> Published:
    return Manifest.from_dict(draft_of(answer, epsilon) | changes).resolve()


def people(n: int, seed: int = 1) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    smokes = rng.integers(0, 2, n)
    return {
        "town": rng.integers(0, 2, n),
        "gender": (rng.random(n) < 0.4).astype(int),
        "age": np.where(smokes == 1, 2, rng.integers(0, 3, n)),
        "smokes": smokes,
        "drinks": np.where(rng.random(n) < 0.7, smokes, 1 - smokes),
        "sleep": 1 - smokes,
    }


def records_of(published: Published, n: int = 30_000) -> tuple[Records, dict[str, Any]]:
    codes = people(n)
    rows = encode_many(published, codes, np.random.default_rng(2))
    return Records(published, rows), codes


@pytest.fixture(scope="module")
def asked() -> tuple[Records, dict[str, Any]]:
    return records_of(survey())


def by_hand(records: Records, *names: str) -> np.ndarray[Any, Any]:
    fields = [field for field in records.published.layout.fields if field.name in names]
    return np.logical_and.reduce([answered(records.rows, field) for field in fields])


@pytest.mark.parametrize("estimator", ["unbiased", "projected", "likelihood", "shrunk"])
def test_estimates_of_a_draw_are_those_of_the_respondents_who_answer(
    asked: tuple[Records, dict[str, Any]], estimator: str
) -> None:
    records, codes = asked
    found = {one.name: one for one in frequencies(records, estimator=estimator)}
    assert found["gender"].n == len(records)
    for name, block in (("age", "age"), ("smokes", "pair"), ("sleep", "sleep")):
        assert found[name].n == by_hand(records, block).sum()
        truth = np.bincount(codes[name], minlength=len(found[name].frequency)) / len(records)
        assert np.abs(found[name].frequency - truth).max() < 0.03, name
        if estimator == "unbiased":
            assert found[name].lower is not None
    document = frequencies(records, estimator=estimator).to_dict()
    assert document["n"] == len(records)
    assert [one["n"] is None for one in document["attributes"]] == [True, True, *[False] * 4]


def test_counts_in_pairs_are_those_of_the_records_who_answer_both(
    asked: tuple[Records, dict[str, Any]],
) -> None:
    records, _ = asked
    kept = count_pairs(RecordStream(records.published, records.blocks(7000)))
    support, joint = kept.pack()
    again = PairCounts.unpack(records.published, kept.counts.n, support, joint)
    for counts in (kept, again):
        source = OfCounts(records.published, counts)
        for a, b in (
            ("age", "sleep"),
            ("sleep", "gender"),
            ("town", "drinks"),
            ("smokes", "drinks"),
            ("age", "smokes"),
        ):
            told = source.answering([a, b]).pair(a, b)
            counted = OfRecords(records).answering([a, b]).pair(a, b)
            blocks = {one if one not in ("smokes", "drinks") else "pair" for one in (a, b)}
            assert told.n == counted.n == by_hand(records, *blocks).sum()
            for part in ("first", "second", "both"):
                assert np.array_equal(getattr(told, part), getattr(counted, part)), (a, b, part)
    one, two = (count_pairs(part) for part in records.blocks(15_000))
    assert (one + two).pack() == kept.pack()
    of_counts = frequencies_from_counts(records.published, kept.counts).to_dict()
    assert of_counts == frequencies(records).to_dict()


@pytest.mark.parametrize(
    ("a", "b", "share"),
    [("age", "sleep", 1 / 3), ("gender", "sleep", 2 / 3), ("smokes", "drinks", 2 / 3)],
)
def test_cross_tables_across_blocks_of_a_draw_cover_the_truth(
    asked: tuple[Records, dict[str, Any]], a: str, b: str, share: float
) -> None:
    records, codes = asked
    table = cross_table(records, a, b, confidence=0.999)
    assert abs(table.n / len(records) - share) < 0.02
    truth = np.zeros(table.frequency.shape)
    np.add.at(truth, (codes[a], codes[b]), 1 / len(records))
    assert ((table.lower <= truth) & (truth <= table.upper)).all()
    result = result_of(CrossTable(a=a, b=b), OfRecords(records))
    assert result.n == table.n
    assert "that answer what is asked at epsilon 6" in str(result.verdict)


def test_means_shares_in_groups_and_tests_are_of_those_who_answer(
    asked: tuple[Records, dict[str, Any]],
) -> None:
    records, codes = asked
    source = OfRecords(records)
    mean = result_of(Ordered(attribute="age", confidence=0.999), source)
    assert mean.n == by_hand(records, "age").sum()
    groups = result_of(ConditionalShares(of="age", given="sleep", confidence=0.999), source)
    assert groups.n == by_hand(records, "age", "sleep").sum()
    test = result_of(Independence(a="age", b="sleep"), source)
    assert test.n == groups.n
    assert test.p_value < 0.001
    assert codes["age"].size == len(records)


def test_what_nobody_answers_together_is_refused_with_the_reason() -> None:
    records, _ = records_of(survey(answer=1), 2000)
    message = (
        "age and sleep are in the draw rota, of whose 3 blocks each respondent answers 1: nobody "
        "answers both"
    )
    for query in (
        CrossTable(a="sleep", b="age"),
        ConditionalShares(of="sleep", given="age"),
        Independence(a="sleep", b="age"),
        Ordered(attribute="age", given="sleep"),
    ):
        with pytest.raises(InvalidParameter, match="nobody answers both"):
            result_of(query, OfRecords(records))
    with pytest.raises(InvalidParameter, match=message):
        cross_table(records, "age", "sleep")
    assert result_of(CrossTable(a="smokes", b="drinks"), OfRecords(records)).n < 1000
    assert result_of(Estimates(), OfRecords(records)).n == 2000


def test_a_table_of_three_questions_is_of_those_who_answer_all(
    asked: tuple[Records, dict[str, Any]],
) -> None:
    records, codes = asked
    table = three_way_table(records, "age", "gender", "smokes", confidence=0.9999)
    assert table.n == by_hand(records, "age", "pair").sum()
    share = np.mean((codes["age"] == 0) & (codes["gender"] == 0) & (codes["smokes"] == 0))
    assert table.lower[0, 0, 0] < share < table.upper[0, 0, 0]
    told = joint_table(records, ["age", "gender"], likelihood=False).unbiased
    assert told.n == by_hand(records, "age").sum()
    few, _ = records_of(survey(answer=1), 2000)
    with pytest.raises(InvalidParameter, match="nobody answers both"):
        three_way_table(few, "age", "sleep", "gender")


def test_a_statistic_without_draws_is_refused_by_name(
    asked: tuple[Records, dict[str, Any]],
) -> None:
    records, _ = asked
    for read in (
        lambda: records.indicators("age"),
        lambda: records.debiased("age"),
        lambda: records.frame(),
        lambda: OfRecords(records).pair("age", "gender"),
        lambda: OfCounts(records.published, count_pairs(records)).pair("age", "gender"),
    ):
        with pytest.raises(InvalidParameter, match=r"age|sleep.*in the draw rota"):
            read()


def test_a_fake_report_weighs_as_often_as_genuine_ones_are_left_out() -> None:
    drawn, _ = records_of(survey(answer=1, epsilon="2"), 3000)
    alone, _ = records_of(
        survey(
            answer=1,
            epsilon="2",
            draws=None,
            split={"weights": {"gender": 3, "age": 1, "pair": 1, "sleep": 1}},
        ),
        3000,
    )
    one, other = (
        next(e for e in frequencies(each) if e.name == "gender") for each in (drawn, alone)
    )
    assert one.poisoning == other.poisoning
    sleep = next(e for e in frequencies(drawn) if e.name == "sleep").poisoning
    assert sleep is not None
    told = sleep.to_dict()
    assert told["one_fake_adds"] == pytest.approx(3 * float(sleep.up))
    # one in a hundred is fake, and three in a hundred and two of those who answer
    assert told["raised_by"] == pytest.approx(
        float(sleep.shift(fakes=3, genuine=99, frequency=0)[1])
    )


def test_the_shape_of_reports_names_a_block_that_is_chosen_too_often(
    asked: tuple[Records, dict[str, Any]],
) -> None:
    records, _ = asked
    honest = report_shape(records)
    assert [one.name for one in honest.attributes] == [
        "town",
        "gender",
        "sleep",
        "pair",
        "age",
        "rota",
    ]
    assert not honest.flagged
    published = records.published
    rng = random.Random(3)
    fakes = [
        poisoned_record(
            published,
            Behaviour.POISON_MAXIMAL,
            {"town": "a", "gender": "f", "age": 1, "smokes": "no", "drinks": "no", "sleep": "bad"},
            targets={"sleep": 1, "gender": 0, "pair": 0, "age": 0},
            rng=rng,
        )
        for _ in range(900)
    ]
    for fake in fakes[:20]:
        published.layout.check(fake)
    rows = np.concatenate([records.rows, np.frombuffer(b"".join(fakes), np.uint8).reshape(900, -1)])
    shape = report_shape(Records(published, rows))
    assert shape.flagged
    worst = min(shape.attributes, key=lambda one: 1 if one.p_value is None else one.p_value)
    assert worst.name == "rota"
    assert "20600.0 are expected" in worst.finding


def test_tables_of_records_have_no_cell_where_a_block_was_not_chosen(
    asked: tuple[Records, dict[str, Any]],
) -> None:
    records = asked[0].take(slice(0, 500))
    table = records.to_arrow()
    for name in ("age", "pair", "sleep"):
        assert table.column(name).null_count == 500 - by_hand(records, name).sum()
    assert table.column("gender").null_count == 0
    again = Records.from_table(table)
    assert np.array_equal(again.rows, records.rows)
    at = table.schema.get_field_index("age")
    kind = table.schema.field(at)
    broken = table.set_column(at, kind, pa.nulls(500, kind.type))
    with pytest.raises(MalformedRecord, match="rota"):
        Records.from_table(broken)


def test_a_shuffler_adds_to_a_draw_and_more_in_a_larger_crowd() -> None:
    drawn = shuffle_guarantee(survey(), 100_000)
    assert 0 < drawn.epsilon < float(drawn.local_epsilon)
    assert shuffle_guarantee(survey(), 1_000_000).epsilon < drawn.epsilon


@pytest.mark.parametrize(("k", "gain"), [(2, 5.8), (5, 12.6), (20, 13.6)])
def test_one_of_ten_questions_gains_at_epsilon_2_and_loses_at_8_where_answers_are_few(
    k: int, gain: float
) -> None:
    ten = [{"name": f"q{one}", "role": "sensitive", "range": [1, k]} for one in range(10)]
    draft = {"name": "ten", "version": 1, "title": "Ten", "protocol": "SS", "attributes": ten}

    def variances(epsilon: str) -> tuple[float, float]:
        """Return those of a share, times the respondents, of the split and of the drawn survey."""
        alone = Manifest.from_dict(draft | {"epsilon": epsilon}).resolve()
        drawn = Manifest.from_dict(draft | {"epsilon": epsilon, "answer": 1}).resolve()
        split, one_in_ten = (
            float(each.blocks[0].oracle.estimate_variance(Fraction(1, k)))
            for each in (alone, drawn)
        )
        return split, one_in_ten / float(drawn.share_answering(["q0"]))

    split, drawn = variances("2")
    assert split / drawn == pytest.approx(gain, rel=0.02)
    if k == 2:
        split, drawn = variances("8")
        assert split < drawn


def test_standard_errors_of_a_drawn_survey_are_those_that_its_law_predicts() -> None:
    ten = [{"name": f"q{one}", "role": "sensitive", "categories": ["0", "1"]} for one in range(10)]
    draft = {"name": "ten", "version": 1, "title": "Ten", "protocol": "SS", "attributes": ten}
    published = Manifest.from_dict(draft | {"epsilon": "2", "answer": 1}).resolve()
    n = 40_000
    codes = {one["name"]: np.arange(n) % 2 for one in ten}
    records = Records(published, encode_many(published, codes, np.random.default_rng(1)))
    variance = float(published.blocks[0].oracle.estimate_variance(Fraction(1, 2))) * 10 / n
    for one in frequencies(records):
        assert one.standard_error is not None
        assert one.standard_error[0] ** 2 == pytest.approx(variance, rel=0.06)


def test_simultaneous_results_are_of_those_who_answer_each(
    asked: tuple[Records, dict[str, Any]],
) -> None:
    records, codes = asked
    source = OfRecords(records)
    for method in ("max-t", "bonferroni", "anytime"):
        query = Simultaneous(method=method, attribute="sleep", confidence=0.999)
        together = result_of(query, source)
        (sleep,) = together.attributes
        assert sleep.n == by_hand(records, "sleep").sum()
        assert together.n == len(records)
        truth = codes["sleep"].mean()
        assert sleep.categories[1].lower < truth < sleep.categories[1].upper
    everything = result_of(Simultaneous(), OfRecords(records))
    assert [one.n is None for one in everything.attributes] == [True, True, *[False] * 4]
    assert "sleep (" in text_of_result(everything)
    (mean,) = result_of(SimultaneousMeans(attributes=["age"]), source).means
    assert mean.n == by_hand(records, "age").sum()
    in_groups = result_of(SimultaneousMeans(attributes=["age"], given="sleep"), source)
    assert in_groups.means[0].n == by_hand(records, "age", "sleep").sum()
    assert in_groups.n == len(records)


def test_all_pairs_that_somebody_answers_are_tested_and_the_others_named() -> None:
    few, _ = records_of(survey(answer=1), 4000)
    tested = result_of(Dependencies(), OfRecords(few))
    pairs = {frozenset((one.a, one.b)): one for one in tested.pairs}
    assert frozenset(("age", "sleep")) not in pairs
    assert pairs[frozenset(("smokes", "drinks"))].conclusion == "dependent"
    assert pairs[frozenset(("smokes", "drinks"))].n == by_hand(few, "pair").sum()
    assert pairs[frozenset(("town", "gender"))].n is None
    assert (
        "age and smokes, age and drinks, age and sleep, smokes and sleep, drinks and sleep are not "
        "tested: they are in a draw of which no respondent answers both."
    ) in tested.reading
    test = result_of(Independence(a="gender", b="sleep"), OfRecords(few))
    alone = pairs[frozenset(("gender", "sleep"))]
    assert (alone.n, alone.p_value) == (test.n, test.p_value)


def test_shares_of_those_who_were_asked_are_of_those_who_answer_the_block() -> None:
    follow_up = {
        "name": "much",
        "role": "sensitive",
        "categories": ["little", "much"],
        "ask_if": {"smokes": ["yes"]},
    }
    published = survey(
        attributes=[*ATTRIBUTES, follow_up],
        together=[{"name": "pair", "attributes": ["smokes", "drinks", "much"]}],
    )
    codes = people(20_000)
    codes["much"] = np.where(codes["smokes"] == 1, np.arange(20_000) % 2, 2)
    rows = encode_many(published, codes, np.random.default_rng(4))
    records = Records(published, rows)
    (much,) = result_of(Answered(confidence=0.999), OfRecords(records)).attributes
    assert much.n == by_hand(records, "pair").sum()
    assert much.answered.lower < codes["smokes"].mean() < much.answered.upper
    assert much.categories[1].lower < 0.5 < much.categories[1].upper


def test_expected_counts_of_a_draw_are_those_of_the_part_that_answers() -> None:
    whole = Expected(survey(answer=2), 3000)
    part = whole.answering(["age"])
    assert (part.n, part.answering(["age"]).n) == (2000, 2000)
    assert part.answering(["sleep"]).n == whole.answering(["age", "sleep"]).n == 1000
    assert whole.questions().answered == {"sleep": 2000, "pair": 2000, "age": 2000}
    kept = whole.pairs().answering(whole.published, ["age", "sleep"])
    assert kept is not None
    assert kept.counts.n == 1000


def test_weighted_shares_are_of_those_who_answer_the_question_and_the_margin(
    asked: tuple[Records, dict[str, Any]],
) -> None:
    records, codes = asked
    margin = CellValues(("age",), {"1": 0.2, "2": 0.2, "3": 0.6})
    truth = sum(
        part * codes["sleep"][codes["age"] == code].mean()
        for code, part in enumerate((0.2, 0.2, 0.6))
    )
    for by in ("records", "counts"):
        design = SurveyDesign(margins=(margin,), population=1e6)
        if by == "records":
            found = weighted_shares(records, "sleep", design, confidence=0.999)
        else:
            source = OfRecords(records).answering(["sleep", "age"])
            plan = checked(design, source.published, "sleep")
            joint = source.pair("sleep", "age")
            found = shares_from_counts(
                source.published, joint.first, joint.n, joint, plan, "sleep", confidence=0.999
            )
        assert found.n == by_hand(records, "sleep", "age").sum()
        assert found.shares.lower[1] < truth < found.shares.upper[1]
        assert found.totals is not None
    weights = 1.0 + codes["town"]
    told = weighted_shares(records, "sleep", weights=weights, confidence=0.999)
    assert told.n == by_hand(records, "sleep").sum()
    assert told.totals is None  # the weights of those who answer are not all people
    assert weighted_shares(records, "gender", weights=weights).totals is not None
    several = weighted_shares_of_several(records, ["gender", "sleep"], weights=weights)
    assert several.to_dict()["n"] == len(records)
    assert several.results[1].n == told.n
    few, _ = records_of(survey(answer=1), 2000)
    with pytest.raises(InvalidParameter, match="nobody answers both"):
        weighted_shares(few, "sleep", SurveyDesign(margins=(margin,)))
