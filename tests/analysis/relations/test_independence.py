"""The test of independence: Pearson's in clear, its level and its power through noise."""

import numpy as np
import pytest

from hushpoll_analysis import frequencies, independence
from hushpoll_analysis.auditing.moments import weights
from hushpoll_analysis.estimates.row_weights import RowWeights
from hushpoll_analysis.estimates.weight_covariances import WeightCovariances
from hushpoll_analysis.records.records import Channel
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.cli.result_text import text_of_result
from relations_survey import draw, survey

MARGINS = np.array([0.3, 0.7]), np.array([0.5, 0.2, 0.3])
APART = np.outer(*MARGINS)
TILT = np.array([[0.04, -0.04, 0.0], [-0.04, 0.04, 0.0]])
PROTOCOLS = ("GRR", "BLH", "OLH", "RAPPOR", "OUE", "SS", "THE")


def test_it_is_pearson_s_test_in_clear():
    published = survey((None, 2, "1"), (None, 3, "1"))
    codes, records = draw(published, APART + TILT, 400, 1)
    counted = np.zeros((2, 3))
    np.add.at(counted, (codes["a"], codes["b"]), 1)
    expected = np.outer(counted.sum(axis=1), counted.sum(axis=0)) / 400
    tested = independence(records, "a", "b")
    assert tested.statistic == pytest.approx(((counted - expected) ** 2 / expected).sum())
    assert tested.degrees == 2
    assert tested.p_value == pytest.approx(np.exp(-tested.statistic / 2))
    assert tested.smallest_expected == pytest.approx(expected.min())
    # as a table of effect sizes has it: 80 % power at the level .05, two degrees of freedom
    assert tested.detectable == pytest.approx((0.1552, 0.1552), abs=2e-4)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_covariances_of_the_weights_are_those_of_records(protocol):
    published = survey((None, 2, "1"), (protocol, 3, "1"))
    _, records = draw(published, APART, 20_000, 2)
    attribute = published.attribute("b")
    share = RowWeights.of_records(records, attribute.name).shares
    drawn = weights(records.indicators("b"), Channel.of(attribute.oracle), share)
    expected = WeightCovariances.of(attribute.oracle).over_population(MARGINS[1])
    assert np.cov(drawn.T) == pytest.approx(expected, rel=0.08, abs=0.08 * expected.max())


def rejected(published, joint, n, surveys):
    """The share of surveys in which the two attributes are said to be dependent."""
    tests = (independence(draw(published, joint, n, seed)[1], "a", "b") for seed in range(surveys))
    return sum(test.conclusion == "dependent" for test in tests) / surveys


@pytest.mark.parametrize(
    "questions", [(("OUE", 2, "1"), ("GRR", 3, "1")), (("SS", 2, "2"), (None, 3, ""))]
)
def test_level_holds_under_perturbation(questions):
    assert rejected(survey(*questions), APART, 800, 60) < 0.05 + 4 * (0.05 * 0.95 / 60) ** 0.5


def test_power_lies_between_the_two_kinds_of_dependence():
    published = survey(("OUE", 2, "2"), ("GRR", 3, "2"))
    _, records = draw(published, APART, 2000, 3)
    easy, hard = independence(records, "a", "b").detectable
    assert easy < hard
    phi = (TILT**2 / APART).sum() ** 0.5
    scale = easy / phi, hard / phi
    power = [rejected(published, APART + by * TILT, 2000, 50) for by in scale]
    assert power[0] < 0.8 + 0.2
    assert power[1] > 0.8 - 0.2


def test_no_dependence_is_promised_that_is_stronger_than_any():
    _, records = draw(survey(("GRR", 2, "0.1"), (None, 2, "")), np.full((2, 2), 0.25), 40, 3)
    tested = independence(records, "a", "b")
    assert (tested.detectable, tested.largest_possible) == (None, 1.0)
    answer = tested.to_dict()
    assert answer["smallest_detectable"] is answer["largest_detectable"] is None
    said = " ".join(text_of_result(tested.result()).split())
    assert "not even the strongest dependence" in said


def test_strongest_dependence_has_the_phi_that_bounds_all():
    _, records = draw(survey((None, 3, ""), (None, 3, "")), np.eye(3) / 3, 300, 3)
    tested = independence(records, "a", "b")
    assert tested.statistic / tested.n == pytest.approx(tested.largest_possible**2)


def test_category_that_nobody_gave_takes_no_degree_of_freedom():
    published = survey((None, 2, "1"), (None, 4, "1"))
    _, records = draw(published, np.hstack([APART, np.zeros((2, 1))]), 200, 4)
    assert independence(records, "a", "b").degrees == 2


def test_attribute_with_one_answer_is_independent_of_all():
    published = survey((None, 2, "1"), (None, 3, "1"))
    _, records = draw(published, np.array([[0, 0, 0], [0.5, 0.2, 0.3]]), 50, 5)
    tested = independence(records, "a", "b")
    assert (tested.degrees, tested.p_value, tested.detectable) == (0, 1.0, None)
    assert frequencies(records)[0].frequency.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("alpha", [0, 0.6])
def test_level_outside_its_interval_is_refused(alpha):
    published = survey((None, 2, "1"), (None, 3, "1"))
    _, records = draw(published, APART, 50, 6)
    with pytest.raises(InvalidParameter, match="alpha is"):
        independence(records, "a", "b", alpha=alpha)
