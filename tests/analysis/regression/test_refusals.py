"""What no model can tell is refused by the name of its term: separation, collinearity, rank."""

import numpy as np
import pytest

from hushpoll_analysis.regression import inference
from hushpoll_analysis.regression.answers import (
    Answers,
    Categories,
    Numbers,
    Unit,
    patterns_of_law,
)
from hushpoll_analysis.regression.combinations import Question
from hushpoll_analysis.regression.model import fit
from hushpoll_protocols.errors import InvalidParameter

N = 240


def rows(**more):
    """Return rows in clear; of `more`, numbers and texts by what they hold."""
    rng = np.random.default_rng(5)
    a, b, x = rng.integers(0, 3, N), rng.integers(0, 2, N), rng.normal(size=N).round(2)
    y = (x + rng.logistic(size=N) > 0).astype(int)
    three = np.digitize(x + rng.logistic(size=N), [-1, 1])
    columns = {"a": np.array(["p", "q", "r"])[a], "b": np.array(["m", "n"])[b], "x": x}
    columns |= {"yes": np.array(["no", "yes"])[y], "three": np.array(["low", "mid", "top"])[three]}
    columns |= {name: make(columns) for name, make in more.items()}
    clear = {}
    for name, values in columns.items():
        if np.asarray(values).dtype.kind in "US":
            domain, codes = np.unique(values, return_inverse=True)
            clear[name] = Categories(name, codes.astype(np.int64), tuple(map(str, domain)))
        else:
            clear[name] = Numbers(name, np.asarray(values, np.float64))
    return Answers(N, clear)


def yes_where(chosen):
    """Return an outcome that is yes wherever something holds, and elsewhere as before."""
    return lambda columns: np.where(chosen(columns), "yes", columns["yes"])


@pytest.mark.parametrize(
    ("formula", "term", "more"),
    [
        ("yes ~ s + x", "s", {"s": lambda c: np.where(c["yes"] == "yes", "u", "v")}),
        ("out ~ x", "x", {"out": lambda c: np.where(c["x"] > 0, "yes", "no")}),
        ("out ~ a + x", "a", {"out": yes_where(lambda c: c["a"] == "q")}),
        ("out ~ a*b", "a:b", {"out": yes_where(lambda c: (c["a"] == "r") & (c["b"] == "n"))}),
        ("out ~ a", "a", {"out": lambda c: np.where(c["a"] == "r", "low", c["three"])}),
        ("out ~ I(x**2)", r"I\(x \*\* 2\)", {"out": lambda c: np.where(c["x"] ** 2 > 1, "t", "f")}),
    ],
)
def test_separated_outcome(formula, term, more):
    with pytest.raises(InvalidParameter, match=f"the term {term} separates the outcome"):
        fit(formula, rows(**more))


def test_separated_ordered_outcome():
    given = rows(
        out=lambda c: np.array(["1 low", "2 mid", "3 top"])[np.digitize(c["x"], [-0.5, 0.5])]
    )
    with pytest.raises(InvalidParameter, match="the term x separates the outcome out"):
        fit("out ~ x", given, family="ordered")


@pytest.mark.parametrize("family", ["logit", "linear"])
@pytest.mark.parametrize(
    ("terms", "column", "more"),
    [
        ("x + I(2*x)", r"I\(2 \* x\)", {}),
        ("x + t", "t", {"t": lambda c: 7 - c["x"]}),
        ("a + s", r"s\[T.v\]", {"s": lambda c: np.where(c["a"] == "q", "u", "v")}),
        ("x + t + I(x + t)", r"I\(x \+ t\)", {"t": lambda c: np.arange(N) % 7}),
        ("x + t", "t", {"t": lambda c: np.ones(N)}),
        (
            "a*s",
            r"a\[T.q\]:s\[T.v\]",
            {"s": lambda c: np.where(c["a"] == "q", "u", np.where(c["x"] > 0, "u", "v"))},
        ),
    ],
)
def test_columns_that_follow_from_others(family, terms, column, more):
    outcome = "yes" if family == "logit" else "x2"
    given = rows(x2=lambda c: c["x"] ** 2, **more)
    with pytest.raises(InvalidParameter, match=f"the column {column} of the term .* follows from"):
        fit(f"{outcome} ~ {terms}", given, family=family)


@pytest.mark.parametrize(
    "law",
    [
        [[0.5, 0.5], [0.5, 0.5]],
        [[0.7, 0.7, 0.2], [0.3, 0.3, 0.8]],
        [[0.6, 0.2, 0.4], [0.4, 0.8, 0.6]],
        [[0.8, 0.2, 0.5], [0.1, 0.1, 0.1], [0.1, 0.7, 0.4]],
        [[1.0, 1.0]],
    ],
)
def test_law_whose_columns_are_mixtures_of_others(law):
    law = np.array(law)
    recorded, domain = tuple("rstu"[: len(law)]), tuple("abcd"[: law.shape[1]])
    with pytest.raises(InvalidParameter, match="does not tell the true ones apart"):
        patterns_of_law(law, recorded, domain)


def asked(group):
    """Return rows whose answer one group gave as it is, and the other by a coin."""
    rng, given = np.random.default_rng(9), rows()
    form = np.arange(N) % 2
    law = np.array([[1, 0], [0, 1], [0.5, 0.5], [0.5, 0.5]])
    patterns = patterns_of_law(law, ("no", "yes") * 2, ("no", "yes"), groups=("d", "d", "e", "e"))
    places = np.where(form == 0, given.clear[group].codes, 2 + rng.integers(0, 2, N))
    unit = Unit("card", (Question("card", ("no", "yes")),), patterns, places.astype(np.int64))
    clear = {**given.clear, "form": Categories("form", form, ("d", "e"))}
    return Answers(N, clear, (unit,))


@pytest.mark.parametrize(
    ("formula", "term"),
    [
        ("card ~ form", "form"),
        ("card ~ x + form", "form"),
        ("card ~ x*form", "(form|x:form)"),
        ("card ~ a:form + x", "a:form"),
        ("yes ~ card*form", "(card:form|form)"),
    ],
)
def test_coefficient_of_which_records_say_nothing(formula, term):
    with pytest.raises(InvalidParameter, match=f"cannot tell the coefficient of .*the term {term}"):
        fit(
            formula,
            asked("yes" if formula.startswith("card") else "b"),
            saturated="card*" in formula,
        )


def test_fewer_rows_than_coefficients():
    with pytest.raises(InvalidParameter, match="of the term"):
        fit("yes ~ a*b + x", rows().taken(np.arange(5)))


def test_column_in_clear_that_separates_the_outcome_beside_a_perturbed_one():
    rng, given = np.random.default_rng(3), rows(s=lambda c: np.where(c["yes"] == "yes", "u", "v"))
    law = patterns_of_law(np.array([[0.8, 0.2], [0.2, 0.8]]), ("0", "1"), ("0", "1"))
    card = Unit("card", (Question("card", ("0", "1")),), law, rng.integers(0, 2, N))
    with pytest.raises(InvalidParameter, match="the term s separates the outcome yes"):
        fit("yes ~ card + s", Answers(N, given.clear, (card,)))


@pytest.mark.parametrize("formula", ["~ x", "yes", "", " ~ "])
def test_formula_without_an_outcome(formula):
    with pytest.raises(InvalidParameter, match="it has no outcome left of a tilde"):
        fit(formula, rows())


def test_formula_with_a_bar():
    with pytest.raises(InvalidParameter, match="no random effects or parts"):
        fit("yes ~ x + (1 | a)", rows())


@pytest.mark.parametrize("formula", ["one ~ x", "C(one) ~ x"])
def test_outcome_with_one_value_is_refused(formula):
    with pytest.raises(InvalidParameter, match="is 1 in all rows") as caught:
        fit(formula, rows(one=lambda columns: np.ones(N)))
    assert caught.value.field == "formula"


def test_line_without_error_has_slopes_and_no_test():
    found = fit("line ~ x + a", rows(line=lambda columns: 3 * columns["x"] + 1))
    slope = next(one for one in found.coefficients if one.name == "x")
    assert slope.estimate == pytest.approx(3)
    assert slope.standard_error == pytest.approx(0, abs=1e-6)


def test_fewer_clusters_than_coefficients_give_no_test_of_them_all():
    answers = rows()
    two = Answers(N, answers.clear, clusters=np.arange(N) % 2)
    found = fit("yes ~ x + a + b", two)
    assert all(np.isfinite(one.statistic) for one in found.tests)
    with pytest.raises(InvalidParameter, match="all rows are of one cluster"):
        fit("yes ~ x", Answers(N, answers.clear, clusters=np.zeros(N, np.int64)))


def test_law_that_hardly_tells_answers_apart_is_too_noisy_without_a_warning():
    law = patterns_of_law(np.array([[0.5000001, 0.5], [0.4999999, 0.5]]), ("0", "1"), ("0", "1"))
    card = Unit("card", (Question("card", ("0", "1")),), law, np.arange(N) % 2)
    found = fit("card ~ x", Answers(N, {"x": rows().clear["x"]}, (card,)))
    assert found.verdict["says"] == "too noisy to tell"


def test_slopes_of_very_many_columns_have_no_sets_and_it_is_said(monkeypatch):
    monkeypatch.setattr(inference, "SETS_WORK", 1e3)
    law = patterns_of_law(np.array([[0.6, 0.4], [0.4, 0.6]]), ("0", "1"), ("0", "1"))
    card = Unit("card", (Question("card", ("0", "1")),), law, np.arange(N) // 2 % 2)
    found = fit("card ~ x + a", Answers(N, rows().clear, (card,)), plain=False, effects=False)
    assert any("the sets of so large a fit take too long" in note for note in found.notes)
    noisy = [one for one in found.coefficients if one.name in found.verdict["too_noisy"]]
    assert noisy
    assert {one.method for one in noisy} == {inference.TOO_LARGE}
    assert all((one.lower, one.p_value) == (None, None) for one in noisy)
