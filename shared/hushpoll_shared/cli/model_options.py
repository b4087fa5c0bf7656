"""Options of commands that fit or audit a model, here or on a server (extra ``cli``)."""

from __future__ import annotations

from typing import Final

import click

from hushpoll_shared.cli.out_file import table_out_option
from hushpoll_shared.cli.query_options import option_of
from hushpoll_shared.cli.terminal import with_options
from hushpoll_shared.group_metrics import FOLDS
from hushpoll_shared.jobs.analyses import Regress
from hushpoll_shared.jobs.training import Fairness

confidence_option = option_of(Fairness, "confidence", "Confidence of the intervals.")
params_option = click.option(
    "--params",
    multiple=True,
    metavar="FILE|NAME=VALUE",
    help="Parameters of the learner, as JSON or one by one; later ones win.",
)
_PROTECTED_INPUT = option_of(
    Fairness,
    "protected_input",
    "What the model gets of the protected attribute, never its record: nothing, or each of its "
    "values in turn.",
)
_EXPECT = click.option(
    "--expect",
    multiple=True,
    metavar="NAME=SHARE",
    help="A share declared or found earlier, of unprivileged, positive (predicted in that group) "
    "or base (positive labels): what such a survey can find is said for these.  [default: those "
    "that the records give]",
)
_FOLDS = click.option(
    "--folds",
    type=click.IntRange(min=2),
    default=FOLDS,
    show_default=True,
    help="Parts to cross-fit.",
)
_GROUPS = option_of(
    Fairness,
    "groups",
    "Compare each of its categories with --reference.  [default: the manifest's two groups]",
    metavar="ATTRIBUTE",
)
_REFERENCE = option_of(
    Fairness,
    "reference",
    "A category of --groups.  [default: the privileged]",
    metavar="CATEGORY",
)
_TOGETHER = option_of(
    Fairness,
    "together",
    "How the intervals of --groups hold: each by itself; those of all groups together, with the "
    "largest disparity; or each by itself, with few false discoveries over the groups.",
)


audit_options: Final = with_options(
    _GROUPS, _REFERENCE, _TOGETHER, _PROTECTED_INPUT, confidence_option, _EXPECT
)
"""Adds those of several groups, ``--protected-input``, ``--confidence`` and ``--expect``."""

cross_fitting_options: Final = with_options(params_option, _FOLDS, audit_options)
"""Adds ``--params``, ``--folds`` and the `audit_options`."""

regression_options: Final = with_options(
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
        "Let each combination of values in clear have its own chances of the perturbed predictors.",
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
        help="Also predict the chances if all rows had this value; several are stated together.",
    ),
    confidence_option,
    table_out_option,
)
"""Adds the options of every regression."""
