"""A result as text (extra ``cli``): the answer, then whether it tells, then how to read it.

Only where a part is too noisy to tell, the verdict comes first. Names of attributes, by which
commands ask, stand beside the questions' texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, Protocol

from rich.table import Table

from hushpoll_shared.cli.terminal import new_table, rendered
from hushpoll_shared.qualifying.domains import domain_line
from hushpoll_shared.qualifying.verdict import not_shown
from hushpoll_shared.querying.query import Query
from hushpoll_shared.querying.result import Result
from hushpoll_shared.querying.shown import ShownSection, cut_notes, shown_sections
from hushpoll_shared.spelling.text import quoted
from hushpoll_shared.survey.option_texts import ROUNDED, TO_ANCHORS

Questions = Mapping[str, str]
"""What is asked by each attribute and select-all, by its name."""

NO_QUESTIONS: Final[Questions] = MappingProxyType({})
MOST_AT_TOP: Final = 3
"""Questions whose texts stand above a result; more stand below it."""

_WORD: Final = re.compile(r"[a-z0-9_-]+")
_PAIR: Final = re.compile(r"(?<![\w/])([a-z0-9_-]+)/([a-z0-9_-]+)(?![\w/])")
_DECIMALS: Final = re.compile(r"(?<![\w.])([+-]?)(\d+\.\d{4})(?![\w.])")


class TextOf(Protocol):
    """What makes lines of text of the JSON of a statistic; it raises as `Result.read`."""

    def __call__(self, document: Any, questions: Questions = NO_QUESTIONS, /) -> str:
        """Return the lines."""


def text_of_query(query: type[Query[Any]]) -> TextOf:
    """Return what makes lines of text of the JSON of a query's result."""

    def text(document: Mapping[str, object], questions: Questions = NO_QUESTIONS, /) -> str:
        return text_of_result(query.result_of(document), questions)

    return text


def asked_lines(texts: Iterable[str], questions: Questions) -> list[str]:
    """Return a line for each attribute that some texts name: its name, and what is asked by it."""
    named = dict.fromkeys(word for text in texts for word in _WORD.findall(text))
    return [f"{name}: {questions[name]}" for name in named if questions.get(name, name) != name]


def three_digits(cell: str) -> str:
    """Return a cell whose numbers of four decimals have three digits; files have all of them."""
    return _DECIMALS.sub(lambda found: f"{found[1]}{with_three_digits(float(found[2]))}", cell)


def with_three_digits(value: float | None) -> str:
    """Return a number with three digits, or all of its whole part; below 0.001 four decimals."""
    if value is None:
        return "no bound"
    size = abs(value)
    places = 4 if 0 < size < 0.001 else 3 if size < 1 else 2 if size < 10 else 1
    return f"{value:.{0 if size >= 100 else places}f}"


def text_of_result(result: Result, questions: Questions = NO_QUESTIONS) -> str:
    """Return the sections of a result as tables, and its sentences."""
    verdict = result.verdict
    sentences: tuple[str, ...] = () if verdict is None else (verdict.sentence,)
    told = tuple(_pairs_in_words(one, questions) for one in sentences)
    of_shares = result.categories_of()
    # Another result than shares, such as the mean, needs no advice to look at the mean.
    questions = {
        name: text if name in of_shares else text.replace(ROUNDED, TO_ANCHORS)
        for name, text in questions.items()
    }
    first = verdict is not None and (verdict.noisy or bool(verdict.too_noisy))
    parts: list[Table | str] = [f"{told[0]}\n"] if first else []
    parts.append(result.of_what())
    if result.where is not None:
        parts.append(domain_line(result.where))
    folded, more = 0, (*result.said_of_options(), *(result.small_groups or ()))
    if questions:
        more = (*_about_anchors(result, questions), *(result.small_groups or ()))
    sections = list(shown_sections(result))
    titles = {section.title: _titled(section.title, questions) for section in sections}
    asked = asked_lines(_naming(sections, titles, questions), questions)
    above = [*asked, *titles.values()]
    of_verdict = [
        line
        for line in asked_lines(sentences, questions)
        if not any(title.startswith(line) for title in above)
    ]
    if first:
        asked += of_verdict
    if len(asked) <= MOST_AT_TOP:
        parts += asked
    for section in sections:
        folded += len(section.folded)
        if section.columns and section.lines:
            parts.append(_table(section, titles[section.title]))
        if section.lines or not section.folded:
            parts += map(three_digits, section.below)
    if len(asked) > MOST_AT_TOP:
        parts += asked
    if verdict is not None and verdict.noisy:
        return rendered(*parts, *not_shown(folded), *more)
    judged = () if first else (*told, *of_verdict)
    notes = (*result.notes(), *judged, *cut_notes(sections, folded=False), *more)
    return rendered(*parts, *not_shown(folded), *notes)


def _pairs_in_words(sentence: str, questions: Questions) -> str:
    """Return a sentence with the texts of two questions in place of a pair such as ``a/b``."""

    def words(found: re.Match[str]) -> str:
        if not all(name in questions for name in found.groups()):
            return found[0]
        return " and ".join(quoted(questions[one].removesuffix(ROUNDED)) for one in found.groups())

    return _PAIR.sub(words, sentence)


def _about_anchors(result: Result, questions: Questions) -> Iterator[str]:
    """Yield a sentence where a result takes the anchors of numbers for their answers."""
    names = [one for one in result.categories_of() if questions.get(one, "").endswith(ROUNDED)]
    if names:
        yield (
            "A device sends an anchor in place of a number, so this is about the anchors of "
            f"{', '.join(names)}, not about answers."
        )


def _naming(
    sections: Iterable[ShownSection], titles: Questions, questions: Questions
) -> Iterator[str]:
    """Yield the texts of sections that name attributes whose question does not stand with them."""
    for section in sections:
        if titles[section.title] == section.title:
            yield section.title
        yield from section.names
        gap = len(section.names)
        yield from (word for line in section.lines for word in line[:gap] if word in questions)


def _titled(title: str, questions: Questions) -> str:
    """Return a title that is the name of an attribute, or begins with it, with what is asked."""
    name, mark, rest = title.partition(" (")
    question = questions.get(name, name)
    before, mean, after = rest.partition(": mean ")
    rest = f"{before}{mean}{three_digits(after)}"
    return f"{name if question == name else f'{name}: {question}'}{mark}{rest}"


def _table(section: ShownSection, title: str) -> Table:
    table = new_table(section.names, section.columns, title=title or None)
    for line in section.lines:
        words, cells = line[: len(section.names)], line[len(section.names) :]
        table.add_row(*words, *map(three_digits, cells))
    return table
