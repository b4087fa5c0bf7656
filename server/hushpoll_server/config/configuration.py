"""Reading the server's settings: a flag goes before the environment, the file and the default.

An unknown key is refused wherever it is written, so that a misspelt key cannot quietly leave its
setting at the default. Of the values of one setting only that of the first place is read, so that a
flag can stand in for a variable or a secret's file that cannot be used. pydantic-settings ignores
unknown variables and does not say where a value came from, so the layers are put together here.
"""

from __future__ import annotations

import functools
import json
import os
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.config.setting import MASK, unknown_key
from hushpoll_server.config.settings import SETTINGS, Settings
from hushpoll_server.config.url_text import read_url
from hushpoll_shared.reading.text_files import text_of

FILE_SUFFIX: Final = "_file"
MAX_FILE_BYTES: Final = 2**20
# Connections beside those of requests: those of the writer, maintenance and readiness, and a spare.
SPARE_CONNECTIONS: Final = 4
# Every key of a file: the settings, and a file for each secret one.
KEYS: Final = {name: setting.flag for name, setting in SETTINGS.items()} | {
    name + FILE_SUFFIX: f"{setting.flag}-file"
    for name, setting in SETTINGS.items()
    if setting.secret
}
NO_WORKER_FLAG: Final = "--no-worker"
# Variables of the same prefix that the server's commands do not read.
OTHER_VARIABLES: Final = {
    "HUSHPOLL_CONFIG": "the configuration file, as --config",
    "HUSHPOLL_URL": "the server that the analyst's commands talk to",
    "HUSHPOLL_TOKEN": "their bearer token",
    "HUSHPOLL_SURVEY": "the survey that scripts of load tests answer",
    "HUSHPOLL_RESPONDENT_TOKEN": "the respondent's single-use token",
    "HUSHPOLL_INVITATION": "the respondent's invitation",
    "HUSHPOLL_DISABLED": "switches clients of devices off",
    "HUSHPOLL_LEDGER": "where a device keeps what it has spent",
    "HUSHPOLL_DATA": "data sets of experiments, tests and benchmarks",
    "HUSHPOLL_CARRIED_DATABASE": "the database that the load test of other servers writes to",
    "HUSHPOLL_FUZZ": "examples by which the tests fuzz each operation",
    "HUSHPOLL_KILLS": "how often the tests kill a server",
    "HUSHPOLL_SOAK_STEPS": "steps of the walk by which the tests soak a server",
    "HUSHPOLL_PYTHON": "the interpreter of scripts/test-js",
    "HUSHPOLL_VENV": "the virtual environment of the scripts",
    "HUSHPOLL_LOWEST_VENV": "that of scripts/test-lowest",
    "HUSHPOLL_DPSGD_VENV": "that of scripts/test-dpsgd",
}


class _Value(NamedTuple):
    """What one layer says of a setting; with `file`, the value is the path of a secret's file."""

    value: Any
    origin: str
    textual: bool
    file: str | None = None


@dataclass(frozen=True)
class Configuration:
    """Checked settings, and where each came from.

    An origin is ``flag --port``, ``environment HUSHPOLL_PORT``, ``file hushpoll.toml`` or
    ``default``.
    """

    settings: Settings
    origins: Mapping[str, str]

    def shown(self) -> str:
        """Return the configuration as a file of its own, secrets masked."""
        lines = []
        for name, setting in SETTINGS.items():
            value = getattr(self.settings, name)
            shown = masked(value) if setting.secret and value else value
            text = f"{name} = {json.dumps(shown, ensure_ascii=False)}"
            line = f"# {name} is not set" if value is None else text
            lines.append(f"{line}  # {self.origins[name]}")
        return "\n".join(lines)


def load(
    *, flags: Mapping[str, str], environment: Mapping[str, str], file: Path | None = None
) -> Configuration:
    """Put the configuration together; a refusal names where the setting was given.

    `flags` are texts of the command line, by the names of settings; ``<secret>_file`` is for a
    secret's file. Variables without the prefix ``HUSHPOLL_`` are ignored. `file` is TOML; paths in
    it are taken from the working directory.
    """
    layers = {} if file is None else _of_file(file)
    layers |= _of_environment(environment)
    layers |= _with_secrets(
        {name: _Value(text, f"flag {KEYS[name]}", True) for name, text in flags.items()}
    )
    origins = {name: layers[name].origin if name in layers else "default" for name in SETTINGS}
    try:
        values = {name: _read(name, layer) for name, layer in layers.items()}
        if "pool_size" not in values and isinstance(values.get("threads"), int):
            values["pool_size"] = values["threads"] + SPARE_CONNECTIONS
            origins["pool_size"] = f"default, threads + {SPARE_CONNECTIONS}"
        return Configuration(Settings(**values), origins)
    except InvalidParameter as error:
        origin = origins.get(error.field.lower().removesuffix(FILE_SUFFIX), "default")
        raise InvalidParameter(f"{error} ({origin})", field=error.field) from None


def configured(
    command: Callable[..., Any], used: Collection[str] = tuple(SETTINGS)
) -> Callable[..., Any]:
    """Give a command a flag for every setting; it is called with the `Configuration` first.

    With ``--print-config`` the configuration is printed instead. Flags of settings that are not
    `used` are taken, since commands share their settings, but ``--help`` does not list them.
    """

    @functools.wraps(command)
    def wrapped(*, config: Path | None, print_config: bool, **options: Any) -> Any:
        texts = {name: options.pop(name) for name in KEYS}
        flags = {name: text for name, text in texts.items() if text is not None}
        if options.pop("no_worker"):
            flags.setdefault("start_worker", "false")
        try:
            configuration = load(flags=flags, environment=os.environ, file=config)
        except InvalidParameter as error:
            if (name := error.field.lower()) not in flags:
                raise
            raise click.BadParameter(str(error), param_hint=f"'{KEYS[name]}'") from None
        if print_config:
            return click.echo(configuration.shown())
        return command(configuration, **options)

    decorated: Callable[..., Any] = wrapped
    for name, flag in reversed(KEYS.items()):
        setting = SETTINGS.get(name)
        help_text = "File whose only line is the secret, so that it shows in no process list."
        names = [name, flag]
        if setting is not None:
            names += [setting.alias] if setting.alias else []
            default = "none" if setting.default is None else setting.default
            help_text = f"{setting.description}  [{setting.interval}; default: {default}]"
        hidden = name.removesuffix(FILE_SUFFIX) not in used and name not in used
        decorated = click.option(*names, metavar="VALUE", help=help_text, hidden=hidden)(decorated)
    decorated = click.option(
        NO_WORKER_FLAG,
        is_flag=True,
        hidden="start_worker" not in used,
        help="Start no worker; jobs then wait for hushpoll worker.",
    )(decorated)
    print_option = click.option(
        "--print-config",
        is_flag=True,
        help="Print every setting with its origin, passwords masked, and end.",
    )
    return click.option(
        "--config",
        envvar="HUSHPOLL_CONFIG",
        type=click.Path(dir_okay=False, path_type=Path),
        help="TOML file of settings; HUSHPOLL_CONFIG in the environment.",
    )(print_option(decorated))


def masked(url: str) -> str:
    """Return a database's or a Redis server's URL without its passwords."""
    parsed = read_url(url)
    if parsed is None:
        return MASK
    hidden = [name for name in parsed.query if "password" in name.lower()]
    return parsed.update_query_dict(dict.fromkeys(hidden, "masked")).render_as_string()


def _of_environment(environment: Mapping[str, str]) -> dict[str, _Value]:
    known = {f"HUSHPOLL_{name.upper()}": name for name in KEYS}
    layer = {}
    for key, text in environment.items():
        if key in known:
            layer[known[key]] = _Value(text, f"environment {key}", True)
        elif key.startswith("HUSHPOLL_") and key not in OTHER_VARIABLES:
            raise unknown_key(key, known, " in the environment")
    return _with_secrets(layer)


def _of_file(path: Path) -> dict[str, _Value]:
    try:
        values = tomllib.loads(_text_of(path, "config"))
    except tomllib.TOMLDecodeError as error:
        raise InvalidParameter(
            f"config names the file {str(path)!r}, which is no TOML: {error}; correct it",
            field="config",
        ) from error
    for key in values:
        if key not in KEYS:
            raise unknown_key(key, KEYS, f" in {path}")
    origin = f"file {path}"
    return _with_secrets({key: _Value(value, origin, False) for key, value in values.items()})


def _with_secrets(layer: dict[str, _Value]) -> dict[str, _Value]:
    """Return one layer in which the files of secrets stand under the secrets' names."""
    secrets = {}
    for key in layer.keys() - SETTINGS.keys():
        name, (path, origin, _, _) = key.removesuffix(FILE_SUFFIX), layer[key]
        if name in layer:
            raise InvalidParameter(
                f"{name} and {key} are both given ({origin}); remove one of them", field=key
            )
        secrets[name] = _Value(path, f"{origin} ({path})", True, file=key)
    return {key: value for key, value in layer.items() if key in SETTINGS} | secrets


def _read(name: str, layer: _Value) -> Any:
    value = layer.value if layer.file is None else _secret_of(layer.file, layer.value)
    return SETTINGS[name].parse(value) if layer.textual else value


def _secret_of(name: str, path: object) -> str:
    if not isinstance(path, str) or not path or "\0" in path:
        raise InvalidParameter(f"{name} is {path!r}, which is no path; give one", field=name)
    lines = _text_of(Path(path), name).rstrip("\r\n").splitlines()
    if len(lines) != 1 or not lines[0].strip():
        raise InvalidParameter(
            f"{name} names the file {path!r}, which has {len(lines)} lines; write the secret, and "
            "nothing else, into its only line",
            field=name,
        )
    return lines[0].strip()


def _text_of(path: Path, field: str) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
        if len(content) <= MAX_FILE_BYTES:
            name = f"{field} names the file {str(path)!r}, which"
            return text_of(content, name=name, field=field)
        why = f"is larger than {MAX_FILE_BYTES} bytes"
    except OSError as error:
        why = f"cannot be read ({error.strerror}); give a file that the server may read"
    except UnicodeEncodeError:
        why = "has a name that no file can have"
    raise InvalidParameter(f"{field} names the file {str(path)!r}, which {why}", field=field)
