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

from hushpoll_shared.cli.out_file import replacing, table_bytes, table_out_option
from hushpoll_shared.cli.query_options import options_of
from hushpoll_shared.cli.result_text import NO_QUESTIONS, Questions, TextOf, text_of_query
from hushpoll_shared.cli.statistic_texts import (
    estimates_and_shape,
    fairness_text,
    tidy_text,
)
from hushpoll_shared.cli.terminal import check_answer, emit_answer, usable, with_options
from hushpoll_shared.queries.estimates import Estimates
from hushpoll_shared.querying.query import Query
from hushpoll_shared.statistic_tables import table_of
from hushpoll_shared.tables.result_table import ResultTable
from hushpoll_shared.tables.table_files import format_of

_Command = TypeVar("_Command", bound=Callable[..., Any])
Option = Callable[[Callable[..., Any]], Callable[..., Any]]


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
        added: _Command = with_options(*self.parameters, table_out_option)(command)
        return added

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
