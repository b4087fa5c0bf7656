"""A manifest as the fields of a form, and back.

What a form cannot show travels with it unchanged, so a form and YAML can be used in turn, and a
later release may add members to the manifest.

Blocks, draws and pairs of questions are lines of one field. A block's line is its name, a colon,
its questions with commas between them and, after a bar, the protocol where it names one:
``habits: smokes, drinks | SS``. A draw's has its blocks and how many of them a device sends:
``rota: smokes, drinks, debts | 1``; a pair's, ``smokes, gender``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeGuard

from hushpoll_server.dashboard.drafts.controls import FormTable, given_members, take
from hushpoll_server.dashboard.drafts.fields import (
    Fields,
    json_of,
    kept_members,
    lines,
    number_of_parts,
    reader,
    shown,
)
from hushpoll_server.dashboard.drafts.question_fields import question_from, question_of
from hushpoll_server.dashboard.drafts.translation_fields import (
    Language,
    languages_of,
    sections_of,
    translation_from,
    words_of,
)
from hushpoll_shared.drafts.survey_fields import SURVEY

_MARKS: Final = frozenset(",|:\n\r")


@dataclass(frozen=True)
class LineList:
    """A list of the manifest that a form shows a line an entry.

    What a line lacks is empty in the entry that it gives, and refused as in YAML.
    """

    member: str
    entry: Callable[[str], object]
    line: Callable[[object], str | None]

    def take(self, rest: dict[str, object], survey: Fields) -> None:
        """Move the list from a manifest into the field, if it can show each entry."""
        entries = rest.get(self.member)
        if not isinstance(entries, list):
            return
        told = [line for line in map(self.line, entries) if line is not None and "\n" not in line]
        if list(map(self.entry, told)) == entries:
            survey.texts[self.member] = "\n".join(told)
            del rest[self.member]

    def given(self, text: str) -> list[object]:
        """Return the list that the lines of the field give."""
        return list(map(self.entry, lines(text)))


def _names(text: str) -> list[str]:
    return [name for name in (part.strip() for part in text.split(",")) if name]


def _are_words(words: object) -> TypeGuard[list[str]]:
    return isinstance(words, list) and all(
        isinstance(word, str) and word and not _MARKS & set(word) for word in words
    )


def _named_line(entry: object, listed: str, end: str) -> str | None:
    if not isinstance(entry, Mapping):
        return None
    name, words, last = entry.get("name"), entry.get(listed), entry.get(end)
    # an entry without a name is shown, and refused at its field
    if not _are_words([name or "-"]) or not _are_words(words):
        return None
    return f"{name}: {', '.join(words)}" + ("" if last in (None, "") else f" | {last}")


def _block(line: str) -> dict[str, object]:
    rest, _, protocol = line.partition("|")
    name, _, questions = rest.partition(":")
    block: dict[str, object] = {"name": name.strip(), "attributes": _names(questions)}
    return block | ({"protocol": protocol.strip()} if protocol.strip() else {})


def _draw(line: str) -> dict[str, object]:
    rest, _, answer = line.partition("|")
    name, _, blocks = rest.partition(":")
    text = answer.strip()
    number = int(text) if text.isascii() and text.isdigit() else text
    return {"name": name.strip(), "blocks": _names(blocks), "answer": number}


LINE_LISTS: Final = (
    LineList("together", _block, lambda block: _named_line(block, "attributes", "protocol")),
    LineList("draws", _draw, lambda draw: _named_line(draw, "blocks", "answer")),
    LineList(
        "pairs",
        lambda line: [name.strip() for name in line.split(",")],
        lambda pair: ", ".join(pair) if _are_words(pair) else None,
    ),
)


WEIGHTS: Final = "weights"
SURVEY_FORM: Final = FormTable.of(SURVEY, rest="period")
GROUPS: Final = ("privileged", "unprivileged")


@dataclass
class Form:
    """The fields of the survey, of each question and of each language of its translations."""

    survey: Fields
    questions: list[Fields]
    languages: list[Language] = field(default_factory=list)

    @property
    def sections(self) -> list[str]:
        """The sections, each once."""
        return sections_of([question.texts for question in self.questions])

    @property
    def open_language(self) -> str:
        """The tag of the language whose table alone is open; empty where all are."""
        if all(language.open for language in self.languages):
            return ""
        return next(language.code for language in self.languages if language.open)


def form_of(manifest: Mapping[str, object]) -> Form:
    """Return the fields that show a manifest of any kind, also with mistakes."""
    survey, rest = Fields(), dict(manifest)
    attributes = rest.pop("attributes", [])
    questions: list[Fields] = []
    if isinstance(attributes, list) and all(isinstance(one, Mapping) for one in attributes):
        questions = [question_of(one) for one in attributes]
    else:
        survey.kept["attributes"] = attributes
    _take_weights(rest, survey, questions)
    take(rest, survey, SURVEY_FORM.controls)
    _take_groups(rest, survey)
    for one in LINE_LISTS:
        one.take(rest, survey)
    languages, others = languages_of(rest.pop("translations", None) or {}, survey, questions)
    rest["translations"] = others
    survey.kept |= {key: value for key, value in rest.items() if value is not None}
    return Form(survey, questions, languages)


def manifest_of(
    given: Mapping[str, str], before: Mapping[str, object] | None = None
) -> dict[str, object]:
    """Return the manifest that the fields of a form give.

    They are ``s-NAME`` of the survey, ``qI-NAME`` of question I, from 0, and ``tI-NAME`` of
    language I, or all of its words as ``tI-words``. If they say what `before` does, it is returned
    as it is spelt.
    """
    survey = reader(given, "s-")
    manifest = given_members(survey, SURVEY_FORM.controls)
    questions, weights = [], {}
    count = number_of_parts(given, "questions")
    for position in range(count):
        read = reader(given, f"q{position}-")
        question = question_from(read)
        questions.append(question)
        if weight := read("weight"):
            weights[str(question.get("name", ""))] = weight
    kept = kept_members(survey("kept"))
    if "attributes" not in kept:
        manifest["attributes"] = questions
    if survey("split") == WEIGHTS:
        manifest["split"] = {WEIGHTS: weights}
    group = {"attribute": survey("protected-attribute")} | {
        name: lines(survey(f"protected-{name}")) for name in GROUPS
    }
    if any(group.values()):
        manifest["protected"] = group
    given_lists = {one.member: one.given(survey(one.member)) for one in LINE_LISTS}
    manifest |= {member: entries for member, entries in given_lists.items() if entries}
    translations = {
        given.get(f"t{place}-language", ""): translation_from(
            words_of(given, place),
            questions,
            sections_were=json_of(given.get("sections-were", "")),
            answers_were=[json_of(given.get(f"q{place}-were", "")) for place in range(count)],
            items_were=[json_of(given.get(f"q{place}-items-were", "")) for place in range(count)],
        )
        for place in range(number_of_parts(given, "languages"))
    }
    if translations:
        manifest["translations"] = translations
        others = kept.get("translations")
        if isinstance(others, dict):
            kept["translations"] = translations | others
    manifest |= kept
    if before is not None and form_of(manifest) == form_of(before):
        return dict(before)
    return manifest


def _take_weights(rest: dict[str, object], survey: Fields, questions: list[Fields]) -> None:
    """Put the weights of a split beside the questions, if each is of one of them."""
    match rest.get("split"):
        case {"weights": dict(weights), **more} if not more:
            named = {one.texts.get("name"): one for one in questions}
            if set(weights) <= set(named) and all(map(shown, weights.values())):
                for name, weight in weights.items():
                    named[name].texts["weight"] = str(weight)
                survey.texts["split"] = WEIGHTS
                del rest["split"]


def _take_groups(rest: dict[str, object], fields: Fields) -> None:
    protected = rest.get("protected")
    if not isinstance(protected, Mapping) or not set(protected) <= {"attribute", *GROUPS}:
        return
    texts: dict[str, str | None] = {"attribute": shown(protected.get("attribute", ""))}
    for name in GROUPS:
        group = protected.get(name, [])
        members = group if isinstance(group, list) else [group]
        shown_members = [shown(one) for one in members]
        texts[name] = None if None in shown_members else "\n".join(str(one) for one in members)
    if None not in texts.values():
        fields.texts |= {f"protected-{name}": str(text) for name, text in texts.items()}
        del rest["protected"]
