"""Help texts, ends of scales, drawn orders, thanks and logo: what is shown, and what is refused."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from hushpoll_protocols import InvalidParameter, ManifestRefused
from hushpoll_shared import Manifest, Published
from hushpoll_shared.survey.questions.presentation import Shuffle
from vector_builders.surveys import HELPED, PRESENTED, SMALL


def changed(
    path: tuple[str | int, ...], value: object, draft: dict[str, Any] = HELPED
) -> dict[str, Any]:
    """Return a draft with one member changed, or left out for None."""
    draft = copy.deepcopy(draft)
    inner: Any = draft
    for key in path[:-1]:
        inner = inner[key]
    if value is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return draft


def test_help_is_published_of_questions_and_of_select_alls_in_each_language() -> None:
    published = Manifest.from_dict(HELPED).resolve()
    assert Published.from_json(published.canonical) == published
    own, german = published.wording(), published.wording("de")
    assert own.helps[0] == "Count cigarettes.\nDo not count e-cigarettes."
    assert own.helps[1:4] == (None, None, None)
    assert own.select_helps == ("In the last year.",)
    assert german.select_helps == ("Im letzten Jahr.",)
    assert german.helps[-1] == "Wo Sie schlafen."


def test_a_survey_without_help_keeps_its_bytes() -> None:
    assert b"help" not in Manifest.from_dict(SMALL).resolve().canonical


def test_help_changes_the_digest_and_not_the_record() -> None:
    with_help = Manifest.from_dict(HELPED).resolve()
    other = Manifest.from_dict(changed(("attributes", 0, "help"), "Count cigars too.")).resolve()
    assert with_help.digest != other.digest
    assert with_help.layout.record_size == other.layout.record_size


@pytest.mark.parametrize(
    ("path", "value", "field", "words"),
    [
        (("attributes", 0, "help"), "x" * 1001, "attributes[smokes].help", "1000"),
        (("attributes", 0, "help"), "", "attributes[smokes].help", "characters"),
        (("attributes", 0, "help"), ["a"], "attributes[smokes].help", "text"),
        (("attributes", 0, "help"), "a ", "attributes[smokes].help", "remove"),
        (("attributes", 0, "help"), "a\u202eb", "attributes[smokes].help", ""),
        (
            ("translations", "de", "attributes", "smokes", "help"),
            None,
            "translations[de].attributes[smokes].help",
            "is missing: a respondent reads one language",
        ),
        (
            ("attributes", 2, "help"),
            None,
            "translations[de].attributes[town].help",
            "translates what the survey does not have; remove it",
        ),
        (
            ("translations", "de", "attributes", "sports", "help"),
            None,
            "translations[de].attributes[sports].help",
            "is missing",
        ),
    ],
)
def test_wrong_help_is_refused_with_field_and_remedy(
    path: tuple[str | int, ...], value: object, field: str, words: str
) -> None:
    with pytest.raises(InvalidParameter) as refusal:
        Manifest.from_dict(changed(path, value)).resolve()
    assert refusal.value.field == field
    assert words in str(refusal.value)


def test_an_option_of_a_select_all_has_no_help_of_its_own() -> None:
    document = Manifest.from_dict(HELPED).resolve().to_dict()
    document["attributes"][1]["help"] = "x"
    with pytest.raises(ManifestRefused) as refusal:
        Published.from_json(document)
    assert refusal.value.field == "attributes[sports_1]"


def test_help_that_is_null_is_refused_in_the_published_form() -> None:
    document = Manifest.from_dict(HELPED).resolve().to_dict()
    document["attributes"][0]["help"] = None
    with pytest.raises(ManifestRefused, match="leave it out"):
        Published.from_json(document)


def test_what_a_page_shows_is_published_in_each_language() -> None:
    published = Manifest.from_dict(PRESENTED).resolve()
    assert Published.from_json(published.canonical) == published
    document = published.to_dict()
    assert document["format"] == 2  # for its select-all
    own, german = published.wording(), published.wording("de")
    assert own.ends[0] == ("not at all", "completely")
    assert german.ends[0] == ("gar nicht", "vollkommen")
    assert (own.thanks, german.thanks) == ("Thank you!\nSee you.", "Danke!\nBis bald.")
    assert (own.logo, german.logo) == ("Coat of arms", "Wappen")
    assert [one.shuffle for one in published.attributes[:2]] == [None, Shuffle(1)]
    assert published.selects[0].shuffle == Shuffle()


def test_the_order_that_is_shown_changes_no_code() -> None:
    published = Manifest.from_dict(PRESENTED).resolve()
    draft = Manifest.from_dict(PRESENTED).to_dict()
    for attribute in draft["attributes"]:
        attribute.pop("shuffle", None)
    fixed = Manifest.from_dict(draft).resolve()
    assert fixed.digest != published.digest
    for one, other in zip(published.attributes, fixed.attributes, strict=True):
        assert [one.code(answer) for answer in one.answers] == [
            other.code(answer) for answer in other.answers
        ]


@pytest.mark.parametrize(
    ("path", "value", "field", "words"),
    [
        (("attributes", 0, "ends"), ["a"], "attributes[satisfied].ends", "a list of two texts"),
        (("attributes", 0, "ends"), ["a", "a"], "attributes[satisfied].ends", "correct one"),
        (("attributes", 0, "ends"), ["a", 5], "attributes[satisfied].ends[1]", "text"),
        (("attributes", 0, "ends"), ["a", "b" * 201], "attributes[satisfied].ends[1]", "200"),
        (
            ("attributes", 0, "ends"),
            ["a ", "b"],
            "attributes[satisfied].ends[0]",
            "remove the space",
        ),
        (("attributes", 0, "scale"), None, "attributes[satisfied].ends", "add scale: ordinal"),
        (("attributes", 0, "shuffle"), {}, "attributes[satisfied].shuffle", "keep their order"),
        (("attributes", 1, "scale"), "ordinal", "attributes[party].shuffle", "keep their order"),
        (("attributes", 1, "shuffle"), True, "attributes[party].shuffle", "a mapping, {} for all"),
        (("attributes", 1, "shuffle"), {"last": 2}, "attributes[party].shuffle.last", "lower it"),
        (("attributes", 1, "shuffle"), {"last": -1}, "attributes[party].shuffle.last", "from 0"),
        (("attributes", 1, "shuffle"), {"first": 1}, "attributes[party].shuffle.first", ""),
        (("attributes", 2, "shuffle"), {"last": 9}, "attributes[sports].shuffle.last", "lower it"),
        (("thanks",), "x" * 2001, "thanks", "2000"),
        (("thanks",), None, "translations[de].thanks", "remove it"),
        (("logo",), None, "translations[de].logo", "remove it"),
        (("logo",), "https://x.example/a.png", "logo", "upload the image"),
        (("logo", "image"), "https://x.example/a.png", "logo.image", "upload the image"),
        (("logo", "alt"), "", "logo.alt", "characters"),
        (("logo", "alt"), None, "logo.alt", ""),
        (("translations", "de", "thanks"), None, "translations[de].thanks", "translate"),
        (("translations", "de", "logo"), None, "translations[de].logo", "translate"),
        (
            ("translations", "de", "attributes", "satisfied", "ends"),
            None,
            "translations[de].attributes[satisfied].ends",
            "is missing",
        ),
        (
            ("translations", "de", "attributes", "party", "ends"),
            ["a", "b"],
            "translations[de].attributes[party].ends",
            "remove it",
        ),
        (("translations", "xx-notags"), {"title": "x"}, "translations", "write its tag"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_field_and_remedy(
    path: tuple[str | int, ...], value: object, field: str, words: str
) -> None:
    with pytest.raises(InvalidParameter) as refusal:
        Manifest.from_dict(changed(path, value, PRESENTED)).resolve()
    assert refusal.value.field == field
    assert words in str(refusal.value)


def test_a_range_is_not_shuffled() -> None:
    draft = changed(("attributes", 1, "shuffle"), {}, PRESENTED)
    draft["attributes"][1] = {
        "name": "party",
        "role": "sensitive",
        "range": [1, 5],
        "shuffle": {},
    }
    with pytest.raises(InvalidParameter, match="numbers keep their order"):
        Manifest.from_dict(draft)


def test_none_that_stay_have_one_spelling_in_the_published_form() -> None:
    document = Manifest.from_dict(PRESENTED).resolve().to_dict()
    document["selects"][0]["shuffle"] = {"last": 0}
    with pytest.raises(ManifestRefused):
        Published.from_json(document)
