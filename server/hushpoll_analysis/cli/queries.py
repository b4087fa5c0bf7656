"""The commands that compute a query's result from a file of records, one for each query."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hushpoll_analysis.cli.records import SINCE, records_command
from hushpoll_analysis.query_results import result_of
from hushpoll_analysis.records.records import Records
from hushpoll_analysis.records.source import OfRecords
from hushpoll_shared.cli.category_labels import with_labels
from hushpoll_shared.cli.statistic_commands import statistic_of
from hushpoll_shared.querying.query import Query
from hushpoll_shared.querying.registry import all_queries
from hushpoll_shared.querying.result import Result


def computing(name: str) -> click.Command:
    """Return the command that computes the query of a name from a file, or from two."""
    query: type[Query[Result]] = all_queries()[name]

    def compute(records: Records, since: Path | None = None, **asked: Any) -> Result:
        if since is None:
            return result_of(query.read(asked), OfRecords(records))
        before = Records.read(since)
        given = with_labels(query, asked, lambda: records.published, lambda: before.published)
        given["since_version"] = before.published.version
        given["since_survey"] = before.published.name
        return result_of(query.read(given), OfRecords(records), OfRecords(before))

    compute.__doc__ = query.__doc__
    command = records_command(statistic_of(query, on_file=True))(compute)
    return click.command()(SINCE(command) if query.compares else command)
