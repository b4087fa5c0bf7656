"""What stands beside a draft's form: its problems, warnings, launch plan, respondent page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from flask import request

from hushpoll_analysis.verdicts.needed import N_MAX
from hushpoll_protocols.errors import HushpollError
from hushpoll_server.dashboard.drafts.fields import Fields
from hushpoll_server.dashboard.drafts.form import SURVEY_FORM, Form
from hushpoll_server.dashboard.drafts.question_fields import QUESTION
from hushpoll_server.dashboard.questions import names_of
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services
from hushpoll_server.pages.rendering import rendered
from hushpoll_server.services.surveys.launch import WIDTH, launch_plan
from hushpoll_server.services.surveys.validation import Validation, validate
from hushpoll_server.services.surveys.warnings import PublishingWarning, publishing_warnings
from hushpoll_shared.drafts.manifest_problems import ManifestProblem
from hushpoll_shared.reading.decimal_texts import parse_number, parse_whole
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import NPS
from hushpoll_shared.wire.documents.plans import LaunchDocument

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
        label = QUESTION.title(problem.part, within=True)
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
    return Told(id_, SURVEY_FORM.title(problem.part), problem.message)


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
    return QUESTION.subjects().get(path) or QUESTION.title(part, within=True) or asked


LOOK_SECONDS: Final = 3.0
"""How long a page waits for its outlook; it is shown without, and asks for it again by itself."""

BUSY: Final = "The server checks other drafts just now, so nothing is said of this one yet."

EXPECTED: Final = 1_000
"""Respondents for whom a plan is made where none are named."""

_WORDS: Final = ("language", "translations")
"""Members whose problems leave the survey's own words and its plan as they are."""


@dataclass
class Outlook:
    """All that is told of a draft; `busy` in place of it where the server is busy with others.

    Of one that comes `later`, preview, plan and warnings are asked for once the page is there.
    """

    n: str
    width: str
    validation: Validation | None = None
    warnings: tuple[PublishingWarning, ...] = ()
    plan: LaunchDocument | None = None
    plan_fault: str | None = None
    plan_field: str | None = None
    page: str | None = None
    language: str = ""
    busy: str | None = None
    later: bool = False
    faults: dict[str, list[str]] = field(default_factory=dict)
    listed: list[Told] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    """What the page calls questions; those of a draft that could be planned."""

    @property
    def publishable(self) -> bool:
        """Whether the draft could be published now."""
        return self.validation is not None and not self.validation.problems

    def faulty(self, at: str) -> bool:
        """Whether something is wrong with a field whose name begins with `at`."""
        return any(name.startswith(f"{at}-") for name in self.faults)


def outlook_of(
    manifest: Mapping[str, object], form: Form, *, patient: bool = False, later: bool = False
) -> Outlook:
    """Check a draft, plan it, and render the page that its respondents would see.

    With `later` it is only checked: what takes long is no part of the request of a page.

    Where other drafts are looked at for longer than `LOOK_SECONDS` (`patient`: than a turn is
    waited for), the outlook says so and has nothing else.
    """
    seen = Outlook(
        n=request.values.get("n", "").strip() or str(EXPECTED),
        width=request.values.get("width", "").strip() or f"{WIDTH:g}",
        language=request.values.get("lang", ""),
    )
    parts = services()
    try:
        with parts.surveys.looking.take(None if patient else LOOK_SECONDS):
            validation = seen.validation = validate(manifest, parts.surveys)
            published, shown = validation.published, manifest
            if published is None and _only_words_are_wrong(validation):
                shown = _without_wrong_words(manifest, validation)
                published = validate(shown, parts.surveys).published
            if published is not None and later:
                seen.later = True
            elif published is not None:
                seen.names = names_of(published)
                seen.warnings = publishing_warnings(published, expected=_expected())
                language = seen.language if seen.language in published.languages else None
                seen.page = rendered(published, published.wording(language), preview=True)
                _plan(seen, shown, published)
    except Refused as refusal:
        if refusal.code != "unavailable":
            raise
        seen.busy = BUSY
        return seen
    for problem in validation.problems:
        name = _field(problem, form)
        words = told(problem, name, form)
        if words in seen.listed:  # several parts of a question may lack the same
            continue
        if name is not None:
            seen.faults.setdefault(name, []).append(words.words)
        seen.listed.append(words)
    return seen


def _only_words_are_wrong(validation: Validation) -> bool:
    """Whether the draft lacks nothing but translations, so that the rest can be shown."""
    return all(
        problem.position is None and problem.part in _WORDS for problem in validation.problems
    )


def _without_wrong_words(
    manifest: Mapping[str, object], validation: Validation
) -> dict[str, object]:
    """Return a manifest with those of its translations that have no problem."""
    rest = {key: manifest[key] for key in manifest if key not in _WORDS}
    wrong = {language_at_fault(problem) for problem in validation.problems}
    words = manifest["translations"]
    if None in wrong or not isinstance(words, Mapping):
        return rest
    translations = {
        language: translation for language, translation in words.items() if language not in wrong
    }
    return rest | {"language": manifest["language"], "translations": translations or None}


def _plan(seen: Outlook, manifest: Mapping[str, object], published: Published) -> None:
    try:
        n = _number(seen.n, "n", whole=True)
        width = _number(seen.width, "width", whole=False)
        seen.plan = launch_plan(services().plans, manifest, published, n=int(n), width=width)
    except Refused as refusal:
        if refusal.code != "unavailable":
            raise
        seen.plan_fault = refusal.detail
    except HushpollError as error:
        seen.plan_fault, seen.plan_field = str(error), getattr(error, "field", None)
        if seen.plan_field not in ("n", "width"):
            seen.plan_field = "width"


def _expected() -> int | None:
    """Return how many respondents are expected, where the address or the form says so."""
    try:
        return int(_number(request.values.get("n", "").strip(), "n", whole=True))
    except _Fault:
        return None


def _number(text: str, name: str, *, whole: bool) -> float:
    most: float = N_MAX if whole else 1
    try:
        number: float = parse_whole(text) if whole else parse_number(text)
    except ValueError:
        number = 0
    if not 0 < number <= most:
        wanted = (
            f"a whole number from 1 to {N_MAX:,}"
            if whole
            else "a width above 0 and at most 1, such as 0.1 for plus or minus 5 points"
        )
        raise _Fault(f"{name} is {text[:40]!r}; give {wanted}", name)
    return number


class _Fault(HushpollError):
    """A number of the plan's fields is none."""

    def __init__(self, message: str, name: str) -> None:
        super().__init__(message)
        self.field = name


def _field(problem: ManifestProblem, form: Form) -> str | None:
    """Return the name of the field beside which a problem stands; None if the form has none."""
    part = problem.part
    if problem.position is not None:
        if problem.position >= len(form.questions):
            return None
        kept = form.questions[problem.position].kept
        input_ = "" if part in kept else QUESTION.beside(part)
        return f"q{problem.position}-{input_ or 'name'}"
    if part == "translations":
        return _cell(problem.field, form)
    input_ = "" if part in form.survey.kept else SURVEY_FORM.beside(part)
    return f"s-{input_}" if input_ else None


def _cell(path: str, form: Form) -> str | None:
    """Return the name of the cell of a translation that a path names, or of its first one.

    Where its table is not open, it is that of the language.
    """
    for place, language in enumerate(form.languages):
        start = f"translations[{language.code}]"
        if path.startswith(start) and not language.open:
            return f"t{place}"
        if path.startswith(start):
            part = path.removeprefix(start)
            names = [cell.name for cell in language.cells if cell.is_at(part)]
            return f"t{place}-{(names or ['title'])[0]}"
    return None
