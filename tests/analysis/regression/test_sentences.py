"""What a regression says in words: each number of a sentence computed another way."""

import math

import numpy as np
import pytest

from hushpoll_analysis.regression.answers import (
    Answers,
    Categories,
    Numbers,
    Unit,
    patterns_of,
)
from hushpoll_analysis.regression.combinations import Question
from hushpoll_analysis.regression.model import fit
from hushpoll_protocols import create
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.kernels import perturb

N = 4000


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    sex, place = rng.integers(0, 2, N), rng.integers(0, 2, N)
    age = rng.integers(20, 60, N).astype(float)
    smokes = rng.random(N) < 1 / (1 + np.exp(-(0.6 * sex - 0.9 + 0.8 * sex * place)))
    drink = rng.integers(0, 3, N)
    oracle = create("GRR", k=2, epsilon="0.2")
    patterns, places = patterns_of(oracle, perturb(oracle, smokes.astype(np.int64), rng))
    return Answers(
        N,
        {
            "sex": Categories("sex", sex, ("man", "woman")),
            "place": Categories("place", place, ("town", "land")),
            "age": Numbers("age", age),
            "smokes": Categories("smokes", smokes.astype(np.int64), ("no", "yes")),
            "drink": Categories("drink", drink, ("none", "beer", "wine")),
        },
        (Unit("noisy", (Question("noisy", ("no", "yes")),), patterns, places),),
    )


def odds(rows, **at):
    chosen = np.ones(N, bool)
    for name, code in at.items():
        chosen &= rows.clear[name].codes == code
    yes = int(rows.clear["smokes"].codes[chosen].sum())
    return yes / (int(chosen.sum()) - yes)


def test_sentence_of_a_dummy_has_the_odds_ratio_of_the_counts(rows):
    (words,) = fit("smokes ~ sex", rows).sentences()
    ratio = odds(rows, sex=1) / odds(rows, sex=0)
    assert words.startswith(
        f"Other things equal, the odds that smokes is yes are {ratio:.1f} times as high where sex "
        "is woman as where it is man, "
    )
    assert words.endswith(" with 95 % confidence.")


def test_sentences_of_an_interaction_say_of_whom_each_slope_is(rows):
    own, other, both = fit("smokes ~ sex * place", rows).sentences()
    in_town = odds(rows, sex=1, place=0) / odds(rows, sex=0, place=0)
    on_land = odds(rows, sex=1, place=1) / odds(rows, sex=0, place=1)
    assert own.startswith(
        "Other things equal, where place is town, the odds that smokes is yes are "
        f"{in_town:.1f} times as high where sex is woman as where it is man"
    )
    assert "where sex is man, the odds" in other
    assert other.endswith("The interval includes 1: it may make no difference.")
    assert (
        f"the ratio of the odds that smokes is yes between woman and man of sex is "
        f"{on_land / in_town:.1f} times as large where place is land as where it is town"
    ) in both


def test_sentences_of_numbers_categories_and_scales(rows):
    (words,) = fit("smokes ~ age", rows).sentences()
    assert "one more of age multiplies the odds that smokes is yes by " in words
    beer, wine = fit("drink ~ sex", rows).sentences()
    assert "the odds that drink is beer rather than none are " in beer
    assert "the odds that drink is wine rather than none are " in wine
    (words,) = fit("drink ~ sex", rows, family="ordered").sentences()
    assert "the odds of a higher answer to drink are " in words
    (words,) = fit("age ~ sex", rows).sentences()
    ages, sex = rows.clear["age"].values, rows.clear["sex"].codes
    by = ages[sex == 1].mean() - ages[sex == 0].mean()
    much = f"{abs(by):.2f} {'higher' if by > 0 else 'lower'}"
    assert f"age is {much} where sex is woman than where it is man" in words


def test_power_of_a_number_has_no_slope_to_be_read_alone(rows):
    sentences = fit("smokes ~ age + I(age**2) + sex", rows).sentences()
    assert len(sentences) == 2
    assert "sex is woman" in sentences[0]
    assert sentences[1].startswith("age is in several terms")


def test_slope_that_is_too_noisy_has_no_estimate_and_says_what_would_tell(rows):
    found = fit("noisy ~ sex", rows)
    (words,) = found.sentences()
    expected = found.coefficients[1].expected_standard_error
    number = N * (expected / 0.5) ** 2
    step = 10 ** (len(str(math.ceil(number))) - 2)
    assert words == (
        "Too noisy to tell how noisy depends on sex (woman), other things equal: about "
        f"{math.ceil(number / step) * step:,} respondents would tell, or a larger epsilon."
    )
    document = found.to_dict()
    assert [one["too_noisy"] for one in document["marginal_effects"]] == [True]
    assert {one["value"]: one["too_noisy"] for one in document["adjusted"]} == {
        "man": False,
        "woman": True,
    }
    assert document["verdict"]["sentence"].startswith(
        "Too noisy to tell: the expected standard error is above 0.5 for sex (woman)."
    )
    effects = found.summary().partition("Average marginal effects")[2]
    assert "sex: woman instead of man  yes  too noisy" in effects


def test_adjusted_chance_is_the_mean_over_the_rows(rows):
    document = fit("smokes ~ sex + place", rows).to_dict()
    intercept, sex, place = (one["estimate"] for one in document["coefficients"])
    on_land = rows.clear["place"].codes.mean()

    def chance(eta):
        return 1 / (1 + math.exp(-eta))

    for code, one in enumerate(document["adjusted"][:2]):
        assert (one["predictor"], one["value"]) == ("sex", ("man", "woman")[code])
        wanted = (1 - on_land) * chance(intercept + sex * code)
        wanted += on_land * chance(intercept + sex * code + place)
        assert one["estimate"] == pytest.approx(wanted, abs=1e-9)
    assert document["coefficients"][1]["compares"] == [
        {"predictor": "sex", "category": "woman", "reference": "man"}
    ]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            {"six": "man"},
            "at names 'six', which is no predictor of the formula; did you mean 'sex'?",
        ),
        ({"sex": "Women"}, "at gives sex the value 'Women', which is no category of it; did you"),
        ({"age": "old"}, "at gives age the value 'old'; give a number"),
    ],
)
def test_stated_value_that_does_not_exist_is_refused_with_the_nearest(rows, values, words):
    found = fit("smokes ~ sex + age", rows, effects=False)
    with pytest.raises(InvalidParameter) as caught:
        found.predicted(values)
    assert caught.value.field == "at"
    assert str(caught.value).startswith(words)
