"""Where settings come from: flag before environment before file before default.

A key that is no setting is refused wherever it is written, so that a misspelt one cannot quietly
leave its setting at the default.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.config.setting import MASK, Setting
from hushpoll_server.config.settings import SETTINGS, Settings, unknown_key

PREFIX: Final = "HUSHPOLL_"
FILE_SUFFIX: Final = "_file"
MAX_FILE_BYTES: Final = 2**20
# Connections beside those of requests: those of the writer, maintenance and
# readiness, and one to spare.
SPARE_CONNECTIONS: Final = 4
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
        return "\n".join(self._line(name, setting) for name, setting in SETTINGS.items())

    def _line(self, name: str, setting: Setting) -> str:
        value = getattr(self.settings, name)
        if value is None:
            return f"# {name} is not set  # {self.origins[name]}"
        if setting.secret:
            value = masked(value)
        shown = list(value) if isinstance(value, tuple) else value
        return f"{name} = {json.dumps(shown, ensure_ascii=False)}  # {self.origins[name]}"


@dataclass(frozen=True)
class _Given:
    """A value before it is checked, and its origin."""

    value: Any
    origin: str


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
    given: dict[str, _Given] = {}
    for layer in (_from_file(file), _from_environment(environment), _from_flags(flags)):
        given.update(layer)
    for name, one in given.items():
        _checked_alone(SETTINGS[name], one)
    if "pool_size" not in given:
        threads = given["threads"].value if "threads" in given else SETTINGS["threads"].default
        given["pool_size"] = _Given(threads + SPARE_CONNECTIONS, "default, threads + 4")
    settings = Settings(**{name: one.value for name, one in given.items()})
    return Configuration(
        settings, {name: given[name].origin if name in given else "default" for name in SETTINGS}
    )


def masked(url: str) -> str:
    """Return a database's or a queue's URL without its passwords."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        return MASK
    hidden = [name for name in parsed.query if "password" in name.lower()]
    return parsed.update_query_dict(dict.fromkeys(hidden, "masked")).render_as_string()


def _from_flags(flags: Mapping[str, str]) -> dict[str, _Given]:
    named = {name: f"flag --{name.replace('_', '-')}" for name in flags}
    return _read({name: (text, named[name]) for name, text in flags.items()}, texts=True)


def _from_environment(environment: Mapping[str, str]) -> dict[str, _Given]:
    found = {key: value for key, value in environment.items() if key.startswith(PREFIX)}
    known = [PREFIX + name.upper() for name in _names()]
    for key in found:
        if key not in known and key not in OTHER_VARIABLES:
            raise unknown_key(key, known, " in the environment")
    return _read(
        {
            key.removeprefix(PREFIX).lower(): (value, f"environment {key}")
            for key, value in found.items()
            if key in known
        },
        texts=True,
    )


def _from_file(path: Path | None) -> dict[str, _Given]:
    if path is None:
        return {}
    try:
        found = tomllib.loads(_text_of(path, "config"))
    except tomllib.TOMLDecodeError as error:
        raise InvalidParameter(
            f"config names the file {str(path)!r}, which is no TOML: {error}; correct it",
            field="config",
        ) from error
    for key in found:
        if key not in _names():
            raise unknown_key(key, _names(), f" in {path}")
    return _read({key: (value, f"file {path}") for key, value in found.items()}, texts=False)


def _read(layer: Mapping[str, tuple[Any, str]], *, texts: bool) -> dict[str, _Given]:
    """Return one layer's values: parsed where they are texts, secrets read from their files."""
    result = {}
    for name, (value, origin) in layer.items():
        if name not in SETTINGS:
            secret = name.removesuffix(FILE_SUFFIX)
            if secret in layer:
                raise InvalidParameter(
                    f"{secret} and {name} are both given ({origin}); remove one of them",
                    field=name,
                )
            result[secret] = _Given(_secret_of(name, value), f"{origin} ({value})")
        else:
            result[name] = _Given(
                _named(lambda s=SETTINGS[name], v=value: s.parse(v), origin) if texts else value,
                origin,
            )
    return result


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


def _names() -> list[str]:
    """Every key of a file: the settings, and a file for each secret one."""
    return [
        *SETTINGS,
        *(name + FILE_SUFFIX for name, setting in SETTINGS.items() if setting.secret),
    ]


def _checked_alone(setting: Setting, one: _Given) -> None:
    """Refuse a value by its origin, as far as that needs no other value."""
    if not setting.depends:
        _named(lambda: setting.checked(one.value, {}), one.origin)


def _named(check: Any, origin: str) -> Any:
    try:
        return check()
    except InvalidParameter as error:
        raise InvalidParameter(f"{error} ({origin})", field=error.field) from None
