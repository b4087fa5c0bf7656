"""``hushpoll weight``: shares of the population by weights, strata and known margins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli.options import looking, statistic_command, timeout_option
from hushpoll_shared.cli.statistic_commands import WEIGHTED_SHARES
from hushpoll_shared.cli.terminal import waiting
from hushpoll_shared.cli.weighting import read_design
from hushpoll_shared.spelling.json_values import JsonMembers


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
            on_look=looking(say),
            **asked,
        )
