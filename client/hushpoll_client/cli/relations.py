"""``hushpoll relate table``: the joint table of several questions of a survey, by a job."""

from __future__ import annotations

from typing import Any

import click

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.analyst.jobs import how_far
from hushpoll_client.cli.options import looking, statistic_command, timeout_option
from hushpoll_shared.cli.statistic_commands import JOINT_TABLE, statistic_of
from hushpoll_shared.cli.terminal import waiting
from hushpoll_shared.queries.dependencies import Dependencies
from hushpoll_shared.spelling.json_values import JsonMembers


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
            on_look=looking(say),
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
