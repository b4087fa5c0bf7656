"""Questions on pages: what they are called, found by, and gathered: select-alls and matrices."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hushpoll_shared.survey.option_texts import (
    asked_text,
    epsilon_of_options,
    text_of,
)
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.matrices import Matrix

_ARTICLES: Final = {"An ": "A ", "an ": "a "}
_ATTRIBUTE: Final = re.compile(r"(\b[Aa]n |\b)([Aa])ttribute(s?)\b")


def labels_of(published: Published) -> dict[str, str]:
    """Return what each attribute is called on a page: an option by its question and its text."""
    return {one.name: asked_text(published, one.name) for one in published.attributes}


def names_of(published: Published) -> dict[str, str]:
    """Return what a page calls everything that has a name: attributes, select-alls and matrices."""
    selects = {one.name: one.question or one.name for one in published.selects}
    matrices = {one.name: one.question or one.name for one in published.matrices}
    return labels_of(published) | selects | matrices


def questions_of(published: Published) -> dict[str, str]:
    """Return the texts of the questions by name, a select-all being one."""
    options = {name: select for select in published.selects for name in select.attributes}
    questions: dict[str, str] = {}
    for attribute in published.attributes:
        select = options.get(attribute.name)
        if select is None:
            questions[attribute.name] = asked_text(published, attribute.name)
        else:
            questions[select.name] = select.question or select.name
    return questions


def found_by(words: str, questions: Mapping[str, str]) -> tuple[str, ...]:
    """Return the questions whose text or name has these words; all of them for no words.

    A question whose whole text or name it is, is the only one.
    """
    wanted = words.casefold()
    for name, text in questions.items():
        if wanted in (text.casefold(), name.casefold()):
            return (name,)
    parts = wanted.split()
    return tuple(
        name
        for name, text in questions.items()
        if all(part in f"{text} {name}".casefold() for part in parts)
    )


def named_by(words: str, questions: Mapping[str, str]) -> str:
    """Return the name of the one question that a field with search has the words of.

    Words that no question or several have stay as they are, and are refused where they are read.
    """
    wanted = words.strip()
    if not wanted or wanted in questions:
        return words
    found = found_by(wanted, questions)
    return found[0] if len(found) == 1 else words


def in_questions(text: str) -> str:
    """Return a sentence about attributes as people read it, who know them as questions."""
    return _ATTRIBUTE.sub(_question, text)


def _question(found: re.Match[str]) -> str:
    article, first, plural = found.groups()
    return f"{_ARTICLES.get(article, article)}{'Q' if first == 'A' else 'q'}uestion{plural}"


def gathered(entries: Sequence[Mapping[str, Any]], published: Published) -> list[dict[str, Any]]:
    """Return the entries of an answer, with those of a select-all's options as one."""
    options = {name: select for select in published.selects for name in select.attributes}
    found: dict[str, dict[str, Any]] = {}
    for entry in entries:
        select = options.get(entry["name"])
        if select is None:
            found[entry["name"]] = dict(entry)
            continue
        text = published.attribute(entry["name"]).question or entry["name"]
        line = {**entry["categories"][1], "category": text, "option": entry["name"]}
        if select.name in found:
            found[select.name]["categories"].append(line)
        else:
            epsilon = epsilon_of_options(published, select)
            more = {"name": select.name, "epsilon": epsilon, "categories": [line], "option": None}
            found[select.name] = {**entry, **more}
    return list(found.values())


Line = Mapping[str, Any]
"""A line of an answer, or a figure of a page with its lines."""


@dataclass(frozen=True)
class MatrixTable:
    """The shares of a matrix's items below each other."""

    name: str
    question: str
    categories: tuple[str, ...]
    """The answers, in order."""
    rows: tuple[ItemRow, ...]


@dataclass(frozen=True)
class ItemRow:
    """One item: its name and text, its shares in the order of the answers, and whether they tell.

    ``shares`` are lines of an answer; ``place`` is that of its figure on the page.
    """

    name: str
    text: str
    shares: tuple[Line, ...]
    noisy: bool
    place: int


def matrix_tables(figures: Sequence[Line], published: Published) -> dict[str, MatrixTable]:
    """Return the table of each matrix of which two items are shown, by its first shown item."""
    places = {figure["attribute"]["name"]: place for place, figure in enumerate(figures)}
    tables = {}
    for matrix in published.matrices:
        shown = [name for name in matrix.attributes if name in places]
        if len(shown) > 1:
            tables[shown[0]] = _matrix_table(matrix, shown, places, figures, published)
    return tables


def _matrix_table(
    matrix: Matrix,
    shown: Sequence[str],
    places: Mapping[str, int],
    figures: Sequence[Line],
    published: Published,
) -> MatrixTable:
    rows = []
    for name in shown:
        figure = figures[places[name]]
        shares = tuple(figure["attribute"]["categories"])
        text = text_of(published, name)
        rows.append(ItemRow(name, text, shares, figure["noisy"], places[name]))
    categories = published.attribute(shown[0]).domain
    return MatrixTable(matrix.name, matrix.question or matrix.name, categories, tuple(rows))
