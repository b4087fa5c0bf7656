"""The words beside a result speak of the intervals that stand there."""

import pytest

from hushpoll_shared.cli.result_text import text_of_query, three_digits
from hushpoll_shared.queries.changes import Change
from hushpoll_shared.queries.dependencies import Dependencies
from hushpoll_shared.queries.estimates import Estimates
from hushpoll_shared.queries.independence import Independence

SHARE = {"value": 0.5, "standard_error": 0.1, "lower": 0.3, "upper": 0.7, "bound": "bounded"}
SIDE = {"survey": "sample", "version": 1, "digest": "0" * 64, "attribute": "age", "n": 90}
change_text = text_of_query(Change)
independence_text = text_of_query(Independence)
dependencies_text = text_of_query(Dependencies)


def changes(*, simultaneous):
    row = {"before": SHARE, "after": SHARE, "difference": SHARE}
    return {
        "before": SIDE,
        "after": SIDE,
        "confidence": 0.95,
        "simultaneous": simultaneous,
        "intervals": "All hold together.",
        "assumption": "",
        "epsilon_of_both": {"attribute": "1", "surveys": "2"},
        "changes": [{"label": label, **row} for label in ("yes", "no")],
    }


def test_a_change_shows_one_interval_per_line():
    assert "of these 2 at 95 %" in change_text(changes(simultaneous=False))
    assert "All hold together." in change_text(changes(simultaneous=True))


@pytest.mark.parametrize(("degrees", "words"), [(1, "1 degree of"), (2, "2 degrees of")])
def test_a_test_of_two_yes_or_no_questions_has_one_degree_of_freedom(degrees, words):
    answer = {
        "n": 90,
        "a": "gender",
        "b": "income",
        "conclusion": "no dependence found",
        "p_value": 0.3,
        "statistic": 1.0,
        "degrees": degrees,
        "alpha": 0.05,
        "power": 0.8,
        "smallest_detectable": 0.1,
        "largest_detectable": 0.1,
        "largest_possible": 1.0,
        "smallest_expected": 40.0,
        "reference": "chi-square",
        "tables": None,
    }
    # A line may end between two of the words.
    assert f"with {words} freedom" in " ".join(independence_text(answer).split())


@pytest.mark.parametrize(
    ("p_value", "words"), [(0.0001, "p <= 0.0001 "), (0.04, "p = 0.04 ")], ids=["bound", "value"]
)
def test_rare_answers_are_told_with_the_tables_that_were_drawn(p_value, words):
    answer = {
        "n": 90,
        "a": "gender",
        "b": "income",
        "conclusion": "dependent",
        "p_value": p_value,
        "statistic": 40.0,
        "degrees": 1,
        "alpha": 0.05,
        "power": 0.8,
        "smallest_detectable": 0.1,
        "largest_detectable": 0.1,
        "largest_possible": 1.0,
        "smallest_expected": 0.04,
        "reference": "drawn tables",
        "tables": 9999,
    }
    text = " ".join(independence_text(answer).split())
    assert words in text
    assert (
        "Some answers are rare: 0.04 people are expected in the emptiest cell. So the p-value is "
        "not that of the chi-square distribution, but comes from 9,999 tables drawn under "
        "independence." in text
    )


def test_table_of_all_pairs_says_of_how_many_answers_are_rare():
    pair = {
        "a": "x",
        "b": "y",
        "statistic": 1.0,
        "degrees": 1,
        "smallest_expected": 0.5,
        "adjusted_p_value": 0.2,
        "conclusion": "no dependence found",
        "reference": "chi-square",
    }
    pairs = [
        {**pair, "p_value": 0.0001, "tables": 9999},
        {**pair, "p_value": 0.1, "tables": None},
    ]
    answer = {"n": 90, "rate": 0.05, "reading": "At most `rate`.", "pairs": pairs}
    text = " ".join(dependencies_text(answer).split())
    assert "<= 0.0001" in text
    assert "Of 1 of the 2 pairs some answers are rare;" in text


def estimates(*, noisy):
    rows = [
        {"category": name, "frequency": 0.12345, "standard_error": 0.04, "lower": 0.1, "upper": 0.2}
        for name in ("no", "yes")
    ]
    shares = {"role": "plain", "protocol": None, "epsilon": None, "poisoning": None}
    names = ("smokes", "age")
    return {
        "n": 5_000,
        "confidence": 0.95,
        "estimator": "unbiased",
        "intervals": "Each holds.",
        "attributes": [{"name": name, "categories": rows, **shares} for name in names],
        "verdict": {
            "says": "informative",
            "sentence": "5,000 reports can tell a share of smokes.",
            "respondents": None,
            "epsilon": None,
            "too_noisy": noisy,
        },
    }


def test_answer_stands_before_the_verdict_where_all_can_be_told():
    questions = {"smokes": "Do you smoke?", "age": "age"}
    text = text_of_query(Estimates)(estimates(noisy=[]), questions)
    places = [text.index(words) for words in ("smokes: Do you smoke? (in clear)", "can tell")]
    assert places == sorted(places)
    assert "5,000 reports" in text
    assert "age (in clear)" in text  # its question is its name
    assert "0.123 │" in text
    assert "0.1235" not in text
    noisy = text_of_query(Estimates)(estimates(noisy=["age"]), questions)
    assert noisy.startswith("5,000 reports can tell a share of smokes.")


def test_attributes_that_only_headings_or_the_verdict_name_have_a_line_with_their_question():
    questions = {"smokes": "Do you smoke?", "gender": "Your gender?"}
    whole = estimates(noisy=[])
    text = text_of_query(Estimates)({**whole, "attributes": whole["attributes"][1:]}, questions)
    assert "smokes: Do you smoke?" in text.partition("can tell a share of smokes")[2]
    assert "Your gender?" not in text


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("0.1235", "0.123"),
        ("-0.5000 to 1.0600", "-0.500 to 1.06"),
        ("841.7254", "842"),
        ("<= 0.0001", "<= 0.0001"),
        ("2500", "2500"),
    ],
)
def test_cells_have_three_digits(cell, shown):
    assert three_digits(cell) == shown
