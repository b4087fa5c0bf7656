"""The statistics that commands show (extra ``cli``): options, text and table of each.

A command asks a server or reads a file, and both give the same JSON form. So each statistic has the
same options, the same text and the same table there and here. An option is passed under the name
that the client's method and the analysis have for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from hushpoll_shared.cli.estimates_text import cross_table_text, estimates_text
from hushpoll_shared.cli.fairness_text import fairness_text
from hushpoll_shared.cli.ordered_text import (
    answered_text,
    means_text,
    ordered_change_text,
    ordered_text,
)
from hushpoll_shared.cli.out_file import replacing
from hushpoll_shared.cli.relations_text import (
    change_text,
    dependencies_text,
    independence_text,
    joint_table_text,
    together_text,
)
from hushpoll_shared.cli.table_out import table_bytes, table_out_option
from hushpoll_shared.cli.terminal import check_answer, emit_answer, usable
from hushpoll_shared.cli.weighting import weighted_shares_text
from hushpoll_shared.estimators import CONFIDENCES, ESTIMATOR_TERMS, UNBIASED
from hushpoll_shared.querying.options import options_of
from hushpoll_shared.querying.query import Query
from hushpoll_shared.querying.text import text_of_query
from hushpoll_shared.spelling.scores import (
    Score,
    parse_quantiles,
    parse_scores,
    parse_scores_of,
)
from hushpoll_shared.tables.result_table import ResultTable
from hushpoll_shared.tables.statistics import table_of
from hushpoll_shared.tables.table_files import format_of

_Command = TypeVar("_Command", bound=Callable[..., Any])
Option = Callable[[Callable[..., Any]], Callable[..., Any]]

_CONFIDENCE: Final = click.option(
    "--confidence",
    type=click.FloatRange(*CONFIDENCES),
    default=0.95,
    show_default=True,
    help="Confidence of the intervals.",
)
_SIMULTANEOUS: Final = click.option(
    "--simultaneous",
    is_flag=True,
    help="Widen the intervals so that all of them hold together with this confidence.",
)
_PAIR: Final = (click.argument("a"), click.argument("b"))
_RATE: Final = click.option(
    "--rate",
    type=click.FloatRange(0, 0.5, min_open=True),
    default=0.05,
    show_default=True,
    help="Part of the discoveries that is expected to be false, at most.",
)


def _labels(_ctx: click.Context, option: click.Parameter, pairs: tuple[str, ...]) -> dict[str, str]:
    labels = {}
    for text in pairs:
        category, equals, label = text.partition("=")
        if not equals or not label:
            raise click.UsageError(f"{option.opts[0]} is {text!r}; give CATEGORY=LABEL")
        labels[category] = label
    return labels


def _scores(_ctx: click.Context, _option: click.Parameter, text: str | None) -> list[Score] | None:
    return None if text is None else parse_scores(text)


def _scores_of(
    _ctx: click.Context, _option: click.Parameter, parts: tuple[str, ...]
) -> dict[str, list[Score]]:
    return parse_scores_of(";".join(parts)) if parts else {}


def _quantiles(_ctx: click.Context, _option: click.Parameter, text: str) -> tuple[float, ...]:
    return parse_quantiles(text)


def _mapping(name: str, field: str, which: str) -> Option:
    return click.option(
        name,
        field,
        multiple=True,
        metavar="CATEGORY=LABEL",
        callback=_labels,
        help=f"Label of a category of {which}; may be repeated.",
    )


@dataclass(frozen=True, slots=True)
class Statistic:
    """One statistic.

    Attributes
    ----------
    table : str
        As :func:`hushpoll_shared.tables.statistics.table_of` takes it.
    text : callable
        From the JSON form to lines of text.
    parameters : tuple of callable
        What adds its arguments and options to a command, in the order of its help.
    """

    table: str
    text: Callable[[Mapping[str, Any]], str]
    parameters: tuple[Option, ...] = ()

    def options(self, command: _Command) -> _Command:
        """Add arguments and options of the statistic to a command, and ``--out``."""
        added: Any = table_out_option(command)
        for parameter in reversed(self.parameters):
            added = parameter(added)
        return added  # type: ignore[no-any-return]  # click's decorators return their argument

    def show(
        self,
        answer: Mapping[str, Any],
        out: Path | None,
        *,
        as_json: bool,
        guarantee: Callable[[], Mapping[str, str]] | None = None,
        text: Callable[[Mapping[str, Any]], str] | None = None,
    ) -> None:
        """Print a result, and write its table into `out` where there is one.

        Parameters
        ----------
        answer : mapping
            The JSON form, of a server or of this machine.
        out : Path or None
            Ends in ``.csv`` or ``.xlsx``; see :func:`format_of`. ``.json`` is the JSON form.
        as_json : bool
            Whether to print JSON instead of text.
        guarantee : callable, optional
            Gives more lines for the sheet of methods; called only if there is one.
        text : callable, optional
            Makes the lines to print, in place of the statistic's own, where a part of them has been
            printed; nothing is printed if there are none.

        Raises
        ------
        TransportError
            The answer does not have the statistic's form.
        """
        words = self.text if text is None else text
        # An answer of another form must not replace the user's file.
        check_answer(answer, self.text)
        saved: tuple[str, ...] = ()
        if out is not None:
            content = self._file(answer, out, guarantee)
            with replacing(out) as file:
                file.write(content)
            saved = (f"The result is in {out}.",)
        if as_json or text is None or saved or check_answer(answer, words):
            emit_answer(
                answer,
                lambda shown: "\n\n".join(filter(None, (words(shown), *saved))),
                as_json=as_json,
            )

    def _file(
        self,
        answer: Mapping[str, Any],
        out: Path,
        guarantee: Callable[[], Mapping[str, str]] | None,
    ) -> bytes:
        def table() -> ResultTable:
            made = usable(lambda: table_of(self.table, answer))
            if guarantee is not None and format_of(out).has_methods:
                made = made.with_methods(guarantee())
            return made

        return usable(lambda: table_bytes(answer, table, out))


def statistic_of(query: type[Query[Any]], *, on_file: bool) -> Statistic:
    """Return what commands show of a query, of a server or of a file."""
    options = options_of(query, on_file=on_file)
    return Statistic(query.file_name, text_of_query(query), options)


_SCORES: Final = click.option(
    "--scores",
    metavar="SCORE,SCORE...",
    callback=_scores,
    help="What each category stands for, in the order of the manifest: a number, or an "
    "interval as LOW:HIGH.  [default: the categories' labels]",
)
_THRESHOLD: Final = click.option("--threshold", type=float, help="Show the share at or above it.")
_GIVEN: Final = click.option(
    "--given", help="Attribute whose categories are groups: show each of them."
)
_SINCE_ATTRIBUTE: Final = click.option(
    "--since-attribute", help="Attribute before.  [default: ATTRIBUTE]"
)

ESTIMATES: Final = Statistic(
    "estimates",
    estimates_text,
    (
        click.option(
            "--attribute", "attributes", multiple=True, help="Only this one; may be repeated."
        ),
        click.option(
            "--estimator",
            type=click.Choice(list(ESTIMATOR_TERMS)),
            default=UNBIASED,
            show_default=True,
            help="unbiased has an interval; shrunk is usually nearest to the whole distribution.",
        ),
        _CONFIDENCE,
    ),
)
CROSS_TABLE: Final = Statistic("cross-table", cross_table_text, (*_PAIR, _CONFIDENCE))
INDEPENDENCE: Final = Statistic(
    "independence",
    independence_text,
    (
        *_PAIR,
        click.option(
            "--alpha",
            type=click.FloatRange(1e-9, 0.5),
            default=0.05,
            show_default=True,
            help="Level of the test.",
        ),
    ),
)
CHANGE: Final = Statistic(
    "changes",
    change_text,
    (
        click.argument("attribute"),
        _SINCE_ATTRIBUTE,
        _mapping("--map", "mapping", "the later version"),
        _mapping("--since-map", "since_mapping", "the version to compare with"),
        _CONFIDENCE,
        _SIMULTANEOUS,
    ),
)
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
TOGETHER: Final = Statistic(
    "simultaneous-estimates",
    together_text,
    (
        click.option("--attribute", help="Only this one, with narrower intervals."),
        click.option(
            "--method",
            type=click.Choice(["max-t", "bonferroni", "anytime"]),
            default="max-t",
            show_default=True,
            help="anytime: they hold at all looks together, however often you look.",
        ),
        _CONFIDENCE,
    ),
)
DEPENDENCIES: Final = Statistic("dependencies", dependencies_text, (_RATE,))
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
ORDERED: Final = Statistic(
    "ordered-answers",
    ordered_text,
    (
        click.argument("attribute"),
        _SCORES,
        click.option(
            "--quantiles",
            default="0.25,0.5,0.75",
            show_default=True,
            metavar="Q,Q...",
            callback=_quantiles,
            help="Numbers between 0 and 1.",
        ),
        _THRESHOLD,
        _GIVEN,
        click.option("--reference", help="Category of --given: compare every other group with it."),
        click.option(
            "--interpolation",
            type=click.Choice(["none", "linear"]),
            default="none",
            show_default=True,
            help="linear: take answers of an interval for evenly spread over it, for quantiles.",
        ),
        _CONFIDENCE,
        _SIMULTANEOUS,
    ),
)
ORDERED_CHANGE: Final = Statistic(
    "ordered-changes",
    ordered_change_text,
    (
        click.argument("attribute"),
        _SINCE_ATTRIBUTE,
        _SCORES,
        click.option(
            "--since-scores",
            metavar="SCORE,SCORE...",
            callback=_scores,
            help="The same of the version to compare with.  [default: --scores]",
        ),
        _THRESHOLD,
        _CONFIDENCE,
        _SIMULTANEOUS,
    ),
)
MEANS: Final = Statistic(
    "simultaneous-means",
    means_text,
    (
        click.argument("attributes", nargs=-1),
        _GIVEN,
        click.option(
            "--scores",
            multiple=True,
            metavar="NAME=SCORE,SCORE...",
            callback=_scores_of,
            help="What the categories of an attribute stand for; may be repeated.  "
            "[default: the categories' labels]",
        ),
        _CONFIDENCE,
    ),
)
ANSWERED: Final = Statistic(
    "answered-shares",
    answered_text,
    (
        click.option("--attribute", help="Only this one.  [default: all that can be skipped]"),
        _CONFIDENCE,
    ),
)
FAIRNESS: Final = Statistic("fairness", fairness_text)
