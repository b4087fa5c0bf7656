"""The words beside a result speak of the intervals that stand there."""

import pytest

from hushpoll_shared.cli.result_text import text_of_query, three_digits
from hushpoll_shared.queries.changes import Change
from hushpoll_shared.queries.dependencies import Dependencies
from hushpoll_shared.queries.estimates import Estimates
from hushpoll_shared.queries.independence import Independence
from hushpoll_shared.queries.ordered_answers import Ordered
from hushpoll_shared.queries.simultaneous_estimates import Simultaneous
from hushpoll_shared.survey.option_texts import ROUNDED

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


def pair(a, b):
    return {
        "a": a, "b": b, "statistic": 1.0, "degrees": 1, "smallest_expected": 9.0, "p_value": 0.1,
        "adjusted_p_value": 0.2, "conclusion": "no dependence found", "reference": "chi-square",
        "tables": None,
    }  # fmt: skip


def test_verdict_on_pairs_has_the_texts_and_anchors_are_no_answers():
    questions = {
        "gender": "Your gender?",
        "awake_1": "Are you awake at six?",
        "rent": f"Your rent?{ROUNDED}",
    }
    answer = {
        "n": 90,
        "rate": 0.05,
        "reading": "At most `rate`.",
        "pairs": [pair("gender", "awake_1"), pair("gender", "rent")],
        "verdict": {
            "says": "informative",
            "sentence": "90 reports can tell 1 of 2. They are too noisy to tell gender/awake_1 "
            "and gender/rent; 1/2, x/rent and x/y stay.",
            "respondents": None,
            "epsilon": None,
            "too_noisy": ["gender/rent"],
        },
    }
    text = " ".join(dependencies_text(answer, questions).split())
    assert "tell “Your gender?” and “Are you awake at six?” and “Your gender?” and" in text
    assert "“Your rent?”; 1/2, x/rent and x/y stay." in text
    about = (
        "A device sends an anchor in place of a number, so this is about the anchors of rent, not "
        "about answers."
    )
    assert about in text
    whole = {"rent": "Your rent?", "gender": "Your gender?"}
    assert "anchor" not in dependencies_text(answer, whole)
    assert "gender/rent" in dependencies_text(answer)
    together = {
        "method": "max-t",
        "n": 90,
        "confidence": 0.95,
        "intervals": "All hold.",
        "attributes": [{"name": "rent", "categories": []}],
    }
    assert about in " ".join(text_of_query(Simultaneous)(together, questions).split())


def test_quantile_that_may_be_anywhere_on_its_scale_is_no_figure():
    mean = {**SHARE, "value": 2400.0, "lower": 2000.0, "upper": 2800.0, "says_nothing": False}
    median = {
        "q": 0.5, "category": None, "lowest": "0", "highest": "5000", "value": 2500.0,
        "lower": 0.0, "upper": 5000.0, "bound": "bounded",
    }  # fmt: skip
    answer = {
        "attribute": "rent",
        "given": None,
        "n": 90,
        "confidence": 0.95,
        "simultaneous": False,
        "intervals": "Each holds.",
        "threshold": None,
        "interpolation": "none",
        "scale": [{"category": str(one), "low": one, "high": one} for one in (0.0, 5000.0)],
        "rounded": True,
        "groups": [
            {"group": None, "mean": mean, "least": None, "greatest": None, "at_least": None,
             "nps": None, "quantiles": [median, {**median, "q": 0.75, "lower": 2500.0}]},
        ],
        "reference": None,
        "differences": None,
    }  # fmt: skip
    lines = text_of_query(Ordered)(answer).splitlines()
    (middle,) = (line for line in lines if "median" in line)
    assert "cannot be told" in middle
    assert "0 to 5000" in middle
    assert "2500 │" not in middle
    verdict = {"says": "informative", "sentence": "90 reports can tell the mean of rent."}
    verdict |= {"respondents": None, "epsilon": None, "too_noisy": []}
    told = text_of_query(Ordered)({**answer, "verdict": verdict}, {"rent": f"Your rent?{ROUNDED}"})
    assert " ".join(told.split()).count("rent: Your rent? (rounded at random to anchors)") == 1
    assert "hushpoll ordered" not in told
    (upper,) = (line for line in lines if "quantile 0.75" in line)
    assert "2500" in upper
    assert "told" not in upper


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
