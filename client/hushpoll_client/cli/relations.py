"""``hushpoll relate table``: the joint table of several questions of a survey, by a job."""

from __future__ import annotations

from typing import Any

import click

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli.options import statistic_command, timeout_option
from hushpoll_shared.cli.statistic_commands import JOINT_TABLE
from hushpoll_shared.cli.terminal import waiting


@click.command()
@timeout_option("Seconds to wait for the worker.")
@statistic_command(JOINT_TABLE, waits=True)
def table(client: AnalystClient, name: str, version: int, **asked: Any) -> dict[str, Any]:
    """Show the joint table of two or three ATTRIBUTES of the survey NAME.

    A running hushpoll worker of the server computes it from the records.
    """
    with waiting(f"table of {name}") as say:
        return client.joint_table(
            name,
            version,
            on_look=lambda job: say(f"{job.get('state')}, job {job.get('id')}"),
            **asked,
        )
