"""Rows of one table of a form as one entry of the draft: a matrix with its items.

The answers, the condition and the section of a matrix stand there once, so rows become items only
where they share them. What an item cannot have, such as a hint of its own, is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from hushpoll_shared.drafts.matrices import FEWEST_ITEMS, ITEMS, Members
from hushpoll_shared.importing.draft_questions import Made, free_name
from hushpoll_shared.importing.languages import Languages
from hushpoll_shared.importing.questionnaire import Table
from hushpoll_shared.spelling.labels import looks
from hushpoll_shared.spelling.text import HELP_LENGTH, QUESTION_LENGTH
from hushpoll_shared.survey.questions.matrices import SHARED, SHARED_WORDS

_NOT_OF_ITEMS: Final = {
    "help": "Its hint is left out: a table has one for all of its rows.",
    "shuffle": "Its choices stand in the file's order: a table has no other here.",
}
_TOLD_APART: Final = "its answers, its condition or its section differ from those of its neighbours"


@dataclass(frozen=True)
class DraftEntry:
    """One entry of a draft's attributes, its words in other languages, and its questions."""

    attribute: Members
    translations: dict[str, dict[str, Members]]
    questions: tuple[Made, ...]


def entries_of(kept: Sequence[Made], languages: Languages, names: set[str]) -> list[DraftEntry]:
    """Return an entry for each question, and one for all rows of a table that share their answers.

    Parameters
    ----------
    kept : sequence of Made
        In the file's order.
    languages : Languages
        The file's.
    names : set of str
        Those that are taken; those of matrices are added.
    """
    found: list[DraftEntry] = []
    for table, run in groupby(kept, key=lambda one: None if one.apart else one.source.table):
        rows = list(run)
        if table is None:
            found += map(_alone, rows)
            continue
        for shared in _sharing(rows):
            if len(shared) < FEWEST_ITEMS or not _told_apart(shared, languages):
                for one in shared:
                    one.apart = _TOLD_APART if len(rows) > 1 else "it is the only one here"
                    found.append(_alone(one))
            else:
                name = free_name(table.name, names)
                found.append(_matrix(shared, table, languages, name))
    return found


def _sharing(rows: Sequence[Made]) -> list[list[Made]]:
    """Return neighbours that have in common what stands at their matrix."""
    runs: list[list[Made]] = []
    for one in rows:
        # A hint of a row's own parts no table.
        keys = ({*SHARED} - {"help"}) | {"range", "select", "number"}
        own = {key: one.attribute.get(key) for key in keys}
        if runs and own == {key: runs[-1][0].attribute.get(key) for key in keys}:
            runs[-1].append(one)
        else:
            runs.append([one])
    return runs


def _told_apart(rows: Sequence[Made], languages: Languages) -> bool:
    texts = {looks(_row(one, languages)) for one in rows}
    return len(texts) == len(rows) and "select" not in rows[0].attribute


def _row(one: Made, languages: Languages) -> str:
    return languages.fitted(languages.text(one.source.row) or one.source.name, QUESTION_LENGTH)


def _help(rows: Sequence[Made], table: Table, languages: Languages) -> dict[str | None, str]:
    """Return the help text of a table by language, None being the form's own.

    It is the table's, or else what all of its rows say.
    """
    words = table.help or rows[0].source.help
    own = languages.text(words)
    if own is None or not (table.help or all(one.source.help == words for one in rows)):
        return {}
    texts: dict[str | None, str] = {None: languages.fitted(own, HELP_LENGTH)}
    for tag, other in languages.others.items():
        texts[tag] = languages.fitted(words.get(other) or own, HELP_LENGTH, tag)
    return texts


def _alone(one: Made) -> DraftEntry:
    name = str(one.attribute["name"])
    texts = {tag: {name: words} for tag, words in one.translations.items() if words}
    return DraftEntry(one.attribute, texts, (one,))


def _matrix(rows: Sequence[Made], table: Table, languages: Languages, name: str) -> DraftEntry:
    first = rows[0]
    entry: Members = {"name": name}
    asked = languages.text(table.words)
    if asked is not None:
        entry["question"] = languages.fitted(asked, QUESTION_LENGTH)
    entry |= {
        key: value
        for key, value in first.attribute.items()
        if key not in ("name", "question", *_NOT_OF_ITEMS)
    }
    helps = _help(rows, table, languages)
    own_help = helps.get(None)
    if own_help is not None:
        entry["help"] = own_help
    if table.shuffled:
        entry["shuffle"] = {}
    entry[ITEMS] = [
        {"name": one.attribute["name"], "question": _row(one, languages)} for one in rows
    ]
    for one in rows:
        for key, told in _NOT_OF_ITEMS.items():
            if key in one.attribute and (key != "help" or one.attribute[key] != own_help):
                one.say(told)
    translations: dict[str, dict[str, Members]] = {}
    for tag in languages.others:
        common = {
            key: value
            for key, value in first.translations[tag].items()
            if key in SHARED_WORDS and key != "help"
        }
        if tag in helps:
            common["help"] = helps[tag]
        other = languages.others[tag]
        if asked is not None:
            text = table.words.get(other) or asked
            common["question"] = languages.fitted(text, QUESTION_LENGTH, tag)
        translations[tag] = {name: common} if common else {}
        for one in rows:
            text = one.source.row.get(other) or _row(one, languages)
            own = {"question": languages.fitted(text, QUESTION_LENGTH, tag)}
            translations[tag][str(one.attribute["name"])] = own
    return DraftEntry(entry, translations, tuple(rows))
