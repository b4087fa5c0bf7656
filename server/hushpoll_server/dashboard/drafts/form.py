"""A manifest as the fields of a form, and back.

What a form cannot show travels with it unchanged: members that it does not know, and members of
another type than its fields have. So a form and YAML can be used in turn, and a later release may
add members to the manifest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from hushpoll_protocols import PROTOCOLS
from hushpoll_shared.survey.attributes import ROLES
from hushpoll_shared.survey.budget import DRAFT_SPLITS
from hushpoll_shared.survey.terms import (
    MOST_ATTRIBUTES,
    RELEASES,
    SUBMISSIONS,
)

WEIGHTS: Final = "weights"
MOST_LINES: Final = 500
"""Categories that a form shows; a longer list is written as YAML."""

TEXTS: Final = ("name", "title", "description", "operator", "purpose", "epsilon", "opens", "closes")
NUMBERS: Final = ("version", "minimum_batch")
CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "split": (*DRAFT_SPLITS, WEIGHTS),
    "protocol": ("", *PROTOCOLS),
    "submission": SUBMISSIONS,
    "release": RELEASES,
}
"""Words of each field; the first is what a manifest without it has."""

QUESTION_TEXTS: Final = ("name", "question", "missing", "positive", "section")
QUESTION_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "role": ROLES,
    "protocol": ("", *PROTOCOLS),
}
GROUPS: Final = ("privileged", "unprivileged")
_ALWAYS: Final = frozenset({"role"})
"""Written also where the word is the first."""

_WHOLE: Final = re.compile(r"-?(0|[1-9][0-9]{0,17})", re.ASCII)
_Given = Callable[[str], str]


@dataclass
class Fields:
    """The texts of a form's fields by name, and the members that it cannot show."""

    texts: dict[str, str] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)

    @property
    def kept_text(self) -> str:
        """The members that the form cannot show, as JSON."""
        return json.dumps(self.kept) if self.kept else ""


@dataclass
class Form:
    """The fields of the survey and of each question."""

    survey: Fields
    questions: list[Fields]


def form_of(manifest: Mapping[str, Any]) -> Form:
    """Return the fields that show a manifest.

    Parameters
    ----------
    manifest : mapping
        JSON; of any kind, also with mistakes.
    """
    survey, rest = Fields(), dict(manifest)
    attributes = rest.pop("attributes", [])
    questions: list[Fields] = []
    if isinstance(attributes, list) and all(isinstance(one, Mapping) for one in attributes):
        questions = [_question_of(one) for one in attributes]
    else:
        survey.kept["attributes"] = attributes
    _take_weights(rest, survey, questions)
    _take_texts(rest, survey, (*TEXTS, *NUMBERS))
    _take_choices(rest, survey, CHOICES)
    _take_groups(rest, survey)
    survey.kept |= {key: value for key, value in rest.items() if value is not None}
    return Form(survey, questions)


def manifest_of(given: Mapping[str, str]) -> dict[str, Any]:
    """Return the manifest that the fields of a form give.

    Parameters
    ----------
    given : mapping of str to str
        The form as it was sent: ``s-NAME`` of the survey, ``qI-NAME`` of question I, from 0.
    """
    survey = _reader(given, "s-")
    manifest: dict[str, Any] = {}
    for name in ("name", "version", "title", "description", "operator", "purpose", "epsilon"):
        _put(manifest, name, survey(name))
    split = survey("split")
    if split and split not in (CHOICES["split"][0], WEIGHTS):
        manifest["split"] = split
    for name in ("protocol", "submission", "release"):
        word = survey(name)
        if word and word != CHOICES[name][0]:
            manifest[name] = word
    for name in ("opens", "closes", "minimum_batch"):
        _put(manifest, name, survey(name))
    questions, weights = [], {}
    for position in range(_count(given)):
        read = _reader(given, f"q{position}-")
        question = _question_from(read)
        questions.append(question)
        if weight := read("weight"):
            weights[str(question.get("name", ""))] = weight
    kept = _kept(survey("kept"))
    if "attributes" not in kept:
        manifest["attributes"] = questions
    if split == WEIGHTS:
        manifest["split"] = {WEIGHTS: weights}
    group = {"attribute": survey("protected-attribute")} | {
        name: _lines(survey(f"protected-{name}")) for name in GROUPS
    }
    if any(group.values()):
        manifest["protected"] = group
    return manifest | kept


def new_question(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a question that a form adds, under a name that no other has."""
    attributes = manifest.get("attributes")
    questions = attributes if isinstance(attributes, list) else []
    # A list is no name, and in no set.
    taken = [one.get("name") for one in questions if isinstance(one, Mapping)]
    number = len(questions) + 1
    while f"question-{number}" in taken:
        number += 1
    return {"name": f"question-{number}", "role": "sensitive", "categories": ["Yes", "No"]}


def changed(manifest: dict[str, Any], act: str) -> tuple[dict[str, Any], str]:
    """Add, remove or move a question.

    Parameters
    ----------
    manifest : dict
        The manifest.
    act : str
        ``add``, ``remove-I``, ``up-I`` or ``down-I`` with the question's position from 0; anything
        else changes nothing.

    Returns
    -------
    tuple of dict and str
        The manifest, and the id of the element to show.
    """
    questions = manifest.get("attributes")
    if not isinstance(questions, list):
        return manifest, ""
    questions = list(questions)
    word, _, text = act.partition("-")
    place = int(text) if text.isdecimal() and len(text) < 5 else len(questions)
    if word == "add" and len(questions) < MOST_ATTRIBUTES:
        questions.append(new_question(manifest))
        place = len(questions) - 1
    elif word == "remove" and place < len(questions):
        del questions[place]
        place = min(place, len(questions) - 1)
    elif word in ("up", "down") and place < len(questions):
        other = min(max(place + (-1 if word == "up" else 1), 0), len(questions) - 1)
        questions.insert(other, questions.pop(place))
        place = other
    else:
        return manifest, ""
    return {**manifest, "attributes": questions}, f"q{place}" if place >= 0 else ""


def _question_of(question: Mapping[str, Any]) -> Fields:
    fields, rest = Fields(), dict(question)
    _take_texts(rest, fields, QUESTION_TEXTS)
    _take_choices(rest, fields, QUESTION_CHOICES)
    categories = rest.get("categories")
    if (
        isinstance(categories, list)
        and len(categories) <= MOST_LINES
        and all(_shown(one) is not None and "\n" not in str(one) for one in categories)
    ):
        fields.texts["categories"] = "\n".join(str(one) for one in rest.pop("categories"))
    bounds = rest.get("range")
    if isinstance(bounds, list) and [type(one) for one in bounds] == [int, int]:
        fields.texts["low"], fields.texts["high"] = map(str, rest.pop("range"))
    fields.kept = {key: value for key, value in rest.items() if value is not None}
    return fields


def _question_from(read: _Given) -> dict[str, Any]:
    question: dict[str, Any] = {}
    _put(question, "name", read("name"))
    for name, words in QUESTION_CHOICES.items():
        word = read(name)
        if word and (word != words[0] or name in _ALWAYS):
            question[name] = word
    for name in ("section", "question"):
        _put(question, name, read(name))
    if lines := _lines(read("categories")):
        question["categories"] = lines
    low, high = read("low"), read("high")
    if low or high:
        question["range"] = [_number(low), _number(high)]
    for name in ("missing", "positive"):
        _put(question, name, read(name))
    return question | _kept(read("kept"))


def _take_texts(rest: dict[str, Any], fields: Fields, names: tuple[str, ...]) -> None:
    for name in names:
        shown = _shown(rest.get(name))
        if shown is not None:
            fields.texts[name] = shown
            del rest[name]


def _take_choices(
    rest: dict[str, Any], fields: Fields, choices: Mapping[str, tuple[str, ...]]
) -> None:
    for name, words in choices.items():
        word = rest.get(name)
        if word is None:
            fields.texts.setdefault(name, words[0])
        elif isinstance(word, str) and word in words and word != WEIGHTS:
            fields.texts[name] = rest.pop(name)


def _take_weights(rest: dict[str, Any], survey: Fields, questions: list[Fields]) -> None:
    """Put the weights of a split beside the questions, if each is of one of them."""
    match rest.get("split"):
        case {"weights": dict(weights), **more} if not more:
            named = {one.texts.get("name"): one for one in questions}
            if set(weights) <= set(named) and all(map(_shown, weights.values())):
                for name, weight in weights.items():
                    named[name].texts["weight"] = str(weight)
                survey.texts["split"] = WEIGHTS
                del rest["split"]


def _take_groups(rest: dict[str, Any], fields: Fields) -> None:
    protected = rest.get("protected")
    if not isinstance(protected, Mapping) or not set(protected) <= {"attribute", *GROUPS}:
        return
    texts: dict[str, str | None] = {"attribute": _shown(protected.get("attribute", ""))}
    for name in GROUPS:
        group = protected.get(name, [])
        members = group if isinstance(group, list) else [group]
        shown = [_shown(one) for one in members]
        texts[name] = None if None in shown else "\n".join(str(one) for one in members)
    if None not in texts.values():
        fields.texts |= {f"protected-{name}": str(text) for name, text in texts.items()}
        del rest["protected"]


def _shown(value: object) -> str | None:
    """Return a value as the text of a field; None where a field would give another value back."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value)


def _reader(given: Mapping[str, str], prefix: str) -> _Given:
    def read(name: str) -> str:
        text = given.get(prefix + name, "")
        return text.replace("\r\n", "\n").strip() if name != "kept" else text

    return read


def _count(given: Mapping[str, str]) -> int:
    text = given.get("questions", "")
    return min(int(text), MOST_ATTRIBUTES) if text.isdecimal() and len(text) < 5 else 0


def _put(document: dict[str, Any], name: str, text: str) -> None:
    if text:
        document[name] = _number(text) if name in NUMBERS else text


def _number(text: str) -> int | str:
    return int(text) if _WHOLE.fullmatch(text) else text


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


def _kept(text: str) -> dict[str, Any]:
    try:
        kept = json.loads(text) if text else {}
        # Halves of surrogate pairs can be stored and not shown; nan is no JSON.
        json.dumps(kept, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return {}  # the form was not sent as the page gave it
    return kept if isinstance(kept, dict) else {}
