"""Columns of terms: as patsy codes them."""

import numpy as np
import patsy
import pytest

from hushpoll_analysis.regression.answers import Answers, Categories, Numbers
from hushpoll_analysis.regression.terms.coding import clear_values, columns_of
from hushpoll_analysis.regression.terms.design import design_of
from hushpoll_analysis.regression.terms.formulas import read_formula
from hushpoll_protocols.errors import InvalidParameter

N = 60
A, B = np.arange(N) % 3, (np.arange(N) // 3) % 2
X = np.random.default_rng(3).normal(size=N)


@pytest.fixture
def answers():
    clear = {
        "a": Categories("a", A, ("p", "q", "r")),
        "b": Categories("b", B, ("m", "f")),
        "x": Numbers("x", X),
    }
    return Answers(N, clear)


@pytest.mark.parametrize(
    "text", ["a", "a + b", "a*b", "a:b", "0 + a", "0 + a:x + b", "x + a:x", "a*b*x", "a + a:b"]
)
def test_columns_span_what_patsy_spans(answers, text):
    read = read_formula(f"y ~ {text}")
    columns = columns_of(read.terms, answers)
    values = clear_values(answers, read.predictors)
    ours = np.stack([one.values(values, N, perturbed=False) for one in columns], axis=1)
    data = {"a": np.array(list("pqr"))[A], "b": np.array(list("mf"))[B], "x": X}
    theirs = np.asarray(patsy.dmatrix(text, data))
    assert ours.shape == theirs.shape
    both = np.hstack([ours, theirs])
    assert np.linalg.matrix_rank(both) == np.linalg.matrix_rank(ours) == ours.shape[1]


def test_reference_is_the_named_category(answers):
    columns = columns_of(read_formula("y ~ C(a, ref='q')").terms, answers)
    assert [one.name for one in columns] == [
        "Intercept",
        "C(a, ref='q')[T.p]",
        "C(a, ref='q')[T.r]",
    ]


def test_column_that_follows_from_others_is_refused_by_the_name_of_its_term(answers):
    with pytest.raises(InvalidParameter, match=r"of the term I\(2 \* x\) follows"):
        design_of(read_formula("b ~ x + I(2*x)"), answers)


def test_unknown_reference_is_refused(answers):
    with pytest.raises(InvalidParameter, match="'z', which is no category of a: p, q, r"):
        columns_of(read_formula("y ~ C(a, ref='z')").terms, answers)
