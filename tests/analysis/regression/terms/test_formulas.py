"""Formulas: what is read, and that nothing in one runs as a program."""

import numpy as np
import pytest

from hushpoll_analysis.regression.terms.formulas import read_formula
from hushpoll_protocols.errors import InvalidParameter


def terms_of(text):
    return [":".join(factor.text for factor in term) for term in read_formula(text).terms]


def test_operators_make_terms():
    assert terms_of("y ~ a*b + `odd name`:a - 1") == ["a", "b", "a:b", "odd name:a"]
    assert terms_of("y ~ (a + b)^2") == ["", "a", "b", "a:b"]


def test_caret_binds_as_a_power_does_in_r():
    (_, (factor,)) = read_formula("y ~ I(age/10^2)").terms
    assert factor.number({"age": np.array([200.0])}) == pytest.approx([2.0])
    (_, (factor,)) = read_formula("y ~ I((cov.age/10)^2)").terms
    assert factor.number({"cov.age": np.array([20.0])}) == pytest.approx([4.0])


@pytest.mark.parametrize(
    "text",
    [
        "y ~ I(open('{file}', 'w'))",
        "y ~ {{open('{file}', 'w')}}",
        "y ~ a + __import__('pathlib').Path('{file}').touch()",
        "y ~ C(a, ref=open('{file}', 'w'))",
        "I(open('{file}', 'w')) ~ a",
        "y ~ I((lambda: open('{file}', 'w'))())",
    ],
)
def test_formula_that_tries_to_run_code_is_refused_and_runs_nothing(text, tmp_path):
    file = tmp_path / "ran"
    with pytest.raises(InvalidParameter, match="the formula") as caught:
        read_formula(text.format(file=file))
    assert caught.value.field == "formula"
    assert not file.exists()


@pytest.mark.parametrize("text", ["~ a", "y", "y ~ a | b", "y + z ~ a", "y ~ a + 2", "y ~ a[0]"])
def test_what_is_no_formula_is_refused(text):
    with pytest.raises(InvalidParameter, match="write one such as"):
        read_formula(text)


def test_high_powers_are_refused_before_they_are_expanded():
    with pytest.raises(InvalidParameter, match="the power 1000 is above 9"):
        read_formula("y ~ (a + b + c)**1000")


def test_number_that_is_not_finite_is_refused():
    (_, (factor,)) = read_formula("y ~ log(a)").terms
    with pytest.raises(InvalidParameter, match="no finite number"):
        factor.number({"a": np.array([1.0, 0.0])})


@pytest.mark.parametrize(
    "text",
    [
        "factor(a, ref='b')",
        "C(a, Treatment('b'))",
        "C(a, Treatment(reference='b'))",
        "C(a, contr.treatment('b'))",
        "C(a, contr.treatment(base='b'))",
    ],
)
def test_categories_are_written_as_in_other_programs(text):
    (_, (factor,)) = read_formula(f"y ~ {text}").terms
    assert (factor.variables, factor.as_categories, factor.reference) == (("a",), True, "b")


def test_functions_of_numpy_are_those_of_their_names():
    (_, (factor,)) = read_formula("y ~ np.log(np.abs(a))").terms
    assert factor.number({"a": np.array([-1.0, np.e])}) == pytest.approx([0.0, 1.0])


@pytest.mark.parametrize(
    "text", ["C(a, Sum)", "C(a, Treatment('b'), ref='c')", "np.load(a)", "C()"]
)
def test_other_calls_are_refused(text):
    with pytest.raises(InvalidParameter, match="the formula"):
        read_formula(f"y ~ {text}")
