"""Options of commands that fit or audit a model, here or on a server (extra ``cli``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from hushpoll_shared.cli.out_file import table_out_option
from hushpoll_shared.estimators import CONFIDENCES
from hushpoll_shared.group_metrics import CONFIDENCE, FOLDS, LARGEST_CONFIDENCE, PROTECTED_INPUTS

_Command = TypeVar("_Command", bound=Callable[..., Any])

confidence_option = click.option(
    "--confidence",
    type=click.FloatRange(CONFIDENCES[0], LARGEST_CONFIDENCE),
    default=CONFIDENCE,
    show_default=True,
    help="Confidence of the intervals.",
)
params_option = click.option(
    "--params",
    multiple=True,
    metavar="FILE|NAME=VALUE",
    help="Parameters of the learner, as JSON or one by one; later ones win.",
)
_PROTECTED_INPUT = click.option(
    "--protected-input",
    type=click.Choice(PROTECTED_INPUTS),
    default=PROTECTED_INPUTS[0],
    show_default=True,
    help="What the model gets of the protected attribute, never its record: nothing, or each of "
    "its values in turn.",
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
_GROUPS = click.option(
    "--groups",
    metavar="ATTRIBUTE",
    help="Compare each of its categories with --reference.  [default: the manifest's two groups]",
)
_REFERENCE = click.option(
    "--reference", metavar="CATEGORY", help="A category of --groups.  [default: the privileged]"
)
_TOGETHER = click.option(
    "--together",
    type=click.Choice(["each", "simultaneous", "discoveries"]),
    default="each",
    show_default=True,
    help="How the intervals of --groups hold: each by itself; those of all groups together, with "
    "the largest disparity; or each by itself, with few false discoveries over the groups.",
)


def audit_options(command: _Command) -> _Command:
    """Add those of several groups, ``--protected-input``, ``--confidence`` and ``--expect``."""
    own = _PROTECTED_INPUT(confidence_option(_EXPECT(command)))
    return _GROUPS(_REFERENCE(_TOGETHER(own)))


def cross_fitting_options(command: _Command) -> _Command:
    """Add ``--params``, ``--folds`` and the `audit_options`."""
    return params_option(_FOLDS(audit_options(command)))


_FAMILIES: Final = ("logit", "multinomial", "ordered", "linear")
_ESTIMATORS: Final = ("reduced", "likelihood")


def regression_options(command: _Command) -> _Command:
    """Add the options of every regression."""
    for option in reversed(
        (
            click.option(
                "--formula",
                required=True,
                metavar="FORMULA",
                help='OUTCOME ~ TERMS, such as \'smokes ~ age + C(region, ref="north") + '
                "age:gender'; I(age/10), score(x), log(x) compute numbers.",
            ),
            click.option(
                "--family",
                type=click.Choice(_FAMILIES),
                help="Model of the outcome.  [default: logit for two categories, multinomial for "
                "more, linear for numbers]",
            ),
            click.option(
                "--saturated",
                is_flag=True,
                help="Let each combination of values in clear have its own chances of the "
                "perturbed predictors.",
            ),
            click.option(
                "--robust",
                is_flag=True,
                help="Take standard errors from the sandwich, as with weights or clusters.",
            ),
            click.option(
                "--estimator",
                type=click.Choice(_ESTIMATORS),
                help="likelihood is its maximum; reduced is that less its first-order bias.  "
                "[default: reduced for records of a protocol, likelihood otherwise]",
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
