"""The command line's flags for settings: one per row of the table."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.config.configuration import FILE_SUFFIX, KEYS, load
from hushpoll_server.config.setting import Setting
from hushpoll_server.config.settings import SETTINGS, Settings

CONFIG_VARIABLE: Final = "HUSHPOLL_CONFIG"


def configured(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command a flag for every setting; it is called with the `Configuration` first.

    With ``--print-config`` it is not called: the configuration is printed instead.

    Raises
    ------
    InvalidParameter
        When it is called: as ``hushpoll_server.config.configuration.load``.
    """

    @functools.wraps(command)
    def wrapped(*, config: Path | None, print_config: bool, **given: Any) -> Any:
        flags = {name: given.pop(name) for name in KEYS}
        configuration = load(
            flags={name: text for name, text in flags.items() if text is not None},
            environment=os.environ,
            file=config,
        )
        if print_config:
            return click.echo(configuration.shown())
        return command(configuration, **given)

    options = [
        click.option(
            "--config",
            envvar=CONFIG_VARIABLE,
            type=click.Path(dir_okay=False, path_type=Path),
            help=f"TOML file of settings; {CONFIG_VARIABLE} in the environment.",
        ),
        click.option(
            "--print-config",
            is_flag=True,
            help="Print every setting with its origin, passwords masked, and end.",
        ),
    ]
    for name, setting in SETTINGS.items():
        options.append(_option(name, setting))
        if setting.secret:
            options.append(
                click.option(
                    name + FILE_SUFFIX,
                    f"{setting.flag}-file",
                    help=f"File whose only line is {name}, so that it shows in no process list.",
                )
            )
    decorated: Callable[..., Any] = wrapped
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


def _option(name: str, setting: Setting) -> Callable[..., Any]:
    def check(context: click.Context, option: click.Parameter, text: str | None) -> str | None:
        """End with what the setting would take; the configuration parses the text once more."""
        try:
            if text is not None and setting.bound is None:
                Settings(**{name: setting.parse(text)})
        except InvalidParameter as error:
            if error.field == setting.key:  # another setting's default may not go with this value
                raise click.BadParameter(str(error), context, option) from None
        return text

    default = "none" if setting.default is None else setting.default
    return click.option(
        name,
        setting.flag,
        *([setting.alias] if setting.alias else []),
        callback=check,
        metavar="VALUE",
        help=f"{setting.description}  [{setting.interval}; default: {default}]",
    )
