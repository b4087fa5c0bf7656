"""The reference of the command line, made of the commands themselves: options, limits, examples."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module

import click

from directives.markdown import code, table, target
from hushpoll_client.cli.commands import COMMANDS, Group, Row
from hushpoll_client.cli.help.examples import examples_of
from hushpoll_client.cli.help.finishing import finish


def all_commands() -> Iterator[tuple[str, click.Command]]:
    """Yield every command with its whole name, such as ``survey publish``."""
    for name, row in COMMANDS.items():
        if isinstance(row, Group):
            for second, sub in row.commands.items():
                yield f"{name} {second}", _command(f"{name} {second}", sub)
            continue
        yield from _within(name, _command(name, row))


def text(*words: str) -> str:
    """Return the commands whose first words are given, each with a heading of its own."""
    parts = [
        _section(name, command)
        for name, command in all_commands()
        if name.partition(" ")[0] in words
    ]
    if not parts:
        raise click.UsageError(f"No command begins with one of {', '.join(words)}.")
    return "\n".join(parts)


def _within(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        for second, sub in command.commands.items():
            yield from _within(f"{name} {second}", sub)
    else:
        yield name, command


def _command(name: str, row: Row) -> click.Command:
    module, _, attribute = row.target.partition(":")
    found = getattr(import_module(module), attribute)
    command: click.Command = found if row.query is None else found(row.query)
    finish(name, command)
    return command


def _section(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"hushpoll {name}")
    options = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            options.append((f"`{record[0]}`", _prose(record[1])))
    usage = " ".join([f"hushpoll {name}", *command.collect_usage_pieces(context)])
    return "\n".join(
        [
            target(f"command-{name.replace(' ', '-')}") + f"## hushpoll {name}",
            "",
            code(usage),
            _description(command.help or ""),
            "",
            table(("option", "what it does"), options),
            "For instance:",
            "",
            code("\n".join(examples_of(name) or (usage,)), "sh"),
        ]
    )


def _description(help_text: str) -> str:
    """Return the help in paragraphs; what click is told to leave alone becomes a block of code."""
    paragraphs = []
    for paragraph in re.split(r"\n\s*\n", help_text.strip()):
        if paragraph.startswith("\b"):
            paragraphs.append(code(paragraph.lstrip("\b\n")))
        else:
            paragraphs.append(_prose(" ".join(paragraph.split())))
    return "\n\n".join(paragraphs)


def _prose(sentence: str) -> str:
    """Return a sentence of a terminal as Markdown: options and names in capitals are code."""
    sentence = re.sub(r"([*_<\[\]#])", r"\\\1", sentence)
    return re.sub(r"(?<![\w`-])(--[a-z][\w-]*)", r"`\1`", sentence)
