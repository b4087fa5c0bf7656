"""Verdicts are decided beforehand, and the numbers in their sentences are those of the rules."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from hushpoll_analysis import Records
from hushpoll_analysis.planning.expected_estimates import Side, expected_interval_width
from hushpoll_analysis.planning.expected_pairs import association_power
from hushpoll_analysis.query_results import result_of
from hushpoll_analysis.records.source import OfRecords
from hushpoll_analysis.relations.chi_square import dependence, seen_part
from hushpoll_analysis.verdicts.expected import Expected, with_epsilon
from hushpoll_analysis.verdicts.needed import fewest_reports, smallest_epsilon
from hushpoll_protocols import create
from hushpoll_shared.cli.result_text import text_of_result
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.queries.conditional_shares import ConditionalShares
from hushpoll_shared.queries.cross_tables import CrossTable
from hushpoll_shared.queries.estimates import Estimates
from hushpoll_shared.queries.independence import Independence
from hushpoll_shared.queries.ordered_answers import Ordered
from hushpoll_shared.querying.table import table_of_result
from hushpoll_shared.wire.batch import encode_many

TEN = ["gender", "smokes", *(f"q{number}" for number in range(8))]


def survey(epsilon, *, age=False, clear=()):
    """Ten yes/no questions, of which one may be an age, as one share of the budget each."""
    attributes = [
        {"name": name, "role": "plain", "categories": ["yes", "no"]}
        if name in clear
        else {"name": name, "role": "sensitive", "protocol": "GRR", "categories": ["yes", "no"]}
        for name in TEN
    ]
    if age:
        attributes[-1] = {"name": "age", "role": "sensitive", "protocol": "SS", "range": [17, 90]}
    document = {"name": "s", "version": 1, "title": "s", "epsilon": epsilon}
    return Manifest.from_dict({**document, "attributes": attributes}).resolve()


def answers(published, n, seed=1):
    rng = np.random.default_rng(seed)
    codes = {one.name: rng.integers(0, one.k, n) for one in published.attributes}
    return OfRecords(Records(published, encode_many(published, codes, rng)))


def test_comparison_of_ten_questions_at_epsilon_four_is_too_noisy_and_shows_no_number():
    source = answers(survey("4"), 5_000)
    query = ConditionalShares(of="smokes", given="gender", reference="no")
    result = result_of(query, source)
    verdict = result.verdict
    assert verdict.noisy
    assert set(verdict.too_noisy) == {"shares", "differences"}
    assert next(iter(result.to_dict())) == "verdict"
    text = text_of_result(result)
    assert text.startswith("5,000 reports at epsilon 4 are too noisy to tell a share of smokes")
    shown = [one for row in (*result.shares, *result.differences) for one in (row.value, row.upper)]
    assert not any(f"{one:.4f}" in text for one in shown)
    table = table_of_result(result)
    assert table.columns[0].name == "verdict"
    assert {row[0] for row in table.rows} == {"too noisy to tell"}
    assert dict(table.methods)["verdict"] == verdict.sentence
    # what the sentence asks for is enough, and a tenth less is not
    for n, epsilon in ((verdict.respondents, "4"), (5_000, verdict.epsilon)):
        assert not result_of(query, answers(survey(epsilon), n)).verdict.too_noisy
    few = round(0.9 * verdict.respondents)
    low = str(round(Decimal("0.9") * Decimal(verdict.epsilon), 3))
    for n, epsilon in ((few, "4"), (5_000, low)):
        assert result_of(query, answers(survey(epsilon), n)).verdict.too_noisy


def test_verdict_does_not_depend_on_the_answers():
    published = survey("8")
    rng = np.random.default_rng(2)
    one_sided = {one.name: np.zeros(800, dtype=np.int64) for one in published.attributes}
    rows = encode_many(published, one_sided, rng)
    query = Estimates()
    extreme = result_of(query, OfRecords(Records(published, rows)))
    assert extreme.verdict == result_of(query, answers(published, 800)).verdict


def test_sentence_of_estimates_has_the_half_width_that_the_planner_expects():
    published = survey("8", age=True)
    verdict = result_of(Estimates(), answers(published, 4_000)).verdict
    assert (verdict.says, verdict.too_noisy) == ("informative", ("age",))
    side = Side(published.attribute("age").oracle, 4_000, 1 / 74)
    half = 50 * expected_interval_width(side, 0.95)
    told = float(verdict.sentence.partition("expected to reach ")[2].partition(" ")[0])
    assert told == pytest.approx(half, rel=0.03)
    assert "at most 1.35 percentage points" in verdict.sentence
    assert "can tell 9 of 10 parts" in verdict.sentence


def test_answers_in_clear_need_reports_and_no_epsilon():
    published = survey("4", clear=TEN[:2])
    verdict = result_of(CrossTable(a="gender", b="smokes"), answers(published, 4)).verdict
    assert verdict.noisy
    assert verdict.epsilon is None
    assert not result_of(CrossTable(a="gender", b="smokes"), answers(published, 100)).verdict.noisy


def test_mean_is_told_within_a_quarter_of_its_scale():
    published = survey("4", age=True)
    query = Ordered(attribute="age")
    verdict = result_of(query, answers(published, 2_000)).verdict
    assert verdict.noisy
    assert "at most 18.2" in verdict.sentence
    assert not result_of(query, answers(published, verdict.respondents)).verdict.noisy


@pytest.mark.parametrize("name", ["GRR", "OUE", "SS", "OLH"])
def test_power_of_a_test_is_that_of_the_planner(name):
    published = survey("4")
    oracle = create(name, k=5, epsilon="1.5")
    five = {"categories": tuple("abcde"), "protocol": name, "oracle": oracle}
    first = second = replace(published.attributes[0], **five)
    efficiency = seen_part(oracle, 5) ** 2
    reach = dependence(_Two(first, second), "a", "b", 3_000, 0.05, "test")
    power = association_power(first, second, 3_000, reach.half_width, alpha=0.05)
    assert power == pytest.approx(0.8, abs=1e-6)
    assert 0 < efficiency < 1


class _Two:
    """Two attributes, in place of a survey."""

    def __init__(self, first, second):
        self._both = {"a": first, "b": second}

    def block_of(self, name):
        del name

    def attribute(self, name):
        return self._both[name]


def test_test_that_cannot_find_the_strongest_dependence_is_too_noisy():
    published = survey("4")
    query = Independence(a="gender", b="smokes")
    verdict = result_of(query, answers(published, 2_000)).verdict
    assert verdict.noisy
    assert "not even the strongest dependence, phi = 1, would be found" in verdict.sentence
    assert not result_of(query, answers(published, verdict.respondents)).verdict.noisy
    text = text_of_result(result_of(query, answers(published, 2_000)))
    assert "chi-square" not in text


def test_survey_at_its_own_epsilon_has_the_same_law():
    published = survey("4", age=True)
    same = with_epsilon(published, published.epsilon)
    assert [one.oracle for one in same.attributes] == [one.oracle for one in published.attributes]
    assert Expected(same, 100).questions().n == 100


def test_expected_counts_of_a_pair_are_those_of_independent_even_answers():
    side = Expected(survey("4"), 10_000)
    counts = side.pair("gender", "smokes")
    np.testing.assert_array_equal(counts.first, [5_000, 5_000])
    np.testing.assert_array_equal(counts.both, np.full((2, 2), 2_500))


def test_needed_numbers_are_rounded_up_and_may_not_exist():
    found = fewest_reports(lambda n: math.sqrt(1_000 / n), 10, 10.0)
    assert found == pytest.approx(1_000, rel=0.02)
    calls = []
    assert fewest_reports(lambda n: calls.append(n) or (2 if n < 1_000 else 0.99), 1, 2.0) <= 1_010
    assert len(calls) < 40
    assert fewest_reports(lambda _: 2.0, 10, 2.0) is None
    assert smallest_epsilon(lambda e: 3 / float(e), Decimal(1), 3.0) == pytest.approx(3, rel=0.02)
    assert smallest_epsilon(lambda _: 2.0, Decimal(1), 2.0) is None


@pytest.mark.parametrize(("n", "epsilon", "most"), [(5_200, "4", 7), (20, "4", 12), (800, "6", 7)])
def test_few_computations_find_what_would_be_enough(monkeypatch, n, epsilon, most):
    calls, pair = [], Expected.pair
    monkeypatch.setattr(
        Expected, "pair", lambda side, *names: calls.append(1) or pair(side, *names)
    )
    query = ConditionalShares(of="q1", given="q2", reference="yes")
    assert result_of(query, answers(survey(epsilon), n)).verdict.noisy
    assert 2 < len(calls) <= most


@pytest.mark.parametrize("power", [0.5, 1, 2, 5])
@pytest.mark.parametrize("needed", [1.005, 3.333, 40])
def test_search_is_close_and_needs_few_guesses_for_every_slope(power, needed):
    calls = []

    def ratio(epsilon):
        calls.append(float(epsilon))
        return (needed / float(epsilon)) ** power

    found = smallest_epsilon(ratio, Decimal("0.1"), (needed / 0.1) ** power)
    assert needed <= float(found) <= 1.0201 * needed
    assert float(found) in calls
    assert len(calls) <= 8
    calls.clear()
    reports = round(1_000_000 * needed)
    enough = fewest_reports(lambda n: ratio(n / 1_000_000), 7, (reports / 7) ** power)
    assert 0.9999 * reports <= enough <= 1.0201 * reports
    assert enough / 1_000_000 in calls
    assert len(calls) <= 14


def test_search_halves_where_the_ratio_jumps():
    calls = []
    found = smallest_epsilon(lambda e: calls.append(e) or (9 if e < 7 else 0.9), Decimal(1), 9.0)
    assert found == pytest.approx(Decimal(7), rel=Decimal("0.01"))
    assert len(calls) < 20
    assert fewest_reports(lambda n: math.inf if n < 37 else 0.5, 3, math.inf) == 37


def test_result_that_was_kept_before_verdicts_is_still_read():
    result = result_of(Estimates(), answers(survey("4"), 100))
    document = json.loads(json.dumps(result.to_dict()))
    del document["verdict"]
    assert Estimates.result_of(document).verdict is None
