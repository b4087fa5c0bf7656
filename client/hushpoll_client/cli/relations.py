"""``hushpoll relate``: how answers to several questions of a survey depend on each other."""

from __future__ import annotations

from typing import Any

import click

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli.options import statistic_command, timeout_option
from hushpoll_shared.cli.statistic_commands import (
    CHANGE,
    DEPENDENCIES,
    INDEPENDENCE,
    JOINT_TABLE,
    MEANS,
    ORDERED_CHANGE,
    TOGETHER,
)
from hushpoll_shared.cli.terminal import waiting


@click.command()
@statistic_command(INDEPENDENCE)
def independence(client: AnalystClient, name: str, version: int, **asked: Any) -> dict[str, Any]:
    """Test whether the attributes A and B of the survey NAME are independent.

    The test allows for the noise of perturbed answers. It has no interval.
    """
    return client.independence(name, version, **asked)


_SINCE = click.option(
    "--since",
    "since_version",
    type=click.IntRange(min=1),
    required=True,
    help="Version to compare with.",
)
_SINCE_SURVEY = click.option("--since-survey", help="Survey of that version.  [default: NAME]")


@click.command()
@_SINCE
@_SINCE_SURVEY
@statistic_command(CHANGE)
def change(client: AnalystClient, name: str, version: int, **asked: Any) -> dict[str, Any]:
    """Show how the shares of ATTRIBUTE in the survey NAME have changed since another version.

    Categories are compared by name, or by the labels that --map and --since-map give them.
    """
    return client.changes(name, version, **asked)


@click.command("ordered-change")
@_SINCE
@_SINCE_SURVEY
@statistic_command(ORDERED_CHANGE)
def ordered_change(client: AnalystClient, name: str, version: int, **asked: Any) -> dict[str, Any]:
    """Show how mean, share at a threshold and NPS of ATTRIBUTE in NAME have changed.

    They are of those who answered. Both versions must have scores of one unit.
    """
    return client.ordered_changes(name, version, **asked)


@click.command()
@statistic_command(MEANS)
def means(
    client: AnalystClient, name: str, version: int, attributes: tuple[str, ...], **asked: Any
) -> dict[str, Any]:
    """Show means of several ATTRIBUTES of NAME whose intervals all hold together.

    Without ATTRIBUTES they are of all that have a scale.
    """
    return client.simultaneous_means(name, version, attributes=attributes or None, **asked)


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


@click.command()
@statistic_command(TOGETHER)
def together(client: AnalystClient, name: str, version: int, **asked: Any) -> dict[str, Any]:
    """Show estimates of the survey NAME whose intervals all hold together."""
    return client.simultaneous_estimates(name, version, **asked)


@click.command("all")
@statistic_command(DEPENDENCIES)
def dependencies(client: AnalystClient, name: str, version: int, **asked: Any) -> dict[str, Any]:
    """Test which attributes of the survey NAME depend on each other.

    All pairs of attributes with few categories are tested, and the false discoveries among them are
    bounded by the method of Benjamini and Yekutieli. A test has no interval.
    """
    return client.dependencies(name, version, **asked)
