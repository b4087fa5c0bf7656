"""What respondents read, in each language; what is refused stands in the vectors."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from hushpoll_protocols import InvalidParameter
from hushpoll_shared import Manifest, Published
from vector_builders.surveys import WORDED

Document = dict[str, Any]


@pytest.fixture
def worded() -> Document:
    return copy.deepcopy(WORDED)


def test_own_words_are_those_of_the_survey(worded: Document) -> None:
    published = Manifest.from_dict(worded).resolve()
    words = published.wording()
    assert words == published.wording("en")
    assert words.title == "How do you do?"
    assert words.questions == ("How are you?", "age", "score")
    assert words.domains[0] == ("bad", "so so", "good", "no answer")
    assert words.sections == ("Today", "Today", None)


def test_a_translation_keeps_the_places_of_the_answers(worded: Document) -> None:
    published = Manifest.from_dict(worded).resolve()
    words = published.wording("de")
    assert (words.language, words.title) == ("de", "Wie geht es?")
    assert words.questions == ("Wie geht es Ihnen?", "age", "score")
    assert words.domains[0] == ("schlecht", "geht so", "gut", "keine Angabe")
    assert words.sections == ("Heute", "Heute", None)
    for domain, attribute in zip(words.domains, published.attributes, strict=True):
        assert len(domain) == attribute.k
    # Numbers are the same in both.
    assert words.domains[1] == published.attributes[1].domain


def test_categories_that_are_not_translated_stay(worded: Document) -> None:
    words = Manifest.from_dict(worded).wording("zh-Hans")
    assert words.domains[0] == ("bad", "so so", "good", "\u65e0")


def test_languages_begin_with_the_own_one(worded: Document) -> None:
    assert Manifest.from_dict(worded).languages == ("en", "de", "zh-Hans")


def test_another_language_is_refused_with_those_that_there_are(worded: Document) -> None:
    with pytest.raises(InvalidParameter, match="en, de, zh-Hans") as caught:
        Manifest.from_dict(worded).wording("fr")
    assert caught.value.field == "language"


def test_draft_and_published_form_read_back(worded: Document) -> None:
    # The order in which an author writes translations means nothing.
    worded["translations"] = dict(reversed(worded["translations"].items()))
    manifest = Manifest.from_dict(worded)
    assert Manifest.from_dict(manifest.to_dict()) == manifest
    published = manifest.resolve()
    assert published == Manifest.from_dict(WORDED).resolve()
    assert Published.from_json(published.canonical) == published


def test_words_of_a_draft_are_brought_into_normal_form(worded: Document) -> None:
    worded["operator"] = worded["translations"]["de"]["title"] = "Que\u0301bec"
    published = Manifest.from_dict(worded).resolve()
    assert published.operator == published.wording("de").title == "Qu\u00e9bec"


def test_sections_in_another_normal_form_are_the_same(worded: Document) -> None:
    for attribute in worded["attributes"][:2]:
        attribute["section"] = "Que\u0301bec"
    for words in worded["translations"].values():
        words["sections"] = {"Qu\u00e9bec": "Q"}
    assert Manifest.from_dict(worded).wording("de").sections == ("Q", "Q", None)


@pytest.mark.parametrize("key", ["operator", "purpose", "language", "shared_device"])
def test_every_word_changes_the_digest(worded: Document, key: str) -> None:
    del worded["translations"]
    before = Manifest.from_dict(worded).resolve().digest
    del worded[key]
    assert Manifest.from_dict(worded).resolve().digest != before


def test_a_translated_word_changes_the_digest(worded: Document) -> None:
    before = Manifest.from_dict(worded).resolve().digest
    worded["translations"]["de"]["sections"]["Today"] = "Jetzt"
    assert Manifest.from_dict(worded).resolve().digest != before


def test_questions_without_a_section_may_stand_between_sections(worded: Document) -> None:
    first, second, third = worded["attributes"]
    worded["attributes"] = [first, third, {**second, "section": "Other"}]
    for words in worded["translations"].values():
        words["sections"]["Other"] = "O"
    assert Manifest.from_dict(worded).wording().sections == ("Today", None, "Other")
