"""``hushpoll weight``: shares of the population by weights, strata and known margins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli.options import statistic_command
from hushpoll_shared.cli.statistic_commands import WEIGHTED_SHARES
from hushpoll_shared.cli.weighting import read_design


@click.command()
@statistic_command(WEIGHTED_SHARES)
def weight(
    client: AnalystClient, name: str, version: int, design: Path | None, **asked: Any
) -> dict[str, Any]:
    """Show the shares of ATTRIBUTE in the population of the survey NAME.

    The design says what is known of the population: shares of other attributes, which may be
    perturbed, sizes of strata, weights of clear categories, the number of people. The unweighted
    shares are shown beside.
    """
    return client.weighted_shares(name, version, design=read_design(design), **asked)
