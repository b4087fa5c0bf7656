"""Completes the help of a command: its examples, and a plain name for each number."""

from __future__ import annotations

import re
from typing import Final

from hushpoll_client.cli.help.examples import examples_of
from hushpoll_client.cli.help.plain_numbers import require_plain_numbers
from hushpoll_protocols.errors import MissingExtra

try:
    import click
except ImportError:
    raise MissingExtra("cli", "the command line") from None

_COLUMNS: Final = 76
"""How many a line of an example has: 80, less click's indent and the sign that it goes on."""
# a word, or an option with the word after it, such as its value
_WORDS: Final = re.compile(r"(?:-\S+ (?!-))?(?:'[^']*'|[^\s'])+")


def finish(name: str, command: click.Command) -> None:
    """Complete the help of a command, or of each command of a group.

    Parameters
    ----------
    name : str
        The whole name of the command, such as ``survey publish``.
    command : click.Command
        Changed in place; a second time nothing is added.
    """
    require_plain_numbers(command)
    _name_numbers(command)
    if isinstance(command, click.Group):
        for second, inner in command.commands.items():
            finish(f"{name} {second}", inner)
    elif command.epilog is None and (examples := examples_of(name)):
        lines = "\n".join(map(_folded, examples))
        command.epilog = f"\b\nFor instance:\n{lines}"


def _name_numbers(command: click.Command) -> None:
    """Call numbers so, where click says INTEGER RANGE and FLOAT RANGE."""
    for option in command.params:
        if isinstance(option.type, click.IntRange):
            option.type.name = "whole number"
        elif isinstance(option.type, click.FloatRange):
            option.type.name = "number"
        else:
            continue
        if option.metavar is None and isinstance(option, click.Option):
            option.metavar = "NUMBER"


def _folded(example: str) -> str:
    """Return a command over as many lines as it takes, which a shell reads as one."""
    first, *words = _WORDS.findall(example)
    lines = [f"  {first}"]
    for word in words:
        if len(lines[-1]) + len(word) < _COLUMNS:
            lines[-1] += f" {word}"
        else:
            lines.append(f"      {word}")
    return " \\\n".join(lines)
