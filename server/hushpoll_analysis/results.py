"""Which function answers which query: from counts or records, on a server and on a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from hushpoll_analysis.frames.tabular import Found
from hushpoll_analysis.records.source import Source
from hushpoll_analysis.relations.conditional import shares_in_groups
from hushpoll_shared.queries.conditional_shares import ConditionalShares
from hushpoll_shared.querying.query import Query
from hushpoll_shared.querying.result import Result

R = TypeVar("R", bound=Result)

RESULTS: Final[Mapping[type[Query[Any]], Callable[..., Found | Result]]] = {
    ConditionalShares: shares_in_groups,
}
"""By the query: a function of it and of its source; of two versions, of the earlier source too."""


def result_of(query: Query[R], source: Source, before: Source | None = None) -> R:
    """Return the result of a query.

    Parameters
    ----------
    query : Query
        One of `RESULTS`.
    source : Source
        Of the version that it is about.
    before : Source, optional
        Of the version that it is compared with.

    Raises
    ------
    InvalidParameter
        For what the query's function refuses.
    """
    found = RESULTS[type(query)](query, *((source,) if before is None else (source, before)))
    result: Any = found.result() if isinstance(found, Found) else found
    return result  # type: ignore[no-any-return]  # Query[R] has results of R
