"""Intervals that hold together, and at every look."""

import numpy as np
import pytest

from hushpoll_analysis import dependencies, independence, simultaneous_estimates
from hushpoll_analysis.multiplicity.simultaneous import (
    METHODS,
    critical_value,
    sequence_limits,
)
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.frequencies import normal_quantile
from relations_survey import draw, survey

SHARES = np.array([0.1, 0.2, 0.3, 0.4])
QUESTIONS = (("OUE", 4, "1"), (None, 2, ""))
JOINT = np.outer(SHARES, [0.3, 0.7])


def test_two_answers_of_one_question_need_no_widening():
    """Their estimates sum to 1, so that both intervals miss together."""
    published = survey(("OUE", 2, "1"))
    _, records = draw(published, np.array([0.4, 0.6]), 500, 1)
    found = simultaneous_estimates(records).attributes["a"][1]
    assert found.confidence == pytest.approx(0.95, abs=2e-3)


def test_critical_value_of_independent_numbers_is_sidak_s():
    expected = normal_quantile(0.95 ** (1 / 10))
    assert critical_value(np.eye(10), 0.05) == pytest.approx(expected, abs=0.01)


def test_max_t_lies_between_each_alone_and_bonferroni():
    published = survey(*QUESTIONS)
    _, records = draw(published, JOINT, 2000, 2)
    widths = {
        method: simultaneous_estimates(records, method=method).attributes["a"][1]
        for method in METHODS
    }
    spans = [(widths[method].upper - widths[method].lower).mean() for method in METHODS]
    assert spans[0] <= spans[1] < spans[2]
    alone = simultaneous_estimates(records, only=["a"], method="max-t").attributes
    assert list(alone) == ["a"]
    assert (alone["a"][1].upper <= widths["max-t"].upper + 1e-12).all()


@pytest.mark.parametrize("method", ["max-t", "bonferroni"])
def test_all_intervals_of_a_survey_hold_together(method):
    published, held, surveys = survey(*QUESTIONS), 0, 60
    for seed in range(surveys):
        _, records = draw(published, JOINT, 600, seed)
        found = simultaneous_estimates(records, method=method).attributes
        held += all(
            ((found[name][1].lower <= share) & (share <= found[name][1].upper)).all()
            for name, share in (("a", SHARES), ("b", np.array([0.3, 0.7])))
        )
    assert held / surveys > 0.95 - 4 * (0.95 * 0.05 / surveys) ** 0.5


def test_sequence_holds_at_every_look():
    rng, missed, runs = np.random.default_rng(3), 0, 100
    for _ in range(runs):
        hits = np.cumsum(rng.random(400) < 0.3)
        looks = (sequence_limits(int(hits[n - 1]), n, 0.1) for n in range(1, 401, 8))
        missed += any(not low <= 0.3 <= high for low, high in looks)
    assert missed / runs < 0.1 + 4 * (0.1 * 0.9 / runs) ** 0.5


@pytest.mark.parametrize(("hits", "n"), [(0, 7), (7, 7), (3, 7), (400_000, 1_000_000)])
def test_sequence_ends_where_the_mixture_reaches_the_bound(hits, n):
    from scipy.special import betaln

    low, high = sequence_limits(hits, n, 0.05)
    assert 0 <= low <= hits / n <= high <= 1
    for end in {low, high} - {0.0, 1.0}:
        mixture = betaln(1 + hits, 1 + n - hits) - hits * np.log(end)
        if hits < n:
            mixture -= (n - hits) * np.log1p(-end)
        assert mixture == pytest.approx(np.log(20), rel=1e-6)


def test_words_say_for_how_many_looks():
    published = survey(*QUESTIONS)
    _, records = draw(published, JOINT, 100, 4)
    words = {
        method: simultaneous_estimates(records, method=method).to_dict()["intervals"]
        for method in METHODS
    }
    assert "for one look" in words["max-t"]
    assert "at all looks" in words["anytime"]


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"method": "x"}, "method"),
        ({"only": ["x"]}, "attribute"),
        ({"confidence": 1.0}, "confidence"),
    ],
)
def test_bad_question_is_refused_by_field(options, field):
    published = survey(*QUESTIONS)
    _, records = draw(published, JOINT, 20, 5)
    with pytest.raises(InvalidParameter) as refused:
        simultaneous_estimates(records, **options)
    assert refused.value.field == field


def test_dependencies_are_the_tests_of_all_pairs_adjusted():
    published = survey(("GRR", 2, "4"), (None, 3, ""), (None, 2, ""))
    joint = np.stack(
        [np.array([[0.3, 0.1, 0.1], [0.1, 0.2, 0.2]]) * part for part in (0.4, 0.6)], 2
    )
    _, records = draw(published, joint, 2000, 6)
    found = dependencies(records)
    assert {(test.a, test.b) for test in found.tests} == {("a", "b"), ("a", "c"), ("b", "c")}
    first = found.to_dict()["pairs"][0]
    assert (first["a"], first["b"], first["conclusion"]) == ("a", "b", "dependent")
    assert first["p_value"] == independence(records, "a", "b").p_value
    assert first["adjusted_p_value"] == pytest.approx(first["p_value"] * 3 * (1 + 1 / 2 + 1 / 3))


@pytest.mark.parametrize("rate", [0, 0.6])
def test_rate_outside_its_interval_is_refused(rate):
    published = survey(*QUESTIONS)
    _, records = draw(published, JOINT, 20, 7)
    with pytest.raises(InvalidParameter, match="rate is"):
        dependencies(records, rate=rate)


def test_survey_without_a_pair_is_refused():
    published = survey(("OUE", 4, "1"))
    _, records = draw(published, SHARES, 20, 8)
    with pytest.raises(InvalidParameter, match="no two attributes"):
        dependencies(records)
