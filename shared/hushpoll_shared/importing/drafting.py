"""Makes a draft of a questionnaire, and a report that names every question of the file.

Nothing of the file is left out without a word: a question is taken as it is, changed, to be decided
by the author (with a suggestion), or dropped with the reason.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.oracle import K_MAX
from hushpoll_shared.drafts.manifest_problems import manifest_problems
from hushpoll_shared.importing.conditions import holds, names_in
from hushpoll_shared.importing.language_names import tag_of
from hushpoll_shared.importing.questionnaire import (
    UNNAMED,
    Kind,
    Question,
    Questionnaire,
    Words,
)
from hushpoll_shared.spelling.labels import looks, trimmed
from hushpoll_shared.spelling.text import (
    CATEGORY_LENGTH,
    HELP_LENGTH,
    NAME_LENGTH,
    QUESTION_LENGTH,
    SECTION_LENGTH,
    TITLE_LENGTH,
    is_name,
    printable,
    show,
)
from hushpoll_shared.survey.terms import MOST_ATTRIBUTES
from hushpoll_shared.wire.documents import ImportedQuestion, ImportReport

EPSILON: Final = "4"
PROTOCOL: Final = "SS"
LARGEST: Final = 100
"""Suggested as the largest value of a number for which the file has no limit."""
_MOST_LISTED: Final = 21
_NO_ANSWER: Final = {
    "en": "No answer", "de": "Keine Angabe", "fr": "Sans réponse", "es": "Sin respuesta",
}  # fmt: skip


class Outcome(StrEnum):
    """What has become of a question."""

    TAKEN = "taken"
    CHANGED = "changed"
    DECIDE = "to be decided"
    DROPPED = "dropped"


@dataclass(frozen=True)
class Entry:
    """What has become of one question of the file.

    Parameters
    ----------
    question : str
        Its name in the file.
    where : str
        Its place in the file.
    outcome : Outcome
        The gravest of what is said of it.
    attribute : str or None
        Its name in the draft; None if it was dropped.
    messages : tuple of str
        What was changed, must be decided, or the reason, as sentences.
    codes : tuple of str
        The file's codes of its choices, in the order of the draft's categories.
    """

    question: str
    where: str
    outcome: Outcome
    attribute: str | None
    messages: tuple[str, ...]
    codes: tuple[str, ...] = ()

    def to_dict(self) -> ImportedQuestion:
        """Return the JSON form."""
        return {
            "question": self.question,
            "where": self.where,
            "outcome": self.outcome.value,
            "attribute": self.attribute,
            "messages": list(self.messages),
            "codes": list(self.codes),
        }


@dataclass(frozen=True)
class Imported:
    """A draft, and what has become of each question of the file.

    Parameters
    ----------
    manifest : dict
        The draft; a manifest that could be published, with suggestions for what must be decided.
    entries : tuple of Entry
        In the file's order.
    survey : tuple of str
        What must be decided of the whole survey, and what of the file was left out, as sentences.
    """

    manifest: dict[str, Any]
    entries: tuple[Entry, ...]
    survey: tuple[str, ...]

    def counts(self) -> dict[str, int]:
        """Return how many questions have each outcome."""
        return {
            str(outcome): sum(entry.outcome is outcome for entry in self.entries)
            for outcome in Outcome
        }

    def report(self) -> ImportReport:
        """Return the JSON form of the report."""
        return {
            "counts": self.counts(),
            "survey": list(self.survey),
            "questions": [entry.to_dict() for entry in self.entries],
        }


@dataclass
class _Made:
    """A question on its way into the draft."""

    source: Question
    attribute: dict[str, Any]
    translations: dict[str, dict[str, Any]]
    changed: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    dropped: str | None = None
    section: dict[str, str] | None = None

    @property
    def codes(self) -> tuple[str, ...]:
        return tuple(choice.code for choice in self.source.choices)

    def answers(self) -> list[tuple[str, Any]]:
        """Return the code and the category of each answer that a condition may name."""
        if self.source.kind in (Kind.ONE, Kind.YES_NO):
            return list(zip(self.codes, self.attribute["categories"], strict=True))
        if "range" in self.attribute:
            low, high = self.attribute["range"]
            return [(str(value), value) for value in range(low, high + 1)]
        return []

    def entry(self) -> Entry:
        notes = (*self.source.undecided, *self.undecided, *self.source.notes, *self.changed)
        if self.dropped is not None:
            return Entry(
                self.source.name, self.source.where, Outcome.DROPPED, None, (self.dropped,)
            )
        decide = self.source.undecided or self.undecided
        outcome = Outcome.DECIDE if decide else Outcome.CHANGED if notes else Outcome.TAKEN
        return Entry(
            self.source.name,
            self.source.where,
            outcome,
            self.attribute["name"],
            notes,
            self.codes,
        )


class _Languages:
    """The languages of a file, and its texts in them."""

    def __init__(self, questionnaire: Questionnaire) -> None:
        texts: list[Words] = [questionnaire.title]
        for part in questionnaire.parts:
            if isinstance(part, Question):
                texts += [part.words, *(choice.words for choice in part.choices)]
                texts += [part.section or {}, part.help]
        named = list(dict.fromkeys(name for words in texts for name in words))
        self.notes: list[str] = []
        main = questionnaire.language if questionnaire.language in named else None
        if main is None:
            asked = [part.words for part in questionnaire.parts if isinstance(part, Question)]
            counts = {name: sum(name in words for words in asked) for name in named}
            main = max(named, key=lambda name: (counts[name], name == UNNAMED), default=UNNAMED)
        self._main = main
        tag = tag_of(questionnaire.language or main) if main == UNNAMED else tag_of(main)
        if tag is None:
            tag = "en"
            said = f"calls the language of its texts {main!r}" if main else "names no language"
            self.notes.append(f"The file {said}; 'en' is a suggestion.")
        self.own = tag
        self.others: dict[str, str] = {}
        for name in named:
            other = tag_of(name) if name not in (main, UNNAMED) else None
            if other is None and name not in (main, UNNAMED):
                self.notes.append(
                    f"The texts in {show(name)} are left out, since nothing says which language "
                    "that is; write it as 'English (en)'."
                )
            elif other is not None and other != tag:
                self.others.setdefault(other, name)
        self.lacking: dict[str, int] = {}

    def text(self, words: Words) -> str | None:
        """Return a text in the main language, or in whichever it has."""
        for name in (self._main, UNNAMED, *words):
            if words.get(name):
                return words[name]
        return None

    def other(self, words: Words, tag: str) -> str | None:
        """Return a text in another language; None, and one more lacking, where it has none."""
        found = words.get(self.others[tag])
        if not found:
            self.lacking[tag] = self.lacking.get(tag, 0) + 1
        return found or None


def make_draft(questionnaire: Questionnaire) -> Imported:
    """Return a draft of a questionnaire, with the report.

    Parameters
    ----------
    questionnaire : Questionnaire
        What a reader has made of a file.

    Raises
    ------
    InvalidParameter
        If none of its questions has a form here, with the reasons.
    """
    languages = _Languages(questionnaire)
    made: dict[int, _Made] = {}
    names: set[str] = set()
    for place, part in enumerate(questionnaire.parts):
        if isinstance(part, Question):
            made[place] = _question(part, languages, names)
    by_name: dict[str, _Made] = {}
    for one in made.values():
        if one.dropped is None:
            _follow_up(one, by_name)
            by_name.setdefault(one.source.name, one)
    kept = [one for one in made.values() if one.dropped is None]
    _sections(kept, languages)
    manifest = _manifest(questionnaire, kept, languages)
    manifest = _mended(manifest, questionnaire, kept, languages)
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
    lacking = [
        f"In {tag!r} {number} text{'s are' if number > 1 else ' is'} missing; those of "
        f"{languages.own!r} stand there."
        for tag, number in languages.lacking.items()
        if tag in manifest.get("translations", {})
    ]
    lacking += [
        f"In {tag!r} the file has titles alone, which are left out."
        for tag in languages.others
        if tag not in manifest.get("translations", {})
    ]
    skipped = sum("missing" in attribute for attribute in manifest["attributes"])
    missing = _NO_ANSWER.get(languages.own.partition("-")[0], _NO_ANSWER["en"])
    survey = (
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
        *lacking,
        *questionnaire.notes,
    )
    return Imported(manifest, entries, survey)


def _question(source: Question, languages: _Languages, names: set[str]) -> _Made:
    name = _name(source.name, names)
    attribute: dict[str, Any] = {"name": name, "role": "sensitive"}
    one = _Made(source, attribute, {tag: {} for tag in languages.others})
    if name != source.name:
        one.changed.append(
            f"It is called {name!r}: names here have a-z, 0-9, '_' and '-', and each stands once."
        )
    words = languages.text(source.words)
    if words is not None:
        attribute["question"] = _line(words, QUESTION_LENGTH, one, "Its text")
        for tag, texts in one.translations.items():
            texts["question"] = _plain(languages.other(source.words, tag) or words, QUESTION_LENGTH)
    _help(one, languages)
    if source.kind is Kind.WHOLE:
        _number(one)
    else:
        _choices(one, languages)
    if one.dropped is None and not source.required and source.kind is not Kind.MANY:
        _missing(one, languages)
    return one


def _help(one: _Made, languages: _Languages) -> None:
    """Add the text below a question, in every language."""
    source = one.source
    words = languages.text(source.help)
    if words is None:
        return
    one.attribute["help"] = _line(words, HELP_LENGTH, one, "Its hint")
    for tag, texts in one.translations.items():
        texts["help"] = _plain(languages.other(source.help, tag) or words, HELP_LENGTH)


def _name(wanted: str, taken: set[str]) -> str:
    """Return a name of a manifest near the one of the file, and note that it is taken."""
    text = wanted if is_name(wanted) else _slug(wanted) or "question"
    name, number = text, 2
    while name in taken:
        name = f"{text[: NAME_LENGTH - 5]}_{number}"
        number += 1
    taken.add(name)
    return name


def _slug(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii").lower()
    return re.sub(r"[^a-z0-9_-]+", "_", plain).strip("_")[:NAME_LENGTH]


def _plain(text: str, longest: int) -> str:
    """Return a text in one line that a manifest may have."""
    line = " ".join(printable(unicodedata.normalize("NFC", text)).split())
    line = trimmed(line)
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


def _line(text: str, longest: int, one: _Made, what: str) -> str:
    line = _plain(text, longest)
    if line.endswith("…") and len(text) > longest:
        one.undecided.append(f"{what} is cut to {longest} characters: write it shorter.")
    elif line != text.strip():
        one.changed.append(f"{what} stands in one line, without characters that cannot be seen.")
    return line


def _choices(one: _Made, languages: _Languages) -> None:
    source = one.source
    labels = [languages.text(choice.words) or choice.code for choice in source.choices]
    if not all(choice.words for choice in source.choices):
        one.changed.append("Choices without words are read as their codes.")
    categories = _apart(labels, one, told=True)
    least = 1 if source.kind is Kind.MANY or not source.required else 2
    if not least <= len(categories) <= K_MAX:
        one.dropped = (
            f"It has {len(categories)} choices; a question here has 2 to {K_MAX:,} answers."
        )
        return
    one.attribute["categories"] = categories
    if source.ordered and len(categories) > 1 and source.kind is Kind.ONE:
        one.attribute["scale"] = "ordinal"
    for tag, texts in one.translations.items():
        given = [choice.words.get(languages.others[tag]) for choice in source.choices]
        if any(given):
            for choice in source.choices:
                languages.other(choice.words, tag)
            own = [text or label for text, label in zip(given, categories, strict=True)]
            texts["categories"] = _apart(own, one, told=False)
    if source.kind is Kind.MANY:
        limits = {"at_least": source.at_least, "at_most": source.at_most}
        one.attribute["select"] = {
            key: min(value, len(categories))
            for key, value in limits.items()
            if value is not None and value >= (key == "at_most")
        }


def _apart(labels: Sequence[str], one: _Made, *, told: bool) -> list[str]:
    """Return labels that a reader can tell apart; the code stands beside those that look alike."""
    plain = [_plain(label, CATEGORY_LENGTH) or one.codes[at] for at, label in enumerate(labels)]
    cut = any(len(label) > CATEGORY_LENGTH for label in labels)
    if cut and told:
        one.undecided.append(
            f"Choices are cut to {CATEGORY_LENGTH} characters: write them shorter."
        )
    seen: dict[str, int] = {}
    for label in plain:
        seen[looks(label)] = seen.get(looks(label), 0) + 1
    alike = [seen[looks(label)] > 1 for label in plain]
    if any(alike) and told:
        one.changed.append("Choices that read the same have their code beside them.")
    return [
        _plain(f"{label[: CATEGORY_LENGTH - 40]} ({code})", CATEGORY_LENGTH) if same else label
        for label, code, same in zip(plain, one.codes, alike, strict=True)
    ]


def _number(one: _Made) -> None:
    source = one.source
    low = None if source.low is None else math.ceil(source.low)
    high = None if source.high is None else math.floor(source.high)
    if low is None:
        low = 0 if high is None or high > 0 else high - LARGEST
        one.undecided.append(f"The file has no least value; {low} is a suggestion.")
    if high is None:
        high = max(LARGEST, low + LARGEST)
        one.undecided.append(f"The file has no largest value; {high} is a suggestion.")
    if low >= high:
        one.dropped = f"Its limits leave no two whole numbers: {source.low:g} to {source.high:g}."
    elif high - low < _MOST_LISTED:
        one.attribute["range"] = [low, high]
        if source.ordered:
            one.attribute["scale"] = "nps" if (low, high) == (0, 10) else "ordinal"
    else:
        one.attribute["number"] = {"low": low, "high": high}


def _missing(one: _Made, languages: _Languages) -> None:
    """Add the category of those who skip a question that the form lets them skip."""
    own = languages.own.partition("-")[0]
    taken = {looks(label) for label in one.attribute.get("categories", ())}
    label = _NO_ANSWER.get(own, _NO_ANSWER["en"])
    one.attribute["missing"] = label if looks(label) not in taken else f"{label} (—)"
    for tag, texts in one.translations.items():
        label = _NO_ANSWER.get(tag.partition("-")[0], _NO_ANSWER["en"])
        taken = {
            looks(text) for text in texts.get("categories", one.attribute.get("categories", ()))
        }
        texts["missing"] = label if looks(label) not in taken else f"{label} (—)"


def _follow_up(one: _Made, earlier: Mapping[str, _Made]) -> None:
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


def _sections(kept: Iterable[_Made], languages: _Languages) -> None:
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
        title = _plain(text, SECTION_LENGTH - 8)
        name = last if last and last.partition(" (")[0] == title else title
        number = 2
        while name in ended:
            name, number = f"{title} ({number})", number + 1
        if last and last != name:
            ended.add(last)
        last = name
        one.attribute["section"] = name
        one.section = {
            tag: _plain(languages.other(words, tag) or text, SECTION_LENGTH) + name[len(title) :]
            for tag in languages.others
        }


def _manifest(
    questionnaire: Questionnaire, kept: Sequence[_Made], languages: _Languages
) -> dict[str, Any]:
    name = _slug(questionnaire.name) or "survey"
    title = _plain(languages.text(questionnaire.title) or questionnaire.name, TITLE_LENGTH)
    kept = [one for one in kept if one.dropped is None]
    manifest: dict[str, Any] = {
        "name": name,
        "version": 1,
        "title": title or name,
        "language": languages.own,
        "epsilon": EPSILON,
        "protocol": PROTOCOL,
        "attributes": [one.attribute for one in kept],
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
        translations[tag] = {
            "title": _plain(questionnaire.title.get(other) or title, TITLE_LENGTH) or name,
            **({"sections": sections} if sections else {}),
            "attributes": {
                one.attribute["name"]: one.translations[tag]
                for one in kept
                if one.translations[tag]
            },
        }
    if translations:
        manifest["translations"] = translations
    return manifest


def _speaks(source: Question, language: str) -> bool:
    """Whether a question, or one of its choices, has words in a language."""
    return any(
        words.get(language)
        for words in (source.words, source.help, *(choice.words for choice in source.choices))
    )


def _mended(
    manifest: dict[str, Any],
    questionnaire: Questionnaire,
    kept: Sequence[_Made],
    languages: _Languages,
) -> dict[str, Any]:
    """Return the draft without what a manifest cannot have; each such thing is told."""
    if len(manifest["attributes"]) > MOST_ATTRIBUTES:
        raise InvalidParameter(
            f"the file has {len(manifest['attributes'])} questions that can be asked here, and a "
            f"survey has at most {MOST_ATTRIBUTES}; divide it",
            field="file",
        )
    for _ in range(len(kept) + 1):
        attributes = manifest["attributes"]
        problems = manifest_problems(manifest) if attributes else ()
        at_fault = {
            problem.position: problem for problem in problems if problem.position is not None
        }
        if not at_fault:
            return manifest
        for position, problem in at_fault.items():
            attribute = attributes[position]
            one = next(one for one in kept if one.attribute is attribute)
            if attribute.pop("ask_if", None) is not None:
                one.undecided.append(f"It is asked of everybody, since {problem.message}.")
            elif attribute.pop("scale", None) is None:
                one.dropped = f"{problem.message[:1].upper()}{problem.message[1:]}."
        manifest = _manifest(questionnaire, kept, languages)
    return manifest
