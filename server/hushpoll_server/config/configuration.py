"""Where settings come from: flag before environment before file before default.

A key that is no setting is refused wherever it is written, so that a misspelt one cannot quietly
leave its setting at the default. pydantic-settings ignores unknown variables and does not say where
a value came from, so the layers are put together here.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.config.setting import MASK, unknown_key
from hushpoll_server.config.settings import SETTINGS, Settings

PREFIX: Final = "HUSHPOLL_"
FILE_SUFFIX: Final = "_file"
MAX_FILE_BYTES: Final = 2**20
# Connections beside those of requests: those of the writer, maintenance and readiness, and a spare.
SPARE_CONNECTIONS: Final = 4
# Every key of a file: the settings, and a file for each secret one.
KEYS: Final = (
    *SETTINGS,
    *(name + FILE_SUFFIX for name, setting in SETTINGS.items() if setting.secret),
)
# Variables of the same prefix that the server's commands do not read.
OTHER_VARIABLES: Final = {
    "HUSHPOLL_CONFIG": "the configuration file, as --config",
    "HUSHPOLL_URL": "the server that the analyst's commands talk to",
    "HUSHPOLL_TOKEN": "their bearer token",
    "HUSHPOLL_SURVEY": "the survey that scripts of load tests answer",
    "HUSHPOLL_RESPONDENT_TOKEN": "the respondent's single-use token",
    "HUSHPOLL_LEDGER": "where a device keeps what it has spent",
    "HUSHPOLL_DATA": "data sets of tests and benchmarks",
    "HUSHPOLL_CARRIED_DATABASE": "the database that the load test of other servers writes to",
    "HUSHPOLL_FUZZ": "examples by which the tests fuzz each operation",
    "HUSHPOLL_KILLS": "how often the tests kill a server",
    "HUSHPOLL_PYTHON": "the interpreter of scripts/test-js",
    "HUSHPOLL_VENV": "the virtual environment of the scripts",
}
# A value, and its origin in words.
_Layer = dict[str, tuple[Any, str]]
_Checked = TypeVar("_Checked")


@dataclass(frozen=True)
class Configuration:
    """Effective settings and where each came from.

    Parameters
    ----------
    settings : Settings
        Checked values.
    origins : mapping of str to str
        By setting: ``flag --port``, ``environment HUSHPOLL_PORT``, ``file hushpoll.toml`` or
        ``default``.
    """

    settings: Settings
    origins: Mapping[str, str]

    def shown(self) -> str:
        """Return the configuration as a file of its own, secrets masked."""
        lines = []
        for name, setting in SETTINGS.items():
            value, origin = getattr(self.settings, name), self.origins[name]
            shown = json.dumps(
                masked(value) if setting.secret and value else value, ensure_ascii=False
            )
            line = f"# {name} is not set" if value is None else f"{name} = {shown}"
            lines.append(f"{line}  # {origin}")
        return "\n".join(lines)


def load(
    *,
    flags: Mapping[str, str],
    environment: Mapping[str, str],
    file: Path | None = None,
) -> Configuration:
    """Put the configuration together.

    Parameters
    ----------
    flags : mapping of str to str
        Texts of the command line, by the names of settings; ``<secret>_file`` for a secret's file.
    environment : mapping of str to str
        The process's environment; what does not begin with ``HUSHPOLL_`` is ignored.
    file : Path or None
        TOML file of settings. Paths in it are taken from the working directory.

    Raises
    ------
    InvalidParameter
        An unknown key, a value outside its interval, or a file that cannot be read; the message
        names where it was given.
    """
    values: _Layer = {
        **(_of_file(file) if file is not None else {}),
        **_of_environment(environment),
        **_of_flags(flags),
    }
    if "pool_size" not in values and "threads" in values:
        threads, _ = values["threads"]
        if isinstance(threads, int):
            values["pool_size"] = threads + SPARE_CONNECTIONS, "default, threads + 4"
    origins = {name: values[name][1] if name in values else "default" for name in SETTINGS}
    checked = {name: value for name, (value, _) in values.items()}
    settings = _placed(partial(Settings, **checked), origins)
    return Configuration(settings, origins)


def masked(url: str) -> str:
    """Return a database's or a Redis server's URL without its passwords."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        return MASK
    hidden = [name for name in parsed.query if "password" in name.lower()]
    return parsed.update_query_dict(dict.fromkeys(hidden, "masked")).render_as_string()


def _of_flags(flags: Mapping[str, str]) -> _Layer:
    named = {name: (text, f"flag --{name.replace('_', '-')}") for name, text in flags.items()}
    return _parsed(_secrets_read(named))


def _of_environment(environment: Mapping[str, str]) -> _Layer:
    known = {PREFIX + name.upper(): name for name in KEYS}
    named: _Layer = {}
    for key, text in environment.items():
        if key in known:
            named[known[key]] = text, f"environment {key}"
        elif key.startswith(PREFIX) and key not in OTHER_VARIABLES:
            raise unknown_key(key, known, " in the environment")
    return _parsed(_secrets_read(named))


def _of_file(path: Path) -> _Layer:
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
    return _secrets_read({key: (value, f"file {path}") for key, value in values.items()})


def _parsed(layer: _Layer) -> _Layer:
    values: _Layer = {}
    for name, (text, origin) in layer.items():
        parse = partial(SETTINGS[name].parse, text)
        values[name] = _placed(parse, {name: origin}), origin
    return values


def _placed(check: Callable[[], _Checked], origins: Mapping[str, str]) -> _Checked:
    """Return what a check returns; its refusal says where the value was given."""
    try:
        return check()
    except InvalidParameter as error:
        origin = origins.get(error.field.lower(), "default")
        raise InvalidParameter(f"{error} ({origin})", field=error.field) from None


def _secrets_read(layer: _Layer) -> _Layer:
    """Return one layer with secrets in place of the files that hold them."""
    values: _Layer = {}
    for key, (value, origin) in layer.items():
        if key in SETTINGS:
            values[key] = value, origin
            continue
        name = key.removesuffix(FILE_SUFFIX)
        if name in layer:
            raise InvalidParameter(
                f"{name} and {key} are both given ({origin}); remove one of them", field=key
            )
        values[name] = _secret_of(key, value), f"{origin} ({value})"
    return values


def _secret_of(name: str, path: object) -> str:
    if not isinstance(path, str) or not path:
        raise InvalidParameter(f"{name} is {path!r}, which is no path; give one", field=name)
    lines = _text_of(Path(path), name).splitlines()
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
            return content.decode("utf-8")
        why = f"is larger than {MAX_FILE_BYTES} bytes"
    except OSError as error:
        why = f"cannot be read ({error.strerror})"
    except UnicodeDecodeError:
        why = "is not UTF-8"
    raise InvalidParameter(f"{field} names the file {str(path)!r}, which {why}", field=field)
