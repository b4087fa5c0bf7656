"""The statistics that need records, as commands show them: joint tables, weighted shares.

A worker of a server makes them as a job, and a command on this machine of a file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from hushpoll_shared.cli.query_options import option_of
from hushpoll_shared.cli.statistic_commands import Statistic
from hushpoll_shared.cli.statistic_texts import joint_table_text
from hushpoll_shared.cli.weighting import weighted_shares_text
from hushpoll_shared.jobs.analyses import Table

_CONFIDENCE: Final = option_of(Table, "confidence", "Confidence of the intervals.")

JOINT_TABLE: Final = Statistic(
    "joint-table",
    joint_table_text,
    (
        click.argument("attributes", nargs=-1, required=True),
        _CONFIDENCE,
        click.option(
            "--likelihood/--no-likelihood",
            default=True,
            show_default=True,
            help="Show shares by maximum likelihood as well: never negative, without an interval.",
        ),
    ),
)
WEIGHTED_SHARES: Final = Statistic(
    "weighted-shares",
    weighted_shares_text,
    (
        click.argument("attributes", nargs=-1, required=True),
        click.option(
            "--design",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="JSON or YAML with margins, strata, weights, population or bounds.",
        ),
        click.option(
            "--cell-weights",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="CSV with the weights of a design: a column for each attribute in clear, named "
            "after it, and last a column of weights; a row for each cell.",
        ),
        _CONFIDENCE,
    ),
)
