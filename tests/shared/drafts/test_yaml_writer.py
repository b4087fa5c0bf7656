"""What is written as YAML is read back the same, whatever texts, numbers and names it has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushpoll_shared.drafts.yaml_writer import write_yaml
from hushpoll_shared.reading.yaml_reader import parse_yaml
from hushpoll_shared.samples import sample_manifest

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
WORDS = [
    *("No", "yes", "null", "~", "", "1e5", "1.0", "007", "12:30", "2026-01-01", "true", "- a"),
    *("a: b", "#x", "'", '"', "\x85", "\u2028x", "שלום", "a\nb ", "=1", "&a", "*a", "!x"),
]


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4))
def test_any_document_is_read_back_the_same(document):
    assert parse_yaml(write_yaml(document).encode()) == document


@pytest.mark.parametrize("word", WORDS)
def test_words_that_look_like_something_else_stay_texts(word):
    document = {"categories": [word, "x"], word or "key": {"a": word}}
    assert parse_yaml(write_yaml(document).encode()) == document


def test_the_sample_is_written_with_short_lists_in_a_line():
    document = parse_yaml(sample_manifest().encode())
    text = write_yaml(document)
    assert "categories: [Female, Male]" in text
    assert parse_yaml(text.encode()) == document
    assert text.startswith("name: life-and-health\nversion: 1\n")
