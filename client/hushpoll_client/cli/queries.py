"""The commands that ask a server a query: one for each, and those that a worker may compute."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.analyst.jobs import how_far
from hushpoll_client.cli.options import job_watch, statistic_command, timeout_option
from hushpoll_shared.cli.category_labels import with_labels
from hushpoll_shared.cli.job_statistics import JOINT_TABLE, WEIGHTED_SHARES
from hushpoll_shared.cli.statistic_commands import statistic_of
from hushpoll_shared.cli.terminal import waiting
from hushpoll_shared.cli.weighting import read_design
from hushpoll_shared.queries.dependencies import Dependencies
from hushpoll_shared.querying.registry import query_named
from hushpoll_shared.spelling.json_values import JsonMembers


def command_of(name: str) -> click.Command:
    """Return the command that asks a server the query of a name."""
    query = query_named(name)

    def ask(client: AnalystClient, name: str, version: int, **asked: Any) -> JsonMembers:
        before = asked.get("since_survey") or name, asked.get("since_version", version)
        given = with_labels(
            query, asked, lambda: client.show(name, version), lambda: client.show(*before)
        )
        return client.ask_json(name, version, query.read(given))

    ask.__doc__ = query.__doc__
    return click.command()(statistic_command(statistic_of(query, on_file=False))(ask))


@click.command()
@timeout_option("Seconds to wait for the worker.")
@statistic_command(JOINT_TABLE, waits=True)
def table(client: AnalystClient, name: str, version: int, **asked: Any) -> JsonMembers:
    """Show the joint table of two or three ATTRIBUTES of the survey NAME.

    A running hushpoll worker of the server computes it from the records.
    """
    with waiting(f"table of {name}") as say:
        return client.joint_table(
            name,
            version,
            on_look=job_watch(say),
            **asked,
        )


@click.command("all")
@click.option(
    "--job",
    "by_job",
    is_flag=True,
    help="Let a worker test them: for surveys with many pairs of rare answers.",
)
@timeout_option("Seconds to wait for that worker.")
@statistic_command(statistic_of(Dependencies, on_file=False), waits=True)
def dependencies(
    client: AnalystClient, name: str, version: int, by_job: bool, timeout: float, **asked: Any
) -> JsonMembers:
    """Test which attributes of the survey NAME depend on each other.

    All pairs of attributes with few categories are tested, and the false discoveries among them are
    bounded by the method of Benjamini and Yekutieli. A test has no interval.
    """
    with waiting(f"dependencies of {name}") as say:
        if not by_job:
            return client.dependencies(name, version, **asked)
        return client.dependencies_by_job(
            name, version, timeout=timeout, on_look=lambda job: say(how_far(job)), **asked
        )


@click.command()
@click.option(
    "--job",
    "by_job",
    is_flag=True,
    help="Let a worker compute it, as for several ATTRIBUTES: for large surveys, and designs with "
    "several attributes.",
)
@timeout_option("Seconds to wait for that worker.")
@statistic_command(WEIGHTED_SHARES, waits=True)
def weight(
    client: AnalystClient,
    name: str,
    version: int,
    attributes: tuple[str, ...],
    design: Path | None,
    cell_weights: Path | None,
    by_job: bool,
    timeout: float,
    **asked: Any,
) -> JsonMembers:
    """Show the shares of ATTRIBUTES in the population of the survey NAME.

    The design says what is known of the population: shares of other attributes, which may be
    perturbed, sizes of strata, weights of clear categories, the number of people. The unweighted
    shares are shown beside. A running hushpoll worker of the server computes several attributes.
    """
    known = read_design(design, cell_weights)
    if len(attributes) == 1 and not by_job:
        with waiting(f"weighted shares of {name}"):
            return client.weighted_shares(name, version, attributes[0], design=known, **asked)
    with waiting(f"weighted shares of {name}") as say:
        return client.weighted_shares_of_several(
            name,
            version,
            attributes,
            known,
            timeout=timeout,
            on_look=job_watch(say),
            **asked,
        )
