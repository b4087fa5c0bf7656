"""The results of any queries as one tidy table: a row an estimate, the same columns for all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.querying.documents import to_json
from hushpoll_shared.querying.query import Query
from hushpoll_shared.querying.registry import all_queries, query_at
from hushpoll_shared.querying.result import Result
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.survey.published import Published
from hushpoll_shared.tables.result_table import ResultTable, in_words
from hushpoll_shared.tidying.rows import TIDY, tidy_rows

MOST_ASKED: Final = 200
"""Queries that are named for one table."""
LONGEST_ADDRESSES: Final = 8000
"""Characters of the addresses of the queries that a request names, with spaces between them."""

_OF_THE_SURVEY: Final = (
    "survey", "version", "digest", "release", "released_at", "next_release", "pending",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TidyResults:
    """Results of several queries about one version.

    Attributes
    ----------
    results : tuple of (str, Result)
        Each with the query's address.
    left_out : mapping of str to str
        Queries that the survey cannot answer, each with the reason.
    """

    results: tuple[tuple[str, Result], ...]
    left_out: Mapping[str, str]

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
    """Return the results of a survey's standard queries, or of those that are named.

    Parameters
    ----------
    ask : callable
        Gives the result of a query. A standard query that a survey cannot answer, it refuses by
        `InvalidParameter`, and the query is left out.
    addresses : iterable of str
        As `Query.address` gives them, such as ``cross-tables?a=gender&b=health``; empty: see
        :func:`standard_queries`.

    Raises
    ------
    InvalidParameter
        For an address that names no query, more than `MOST_ASKED`, and a survey that can answer no
        standard query; and what `ask` raises for a query that is named.
    """
    named = tuple(dict.fromkeys(addresses))
    if len(named) > MOST_ASKED:
        raise InvalidParameter(
            f"query is given {len(named)} times; give at most {MOST_ASKED}", field="query"
        )
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
