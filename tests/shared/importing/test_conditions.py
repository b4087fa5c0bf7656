from __future__ import annotations

import pytest

from hushpoll_shared.importing.conditions import (
    COUNT,
    NotUnderstood,
    holds,
    limits,
    names_in,
    parse,
)


@pytest.mark.parametrize(
    ("expression", "answers"),
    [
        ("${q} = 'a'", "a"),
        ("'a' = ${q}", "a"),
        ("${q} != 'a'", "bc"),
        ("selected(${q}, 'a') or ${q}='b'", "ab"),
        ("not(selected(${q}, 'a'))", "bc"),
        ("{q} = 'a'", "a"),
        ("{q} anyof ['a', 'c']", "ac"),
        ("{q} <> 'a' && {q} != 'b'", "c"),
        ("!({q} == 'a')", "bc"),
        ("{q} noneof ['a']", "bc"),
        ("{q} notempty", "abc"),
        ("${q} = 'a' or ${q} = 'b' and ${q} = 'c'", "a"),  # and binds before or
    ],
)
def test_a_condition_holds_for_the_answers_that_its_words_say(expression, answers):
    condition = parse(expression)
    assert names_in(condition) == {"q"}
    assert [code for code in "abc" if holds(condition, code)] == list(answers)


def test_numbers_are_compared_as_numbers():
    condition = parse("${age} >= 9 and 17 >= ${age}")
    assert [n for n in range(20) if holds(condition, str(n))] == list(range(9, 18))
    assert holds(parse("${q} = 1.0"), "1")
    assert not holds(parse("${q} > 1"), "none")


@pytest.mark.parametrize(
    "expression",
    [
        "today() > '2020-01-01'",
        "${a} + 1 = 2",
        "${a}",
        "${a} = ${b}",
        "${a} = 'x' and",
        "regex(${a}, 'x')",
        "(" * 100 + "${a} = 'x'" + ")" * 100,
        "not " * 100 + "${a} = 'x'",
        "x" * 5000,
        "",
    ],
)
def test_what_is_no_condition_on_answers_is_not_understood(expression):
    with pytest.raises(NotUnderstood):
        parse(expression)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (". >= 0 and . <= 120", (0, 120)),
        (". > 0 and . < 10", (1, 9)),
        ("(. >= 5)", (5, None)),
        (". > 10.51 and . < 18.39", (10.51, 18.39)),
    ],
)
def test_limits_of_a_number(expression, expected):
    assert limits(parse(expression)) == expected


def test_limits_of_a_number_of_choices_and_of_nothing_else():
    assert limits(parse("count-selected(.) <= 3"), COUNT) == (None, 3)
    for other in (". <= 3", ". != 5", "${q} < 3", ". > 1 or . < 0"):
        with pytest.raises(NotUnderstood):
            limits(parse(other), COUNT if other == ". <= 3" else ".")
