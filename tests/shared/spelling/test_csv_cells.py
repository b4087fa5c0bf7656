"""Texts as cells that no spreadsheet takes for a formula."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushpoll_shared.spelling.csv_cells import escaped, unescaped

FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "-", "="]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_gets_an_apostrophe(text):
    assert escaped(text) == "'" + text


@pytest.mark.parametrize("text", ["", "a", "1", "a=b", " =1", "'", "''", "'a", "é", "''a=1"])
def test_any_other_text_is_left_as_it_is(text):
    assert escaped(text) == unescaped(text) == text


@given(st.text("'=+-@\t\r\nax1", max_size=8))
def test_a_cell_stands_for_one_text(text):
    assert unescaped(escaped(text)) == text
    assert not escaped(text).startswith(("=", "+", "-", "@", "\t", "\r", "\n"))


@given(st.text("'=-a", max_size=6), st.text("'=-a", max_size=6))
def test_two_texts_are_two_cells(one, other):
    assert (escaped(one) == escaped(other)) == (one == other)
