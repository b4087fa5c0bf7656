"""What the commands of both sides share (extra ``cli``): exit codes, JSON, tables, progress.

Exit codes: 0 done; 1 refused or failed; 2 usage; 3 an extra is missing; 4 the network or the other
side failed.
"""

from __future__ import annotations

import errno
import functools
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import StringIO
from typing import TYPE_CHECKING, Any, Final, NoReturn, ParamSpec, TypeVar

from hushpoll_protocols import HushpollError, InvalidParameter, MissingExtra, TransportError
from hushpoll_shared.cli.plain_output import takes_all
from hushpoll_shared.spelling.text import made_printable, printable, printable_lines
from hushpoll_shared.tables.top_rows import MOST_ROWS

try:
    import click
except ImportError:
    raise MissingExtra("cli", "the command line") from None

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Task
    from rich.table import Table

DONE: Final = 0
FAILED: Final = 1
MISSING_EXTRA: Final = 3
NETWORK: Final = 4

COLUMNS: Final = 80
"""Most that a line of a result takes. It is what every terminal has, and the same in a pipe."""

_LONGEST_SENTENCE: Final = 1000
_LABEL: Final = 14
"""Columns that a text which is wrapped gets at least; with fewer it is hard to read."""

_WHOLE: Final = 32
"""Widest cell that is never wrapped: numbers take less, and a server can send anything."""

_Args = ParamSpec("_Args")
_Result = TypeVar("_Result")
_Command = TypeVar("_Command", bound=Callable[..., object])


_REMEDIES: Final = {
    errno.ENOENT: "; check the name and the folder",
    errno.EACCES: "; take a place that you may use, or ask its owner",
    errno.EPERM: "; take a place that you may use, or ask its owner",
    errno.EROFS: "; take a place that you may use, or ask its owner",
    errno.EISDIR: "; give a file",
    errno.ENOTDIR: "; give a directory",
    errno.ENOSPC: "; make room on the disk, then try again",
}
"""What to do about a file, by what the system says of it."""


def exit_code(error: HushpollError | OSError) -> int:
    """Return the exit code of an error: 4 if no answer came or a retry is worth it, else 1."""
    if isinstance(error, MissingExtra):
        return MISSING_EXTRA
    if isinstance(error, TransportError):
        return NETWORK if error.retryable or error.status is None else FAILED
    return FAILED


def describe(error: HushpollError | OSError) -> str:
    """Return an error in one line."""
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        remedy = _REMEDIES.get(error.errno or 0, "")
        return printable(f"{where}{error.strerror}{remedy}")
    return " ".join(printable(error).split()) or type(error).__name__


def fail(error: HushpollError | OSError) -> NoReturn:
    """Say on standard error what went wrong, as a line or with ``--json`` a document, and exit."""
    context = click.get_current_context(silent=True)
    as_json = context is not None and context.params.get("as_json", False)
    say_error(describe(error), error, exit_code(error), as_json=as_json)
    sys.exit(exit_code(error))


def say_error(message: str, error: Exception, code: int, *, as_json: bool) -> None:
    """Write an error on standard error: a line, or a JSON document with its class and exit code."""
    if not as_json:
        click.echo(f"Error: {message}", err=True)
        return
    document: dict[str, object] = {"kind": type(error).__name__, "message": message}
    if field := getattr(error, "field", None):
        document["field"] = field
    click.echo(json_text({"error": document | {"exit_code": code}}), err=True)


def reports_errors(command: Callable[_Args, _Result]) -> Callable[_Args, _Result]:
    """Make a command end with one line and an exit code where it raises an error of ours.

    Only `HushpollError` and `OSError` (a file that is not there) are a user's to correct; anything
    else is a fault in the program and keeps its traceback.
    """

    @functools.wraps(command)
    def wrapped(*args: _Args.args, **kwargs: _Args.kwargs) -> _Result:
        try:
            return command(*args, **kwargs)
        except BrokenPipeError:
            # The reader of a pipe has closed it; click ends the command quietly.
            raise
        except (HushpollError, OSError) as error:
            fail(error)

    return wrapped


def json_option(command: _Command) -> _Command:
    """Add ``--json``, passed to the command as `as_json`."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON document instead of text."
    )(command)


def json_text(document: object) -> str:
    """Return a document as JSON with the characters escaped that a terminal should not get."""
    as_ascii = not takes_all(sys.stdout)
    text = json.dumps(document, indent=2, ensure_ascii=as_ascii, allow_nan=False)
    if text.isascii():
        return text
    return "".join(json.dumps(c)[1:-1] if c != "\n" and printable(c) != c else c for c in text)


def with_options(*options: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Return what adds arguments and options to a command, in the order of its help."""
    return lambda command: functools.reduce(lambda made, add: add(made), options[::-1], command)


def agreed(question: str, *, yes: bool = False) -> None:
    """Ask a question on standard error; end the command, with code 1, unless the answer is yes.

    With `yes`, as ``--yes`` gives it, the answer is known.
    """
    if yes:
        return
    try:
        agrees = click.confirm(question, err=True)
    except click.Abort:
        if sys.stdin is not None and sys.stdin.isatty():
            raise
        click.echo(err=True)
        raise InvalidParameter(
            "nobody answers the question; add --yes, which agrees to it", field="yes"
        ) from None
    if not agrees:
        click.echo("Nothing was changed.", err=True)
        click.get_current_context().exit(1)


def emit(document: object, text: str | Callable[[], str], *, as_json: bool) -> None:
    """Print a result as JSON or as text without what would move a cursor; refuses nan, infinity.

    A text that a server wrote can still hold lines of its own: such results go to
    :func:`emit_answer`.
    """
    if as_json:
        click.echo(json_text(document))
    else:
        click.echo(printable_lines(text() if callable(text) else text))


def emit_answer(document: object, text: Callable[[Any], str], *, as_json: bool) -> None:
    """Print a server's answer as JSON, or as text of printable strings; refuses another form."""
    if as_json:
        click.echo(usable(lambda: json_text(document)))
    else:
        click.echo(check_answer(document, text))


def check_answer(document: object, text: Callable[[Any], str]) -> str:
    """Return a server's answer as the text of :func:`emit_answer`; refuses another form."""
    return usable(lambda: printable_lines(text(made_printable(document))))


def usable(words: Callable[[], _Result]) -> _Result:
    """Return what `words` makes of a server's answer; a `TransportError` if it has another form."""
    try:
        return words()
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError):
        raise TransportError(
            "the server's answer does not have the form that this command knows; check that the "
            "address is a hushpoll server's and that both sides have the same version",
            retryable=False,
        ) from None


def new_table(
    labels: Iterable[str], numbers: Iterable[str], *, title: str | None = None, **look: Any
) -> Table:
    """Return an empty table; of its columns, `labels` may be wrapped and `numbers` are not."""
    from rich.table import Table

    table = Table(title=title, title_justify="left", **look)
    for name in labels:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def rendered(*parts: Table | str) -> str:
    """Return tables and texts as lines of at most 80 columns, without colours or markup.

    Nothing is cut off. Texts are wrapped, numbers are not: a table whose numbers do not fit side by
    side becomes several, one below the other, each with the labels of its rows. Numbers begin at
    the first column that is `no_wrap`.
    """
    from rich.console import Console
    from rich.table import Table

    buffer = StringIO()
    console = Console(file=buffer, width=COLUMNS, color_system=None, markup=False, emoji=False)
    for part in parts:
        left = part.row_count - MOST_ROWS if isinstance(part, Table) else 0
        if isinstance(part, Table) and left > 1:  # one line may sum up what a caller has left out
            part = _part(part, list(range(len(part.columns))), rows=MOST_ROWS)
        for number, piece in enumerate(_fitting(part) if isinstance(part, Table) else [part]):
            if number:
                console.print()
            console.print(piece, highlight=False)
        if left > 1:
            console.print(f"{left:,} more rows are left out; --json gives all.", highlight=False)
    return "\n".join(line.rstrip() for line in buffer.getvalue().rstrip("\n").split("\n"))


def _fitting(table: Table) -> list[Table]:
    """Return a table as one or several of at most 80 columns, none of which cuts a cell off."""
    from rich.cells import cell_len

    # between two cells: a line and a space at both of its sides, or two spaces
    edge = 2 if table.box is None else 3
    needed, labels = [], None
    for place, column in enumerate(table.columns):
        # a letter of Chinese, Japanese or Korean takes two columns of a terminal
        widest = max((cell_len(str(cell)) for cell in column.cells), default=0)
        needed.append(max(min(widest, _LABEL), min(cell_len(str(column.header)), _LABEL)))
        if column.no_wrap:
            labels = place if labels is None else labels
            if widest <= _WHOLE:
                # a fixed width is kept; the heading above the numbers may be wrapped
                needed[-1] = column.width = max(widest, needed[-1])
        column.no_wrap, column.overflow = False, "fold"
    names = list(range(len(needed) if labels is None else labels))
    room = COLUMNS - 1 - sum(needed[place] + edge for place in names)
    parts: list[list[int]] = [[]]
    for place in range(len(names), len(needed)):
        if parts[-1] and sum(needed[other] + edge for other in (*parts[-1], place)) > room:
            parts.append([])
        parts[-1].append(place)
    return [table] if len(parts) == 1 else [_part(table, [*names, *part]) for part in parts]


def _part(table: Table, places: list[int], *, rows: int | None = None) -> Table:
    """Return some columns, and the first rows, of a table as a table of their own."""
    from rich.table import Table

    part = Table(
        *(table.columns[place].copy() for place in places),
        title=table.title,
        title_justify=table.title_justify,
        box=table.box,
        pad_edge=table.pad_edge,
        show_header=table.show_header,
    )
    cells = [list(table.columns[place].cells) for place in places]
    for number, row in enumerate(table.rows[:rows]):
        part.add_row(*(column[number] for column in cells), end_section=row.end_section)
    return part


def _standard_error() -> Console | None:
    """Return standard error as a console; None where it is no terminal."""
    from rich.console import Console

    console = Console(stderr=True, markup=False, emoji=False)
    return console if console.is_terminal else None


@contextmanager
def progress(description: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show a bar, rate and time left on standard error; yields what takes the steps just done."""
    console = _standard_error()
    if console is None:
        yield lambda _: None
        return
    # Only long commands on a terminal pay for importing it.
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class RateColumn(ProgressColumn):
        """Steps per second, computed when the bar is drawn and not at every step."""

        def render(self, task: Task) -> Text:
            return Text(f"{task.speed or 0:,.0f}/s")

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        yield functools.partial(bar.advance, bar.add_task(description, total=total))


@contextmanager
def waiting(description: str) -> Iterator[Callable[[str], None]]:
    """Show on a terminal's standard error a work's state and time; yields what takes the state."""
    console = _standard_error()
    if console is None:
        yield lambda _: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TextColumn("{task.fields[state]}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as line:
        task = line.add_task(description, total=None, state="")
        yield lambda state: line.update(task, state=printable(state))


class CommandGroup(click.Group):
    """A group that cuts no summary off: click's own ends each at the width of a line."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each command with its first sentence, over as many lines as it takes."""
        rows = []
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                rows.append((name, command.get_short_help_str(_LONGEST_SENTENCE)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)
