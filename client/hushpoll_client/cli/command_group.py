"""The click group behind ``hushpoll``: it imports a command when called, and sets exit codes."""

from __future__ import annotations

import difflib
import gc
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from importlib import import_module
from typing import Any, Final

from hushpoll_client.cli.commands import COMMANDS, SECTIONS, Group, Row
from hushpoll_client.cli.help.finishing import finish
from hushpoll_client.cli.help.remedies import with_remedy
from hushpoll_protocols.errors import HushpollError, MissingExtra
from hushpoll_shared.cli.terminal import describe, exit_code, say_error, waiting
from hushpoll_shared.spelling.text import printable

# Without click, `terminal` has raised the error that names the missing extra.
import click  # isort: skip

_PROGRAM: Final = "hushpoll"
_OURS: Final = "hushpoll_"
_OTHERS: Final = {"hushpoll-server": ". ./server", "hushpoll-lab": ". ./server ./server/lab"}
"""The other distributions, and the folders of a checkout that bring each."""

_SLOW: Final = frozenset({"train", "lab"})
_INTERRUPTED: Final = 130
_WITHOUT_OPENING: Final = frozenset({"--help", "-h", "--json"})
_EXIT_CODES: Final = """\b
Exit codes:
  0  done
  1  refused or failed: the message says what and why
  2  wrong usage of the command line
  3  something optional is not installed: the message names it
  4  network: the server could not be reached, or is busy
  130  interrupted
"""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called.

    Its name is as it is typed, with the groups above it; `otherwise` is the command that is meant
    where a word is none of them.
    """

    def __init__(
        self,
        rows: Mapping[str, Row | Group] = COMMANDS,
        name: str = _PROGRAM,
        *,
        otherwise: str | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(name, **settings)
        self._rows, self._otherwise = rows, otherwise

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, sorted."""
        del ctx
        return sorted(self._rows)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; refuses a missing package, and one of another release."""
        row = self._rows.get(cmd_name)
        if row is None:
            return None
        name = f"{self.name} {cmd_name}"
        if isinstance(row, Group):
            return LazyGroup(row.commands, name, otherwise=row.otherwise, help=row.summary)
        # Loading what trains takes seconds on a busy machine; the Tab key draws nothing.
        slow = row.extra in _SLOW and not ctx.resilient_parsing and sys.stderr.isatty()
        with waiting(f"loading {name}") if slow else nullcontext():
            return _imported(name, row)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is called, or refuse with the names that are like it."""
        if self._otherwise and args[0] not in self._rows and not args[0].startswith("-"):
            args = [self._otherwise, *args]
        row = self._rows.get(args[0])
        if isinstance(row, Row) and not ctx.resilient_parsing:
            _say_what_it_does(row, args[1:])
        if args[0] not in self._rows and not args[0].startswith("-"):
            like = difflib.get_close_matches(args[0], self._rows)
            meant = f" Did you mean {' or '.join(map(repr, like))}?" if like else ""
            ctx.fail(f"No such command {args[0]!r}.{meant}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the summaries of the table, so that help imports no command."""
        whole = self._rows is COMMANDS
        for title, names in (SECTIONS if whole else {"Commands": self.list_commands(ctx)}).items():
            with formatter.section(title):
                formatter.write_dl([(name, self._rows[name].summary) for name in names])


def _say_what_it_does(row: Row, words: Sequence[str]) -> None:
    # help does nothing else, and with --json standard error has nothing but documents
    if words and words[0] in row.opening and _WITHOUT_OPENING.isdisjoint(words):
        click.echo(row.opening[words[0]], err=True)


def _imported(name: str, row: Row) -> click.Command:
    module, _, attribute = row.target.partition(":")
    if row.extra != "cli":
        _check_release()
    try:
        command = getattr(import_module(module), attribute)
        command = command if row.query is None else command(row.query)
    except ModuleNotFoundError as error:
        # A package of ours may be absent as a whole, with its distribution. A single module that
        # is missing is a fault.
        if error.name is None or (error.name.startswith(_OURS) and "." in error.name):
            raise
        raise MissingExtra(row.extra, name) from error
    if not isinstance(command, click.Command):
        raise TypeError(f"{row.target} is a {type(command).__name__}, not a click command")
    finish(name.removeprefix(f"{_PROGRAM} "), command)
    if not gc.isenabled():  # by `program`; what the command makes may be garbage
        gc.freeze()
        gc.enable()
    return command


def _check_release() -> None:
    # pip only warns if one of the distributions is upgraded alone. A device needs no look at it.
    from importlib.metadata import PackageNotFoundError, version

    own = version("hushpoll")
    for other, folders in _OTHERS.items():
        try:
            found = version(other)
        except PackageNotFoundError:
            continue
        if found != own:
            raise HushpollError(
                f"{other} is of version {found} and hushpoll of version {own}; the two are "
                "released together; install both anew from one checkout, in its folder: "
                f"pip install {folders}"
            )


@click.group(
    cls=LazyGroup,
    name=_PROGRAM,
    epilog=_EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="hushpoll", prog_name="hushpoll")
def hushpoll() -> None:
    """Ask sensitive questions under local differential privacy, and read what people answered.

    Sensitive answers are randomised on the respondent's device; of these a server sees only the
    randomised records. Begin with hushpoll demo, which plays a whole survey.
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        # Without click's standalone mode every error comes here, those of other packages too.
        result = hushpoll.main(words, "hushpoll", standalone_mode=False)
    except click.ClickException as error:
        if isinstance(error, click.UsageError):
            error = with_remedy(error)
        if "--json" in words:
            message = " ".join(printable(error.format_message()).split())
            say_error(message, error, error.exit_code, as_json=True)
        else:
            error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader has closed the pipe. Closing ours keeps the interpreter from a last flush.
        sys.stderr.close()
        return 1
    except (HushpollError, OSError) as error:
        say_error(describe(error), error, exit_code(error), as_json="--json" in words)
        return exit_code(error)
    # click hands back the code of ctx.exit; a command's own result is not a code.
    return result if isinstance(result, int) and not isinstance(result, bool) else 0
