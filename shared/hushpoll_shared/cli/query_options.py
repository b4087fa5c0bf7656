"""The parameters of queries and jobs as arguments and options of commands (extra ``cli``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import click

from hushpoll_shared.querying.query import Parameter, Query, Request, parameters_of

Option = Callable[[Callable[..., Any]], Callable[..., Any]]
_NAMED: Final = re.compile(r"`([^`]+)`")


def options_of(query: type[Query[Any]], *, on_file: bool) -> tuple[Option, ...]:
    """Return what adds the parameters to a command, in the order of its help.

    On a file there is no other version to name; its command takes a second file.
    """
    parameters = query.parameters()
    return tuple(_option(one, parameters) for one in parameters if not (on_file and one.elsewhere))


def option_of(request: type[Request], name: str, means: str, **settings: Any) -> Option:
    """Return what adds one parameter of a job to a command, whose help says what it means here."""
    (one,) = (one for one in parameters_of(request) if one.name == name)
    return _option(replace(one, means=means), (), **settings)


def _option(one: Parameter, others: Sequence[Parameter], **more: Any) -> Option:
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
    settings |= more
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
