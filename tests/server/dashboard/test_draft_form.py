"""A manifest as a form's fields and back: what is known is edited, what is not known is kept."""

from __future__ import annotations

from typing import Any

import pytest

from hushpoll_client.samples import sample_manifest
from hushpoll_server.dashboard.drafts.form import Form, changed, form_of, manifest_of
from hushpoll_shared.survey.manifest import Manifest
from hushpoll_shared.survey.yaml_reader import parse_yaml
from sample_survey import make_draft

ODD = [
    {"attributes": "none"},
    {"attributes": [5]},
    {"title": {"en": "Work", "de": "Arbeit"}},
    {"split": {"weights": {"nobody": 1}}},
    {"split": "weights"},
    {"release": "now", "version": [1]},
    {"protected": {"attribute": "gender", "privileged": [None], "unprivileged": "x"}},
    {"protected": "gender"},
    {"later": {"kept": [None, 1.5, True]}},
    {"attributes": [{"name": "a", "role": "other", "categories": ["x\ny"], "range": ["1", 2]}]},
    {"attributes": [{"name": "a", "role": "plain", "categories": "x", "later": [1]}]},
    {"attributes": [{"name": "a", "role": "plain", "categories": [f"c{n}" for n in range(501)]}]},
]


def sent(form: Form) -> dict[str, str]:
    """The fields as a browser sends them, with its line ends."""
    given = {"questions": str(len(form.questions)), "s-kept": form.survey.kept_text}
    given |= {f"s-{name}": text for name, text in form.survey.texts.items()}
    for place, question in enumerate(form.questions):
        given |= {f"q{place}-{name}": text for name, text in question.texts.items()}
        given[f"q{place}-kept"] = question.kept_text
    return {name: text.replace("\n", "\r\n") for name, text in given.items()}


@pytest.mark.parametrize(
    "manifest",
    [
        parse_yaml(sample_manifest().encode()),
        make_draft(description="Two\nlines", opens="2026-01-01T00:00:00Z", operator="Ada"),
        make_draft(split="k-based", minimum_batch=7, submission="token"),
    ],
)
def test_a_manifest_that_is_sent_back_resolves_to_the_same_survey(manifest: dict[str, Any]):
    again = manifest_of(sent(form_of(manifest)))
    assert Manifest.from_dict(again).resolve() == Manifest.from_dict(manifest).resolve()
    assert again.get("population") == manifest.get("population")


@pytest.mark.parametrize("change", ODD)
def test_what_a_form_cannot_show_is_kept_as_it_is(change: dict[str, Any]):
    manifest = {"name": "work", "title": "Work", "version": 3, "attributes": []} | change
    assert manifest_of(sent(form_of(manifest))) == manifest


def test_changed_fields_change_the_manifest_and_nothing_else():
    manifest = make_draft(later=1, split={"weights": {"gender": 2, "age": 1, "country": "1.5"}})
    manifest["attributes"][1]["later"] = 2
    given = sent(form_of(manifest))
    given |= {"s-title": " New ", "q0-categories": " A \r\n\r\nB\r\n", "q2-low": "", "q2-high": ""}
    given |= {"q2-categories": "x\r\ny", "s-version": "x", "q1-weight": "3"}
    changes = manifest_of(given)
    assert (changes["title"], changes["version"], changes["later"]) == ("New", "x", 1)
    assert changes["attributes"][0]["categories"] == ["A", "B"]
    assert changes["attributes"][1]["later"] == 2
    assert changes["attributes"][2] == {
        "name": "country", "role": "sensitive", "protocol": "SS", "categories": ["x", "y"],
    }  # fmt: skip
    assert changes["split"] == {"weights": {"gender": "2", "age": "3", "country": "1.5"}}


def test_questions_are_added_moved_and_removed():
    manifest: dict[str, Any] = {"attributes": [{"name": name} for name in ("question-3", "b")]}

    def names(act: str) -> tuple[list[str], str]:
        document, shown = changed(manifest, act)
        return [one["name"] for one in document["attributes"]], shown

    assert names("add") == (["question-3", "b", "question-4"], "q2")
    assert names("up-1") == (["b", "question-3"], "q0")
    assert names("down-0") == (["b", "question-3"], "q1")
    assert names("up-0") == (["question-3", "b"], "q0")
    assert names("down-1") == (["question-3", "b"], "q1")
    assert names("remove-1") == (["question-3"], "q0")
    for act in ("save", "remove-2", "up-x", "down-99999", ""):
        assert names(act) == (["question-3", "b"], "")
    assert changed({"attributes": [{}] * 256}, "add")[1] == ""
    assert changed({"attributes": "x"}, "add") == ({"attributes": "x"}, "")


@pytest.mark.parametrize("kept", ["{", "5", "[" * 100_000])
def test_a_form_that_was_tampered_with_keeps_nothing(kept: str):
    assert manifest_of({"s-kept": kept, "s-name": "x", "questions": "-1"}) == {
        "name": "x",
        "attributes": [],
    }
