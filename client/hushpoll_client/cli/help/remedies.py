"""What click's own refusals lack: the remedy, beside the option and the value that they name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from hushpoll_client.cli.help.examples import examples_of
from hushpoll_protocols.errors import MissingExtra

try:
    import click
except ImportError:
    raise MissingExtra("cli", "the command line") from None


def with_remedy(error: click.UsageError) -> click.UsageError:
    """Return a refusal of click's with what to do; one of ours, which says it, as it is.

    A range is said in words, a missing option with its help, a missing argument with an example,
    and a file that is not there with the folder in which it was looked for.
    """
    if isinstance(error, click.MissingParameter):
        return _with_what_is_missing(error)
    if not isinstance(error, click.BadParameter):
        return error
    message = error.message
    kind = error.param.type if error.param is not None else None
    if isinstance(kind, click.IntRange | click.FloatRange):
        refused, told, _ = message.partition(" is not in the range")
        if told:
            message = f"{refused}{told}; {_range(kind)}"
    for ending, remedy in _PATHS.items():
        if message.endswith(ending):
            message = f"{message.removesuffix('.')}; {remedy()}"
    return click.BadParameter(message, error.ctx, error.param, error.param_hint)


def _with_what_is_missing(error: click.MissingParameter) -> click.MissingParameter:
    variable = error.param.envvar if error.param is not None else None
    if isinstance(variable, str):
        message = f"Give it, or set {variable}."
    elif error.message:
        return error
    elif isinstance(error.param, click.Option) and error.param.help:
        message = f"It is needed: {error.param.help}"
    elif examples := examples_of(_command_of(error)):
        message = f"For instance: {examples[0]}"
    else:
        return error
    return click.MissingParameter(
        message, error.ctx, error.param, error.param_hint, error.param_type
    )


def _command_of(error: click.UsageError) -> str:
    """Return the name of the command that refused, such as ``survey publish``."""
    return error.ctx.command_path.partition(" ")[2] if error.ctx is not None else ""


def _range(kind: click.IntRange | click.FloatRange) -> str:
    whole = "a whole number" if isinstance(kind, click.IntRange) else "a number"
    limits = []
    if kind.min is not None:
        limits.append(f"{'above' if kind.min_open else 'at least'} {kind.min:,}")
    if kind.max is not None:
        limits.append(f"{'below' if kind.max_open else 'at most'} {kind.max:,}")
    return f"give {whole}, {' and '.join(limits)}"


_PATHS: Final[dict[str, Callable[[], str]]] = {
    " does not exist.": lambda: f"check its name; this folder is {Path.cwd()}",
    " is a directory.": lambda: "give a file",
    " is a file.": lambda: "give a directory",
    " is not readable.": lambda: "ask its owner that you may read it",
    " is not writable.": lambda: "give a place where you may write",
}
"""By what click says of a path, the remedy."""
