"""The verdict on weighted shares: what the weights leave of the reports, and never the answers."""

import re

import numpy as np
import pytest

from hushpoll_analysis import CellValues, SurveyDesign, weighted_shares
from hushpoll_analysis.survey_design.estimation import weighted_shares_of_several
from relations_survey import draw, survey

EVEN = np.full((3, 2), 1 / 6)
PUBLISHED = survey(("OUE", 3, "1"), (None, 2, ""))


@pytest.fixture(scope="module")
def records():
    return draw(PUBLISHED, EVEN, 4000, 11)[1]


def of_cells(first, second):
    return SurveyDesign(weights=CellValues(("b",), {"1": first, "2": second}))


def reach_in(sentence):
    """The percentage points to either side that a sentence expects."""
    return float(re.search(r"expected to reach ([\d.]+) percentage points", sentence)[1]) / 100


@pytest.mark.parametrize("design", [SurveyDesign(), of_cells(1, 4), of_cells(1, 30)])
def test_expected_half_width_is_that_of_the_interval(records, design):
    found = weighted_shares(records, "a", design)
    half = float((found.shares.upper - found.shares.lower).mean()) / 2
    assert reach_in(found.verdict.sentence) == pytest.approx(half, rel=0.08)


def test_weights_make_an_informative_result_too_noisy_to_tell():
    _, records = draw(PUBLISHED, EVEN, 250, 3)
    even, skewed = (weighted_shares(records, "a", one) for one in (of_cells(1, 1), of_cells(1, 60)))
    assert even.verdict.says == "informative"
    assert skewed.effective_n < 0.6 * 250
    assert skewed.verdict.says == "too noisy to tell"
    assert skewed.verdict.respondents > 250
    assert "the weights make the reports worth" in skewed.verdict.sentence


def test_verdict_does_not_depend_on_the_answers():
    others = np.array([[0.8, 0.0], [0.1, 0.0], [0.1, 0.0]]) / 2
    others[:, 1] = others[:, 0]
    verdicts = [
        weighted_shares(
            draw(PUBLISHED, table, 400, 5)[1], "a", SurveyDesign(population=9000)
        ).verdict
        for table in (EVEN, others)
    ]
    assert verdicts[0] == verdicts[1]


def test_margin_that_noise_hides_is_too_noisy_before_any_report_is_looked_at():
    published = survey(("OUE", 2, "1"), ("OUE", 3, "1"))
    _, records = draw(published, np.full((2, 3), 1 / 6), 2000, 6)
    small = CellValues(("b",), {"1": 0.02, "2": 0.49, "3": 0.49})
    found = weighted_shares(records, "a", SurveyDesign(margins=(small,)))
    assert found.verdict.says == "too noisy to tell"
    assert "b = 1, by which the design divides those of a" in found.verdict.sentence
    assert found.verdict.respondents > 20_000
    large = CellValues(("b",), {"1": 0.33, "2": 0.33, "3": 0.34})
    assert not weighted_shares(records, "a", SurveyDesign(margins=(large,))).verdict.noisy


def test_several_attributes_are_parts_of_one_verdict():
    published = survey(("OUE", 2, "4"), ("OUE", 9, "0.5"), (None, 2, ""))
    _, records = draw(published, np.full((2, 9, 2), 1 / 36), 300, 8)
    found = weighted_shares_of_several(records, ["a", "b"])
    assert found.verdict.says == "informative"
    assert found.verdict.too_noisy == ("b",)
    document = found.to_dict()
    assert next(iter(document)) == "verdict"
    assert [one["verdict"]["says"] for one in document["attributes"]] == [
        "informative",
        "too noisy to tell",
    ]
