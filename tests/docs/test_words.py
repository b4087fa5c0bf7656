"""The documentation stays as short as it is."""

from __future__ import annotations

from docs_words import by_folder, words

MOST = 110_000
"""A page that needs more words takes them from another, or links to the one that has them."""


def test_code_counts_no_word_and_a_directive_does() -> None:
    assert words("one two\n\n```sh\nthree four\n```\n\nfive\n") == 3
    glossary = "```{glossary}\nthree four\n```\n"
    assert words(glossary) == 2
    assert words(f"one\n{glossary}two\n\n```sh\nthree\n```\n") == 4


def test_documentation_is_within_its_limit() -> None:
    assert by_folder().total() <= MOST
