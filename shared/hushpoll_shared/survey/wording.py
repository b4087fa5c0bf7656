"""What respondents read of a survey, in the language of its author and in each translation.

A translation changes words alone. The code of an answer is its place in the domain, and that is
the same in every language, so answers in all languages are counted together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from hushpoll_protocols import InvalidParameter
from hushpoll_protocols.errors import refusal_of
from hushpoll_shared.spelling.canonical import check_keys
from hushpoll_shared.spelling.json_values import JsonMembers, members_of
from hushpoll_shared.spelling.text import (
    CATEGORY_LENGTH,
    HELP_LENGTH,
    QUESTION_LENGTH,
    SECTION_LENGTH,
    TEXT_RULES,
    TITLE_LENGTH,
    check_text,
    normalized,
    show,
)
from hushpoll_shared.survey.questions.attributes import Attribute
from hushpoll_shared.survey.questions.matrices import SHARED_WORDS, Matrix
from hushpoll_shared.survey.questions.number import UNIT_LENGTH
from hushpoll_shared.survey.questions.presentation import (
    ALT_LENGTH,
    check_ends_of_scale,
    read_ends,
)

if TYPE_CHECKING:
    from hushpoll_shared.survey.terms import Terms

MOST_TRANSLATIONS: Final = 100

# BCP 47, of which a survey needs the language, the script and the region.
_LANGUAGE: Final = re.compile(r"[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?")
_TEXTS: Final = ("description", "purpose", "thanks", "logo")
_PARTS: Final = ("sections", "attributes", "selects", "select_help", "matrices")
_KEYS: Final = frozenset({"title", *_TEXTS, *_PARTS})
_ATTRIBUTE_KEYS: Final = frozenset({"question", "categories", "missing", "unit", "help", "ends"})


@dataclass(frozen=True)
class Question:
    """The words of one attribute in one language; None where there are none, or as said."""

    name: str
    question: str | None = None
    """None where the survey asks by the attribute's name."""
    categories: tuple[str, ...] | None = None
    """In the attribute's order; None where they are not translated, such as numbers."""
    missing: str | None = None
    """Label of the missing category."""
    unit: str | None = None
    """Of a number; None where it is not translated, such as kg."""
    help: str | None = None
    """What is read below the question."""
    ends: tuple[str, str] | None = None
    """What is read at the ends of a scale."""

    def to_dict(self) -> JsonMembers:
        """Return the words as JSON, without the name and without what is absent."""
        return members_of(self, *(one.name for one in fields(self) if one.name != "name"))


@dataclass(frozen=True)
class Translation:
    """All words of a survey in one more language; a text is None where the survey has none."""

    language: str
    """Language tag such as ``de`` or ``pt-BR``."""
    title: str
    """Up to 200 characters."""
    description: str | None = None
    purpose: str | None = None
    sections: tuple[tuple[str, str], ...] = ()
    """Each section's name in the survey, and in this language."""
    questions: tuple[Question, ...] = ()
    """The attributes whose words are translated, in the order of their names."""
    selects: tuple[tuple[str, str], ...] = ()
    """Name and question of each select-all of a published survey, in the order of their names."""
    select_help: tuple[tuple[str, str], ...] = ()
    """Name and help text of each that has one, in the order of their names."""
    thanks: str | None = None
    logo: str | None = None
    """What is read in place of the logo."""
    matrices: tuple[tuple[str, str], ...] = ()
    """Name and question of each matrix, in the order of their names."""

    def to_dict(self) -> dict[str, object]:
        """Return the translation as JSON, without its language and without what is absent."""
        document: dict[str, object] = {**members_of(self, "title", *_TEXTS)}
        parts = {
            "sections": dict(self.sections),
            "attributes": {one.name: one.to_dict() for one in self.questions},
            "selects": dict(self.selects),
            "select_help": dict(self.select_help),
            "matrices": dict(self.matrices),
        }
        return document | {key: words for key, words in parts.items() if words}


@dataclass(frozen=True)
class Wording:
    """What a respondent reads in one language; in place of a missing question stands its name."""

    language: str | None
    """Language tag; None where the survey does not state its language."""
    title: str
    description: str | None
    purpose: str | None
    questions: tuple[str, ...]
    """What each attribute asks."""
    domains: tuple[tuple[str, ...], ...]
    """Answers to each attribute in code order, the missing one behind them; the last of a follow-up
    is that of who is not asked, which is not translated."""
    sections: tuple[str | None, ...]
    """The section that each attribute stands in."""
    selects: tuple[str, ...] = ()
    """What each select-all asks."""
    units: tuple[str | None, ...] = ()
    """The unit of each attribute's number."""
    helps: tuple[str | None, ...] = ()
    """What is read below the question of each attribute."""
    select_helps: tuple[str | None, ...] = ()
    """What is read below that of each select-all."""
    ends: tuple[tuple[str, str] | None, ...] = ()
    """What is read at the ends of each attribute's scale."""
    thanks: str | None = None
    logo: str | None = None
    """What is read in place of the logo."""
    matrices: tuple[str, ...] = ()
    """What each matrix asks of all its items."""


def check_language(value: object, *, field: str) -> str:
    """Return `value` if it is a language tag of BCP 47: a language, a script, a region."""
    if not isinstance(value, str) or _LANGUAGE.fullmatch(value) is None:
        raise refusal_of(field)(
            f"is {show(value)}; a language is written as de, pt-BR or zh-Hans: write its tag"
        )
    return value


def read_translations(value: object) -> tuple[Translation, ...]:
    """Read the translations, by their tags, of a survey; `check_translations` checks them."""
    if value is None:
        return ()
    if not isinstance(value, Mapping) or not 1 <= len(value) <= MOST_TRANSLATIONS:
        raise refusal_of("translations")(
            f"is {show(value)}; it must be a mapping of 1 to {MOST_TRANSLATIONS} languages, such "
            "as de, to their words"
        )
    for language in value:
        check_language(language, field="translations")
    return tuple(_read(language, value[language]) for language in sorted(value))


def _read(language: str, value: object) -> Translation:
    where = f"translations[{language}]"
    document = _mapping(value, where)
    check_keys(document, _KEYS, ("title",), where=where)
    parts = {key: _mapping(document.get(key, {}), f"{where}.{key}") for key in _PARTS}
    attributes = parts["attributes"]
    return Translation(
        language,
        _words(document["title"]),
        questions=tuple(
            _read_question(name, attributes[name], where) for name in sorted(attributes)
        ),
        sections=_pairs(parts["sections"]),
        selects=_pairs(parts["selects"]),
        select_help=_pairs(parts["select_help"]),
        matrices=_pairs(parts["matrices"]),
        **{key: _words(document.get(key)) for key in _TEXTS},
    )


def _pairs(part: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((_words(name), _words(words)) for name, words in part.items()))


def _read_question(name: str, value: object, where: str) -> Question:
    path = f"{where}.attributes[{name}]"[:200]
    document = _mapping(value, path)
    check_keys(document, _ATTRIBUTE_KEYS, (), where=path)
    categories = document.get("categories")
    if categories is not None and not isinstance(categories, list | tuple):
        raise refusal_of(f"{path}.categories")(f"is {show(categories)}; give a list of strings")
    return Question(
        name,
        _words(document.get("question")),
        None if categories is None else tuple(_words(category) for category in categories),
        _words(document.get("missing")),
        _words(document.get("unit")),
        _words(document.get("help")),
        read_ends(document.get("ends"), where=path),
    )


def _mapping(value: object, where: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise refusal_of(where)(f"is {show(value)}; it must be a mapping")
    return value


def _words(value: Any) -> Any:
    """Return a text in normal form; `check_translations` refuses what is no text."""
    return normalized(value)


def check_translations(survey: Terms) -> None:
    """Refuse translations that are incomplete or translate what the survey does not have.

    A respondent reads one language, so a translation has every text that the survey has: the title,
    the description, the purpose, each section, each question and each missing category. Categories
    may be left as they are.
    """
    if survey.translations and survey.language is None:
        raise InvalidParameter(
            "the survey has translations and does not state its own language; add it, such as "
            "language: en",
            field="language",
        )
    for translation in survey.translations:
        where = f"translations[{translation.language}]"
        if translation.language == survey.language:
            raise refusal_of(where)("is the survey's own language; remove this translation")
        check_text(translation.title, field=f"{where}.title", longest=TITLE_LENGTH)
        for key in ("description", "purpose", "thanks"):
            own, words = getattr(survey, key), getattr(translation, key)
            _check_both(own, words, f"{where}.{key}", *TEXT_RULES[key])
        alt = None if survey.logo is None else survey.logo.alt
        _check_both(alt, translation.logo, f"{where}.logo", ALT_LENGTH)
        _check_sections(translation, survey.attributes, where)
        _check_questions(translation, survey.attributes, where)
        for key, groups in (("selects", survey.selects), ("matrices", survey.matrices)):
            asked = {group.name: group.question for group in groups}
            _check_named(asked, getattr(translation, key), f"{where}.{key}", QUESTION_LENGTH)
        helps = {select.name: select.help for select in survey.selects}
        _check_named(
            helps, translation.select_help, f"{where}.select_help", HELP_LENGTH, lines=True
        )
        _check_scales(translation, survey.matrices, where)


def _check_named(
    own: Mapping[str, str | None],
    words: Sequence[tuple[str, str]],
    where: str,
    longest: int,
    *,
    lines: bool = False,
) -> None:
    """Refuse texts of select-alls or matrices that are not translated exactly."""
    translated = dict(words)
    for name in sorted({*own, *translated}):
        path = f"{where}[{name}]"[:200]
        _check_both(own.get(name), translated.get(name), path, longest, lines=lines)


def _check_scales(translation: Translation, matrices: Sequence[Matrix], where: str) -> None:
    """Refuse items of a matrix whose answers are translated differently."""
    questions = {question.name: question for question in translation.questions}
    for matrix in matrices:
        first = questions.get(matrix.attributes[0], Question(matrix.attributes[0]))
        for name in matrix.attributes[1:]:
            other = questions.get(name, Question(name))
            for key in SHARED_WORDS:
                if getattr(first, key) != getattr(other, key):
                    path = f"{where}.attributes[{name}].{key}"
                    raise refusal_of(path)(
                        f"differs from that of {first.name}, and both are items of the matrix "
                        f"{matrix.name}, whose answers have one wording: translate them alike"
                    )


def _check_sections(translation: Translation, attributes: Sequence[Attribute], where: str) -> None:
    own = {attribute.section for attribute in attributes if attribute.section is not None}
    sections = dict(translation.sections)
    for name in sorted(own | set(sections)):
        path = f"{where}.sections[{name}]"[:200]
        if name not in own:
            raise refusal_of(path)("translates a section that the survey does not have; remove it")
        _check_both(name, sections.get(name), path, SECTION_LENGTH)


def _check_questions(translation: Translation, attributes: Sequence[Attribute], where: str) -> None:
    named = {attribute.name: attribute for attribute in attributes}
    questions = {question.name: question for question in translation.questions}
    for name in questions:
        if name not in named:
            raise refusal_of(f"{where}.attributes")(
                f"has {show(name)}, which is no attribute of the survey; rename or remove it"
            )
    for name, attribute in named.items():
        question = questions.get(name, Question(name))
        path = f"{where}.attributes[{name}]"
        if name in questions and not question.to_dict():
            raise refusal_of(path)("translates nothing; remove it")
        for key in ("question", "missing", "help"):
            own, words = getattr(attribute, key), getattr(question, key)
            _check_both(own, words, f"{path}.{key}", *TEXT_RULES[key])
        _check_ends(attribute, question, path)
        _check_unit(attribute, question, path)
        _check_categories(attribute, question, path)


def _check_ends(attribute: Attribute, question: Question, path: str) -> None:
    if attribute.ends is None and question.ends is not None:
        raise refusal_of(f"{path}.ends")("translates what the survey does not have; remove it")
    if attribute.ends is not None and question.ends is None:
        raise refusal_of(f"{path}.ends")(
            f"is missing: a respondent reads one language; translate {show(list(attribute.ends))}"
        )
    if question.ends is not None:
        check_ends_of_scale(question.ends, where=path)


def _check_unit(attribute: Attribute, question: Question, path: str) -> None:
    number = attribute.number
    if question.unit is not None:
        if number is None or number.unit is None:
            raise refusal_of(f"{path}.unit")("translates what the survey does not have; remove it")
        check_text(question.unit, field=f"{path}.unit", longest=UNIT_LENGTH)
    if number is not None and question.categories is not None:
        raise refusal_of(f"{path}.categories")(
            "translates numbers, which stay as they are; remove it"
        )


def _check_categories(attribute: Attribute, question: Question, path: str) -> None:
    if question.categories is None:
        categories = attribute.categories
    elif len(question.categories) != len(attribute.categories):
        raise refusal_of(f"{path}.categories")(
            f"has {len(question.categories)} entries and the attribute has "
            f"{len(attribute.categories)}; translate each, in the same order"
        )
    else:
        categories = question.categories
        for position, category in enumerate(categories):
            if category == "":
                raise refusal_of(f"{path}.categories[{position}]")(
                    "is empty, and other answers are translated; translate "
                    f"{show(attribute.categories[position])} too, or none of them"
                )
            check_text(category, field=f"{path}.categories[{position}]", longest=CATEGORY_LENGTH)
    missing = () if question.missing is None else (question.missing,)
    domain = (*categories, *missing, *attribute.domain[len(attribute.answers) :])
    if len(set(domain)) < len(domain):
        raise InvalidParameter(
            f"{path} calls two answers by one name; different answers have different names",
            field=f"{path}.categories",
        )


def _check_both(
    own: str | None, words: object, path: str, longest: int, lines: bool = False
) -> None:
    """Refuse a text that is translated and not there, or there and not translated."""
    if own is None and words is None:
        return
    if own is None:
        raise refusal_of(path)("translates what the survey does not have; remove it")
    if words is None:
        raise refusal_of(path)(
            f"is missing: a respondent reads one language; translate {show(own)}"
        )
    check_text(words, field=path, longest=longest, lines=lines)


def wording(survey: Terms, translation: Translation | None) -> Wording:
    """Return what a respondent reads: the survey's own words, or those of a translation."""
    attributes, source = survey.attributes, translation or _own_words(survey)
    words = {question.name: question for question in source.questions}
    questions = [words.get(attribute.name, Question(attribute.name)) for attribute in attributes]
    sections, helps = dict(source.sections), dict(source.select_help)
    selects, matrices = dict(source.selects), dict(source.matrices)
    return Wording(
        survey.language if translation is None else translation.language,
        source.title,
        source.description,
        source.purpose,
        tuple(question.question or question.name for question in questions),
        tuple(
            (question.categories or attribute.categories)
            + (() if question.missing is None else (question.missing,))
            + attribute.domain[len(attribute.answers) :]
            for question, attribute in zip(questions, attributes, strict=True)
        ),
        tuple(one.section and sections[one.section] for one in attributes),
        tuple(selects.get(select.name, select.name) for select in survey.selects),
        tuple(
            question.unit or (None if attribute.number is None else attribute.number.unit)
            for question, attribute in zip(questions, attributes, strict=True)
        ),
        tuple(question.help for question in questions),
        tuple(helps.get(select.name) for select in survey.selects),
        tuple(question.ends for question in questions),
        source.thanks,
        source.logo,
        tuple(matrices.get(matrix.name, matrix.name) for matrix in survey.matrices),
    )


def _own_words(survey: Terms) -> Translation:
    """Return the words of a survey in its own language, which it may not state."""
    return Translation(
        survey.language or "",
        survey.title,
        survey.description,
        survey.purpose,
        tuple((one.section, one.section) for one in survey.attributes if one.section),
        tuple(
            Question(one.name, one.question, missing=one.missing, help=one.help, ends=one.ends)
            for one in survey.attributes
        ),
        tuple((one.name, one.question) for one in survey.selects if one.question),
        tuple((one.name, one.help) for one in survey.selects if one.help),
        survey.thanks,
        None if survey.logo is None else survey.logo.alt,
        tuple((one.name, one.question) for one in survey.matrices if one.question),
    )
