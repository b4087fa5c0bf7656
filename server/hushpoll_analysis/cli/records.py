"""``hushpoll records``: statistics of a file of records that export saved, on this machine."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from hushpoll_analysis.frames.tabular import Tabular
from hushpoll_analysis.query_results import estimated_with_means, in_domain, result_about, result_of
from hushpoll_analysis.records.records import Records
from hushpoll_analysis.records.source import OfRecords
from hushpoll_analysis.relations.joint_tables import joint_table
from hushpoll_analysis.report_shape import report_shape
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.cli.job_statistics import JOINT_TABLE
from hushpoll_shared.cli.statistic_commands import ESTIMATES, TIDY_RESULTS, Statistic
from hushpoll_shared.cli.terminal import json_option, reports_errors, waiting
from hushpoll_shared.queries.estimates import Estimates as Query
from hushpoll_shared.querying.query import Query as AnyQuery
from hushpoll_shared.querying.result import Result
from hushpoll_shared.spelling.json_values import JsonObject
from hushpoll_shared.survey.option_texts import named_attributes, question_texts
from hushpoll_shared.tables.table_files import guarantee
from hushpoll_shared.tidying import tidy_results

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
SINCE = click.option(
    "--since", type=_FILE, required=True, help="File of the records to compare with, of before."
)
Compute = Callable[..., Tabular | Result | JsonObject]


def records_command(statistic: Statistic) -> Callable[[Compute], Callable[..., None]]:
    """Return what makes a command of a function that computes a statistic from records.

    The function gets the records and the statistic's options, and returns the result, or more than
    it in the same JSON form.
    """

    def decorate(compute: Compute) -> Callable[..., None]:
        @click.argument("file", type=_FILE)
        @statistic.options
        @json_option
        @reports_errors
        @functools.wraps(compute)
        def command(file: Path, out: Path | None, as_json: bool, **asked: Any) -> None:
            with waiting(f"statistics of {file.name}") as say:
                say("reading")
                records = Records.read(file)
                published = records.published
                say(f"computing, {len(records)} records")
                result = compute(records, **asked)
                answer = {
                    "survey": published.name,
                    "version": published.version,
                    "digest": published.digest,
                    "inputs": {"records": file.name},
                    **(result.to_dict() if isinstance(result, Tabular | Result) else result),
                }
            statistic.show(
                answer,
                out,
                as_json=as_json,
                guarantee=lambda: guarantee(published),
                questions=lambda: question_texts(published),
            )

        return command

    return decorate


@click.command()
@click.option(
    "--check-shape",
    is_flag=True,
    help="Also test whether the reports look like those of devices.",
)
@records_command(ESTIMATES)
def estimate(
    records: Records, attributes: tuple[str, ...], check_shape: bool, **asked: Any
) -> JsonObject:
    """Show how often each answer was given, from the records of FILE, which export saved.

    The same as hushpoll estimate shows of a survey on a server.
    """
    for name in named_attributes(records.published, attributes):
        records.published.attribute(name)
    query = Query.read(asked)
    found = estimated_with_means(query, in_domain(query, OfRecords(records)))
    if attributes:
        found = found.of(attributes, records.published)
    answer = result_about(query, found.result(shape=check_shape)).to_dict()
    return {**answer, "shape": report_shape(records).to_dict()} if check_shape else answer


@click.command()
@records_command(JOINT_TABLE)
def table(records: Records, **asked: Any) -> Tabular:
    """Show the joint table of two or three ATTRIBUTES, from records of FILE."""
    return joint_table(records, **asked)


@click.command()
@click.option(
    "--since",
    type=_FILE,
    help="File of the records of before, for queries that compare with it.",
)
@records_command(TIDY_RESULTS)
def results(records: Records, queries: tuple[str, ...], since: Path | None = None) -> JsonObject:
    """Show the results of the records of FILE as one table, a row an estimate.

    The same as hushpoll results table shows of a survey on a server.
    """
    source = OfRecords(records)
    before = None if since is None else OfRecords(Records.read(since))

    def ask(query: AnyQuery[Any]) -> Result:
        if query.compares and before is None:
            raise InvalidParameter(
                f"--query names {query.name}, which compares with records of before; give --since",
                field="since",
            )
        found: Result = result_of(query, source, before if query.compares else None)
        return found

    return tidy_results(records.published, ask, queries).to_dict()
