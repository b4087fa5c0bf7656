"""The results of any queries as one tidy table: a row an estimate, the same columns for all.

What a row's statistic, question, category and group are is read from the sections of a result: from
what a section tells of them (:class:`~hushpoll_shared.querying.result.Tells`), else from its
labels and rows, by the names that all statistics have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Final

from hushpoll_protocols.errors import InvalidParameter, refusal_of
from hushpoll_shared.qualifying.domains import where_words
from hushpoll_shared.qualifying.verdict import INFORMATIVE, TOO_NOISY
from hushpoll_shared.querying.documents import to_json
from hushpoll_shared.querying.query import NAMING, Query
from hushpoll_shared.querying.registry import all_queries, query_at
from hushpoll_shared.querying.result import OF_RELEASE, Line, Result, Section
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.survey.published import Published
from hushpoll_shared.tables.result_table import ResultTable, columns, in_words

TIDY: Final = columns(
    statistic="text",
    question="text",
    category="text",
    group="text",
    estimate="number",
    standard_error="number",
    lower="number",
    upper="number",
    n="whole",
    verdict="text",
)
"""The columns; an empty cell has no meaning for its statistic, or has no bound."""

_AND: Final = " & "


MOST_ASKED: Final = 200
"""Queries that are named for one table."""
LONGEST_ADDRESSES: Final = 8000
"""Characters of the addresses of the queries that a request names, with spaces between them."""
_OF_THE_SURVEY: Final = (*OF_RELEASE, "pending")


def tidy_rows(result: Result) -> Iterator[JsonMembers]:
    """Yield the rows of a result, each with a value for every column of `TIDY`."""
    for section in result.sections():
        for line in section.lines():
            yield from _rows_of(result, section, line)


def _rows_of(result: Result, section: Section, line: Line) -> Iterator[JsonMembers]:
    row = line.row
    noisy = result.too_noisy(section.part_of(row))
    about = {
        "question": _question(result, section, row),
        "category": _category(section, row),
        "group": _group(result, section, row),
        "verdict": None if result.verdict is None else TOO_NOISY if noisy else INFORMATIVE,
    }
    statistic = _statistic(result, section, line)
    n = _first(getattr(row, "n", None), section.tells.n, getattr(result, "n", None))
    empty = dict.fromkeys(("standard_error", "lower", "upper"))
    if section.tells.numbers:
        for member, name in section.tells.numbers.items():
            number = {"statistic": name, "estimate": getattr(row, member), "n": n}
            yield {**about, **empty, **number}
        return
    if hasattr(row, "lower"):
        yield {**about, "statistic": statistic, "n": n, **_numbers(row)}
        return
    for one in fields(row):
        estimate = getattr(row, one.name)
        if is_dataclass(estimate) and hasattr(estimate, "lower"):
            side = getattr(getattr(result, one.name, None), "n", None)
            told = {"statistic": f"{statistic}, {one.name}", "n": _first(side, n)}
            yield {**about, **told, **_numbers(estimate)}


def _numbers(row: Any) -> JsonMembers:
    value = row.frequency if hasattr(row, "frequency") else row.value
    error = getattr(row, "standard_error", None)
    numbers = {"estimate": value, "standard_error": error, "lower": row.lower, "upper": row.upper}
    return {name: to_json(number) for name, number in numbers.items()}


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _statistic(result: Result, section: Section, line: Line) -> str:
    if section.tells.statistic:
        return section.tells.statistic
    if line.words and "statistic" in section.labels:
        return line.words[0]
    return str(section.fixed.get("statistic") or result.title)


def _question(result: Result, section: Section, row: Any) -> str:
    if section.tells.question:
        return section.tells.question
    named = section.fixed.get("attribute") or getattr(row, "attribute", None)
    if named is None:
        whose = row if hasattr(row, "a") else result
        found = [getattr(whose, name, None) for name in NAMING]
        named = _AND.join(one for one in found if isinstance(one, str))
    return str(named or section.title)


def _category(section: Section, row: Any) -> str | None:
    found = [getattr(row, name, None) for name in section.tells.category]
    return _AND.join(str(one) for one in found if one is not None) or None


def _group(result: Result, section: Section, row: Any) -> str | None:
    group = getattr(row, "group", None) or section.fixed.get("group")
    parts = [] if result.where is None else [where_words(result.where)]
    if group is not None:
        of = f"{section.tells.group}={group}" if section.tells.group else str(group)
        less = section.tells.reference
        parts.append(of if less is None else f"{of} minus {less}")
    return "; ".join(parts) or None


@dataclass(frozen=True, kw_only=True)
class TidyResults:
    """Results of several queries about one version."""

    results: tuple[tuple[str, Result], ...]
    """Each with the query's address."""
    left_out: Mapping[str, str]
    """Queries that the survey cannot answer, each with the reason."""

    def to_dict(self) -> JsonMembers:
        """Return the JSON form, of which :func:`tidy_table` makes the table."""
        about: JsonMembers = {}
        methods: JsonMembers = {}
        for address, result in self.results:
            told = result.about_and_how()
            for name in _OF_THE_SURVEY:
                if about.get(name) is None:
                    about[name] = to_json(told.get(name))
            for name, value in told.items():
                if name not in _OF_THE_SURVEY and value is not None:
                    methods[f"{address}: {name}"] = _word(value)
        rows = [row for _, result in self.results for row in tidy_rows(result)]
        return {
            **about,
            "rows": [{one.name: row[one.name] for one in TIDY} for row in rows],
            "methods": methods,
            "left_out": dict(self.left_out),
        }

    def table(self) -> ResultTable:
        """Return all rows, with lines about the survey and about each query."""
        return tidy_table(self.to_dict())


def _word(value: object) -> str | int | float:
    told = in_words(value)
    return told if isinstance(told, int | float) else str(told)


def tidy_table(answer: Mapping[str, Any]) -> ResultTable:
    """Return the table of the JSON form; raises as `ResultTable.of` if it is none."""
    about = {name: answer.get(name) for name in _OF_THE_SURVEY}
    about |= {f"file: {name}": value for name, value in answer.get("inputs", {}).items()}
    left_out = {f"left out: {name}": reason for name, reason in answer["left_out"].items()}
    return ResultTable.of(
        "results", TIDY, answer["rows"], {**about, **answer["methods"], **left_out}
    )


def standard_queries(published: Published) -> Iterator[tuple[Query[Any], bool]]:
    """Yield the queries that are about a whole survey, and whether one is about a question alone.

    They are all that need no parameter, and those that need one question, of each question. What
    is about pairs, groups or another version is asked by its address.
    """
    for kind in all_queries().values():
        needed = [one for one in kind.parameters() if one.required]
        if kind.compares or len(needed) > 1:
            continue
        if not needed:
            yield kind(), False
        elif needed[0].attribute:
            for attribute in published.attributes:
                yield kind.read({needed[0].name: attribute.name}), True


def tidy_results(
    published: Published,
    ask: Callable[[Query[Any]], Result],
    addresses: Iterable[str] = (),
) -> TidyResults:
    """Return the results of a survey's standard queries, or of those that are named by address.

    A standard query that `ask` refuses by `InvalidParameter` is left out; refuses more than
    `MOST_ASKED` addresses, and a survey that can answer none.
    """
    named = tuple(dict.fromkeys(addresses))
    if len(named) > MOST_ASKED:
        raise refusal_of("query")(f"is given {len(named)} times; give at most {MOST_ASKED}")
    if named:
        asked = [query_at(address, "query") for address in named]
        found = tuple((query.address(), ask(query)) for query in asked)
        return TidyResults(results=found, left_out={})
    results: list[tuple[str, Result]] = []
    reasons: dict[tuple[str, bool], list[tuple[str, str]]] = {}
    for query, alone in standard_queries(published):
        try:
            results.append((query.address(), ask(query)))
        except InvalidParameter as error:
            of = ", ".join(query.names()) if alone else ""
            reasons.setdefault((query.name, alone), []).append((of, str(error)))
    left_out = {
        f"{name} of {', '.join(of for of, _ in several)}" if alone else name: several[0][1]
        for (name, alone), several in reasons.items()
    }
    if not results:
        raise InvalidParameter(
            f"none of the statistics can be computed: {next(iter(left_out.values()), '')}",
            field="query",
        )
    return TidyResults(results=tuple(results), left_out=left_out)
