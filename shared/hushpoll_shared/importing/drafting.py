"""Makes a draft of a questionnaire, and a report that names every question of the file.

Nothing of the file is left out without a word: a question is taken as it is, changed, to be decided
by the author (with a suggestion), or dropped with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.drafts.manifest_problems import ManifestProblem, manifest_problems
from hushpoll_shared.importing.conditions import holds, names_in
from hushpoll_shared.importing.draft_questions import (
    NO_ANSWER,
    DraftEntry,
    DraftQuestion,
    draft_question,
    entries_of,
    slug,
)
from hushpoll_shared.importing.languages import Languages
from hushpoll_shared.importing.questionnaire import Kind, Question, Questionnaire
from hushpoll_shared.importing.report import Entry, ImportedDraft, Outcome
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.spelling.text import (
    DESCRIPTION_LENGTH,
    SECTION_LENGTH,
    THANKS_LENGTH,
    TITLE_LENGTH,
    show,
)
from hushpoll_shared.survey.terms import MOST_ATTRIBUTES

EPSILON: Final = "4"
PROTOCOL: Final = "SS"
_MAY_GO: Final = ("ends", "shuffle", "help", "scale")
"""Members of a question without which it can still be asked."""


def make_draft(questionnaire: Questionnaire) -> ImportedDraft:
    """Return a draft of a questionnaire, with the report; refuses one without a question for us."""
    languages = Languages(questionnaire)
    made: dict[int, DraftQuestion] = {}
    names: set[str] = set()
    for place, part in enumerate(questionnaire.parts):
        if isinstance(part, Question):
            made[place] = draft_question(part, languages, names)
    by_name: dict[str, DraftQuestion] = {}
    for one in made.values():
        if one.dropped is None:
            _follow_up(one, by_name)
            by_name.setdefault(one.source.name, one)
    kept = [one for one in made.values() if one.dropped is None]
    _sections(kept, languages)
    manifest = _mended(questionnaire, kept, languages)
    entries = tuple(
        made[place].entry()
        if isinstance(part, Question)
        else Entry(part.name, part.where, Outcome.DROPPED, None, (part.reason,))
        for place, part in enumerate(questionnaire.parts)
    )
    if not manifest["attributes"]:
        reasons = "; ".join(
            f"{show(entry.question)} ({entry.where}): {entry.messages[0].rstrip('.')}"
            for entry in entries[:5]
        )
        raise InvalidParameter(
            "the file has no question that can be asked here"
            + (f": {reasons}" if reasons else "")
            + "; add a question with choices or a number",
            field="file",
        )
    return ImportedDraft(manifest, entries, _of_the_survey(questionnaire, manifest, languages))


def _of_the_survey(
    questionnaire: Questionnaire, manifest: Mapping[str, Any], languages: Languages
) -> tuple[str, ...]:
    """Return what must be decided of the whole survey, and what of the file was left out."""
    skipped = sum(
        len(attribute.get("items", "1"))
        for attribute in manifest["attributes"]
        if "missing" in attribute
    )
    missing = NO_ANSWER.get(languages.own.partition("-")[0], NO_ANSWER["en"])
    translated = manifest.get("translations", {})
    return (
        "The role of each question: all are suggested as sensitive; a question that needs no "
        "protection is plain, and its answer leaves the device in clear.",
        f"Epsilon and the protocol: {EPSILON} and {PROTOCOL} are suggestions; the draft's plan "
        "tells what they can show.",
        "Who asks and for what purpose: neither is in the file.",
        *languages.notes,
        *(
            [
                f"{skipped} question{'s' if skipped > 1 else ''} may be skipped in the form: "
                f"{missing!r} is one more answer to each, and is randomised like the others."
            ]
            if skipped
            else []
        ),
        *(
            f"In {tag!r} {number} text{'s are' if number > 1 else ' is'} missing; those of "
            f"{languages.own!r} stand there."
            for tag, number in languages.lacking.items()
            if tag in translated
        ),
        *(
            f"In {tag!r} the file has titles alone, which are left out."
            for tag in languages.others
            if tag not in translated
        ),
        *languages.cut(),
        *questionnaire.notes,
    )


def _follow_up(one: DraftQuestion, earlier: Mapping[str, DraftQuestion]) -> None:
    """Make a question with a condition a follow-up, or say that everybody is asked."""
    condition = one.source.condition
    if condition is None:
        return
    reason = ""
    names = names_in(condition)
    # SurveyJS calls the row r of a matrix m m.r, which is the question m_r here.
    named = next(iter(names), "")
    router = None
    if len(names) == 1:
        router = earlier.get(named) or earlier.get(named.replace(".", "_"))
    if len(names) != 1:
        reason = f"it is about {len(names)} questions, and a follow-up is asked after one"
    elif router is None:
        reason = f"{show(named)} is no earlier question of the draft"
    elif not router.answers():
        reason = f"{router.attribute['name']!r} is no question with one answer of a list"
    elif one.source.kind is Kind.MANY:
        reason = "a question with several answers can be no follow-up"
    else:
        asked = [category for code, category in router.answers() if holds(condition, code)]
        if asked and len(asked) < len(router.answers()):
            one.attribute["ask_if"] = {router.attribute["name"]: asked}
            if "missing" in router.attribute and holds(condition, ""):
                one.changed.append(
                    f"Here it is not asked of those who skip {router.attribute['name']!r}; in the "
                    "form it is."
                )
            return
        if asked:
            if "missing" not in router.attribute:
                one.changed.append("Its condition always holds, and is left out.")
                return
            reason = f"it holds for every answer to {router.attribute['name']!r}"
        else:
            one.dropped = "Its condition holds for no answer, so that it is never asked."
            return
    one.undecided.append(
        f"It is asked of everybody: its condition is no follow-up, since {reason}."
    )


def _sections(kept: Iterable[DraftQuestion], languages: Languages) -> None:
    """Give each run of questions under one heading a section of its own."""
    ended: set[str] = set()
    last: str | None = None
    for one in kept:
        words = one.source.section
        text = languages.text(words) if words else None
        if words is None or text is None:
            if last:
                ended.add(last)
            last = None
            continue
        title = languages.fitted(text, SECTION_LENGTH - 8)
        name = last if last and last.partition(" (")[0] == title else title
        number = 2
        while name in ended:
            name, number = f"{title} ({number})", number + 1
        if last and last != name:
            ended.add(last)
        last = name
        one.attribute["section"] = name
        one.section = {
            tag: languages.fitted(languages.other(words, tag) or text, SECTION_LENGTH - 8, tag)
            + name[len(title) :]
            for tag in languages.others
        }


def _manifest(
    questionnaire: Questionnaire, entries: Sequence[DraftEntry], languages: Languages
) -> dict[str, Any]:
    name = slug(questionnaire.name) or "survey"
    title = languages.text(questionnaire.title) or questionnaire.name
    kept = [one for entry in entries for one in entry.questions]
    texts = {
        key: (words, length)
        for key, words, length in (
            ("description", questionnaire.description, DESCRIPTION_LENGTH),
            ("thanks", questionnaire.thanks, THANKS_LENGTH),
        )
        if languages.text(words)
    }
    manifest: dict[str, Any] = {
        "name": name,
        "version": 1,
        "title": languages.fitted(title, TITLE_LENGTH) or name,
        **{
            key: languages.fitted(languages.text(words) or "", length, lines=True)
            for key, (words, length) in texts.items()
        },
        "language": languages.own,
        "epsilon": EPSILON,
        "protocol": PROTOCOL,
        "attributes": [entry.attribute for entry in entries],
    }
    translations: dict[str, Any] = {}
    for tag, other in languages.others.items():
        if not any(_speaks(one.source, other) for one in kept):
            continue
        sections = {
            one.attribute["section"]: one.section[tag]
            for one in kept
            if one.section is not None and "section" in one.attribute
        }
        own = questionnaire.title.get(other) or title
        translations[tag] = {
            "title": languages.fitted(own, TITLE_LENGTH, tag) or name,
            **{
                key: languages.fitted(
                    words.get(other) or languages.text(words) or "", length, tag, lines=True
                )
                for key, (words, length) in texts.items()
            },
            **({"sections": sections} if sections else {}),
            "attributes": {
                of: words
                for entry in entries
                for of, words in entry.translations.get(tag, {}).items()
            },
        }
    if translations:
        manifest["translations"] = translations
    return manifest


def _speaks(source: Question, language: str) -> bool:
    """Whether a question, or one of its choices, has words in a language."""
    texts = (source.words, source.help, source.row, *(choice.words for choice in source.choices))
    return any(words.get(language) for words in texts)


def _mended(
    questionnaire: Questionnaire, made: Sequence[DraftQuestion], languages: Languages
) -> JsonMembers:
    """Return the draft without what a manifest cannot have; each such thing is told."""
    if len(made) > MOST_ATTRIBUTES:
        raise InvalidParameter(
            f"the file has {len(made)} questions that can be asked here, and a survey has at most "
            f"{MOST_ATTRIBUTES}; divide it",
            field="file",
        )
    names = {str(one.attribute["name"]) for one in made}
    while True:
        kept = [one for one in made if one.dropped is None]
        entries = entries_of(kept, languages, set(names))
        manifest = _manifest(questionnaire, entries, languages)
        problems = manifest_problems(manifest) if entries else ()
        at_fault = {
            problem.position: problem for problem in problems if problem.position is not None
        }
        if not at_fault:
            return manifest
        for position, problem in at_fault.items():
            _mend(entries[position], problem)


def _mend(entry: DraftEntry, problem: ManifestProblem) -> None:
    """Take the part at fault from an entry of the draft, or drop its question."""
    if len(entry.questions) > 1:
        for one in entry.questions:
            one.apart = problem.message
        return
    (one,) = entry.questions
    message = f"{problem.message[:1].upper()}{problem.message[1:]}."
    if one.attribute.pop("ask_if", None) is not None:
        one.undecided.append(f"It is asked of everybody, since {problem.message}.")
        return
    for key in _MAY_GO:
        if one.attribute.pop(key, None) is not None:
            for words in one.translations.values():
                words.pop(key, None)
            one.say(f"Its {key} is left out. {message}")
            return
    one.dropped = message
