"""The statistics that commands show (extra ``cli``): options, text and table of each.

A command asks a server or reads a file, and both give the same JSON form. So each statistic has the
same options, the same text and the same table there and here. An option is passed under the name
that the client's method and the analysis have for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from hushpoll_shared.cli.out_file import replacing, table_bytes, table_out_option
from hushpoll_shared.cli.result_text import NO_QUESTIONS, Questions, TextOf, text_of_query
from hushpoll_shared.cli.statistic_texts import (
    estimates_and_shape,
    fairness_text,
    joint_table_text,
    tidy_text,
)
from hushpoll_shared.cli.terminal import check_answer, emit_answer, usable
from hushpoll_shared.cli.weighting import weighted_shares_text
from hushpoll_shared.estimators import CONFIDENCES
from hushpoll_shared.queries.estimates import Estimates
from hushpoll_shared.querying.query import Parameter, Query
from hushpoll_shared.statistic_tables import table_of
from hushpoll_shared.tables.result_table import ResultTable
from hushpoll_shared.tables.table_files import format_of

_Command = TypeVar("_Command", bound=Callable[..., Any])
Option = Callable[[Callable[..., Any]], Callable[..., Any]]

_NAMED: Final = re.compile(r"`([^`]+)`")


def options_of(query: type[Query[Any]], *, on_file: bool) -> tuple[Option, ...]:
    """Return what adds the parameters to a command; on a file, those of one version."""
    parameters = query.parameters()
    return tuple(_option(one, parameters) for one in parameters if not (on_file and one.elsewhere))


def _option(one: Parameter, others: Sequence[Parameter]) -> Option:
    spelling = one.spelling
    repeated = spelling is not None and (spelling.pairs != () or spelling.joiner is not None)
    if one.positional:
        several = {"nargs": -1, "callback": _joined(one)} if repeated else {}
        return click.argument(one.name, required=one.required, **several)  # type: ignore[arg-type]
    words = {
        each.name: each.name.upper() if each.positional else f"--{each.flag}" for each in others
    }
    flag, means = f"--{one.flag}", _NAMED.sub(lambda name: words.get(name[1], name[1]), one.means)
    if one.kind is bool:
        return click.option(flag, one.name, is_flag=True, help=means)
    settings: dict[str, Any] = {"type": _kind(one), "help": means, "required": one.required}
    if spelling is not None:
        settings |= {"metavar": spelling.metavar, "multiple": repeated}
        settings["callback"] = _joined(one) if repeated else None
    if not one.required and one.default is not None:
        settings |= {"default": one.write(one.default), "show_default": True}
    return click.option(flag, one.name, **settings)


def _kind(one: Parameter) -> Any:
    if one.choices:
        return click.Choice(one.choices)
    if one.kind in (int, float) and (one.least, one.most, one.above) != (None, None, None):
        bounded: Any = click.IntRange if one.kind is int else click.FloatRange
        least = one.least if one.above is None else one.above
        return bounded(min=least, max=one.most, min_open=one.above is not None)
    return one.kind


def _joined(one: Parameter) -> Callable[[click.Context, click.Parameter, tuple[str, ...]], Any]:
    """Return what makes a value of the texts of a repeated option; None where there are none."""

    def value(_ctx: click.Context, _option: click.Parameter, texts: tuple[str, ...]) -> Any:
        if not texts or one.spelling is None:
            return None
        if one.spelling.pairs:
            return texts
        return one.spelling.read(str(one.spelling.joiner).join(texts), one.name)

    return value


_CONFIDENCE: Final = click.option(
    "--confidence",
    type=click.FloatRange(*CONFIDENCES),
    default=0.95,
    show_default=True,
    help="Confidence of the intervals.",
)


@dataclass(frozen=True, slots=True)
class Statistic:
    """One statistic."""

    table: str
    """As :func:`hushpoll_shared.statistic_tables.table_of` takes it."""
    text: TextOf
    """From the JSON form, and what is asked by each attribute, to lines of text."""
    parameters: tuple[Option, ...] = ()
    """What adds its arguments and options to a command, in the order of its help."""

    def options(self, command: _Command) -> _Command:
        """Add arguments and options of the statistic to a command, and ``--out``."""
        added: Any = table_out_option(command)
        for parameter in reversed(self.parameters):
            added = parameter(added)
        return added  # type: ignore[no-any-return]  # click's decorators return their argument

    def show(
        self,
        answer: Mapping[str, object],
        out: Path | None,
        *,
        as_json: bool,
        guarantee: Callable[[], Mapping[str, str]] | None = None,
        text: Callable[[Mapping[str, Any]], str] | None = None,
        questions: Callable[[], Questions] = lambda: NO_QUESTIONS,
    ) -> None:
        """Print a result, and write its table into `out` where there is one; refuses another form.

        `guarantee` gives more lines for the sheet of methods; `text` makes the lines to print, if
        any, where a part of the statistic's own has been printed.
        """
        if as_json or out is not None or text is not None:
            # An answer of another form must not replace the user's file.
            check_answer(answer, self.text)
        saved: tuple[str, ...] = ()
        if out is not None:
            content = self._file(answer, out, guarantee)
            with replacing(out) as file:
                file.write(content)
            saved = (f"The result is in {out}.",)
        said = "" if as_json else check_answer(answer, text or self._asking(questions()))
        if as_json:
            emit_answer(answer, str, as_json=True)
        elif text is None or saved or said:
            click.echo("\n\n".join(filter(None, (said, *saved))))

    def _asking(self, questions: Questions) -> Callable[[Any], str]:
        return lambda answer: self.text(answer, questions)

    def _file(
        self,
        answer: Mapping[str, object],
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


ESTIMATES: Final = Statistic(
    "estimates",
    estimates_and_shape,
    (
        click.option(
            "--attribute",
            "attributes",
            multiple=True,
            help="Show this question alone; may be repeated.",
        ),
        *options_of(Estimates, on_file=False),
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
TIDY_RESULTS: Final = Statistic(
    "results",
    tidy_text,
    (
        click.option(
            "--query",
            "queries",
            multiple=True,
            metavar="ADDRESS",
            help="Only this query, as its route has it, such as cross-tables?a=gender&b=health; "
            "may be repeated. By default all that are about the whole survey or one question.",
        ),
    ),
)
FAIRNESS: Final = Statistic("fairness", fairness_text)
