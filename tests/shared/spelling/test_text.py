from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushpoll_protocols import InvalidParameter
from hushpoll_shared.spelling.text import (
    are_plain,
    check_name,
    check_text,
    is_name,
    isolated,
    normalized,
    quoted,
    show,
    with_mark,
)


@pytest.mark.parametrize("name", ["a", "marital-status", "x_1", "0", "a" * 64])
def test_names(name: str) -> None:
    assert check_name(name, field="name") == name
    assert is_name(name)


@pytest.mark.parametrize("name", ["", "A", "a b", "é", "a" * 65, "a\n", "a.b", None, 3, True])
def test_other_names_are_refused(name: object) -> None:
    assert not is_name(name)
    with pytest.raises(InvalidParameter, match=r"a-z, 0-9") as caught:
        check_name(name, field="attributes[].name")
    assert caught.value.field == "attributes[].name"


@pytest.mark.parametrize("text", ["x", "é", "日本", "a b", "<=26000", "👩‍👧", "\u200f", "a" * 200])
def test_texts(text: str) -> None:
    assert check_text(text, field="f", longest=200) == text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "1 to 200 characters"),
        ("a" * 201, "1 to 200 characters"),
        ("a\nb", "control"),
        ("a\x00", "control"),
        ("\x7f", "control"),
        ("\x85", "control"),
        ("a\u2028b", "control"),
        ("a\u202eb", "control"),
        ("\u2066a", "control"),
        ("\ud800", "control"),
        (" a", "space"),
        ("a ", "space"),
        ("e\u0301", "normal form C"),
        ("\u212b", "normal form C"),
        (None, "must be text"),
        (1, "must be text"),
        (True, "must be text"),
        (["a"], "must be text"),
    ],
)
def test_other_texts_are_refused(text: object, says: str) -> None:
    with pytest.raises(InvalidParameter, match=says) as caught:
        check_text(text, field="attributes[a].missing", longest=200)
    assert caught.value.field == "attributes[a].missing"
    assert "attributes[a].missing" in str(caught.value)
    assert str(caught.value).isprintable()


def test_line_feeds_are_allowed_where_asked_for() -> None:
    assert check_text("a\nb", field="f", longest=9, lines=True) == "a\nb"
    with pytest.raises(InvalidParameter):
        check_text("a\rb", field="f", longest=9, lines=True)


def test_normalized_brings_text_into_form_c_and_leaves_the_rest() -> None:
    assert normalized("e\u0301") == "é"
    assert unicodedata.is_normalized("NFC", str(normalized("\u212b")))
    assert normalized(3) == 3
    assert normalized(None) is None


def test_shown_values_are_short_and_printable() -> None:
    assert show("ab") == "'ab'"
    assert len(show("a" * 1000)) == 80
    assert show("\u202e") == "'\\u202e'"
    assert len(show(list(range(1000)))) == 80
    assert show([10**5000]) == "a value of type list that is too large to show"


@pytest.mark.parametrize("name", ["North", "日本", "a\"b'c&d", "=1+1"])
def test_name_written_from_left_to_right_needs_no_marks(name: str) -> None:
    assert isolated(name) == name


@pytest.mark.parametrize("name", ["שלום", "x شاهد", "٣"])
def test_name_written_from_right_to_left_is_isolated(name: str) -> None:
    assert isolated(name) == f"\u2068{name}\u2069"
    # No name has these marks, so that nothing ends too early.
    with pytest.raises(InvalidParameter):
        check_text(isolated(name), field="f", longest=200)


def test_question_gets_no_second_mark() -> None:
    assert [with_mark(text) for text in ("Your gender?", "Stop!", "Done.", "job")] == [
        "Your gender?",
        "Stop!",
        "Done.",
        "job.",
    ]
    assert quoted("Your gender?") == "“Your gender?”"


@given(st.lists(st.text(max_size=4) | st.text("ab ~\x1f\x7fé", max_size=3) | st.none(), max_size=4))
def test_plain_texts_are_texts_without_a_fault_and_differ(texts: list[str | None]) -> None:
    if are_plain(texts, longest=2):
        assert [check_text(text, field="text", longest=2) for text in texts] == texts
        assert len(set(texts)) == len(texts)


def test_domain_of_printable_ascii_is_plain() -> None:
    assert are_plain([str(number) for number in range(100)], longest=2)
    assert not are_plain(["yes", "yes"], longest=3)
    assert not are_plain(["yes", "no "], longest=3)
