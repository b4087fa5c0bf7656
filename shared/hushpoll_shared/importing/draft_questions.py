"""Questions of a form on their way into a draft: attributes, words, and what is said of each.

Rows of one table of a form become a matrix with its items. The answers, the condition and the
section of a matrix stand there once, so rows become items only where they share them. What an item
cannot have, such as a hint of its own, is told.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final

from hushpoll_protocols.oracle import K_MAX
from hushpoll_shared.drafts.attributes import FEWEST_ITEMS, ITEMS, Members
from hushpoll_shared.importing.languages import Languages, plain
from hushpoll_shared.importing.questionnaire import Kind, Question, Table
from hushpoll_shared.importing.report import Entry, Outcome
from hushpoll_shared.spelling.labels import looks
from hushpoll_shared.spelling.text import (
    CATEGORY_LENGTH,
    HELP_LENGTH,
    NAME_LENGTH,
    QUESTION_LENGTH,
    is_name,
    show,
)
from hushpoll_shared.survey.questions.matrices import SHARED, SHARED_WORDS

LARGEST: Final = 100
"""Suggested as the largest value of a number for which the file has no limit."""
_MOST_LISTED: Final = 21
NO_ANSWER: Final = {
    "en": "No answer", "de": "Keine Angabe", "fr": "Sans réponse", "es": "Sin respuesta",
}  # fmt: skip


_NOT_OF_ITEMS: Final = {
    "help": "Its hint is left out: a table has one for all of its rows.",
    "shuffle": "Its choices stand in the file's order: a table has no other here.",
}
_TOLD_APART: Final = "its answers, its condition or its section differ from those of its neighbours"


@dataclass
class DraftQuestion:
    """A question on its way into the draft."""

    source: Question
    attribute: dict[str, Any]
    translations: dict[str, dict[str, Any]]
    changed: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    dropped: str | None = None
    section: dict[str, str] | None = None
    apart: str | None = None
    """Why it is no row of its form's table, as the end of a sentence."""

    def say(self, sentence: str) -> None:
        """Add a sentence on what was changed, once."""
        if sentence not in self.changed:
            self.changed.append(sentence)

    @property
    def codes(self) -> tuple[str, ...]:
        """The file's codes of its choices."""
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
        """Return what has become of it."""
        notes = (*self.source.undecided, *self.undecided, *self.source.notes, *self.changed)
        if self.apart is not None and self.source.table is not None:
            table = show(self.source.table.name)
            notes += (f"It is a row of the table {table}, as a question alone: {self.apart}.",)
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


def draft_question(source: Question, languages: Languages, names: set[str]) -> DraftQuestion:
    """Return a question with its attribute, without condition and section; its name is taken."""
    name = free_name(source.name, names)
    attribute: dict[str, Any] = {"name": name, "role": "sensitive"}
    one = DraftQuestion(source, attribute, {tag: {} for tag in languages.others})
    if name != source.name:
        one.changed.append(
            f"It is called {name!r}: names here have a-z, 0-9, '_' and '-', and each stands once."
        )
    words = languages.text(source.words)
    if words is not None:
        attribute["question"] = _line(words, QUESTION_LENGTH, one, "Its text")
        for tag, texts in one.translations.items():
            texts["question"] = languages.fitted(
                languages.other(source.words, tag) or words, QUESTION_LENGTH, tag
            )
    _help(one, languages)
    if source.kind is Kind.WHOLE:
        _number(one)
    else:
        _choices(one, languages)
    if one.dropped is None and not source.required and source.kind is not Kind.MANY:
        _missing(one, languages)
    if one.dropped is None:
        _ends(one, languages)
        _shuffle(one)
    return one


def _help(one: DraftQuestion, languages: Languages) -> None:
    """Add the text below a question, in every language."""
    source = one.source
    words = languages.text(source.help)
    if words is None:
        return
    one.attribute["help"] = _line(words, HELP_LENGTH, one, "Its hint")
    for tag, texts in one.translations.items():
        texts["help"] = languages.fitted(
            languages.other(source.help, tag) or words, HELP_LENGTH, tag
        )


def _ends(one: DraftQuestion, languages: Languages) -> None:
    """Add what is read at the two ends of a scale, in every language."""
    if one.source.ends is None:
        return
    own = [languages.text(words) or "" for words in one.source.ends]
    if "scale" not in one.attribute or looks(own[0]) == looks(own[1]):
        shown = " and ".join(map(show, own))
        one.changed.append(f"What stands at the ends of its scale is left out: {shown}.")
        return
    one.attribute["ends"] = [_line(text, CATEGORY_LENGTH, one, "An end") for text in own]
    for tag, texts in one.translations.items():
        given = zip(one.source.ends, own, strict=True)
        texts["ends"] = [
            languages.fitted(languages.other(words, tag) or text, CATEGORY_LENGTH, tag)
            for words, text in given
        ]


def _shuffle(one: DraftQuestion) -> None:
    """Let each respondent read the choices in an order of their own, where the form does."""
    last = one.source.keeps_last
    if last is None:
        return
    if "scale" in one.attribute or len(one.attribute.get("categories", ())) < last + 2:
        one.changed.append("Its choices stand in the file's order; in the form each sees another.")
    else:
        one.attribute["shuffle"] = {"last": last} if last else {}


def free_name(wanted: str, taken: set[str]) -> str:
    """Return a name of a manifest near the one of the file, and note that it is taken."""
    text = wanted if is_name(wanted) else slug(wanted) or "question"
    name, number = text, 2
    while name in taken:
        name = f"{text[: NAME_LENGTH - 5]}_{number}"
        number += 1
    taken.add(name)
    return name


def slug(text: str) -> str:
    """Return what of a text can stand in a name; it may be empty."""
    text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii").lower()
    return re.sub(r"[^a-z0-9_-]+", "_", text).strip("_")[:NAME_LENGTH]


def _line(text: str, longest: int, one: DraftQuestion, what: str) -> str:
    line = plain(text, longest)
    if line.endswith("…") and len(text) > longest:
        one.undecided.append(f"{what} is cut to {longest} characters: write it shorter.")
    elif line != text.strip():
        one.changed.append(f"{what} stands in one line, without characters that cannot be seen.")
    return line


def _choices(one: DraftQuestion, languages: Languages) -> None:
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
            for text in own:
                languages.fitted(text, CATEGORY_LENGTH, tag)
            texts["categories"] = _apart(own, one, told=False)
    if source.kind is Kind.MANY:
        limits = {"at_least": source.at_least, "at_most": source.at_most}
        one.attribute["select"] = {
            key: min(value, len(categories))
            for key, value in limits.items()
            if value is not None and value >= (key == "at_most")
        }


def _apart(labels: Sequence[str], one: DraftQuestion, *, told: bool) -> list[str]:
    """Return labels that a reader can tell apart; the code stands beside those that look alike."""
    texts = [plain(label, CATEGORY_LENGTH) or one.codes[at] for at, label in enumerate(labels)]
    cut = any(len(label) > CATEGORY_LENGTH for label in labels)
    if cut and told:
        one.undecided.append(
            f"Choices are cut to {CATEGORY_LENGTH} characters: write them shorter."
        )
    seen: dict[str, int] = {}
    for label in texts:
        seen[looks(label)] = seen.get(looks(label), 0) + 1
    alike = [seen[looks(label)] > 1 for label in texts]
    if any(alike) and told:
        one.changed.append("Choices that read the same have their code beside them.")
    return [
        plain(f"{label[: CATEGORY_LENGTH - 40]} ({code})", CATEGORY_LENGTH) if same else label
        for label, code, same in zip(texts, one.codes, alike, strict=True)
    ]


def _number(one: DraftQuestion) -> None:
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


def _missing(one: DraftQuestion, languages: Languages) -> None:
    """Add the category of those who skip a question that the form lets them skip."""
    own = languages.own.partition("-")[0]
    taken = {looks(label) for label in one.attribute.get("categories", ())}
    label = NO_ANSWER.get(own, NO_ANSWER["en"])
    one.attribute["missing"] = label if looks(label) not in taken else f"{label} (—)"
    for tag, texts in one.translations.items():
        label = NO_ANSWER.get(tag.partition("-")[0], NO_ANSWER["en"])
        taken = {
            looks(text) for text in texts.get("categories", one.attribute.get("categories", ()))
        }
        texts["missing"] = label if looks(label) not in taken else f"{label} (—)"


@dataclass(frozen=True)
class DraftEntry:
    """One entry of a draft's attributes, its words in other languages, and its questions."""

    attribute: Members
    translations: dict[str, dict[str, Members]]
    questions: tuple[DraftQuestion, ...]


def entries_of(
    kept: Sequence[DraftQuestion], languages: Languages, names: set[str]
) -> list[DraftEntry]:
    """Return an entry for each question, and one for rows of a table that share their answers.

    Names of matrices are added to those that are taken.
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


def _sharing(rows: Sequence[DraftQuestion]) -> list[list[DraftQuestion]]:
    """Return neighbours that have in common what stands at their matrix."""
    runs: list[list[DraftQuestion]] = []
    for one in rows:
        # A hint of a row's own parts no table.
        keys = ({*SHARED} - {"help"}) | {"range", "select", "number"}
        own = {key: one.attribute.get(key) for key in keys}
        if runs and own == {key: runs[-1][0].attribute.get(key) for key in keys}:
            runs[-1].append(one)
        else:
            runs.append([one])
    return runs


def _told_apart(rows: Sequence[DraftQuestion], languages: Languages) -> bool:
    texts = {looks(_row(one, languages)) for one in rows}
    return len(texts) == len(rows) and "select" not in rows[0].attribute


def _row(one: DraftQuestion, languages: Languages) -> str:
    return languages.fitted(languages.text(one.source.row) or one.source.name, QUESTION_LENGTH)


def _table_help(
    rows: Sequence[DraftQuestion], table: Table, languages: Languages
) -> dict[str | None, str]:
    """Return the help text of a table, or what all of its rows say, by language; None: the own."""
    words = table.help or rows[0].source.help
    own = languages.text(words)
    if own is None or not (table.help or all(one.source.help == words for one in rows)):
        return {}
    texts: dict[str | None, str] = {None: languages.fitted(own, HELP_LENGTH)}
    for tag, other in languages.others.items():
        texts[tag] = languages.fitted(words.get(other) or own, HELP_LENGTH, tag)
    return texts


def _alone(one: DraftQuestion) -> DraftEntry:
    name = str(one.attribute["name"])
    texts = {tag: {name: words} for tag, words in one.translations.items() if words}
    return DraftEntry(one.attribute, texts, (one,))


def _matrix(
    rows: Sequence[DraftQuestion], table: Table, languages: Languages, name: str
) -> DraftEntry:
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
    helps = _table_help(rows, table, languages)
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
