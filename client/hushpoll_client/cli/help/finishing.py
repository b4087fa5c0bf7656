"""Completes a command: examples in its help, and numbers by one name and in their one spelling.

click reads a number as Python does, so ``1_5`` is 15 and ``nan`` is in every interval.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from hushpoll_client.cli.help.examples import examples_of
from hushpoll_protocols.errors import MissingExtra
from hushpoll_shared.reading.decimal_texts import parse_number, parse_whole

try:
    import click
except ImportError:
    raise MissingExtra("cli", "the command line") from None

_COLUMNS: Final = 76
"""How many a line of an example has: 80, less click's indent and the sign that it goes on."""
# a word, or an option with the word after it, such as its value
_WORDS: Final = re.compile(r"(?:-\S+ (?!-))?(?:'[^']*'|[^\s'])+")


def finish(name: str, command: click.Command) -> None:
    """Complete the help of a command, or of each command of a group, in place.

    The name is the whole one, such as ``survey publish``. A second time nothing is added.
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


def _plain(kind: Any, rule: Callable[[str], object]) -> Any:
    """Return a kind of number of click's whose texts are spelled by a rule."""

    def convert(self: Any, value: Any, param: Any, ctx: Any) -> Any:
        if isinstance(value, str):
            try:
                rule(value)
            except ValueError as error:
                self.fail(str(error), param, ctx)
        return kind.convert(self, value, param, ctx)

    return type(f"Plain{kind.__name__}", (kind,), {"convert": convert})


_PLAIN: Final[dict[Any, Any]] = {
    kind: _plain(kind, rule)
    for kind, rule in (
        (click.IntRange, parse_whole),
        (click.FloatRange, parse_number),
        (click.types.IntParamType, parse_whole),
        (click.types.FloatParamType, parse_number),
    )
}
"""By a kind of number of click's the same with our spelling."""


def require_plain_numbers(command: click.Command) -> None:
    """Have arguments and options of a command that are numbers read by the one rule for numbers.

    The rule is that of :mod:`hushpoll_shared.reading.decimal_texts`. A second time nothing changes.
    """
    for option in command.params:
        if plain := _PLAIN.get(type(option.type)):
            limits = ("min", "max", "min_open", "max_open", "clamp")
            named = {name: vars(option.type)[name] for name in limits if name in vars(option.type)}
            option.type = plain(**named)
