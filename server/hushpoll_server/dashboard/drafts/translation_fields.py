"""The translations of a manifest as tables of a form, a cell beside each text of the survey.

A cell belongs to a question by its place in the form, so a question that is renamed keeps its
translation. It belongs to an answer or a section by the words that stood beside it when the form
was made, so what is added, moved or removed at the same time does not shift the translations of
the others.

The tables of several long translations are too much for one page. One of them is open there then;
what the others say travels with the form as JSON.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from hushpoll_server.dashboard.drafts.controls import LAST
from hushpoll_server.dashboard.drafts.fields import (
    MOST_LINES,
    Fields,
    Read,
    json_of,
    json_text,
    kept_members,
    reader,
    shown_lines,
    take_texts,
)
from hushpoll_server.dashboard.drafts.question_fields import ENDS, ITEMS, items_of
from hushpoll_shared.drafts.attribute_fields import TRANSLATED_ATTRIBUTE, TRANSLATION
from hushpoll_shared.spelling.labels import trimmed

MOST_ROWS: Final = 30
"""Answers of a question that have a cell each; more are written as lines."""

MOST_CELLS: Final = 6_000
"""Cells of all languages; further languages are written as YAML."""

OPEN_CELLS: Final = 400
"""Cells of all languages up to which their tables are all open on a page."""

TEXTS: Final = {entry.name: entry for entry in TRANSLATION if entry.label}
"""The texts of the survey that have a cell each."""

WORDS: Final = sorted(
    TRANSLATED_ATTRIBUTE, key=lambda entry: entry.place.row if entry.place else LAST
)
"""The words of a question, in the order of their cells."""


_ANSWER: Final = re.compile("q[0-9]+-a[0-9]+")


def _answer(question: int, place: int) -> str:
    """Return the name of an answer's cell: short, since a page has hundreds of them."""
    return f"q{question}-a{place}"


def _item(question: int, place: int) -> str:
    """Return the name of the cell of a matrix's item."""
    return f"q{question}-i{place}"


def names_of_items(items: object) -> list[str]:
    """Return the names of a matrix's items; none where it is no matrix."""
    listed = items if isinstance(items, list) else []
    return [str(item.get("name", "")) for item in listed if isinstance(item, dict)]


@dataclass(frozen=True)
class Cell:
    """One text of the survey with the field of its translation."""

    name: str
    label: str
    original: str
    path: str
    """Where the translation is within those of its language."""
    needed: bool = True
    """Whether respondents cannot do without."""
    long: bool = False
    lines: bool = False
    """Whether it is one text per line."""
    group: int | None = None
    """The position of the question that it belongs to; None for the survey."""

    def is_at(self, path: str) -> bool:
        """Whether a path is that of the cell, or begins it where it was cut."""
        if path in ("", ".sections", ".attributes"):
            return False
        return self.path.startswith(path) or (self.lines and path.startswith(self.path))


@dataclass
class Language(Fields):
    """The table of one language; a page has fields for it if it is ``open``."""

    code: str = ""
    cells: list[Cell] = field(default_factory=list)
    open: bool = True

    @property
    def closed_text(self) -> str:
        """The words of its cells as JSON, which a page has in place of fields."""
        return json_text(self.texts)

    @property
    def needed(self) -> int:
        """How many texts a translation of the survey has."""
        return sum(cell.needed and cell.original != "" for cell in self.cells)

    @property
    def lacking(self) -> int:
        """How many of them are not translated."""
        return sum(
            cell.needed and cell.original != "" and not self.texts.get(cell.name)
            for cell in self.cells
        )

    @property
    def as_they_are(self) -> int:
        """How many questions have answers that stay as in the original."""
        answers = [cell for cell in self.cells if cell.lines or _ANSWER.fullmatch(cell.name)]
        translated = {cell.group for cell in answers if self.texts.get(cell.name)}
        return len({cell.group for cell in answers} - translated)

    def ids(self, at: str) -> list[str]:
        """Return the ids of its cells on a page where the language has the id `at`."""
        return [f"{at}-{cell.name}" for cell in self.cells]

    def groups(self) -> Iterator[tuple[int | None, list[Cell]]]:
        """Return the cells of the survey, then those of each question by its position."""
        for group in dict.fromkeys(cell.group for cell in self.cells):
            yield group, [cell for cell in self.cells if cell.group == group]


def open_tables(languages: Sequence[Language], code: str) -> None:
    """Open the tables of the languages on a page, or one where all are too much.

    It is that of the tag, else the first that lacks texts, else the first.
    """
    if not languages or sum(len(language.cells) for language in languages) <= OPEN_CELLS:
        return
    asked = [language for language in languages if language.code == code]
    lacking = [language for language in languages if language.lacking]
    chosen = (asked or lacking or languages)[0]
    for language in languages:
        language.open = language is chosen


def words_of(given: Mapping[str, str], place: int) -> Read:
    """Return what reads the words of a language, from its fields or from a closed table."""
    closed = json_of(given.get(f"t{place}-words", ""))
    if isinstance(closed, dict):
        texts = {name: text for name, text in closed.items() if isinstance(text, str)}
        return reader({**texts, "kept": given.get(f"t{place}-kept", "")}, "")
    return reader(given, f"t{place}-")


def sections_of(questions: Sequence[Mapping[str, object]]) -> list[str]:
    """Return the sections of a survey, each once, in order."""
    sections = [question.get("section") for question in questions]
    return list(dict.fromkeys(section for section in sections if isinstance(section, str)))


def languages_of(
    value: object, survey: Fields, questions: Sequence[Fields]
) -> tuple[list[Language], object]:
    """Return the tables of the languages, and what of the translations is no table."""
    if not isinstance(value, Mapping):
        return [], value
    languages, rest, cells = [], {}, 0
    for code, words in value.items():
        language = _language_of(code, words, survey, questions) if _is_mapping(words) else None
        cells += len(language.cells) if language is not None else 0
        if language is None or cells > MOST_CELLS:
            rest[code] = words
        else:
            languages.append(language)
    return languages, rest or None


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)


def _language_of(
    code: str, words: Mapping[str, object], survey: Fields, questions: Sequence[Fields]
) -> Language:
    language, rest = Language(code=code), copy.deepcopy(dict(words))
    take_texts(rest, language, TEXTS)
    logo = survey.kept.get("logo")
    alt = logo.get("alt") if isinstance(logo, dict) else None
    originals = {**survey.texts, "logo": alt if isinstance(alt, str) else ""}
    for name, entry in TEXTS.items():
        original = originals.get(name, "")
        if original or name in language.texts:
            language.cells.append(
                Cell(name, entry.label, original, f".{name}", long=entry.has_lines)
            )
    _take_sections(rest, language, sections_of([question.texts for question in questions]))
    attributes = rest.get("attributes")
    attributes = attributes if isinstance(attributes, dict) else {}
    for position, question in enumerate(questions):
        name = question.texts.get("name", "")
        words_of = attributes.get(name)
        own = words_of if isinstance(words_of, dict) else {}
        _take_question(own, language, position, question, f".attributes[{name}]")
        if words_of == {}:
            del attributes[name]
        _take_items(attributes, language, position, question)
    for key in ("sections", "attributes"):
        if rest.get(key) == {}:
            del rest[key]
    language.kept = {key: value for key, value in rest.items() if value is not None}
    return language


def _take_sections(rest: dict[str, object], language: Language, sections: list[str]) -> None:
    words = rest.get("sections")
    for place, section in enumerate(sections):
        language.cells.append(Cell(f"section-{place}", "Section", section, f".sections[{section}]"))
        if isinstance(words, dict) and isinstance(words.get(section), str):
            language.texts[f"section-{place}"] = words.pop(section)


def _take_question(
    words: dict[str, object], language: Language, position: int, question: Fields, path: str
) -> None:
    for entry in WORDS:
        take = {"categories": _take_answers, "ends": _take_ends}.get(entry.name)
        if take is not None:
            take(words, language, position, question, f"{path}.{entry.name}")
            continue
        at, original = f"q{position}-{entry.name}", question.texts.get(entry.name, "")
        translated = words.get(entry.name)
        if isinstance(translated, str):
            language.texts[at] = translated
            del words[entry.name]
        elif not original:
            continue
        # a unit such as kg is one in every language
        needed, long = entry.name != "unit", entry.has_lines
        cell = Cell(at, entry.label, original, f"{path}.{entry.name}", needed, long, group=position)
        language.cells.append(cell)


def _take_answers(
    words: dict[str, object], language: Language, position: int, question: Fields, path: str
) -> None:
    own = question.texts.get("categories")
    answers = words.get("categories") or []
    told = shown_lines(answers, MOST_LINES)
    if not own or told is None or not isinstance(answers, list):
        return
    words.pop("categories", None)
    originals = own.split("\n")
    if len(originals) <= MOST_ROWS and len(answers) in (0, len(originals)):
        for place, original in enumerate(originals):
            name, label, at = _answer(position, place), f"Answer {place + 1}", f"{path}[{place}]"
            language.cells.append(Cell(name, label, original, at, needed=False, group=position))
        for place, answer in enumerate(answers):
            language.texts[_answer(position, place)] = str(answer)
    else:
        at = f"q{position}-answers"
        cell = Cell(at, "Answers", own, path, needed=False, lines=True, group=position)
        language.cells.append(cell)
        language.texts[at] = told


def _take_ends(
    words: dict[str, object], language: Language, position: int, question: Fields, path: str
) -> None:
    ends = words.get("ends")
    translated = (
        isinstance(ends, list) and len(ends) == 2 and all(isinstance(end, str) for end in ends)
    )
    for place, (name, label) in enumerate(zip(ENDS, ("First end", "Last end"), strict=True)):
        original = question.texts.get(name, "")
        if translated or (original and ends is None):
            at = f"q{position}-{name}"
            language.cells.append(Cell(at, label, original, f"{path}[{place}]", group=position))
        if translated and isinstance(ends, list):
            language.texts[f"q{position}-{name}"] = ends[place]
    if translated:
        del words["ends"]


def _take_items(
    attributes: dict[str, object], language: Language, position: int, question: Fields
) -> None:
    """Move what the items of a matrix say into cells beside them."""
    for place, item in enumerate(items_of(question.texts.get(ITEMS, ""))):
        at, words = _item(position, place), attributes.get(item["name"])
        label, path = f"Row {place + 1}", f".attributes[{item['name']}].question"
        language.cells.append(Cell(at, label, item["question"], path, group=position))
        if isinstance(words, dict) and isinstance(words.get("question"), str):
            language.texts[at] = words.pop("question")
            if not words:
                del attributes[item["name"]]


def translation_from(
    read: Read,
    questions: Sequence[Mapping[str, object]],
    *,
    sections_were: object,
    answers_were: Sequence[object],
    items_were: Sequence[object] = (),
) -> dict[str, object]:
    """Return the translation that the table of one language gives.

    The cells stand beside the sections, the answers of each question and the items of each matrix
    that were there when the page was made.
    """
    words: dict[str, object] = {name: text for name in TEXTS if (text := read(name))}
    were = _texts(sections_were)
    cells = [read(f"section-{place}") for place in range(len(were))]
    now = sections_of(questions)
    sections = zip(now, _beside(now, were, cells), strict=False)
    if named := {section: text for section, text in sections if text}:
        words["sections"] = named
    attributes: dict[str, object] = {}
    for position, question in enumerate(questions):
        answers = _texts(answers_were[position] if position < len(answers_were) else None)
        of_question = _question_from(read, f"q{position}-", question, answers)
        if of_question:
            # Two questions of one name are a problem that the form tells.
            attributes.setdefault(str(question.get("name", "")), of_question)
        items = _texts(items_were[position] if position < len(items_were) else None)
        for name, text in _items_from(read, position, question, items):
            attributes.setdefault(name, {"question": text})
    if attributes:
        words["attributes"] = attributes
    return _merged(words, kept_members(read("kept")))


def _items_from(
    read: Read, position: int, question: Mapping[str, object], were: list[str]
) -> Iterator[tuple[str, str]]:
    """Yield the names of a matrix's items with what they say in the language."""
    now = names_of_items(question.get(ITEMS))
    cells = [read(_item(position, place)) for place in range(len(were))]
    for name, text in zip(now, _beside(now, were, cells), strict=False):
        if text:
            yield name, text


def _question_from(
    read: Read, at: str, question: Mapping[str, object], were: list[str]
) -> dict[str, object]:
    words: dict[str, object] = {}
    for entry in WORDS:
        word: object
        if entry.name == "categories":
            cells = _answers_from(read, at, question.get("categories"), were)
            word = cells if any(cells) else None
        elif entry.name == "ends":
            ends = [read(f"{at}{name}") for name in ENDS]
            word = ends if any(ends) else None
        else:
            word = read(f"{at}{entry.name}")
        if word:
            words[entry.name] = word
    return words


def _answers_from(read: Read, at: str, now: object, were: list[str]) -> list[str]:
    if listed := read(f"{at}answers"):
        cells = [trimmed(line) for line in listed.split("\n")]
    else:
        cells = [read(f"{at}a{place}") for place in range(min(len(were), MOST_ROWS))]
    return _beside(now, were, cells) if isinstance(now, list) else []


def _beside(now: list[str], were: list[str], cells: list[str]) -> list[str]:
    """Return the cells of a list's texts after the list was changed, in its order.

    A text that stood elsewhere in the list brings its cell with it. One that takes the place of
    another, in a list that is as long as before, takes its cell.
    """
    if now == were or len(cells) != len(were):
        return cells
    cell_of = dict(zip(were, cells, strict=True))
    stay = set(were) & set(now)
    alike = len(now) == len(were)
    return [
        cell_of[text]
        if text in cell_of
        else cells[place]
        if alike and were[place] not in stay
        else ""
        for place, text in enumerate(now)
    ]


def _texts(value: object) -> list[str]:
    return value if isinstance(value, list) and all(isinstance(one, str) for one in value) else []


def _merged(words: dict[str, object], kept: Mapping[str, object]) -> dict[str, object]:
    """Return what a table shows with what it does not."""
    for key, value in kept.items():
        own = words.get(key)
        words[key] = (
            _merged(own, value) if isinstance(own, dict) and isinstance(value, Mapping) else value
        )
    return words
