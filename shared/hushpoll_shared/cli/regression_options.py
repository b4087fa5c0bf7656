"""The options of every regression (extra ``cli``), from a file or on a server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from hushpoll_shared.cli.fairness_options import confidence_option
from hushpoll_shared.cli.table_out import table_out_option
from hushpoll_shared.jobs.analyses import Regress
from hushpoll_shared.querying.options import option_of

_Command = TypeVar("_Command", bound=Callable[..., Any])


def regression_options(command: _Command) -> _Command:
    """Add the options of every regression."""
    for option in reversed(
        (
            option_of(
                Regress,
                "formula",
                'OUTCOME ~ TERMS, such as \'smokes ~ age + C(region, ref="north") + '
                "age:gender'; I(age/10), score(x), log(x) compute numbers.",
                metavar="FORMULA",
            ),
            option_of(
                Regress,
                "family",
                "Model of the outcome.  [default: logit for two categories, multinomial for more, "
                "linear for numbers]",
            ),
            option_of(
                Regress,
                "saturated",
                "Let each combination of values in clear have its own chances of the perturbed "
                "predictors.",
            ),
            option_of(
                Regress,
                "robust",
                "Take standard errors from the sandwich, as with weights or clusters.",
            ),
            option_of(
                Regress,
                "estimator",
                "likelihood is its maximum; reduced is that less its first-order bias.  [default: "
                "reduced for records of a protocol, likelihood otherwise]",
            ),
            click.option(
                "--at",
                "stated",
                multiple=True,
                metavar="NAME=VALUE",
                help="Also predict the chances if all rows had this value; several are stated "
                "together.",
            ),
            confidence_option,
            table_out_option,
        )
    ):
        command = option(command)
    return command
