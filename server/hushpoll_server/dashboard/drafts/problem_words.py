"""The problems of a draft in the words of its form: which field, by its label, and what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from hushpoll_server.dashboard.drafts.fields import Fields
from hushpoll_server.dashboard.drafts.form import Form
from hushpoll_shared.drafts.manifest_problems import ManifestProblem
from hushpoll_shared.survey.questions.attributes import NPS

OF_SURVEYS: Final[Mapping[str, str]] = {
    "name": "Name in addresses",
    "version": "Version",
    "title": "Title",
    "description": "Description",
    "operator": "Who asks",
    "purpose": "What the answers are for",
    "thanks": "Thanks",
    "logo": "Logo",
    "language": "Language",
    "epsilon": "Epsilon",
    "split": "Divided among the questions",
    "protocol": "Protocol",
    "opens": "Opens",
    "closes": "Closes",
    "submission": "Who may answer",
    "shared_device": "On one device",
    "release": "Results come",
    "minimum_batch": "Fewest reports of a result",
    "protected": "Groups of a fairness audit",
    "together": "Questions put together",
    "draws": "Questions drawn at random",
    "answer": "Questions drawn at random",
    "always": "Questions drawn at random",
    "pairs": "Pairs of questions",
    "attributes": "Questions",
    "translations": "Translations",
}
OF_QUESTIONS: Final[Mapping[str, str]] = {
    "name": "name in results",
    "question": "what is asked",
    "help": "help text",
    "role": "what the answer is",
    "categories": "possible answers",
    "range": "whole numbers",
    "number": "limits of a number",
    "missing": "answer of who skips it",
    "scale": "layout of the answers",
    "ends": "texts at the ends of the scale",
    "shuffle": "order of the answers",
    "section": "section",
    "protocol": "protocol",
    "positive": "answer that counts as 1",
    "ask_if": "asked only after",
    "select": "all that apply",
    "want": "all that apply",
    "items": "rows of a table",
    "together": "how rows are randomised",
}
"""What each field is called; a field without one has its name in the manifest."""
IN_SENTENCES: Final[Mapping[str, str]] = {
    "ask_if": "“Asked only after answers to”",
    "number": "the number",
    "number.low": "first whole number",
    "number.high": "last whole number",
    "number.unit": "unit of the amount",
    "number.for": "what the numbers are",
    "select.at_least": "“At least”",
    "select.at_most": "“At most”",
}
"""What a sentence calls them in place of that, and what is inside them, by the path from there."""

_QUESTION: Final = re.compile(r"^attributes\[[^\]]*\](?:\.(\S+))?(?= )")
_TRANSLATION: Final = re.compile(r"translations\[([^\]]*)\].*", re.DOTALL)


@dataclass(frozen=True)
class Told:
    """A problem as the form tells it: the id of the field, what the field is called, the words."""

    id: str
    label: str
    words: str


def language_at_fault(problem: ManifestProblem) -> str | None:
    """Return the tag of the translation that a problem is about; None if it is about none."""
    match = _TRANSLATION.fullmatch(problem.field)
    return None if match is None else match[1]


def told(problem: ManifestProblem, field: str | None, form: Form) -> Told:
    """Return a problem in the words of the form, which stands beside the field of an id, if any."""
    id_ = field or "problems"
    if problem.position is not None:
        asked = f"question {problem.position + 1}"
        label = OF_QUESTIONS.get(problem.part, problem.part)
        question = (
            form.questions[problem.position] if problem.position < len(form.questions) else Fields()
        )
        return Told(id_, f"Question {problem.position + 1}, {label}", _of(problem, question, asked))
    language = language_at_fault(problem)
    if language is not None:
        words = problem.message
        if words.startswith(f"{problem.field} "):
            words = f"this text{words.removeprefix(problem.field)}"
        return Told(id_, f"Translation into {language}", words)
    return Told(id_, OF_SURVEYS.get(problem.part, problem.part), problem.message)


def _of(problem: ManifestProblem, question: Fields, asked: str) -> str:
    """Return what is wrong with a question, in the words of its fields."""
    texts = question.texts
    numbers = bool(texts.get("low") or texts.get("high"))
    if problem.part == "categories" and not numbers and not texts.get("categories"):
        return (
            f"{asked} has neither possible answers nor whole numbers; write at least two answers, "
            "one per line, or the first and the last number"
        )
    if problem.part == "categories" and numbers and texts.get("categories"):
        return f"{asked} has both possible answers and whole numbers; empty one of them"
    if problem.part == "scale" and texts.get("scale") == NPS:
        return (
            "a Net Promoter Score has the whole numbers from 0 to 10; write these, and empty the "
            "possible answers"
        )
    if problem.part == "ask_if" and texts.get("after") and not texts.get("router"):
        return (
            f"{asked} has answers after which it is asked, and no question that they are answers "
            "to; name that question, or empty the answers"
        )
    return _QUESTION.sub(lambda path: _called(path[1] or "", asked), problem.message)


def _called(path: str, asked: str) -> str:
    """Return what a field is called, by its path from the question on."""
    part = path.partition(".")[0].partition("[")[0]
    return IN_SENTENCES.get(path) or OF_QUESTIONS.get(part, part) or asked
