"""Numbers of a command line in their one spelling (extra ``cli``).

click reads a number as Python does, so ``1_5`` is 15 and ``nan`` is in every interval.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from hushpoll_protocols.errors import MissingExtra
from hushpoll_shared.reading.decimal_texts import parse_number, parse_whole

try:
    import click
except ImportError:
    raise MissingExtra("cli", "the command line") from None

_Param: TypeAlias = click.Parameter | None
_Context: TypeAlias = click.Context | None


def require_plain_numbers(command: click.Command) -> None:
    """Have arguments and options of a command that are numbers read by the one rule for numbers.

    The rule is that of :mod:`hushpoll_shared.reading.decimal_texts`. A second time nothing changes.
    """
    for option in command.params:
        kind = option.type
        if isinstance(kind, _Number | _NumberInRange | _Whole | _WholeInRange):
            continue
        if isinstance(kind, click.IntRange):
            option.type = _WholeInRange(**_limits(kind))
        elif isinstance(kind, click.FloatRange):
            option.type = _NumberInRange(**_limits(kind))
        elif isinstance(kind, click.types.IntParamType):
            option.type = _Whole()
        elif isinstance(kind, click.types.FloatParamType):
            option.type = _Number()


def _limits(kind: click.IntRange | click.FloatRange) -> dict[str, Any]:
    return {name: getattr(kind, name) for name in ("min", "max", "min_open", "max_open", "clamp")}


def _plain(
    kind: Any, parse: Callable[[str], object], value: Any, param: _Param, ctx: _Context
) -> Any:
    if isinstance(value, str):
        try:
            parse(value)
        except ValueError as error:
            kind.fail(str(error), param, ctx)
    return value


class _Number(click.types.FloatParamType):
    def convert(self, value: Any, param: _Param, ctx: _Context) -> Any:
        return super().convert(_plain(self, parse_number, value, param, ctx), param, ctx)


class _NumberInRange(click.FloatRange):
    def convert(self, value: Any, param: _Param, ctx: _Context) -> Any:
        return super().convert(_plain(self, parse_number, value, param, ctx), param, ctx)


class _Whole(click.types.IntParamType):
    def convert(self, value: Any, param: _Param, ctx: _Context) -> Any:
        return super().convert(_plain(self, parse_whole, value, param, ctx), param, ctx)


class _WholeInRange(click.IntRange):
    def convert(self, value: Any, param: _Param, ctx: _Context) -> Any:
        return super().convert(_plain(self, parse_whole, value, param, ctx), param, ctx)
