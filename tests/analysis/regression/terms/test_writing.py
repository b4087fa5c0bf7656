"""Formulas that a form writes are read as what was chosen, whatever answers are called."""

import pytest

from hushpoll_analysis.regression.survey import checked_formula, limits_of
from hushpoll_analysis.regression.terms.formulas import formula_of, read_formula
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.drafts.manifest import Manifest

HOSTILE = ["a'b", 'x"y', "`q`", "p + q ~ r", "(1**99)", "\\n", "Prefer not, ever", "é ≤ 3"]


def attribute(name, **terms):
    return {"name": name, "role": "sensitive", "categories": ["no", "yes"], **terms}


@pytest.fixture(scope="module")
def published():
    draft = {
        "name": "habits",
        "version": 1,
        "title": "Habits",
        "epsilon": "9",
        "protocol": "GRR",
        "attributes": [
            attribute("smokes"),
            attribute("home-town", categories=HOSTILE),
            attribute("age", categories=["20", "30", "40"]),
            attribute("region", categories=["north", "south"], role="plain"),
            attribute("many", range=[1, 99], categories=None),
            attribute("pay", number={"low": 0, "high": 5000, "unit": "euros"}, categories=None),
            attribute("more", ask_if={"smokes": ["yes"]}),
        ],
        "together": [{"name": "habit", "attributes": ["smokes", "more"], "protocol": "GRR"}],
    }
    for one in draft["attributes"]:
        if one["categories"] is None:
            del one["categories"]
    return Manifest.from_dict(draft).resolve()


def test_formula_of_choices_has_scores_references_and_an_interaction(published):
    text = formula_of(
        published, "region", ["age", "home-town"],
        references={"home-town": "a'b"}, interaction=("age", "home-town"),
    )  # fmt: skip
    read = checked_formula(published, text)
    assert read.outcome.variables == ("region",)
    assert read.predictors == ("age", "home-town")
    assert [len(term) for term in read.terms] == [0, 1, 1, 2]
    assert "score(age)" in text


@pytest.mark.parametrize("reference", HOSTILE)
def test_reference_with_any_characters_is_read_back(published, reference):
    text = formula_of(published, "region", ["home-town"], references={"home-town": reference})
    ((), (factor,)) = read_formula(text).terms
    assert (factor.variables, factor.reference) == (("home-town",), reference)
    checked_formula(published, text)


@pytest.mark.parametrize(
    ("choices", "field"),
    [
        ({"outcome": "shoes"}, "outcome"),
        ({"predictors": []}, "predictors"),
        ({"predictors": ["region"]}, "predictors"),
        ({"predictors": ["shoes"]}, "predictors"),
        ({"references": {"age": "50"}}, "reference"),
        ({"interaction": ("age", "age")}, "interaction"),
        ({"interaction": ("age", "home-town")}, "interaction"),
    ],
)
def test_choices_that_make_no_formula_are_refused_at_their_field(published, choices, field):
    with pytest.raises(InvalidParameter) as caught:
        formula_of(published, **{"outcome": "region", "predictors": ["age"], **choices})
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("region ~ aeg", "names 'aeg', which is no attribute of habits; did you mean 'age'?"),
        ("Region ~ age", "did you mean 'region'?"),
        ("region ~ xyzzy", "give one of smokes, home-town, age"),
        ("region ~ C(`home-town`, ref='p + q ~ s')", "did you mean 'p + q ~ r'?"),
        ("region ~ region", "stands left and right"),
        ("region ~ many + age", "297 combinations of answers: many (99), age (3)"),
        ("region ~ pay", "pay is a number that is randomised"),
        ("pay ~ region", "write score(pay)"),
        ("smokes ~ more", "nobody can answer smokes = "),
    ],
)
def test_formula_that_no_record_can_answer_is_refused_before_one_is_read(published, formula, words):
    with pytest.raises(InvalidParameter) as caught:
        checked_formula(published, formula)
    assert caught.value.field == "formula"
    assert words in str(caught.value)


def test_number_is_the_outcome_by_its_mean(published):
    assert checked_formula(published, "score(pay) ~ region").outcome.variables == ("pay",)
    assert formula_of(published, "pay", ["region"]).startswith("score(pay) ~ ")


def test_number_is_an_outcome_alone_and_an_option_is_either_side():
    draft = {
        "name": "nights",
        "version": 1,
        "title": "Nights",
        "epsilon": "7.2",
        "protocol": "GRR",
        "attributes": [
            {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"]},
            {
                "name": "awake",
                "role": "sensitive",
                "categories": ["work", "money", "noise"],
                "select": {"at_most": 2},
            },
            {"name": "rent", "role": "sensitive", "number": {"low": 0, "high": 9, "unit": "d"}},
        ],
    }
    published = Manifest.from_dict(draft).resolve()
    checked_formula(published, "smokes ~ awake_1")
    checked_formula(published, "awake_1 ~ smokes")
    limits = [limits_of(published.attribute(name)) for name in ("smokes", "awake_1", "rent")]
    assert limits == [None, None, "as an outcome alone"]
