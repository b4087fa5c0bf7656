"""Help texts below questions: where they stand, in which languages, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from hushpoll_protocols import InvalidParameter, ManifestRefused
from hushpoll_shared import Manifest, Published
from vector_builders.surveys import HELPED, SMALL


def changed(path: tuple[str | int, ...], value: object) -> dict[str, Any]:
    """Return the draft with one member changed, or left out for None."""
    draft = Manifest.from_dict(HELPED).to_dict()
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
        ("In the last year.",),
        ("Im letzten Jahr.",),
    )
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
