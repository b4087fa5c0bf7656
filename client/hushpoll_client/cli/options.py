"""What commands that ask a server share: its address, the analyst's token, files for results."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, BinaryIO, TypeVar, cast

import click

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.analyst.jobs import TIMEOUT_SECONDS
from hushpoll_client.config import ClientConfig
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.cli.terminal import json_option, reports_errors

_Command = TypeVar("_Command", bound=Callable[..., object])

# A person waits at the terminal: one more attempt, then the message.
INTERACTIVE = ClientConfig(
    attempts=2,
    connect_timeout=3.0,
    read_timeout=120.0,
    exchange_timeout=600.0,
    max_response_bytes=2**28,
)


def url_option(command: _Command) -> _Command:
    """Add ``--url``, passed to the command as `url`: a string."""
    return _url(required=True)(command)


def optional_url_option(command: _Command) -> _Command:
    """Add ``--url`` for a command that can do without: `url` may be None."""
    return _url(required=False)(command)


def token_option(command: _Command) -> _Command:
    """Add ``--token``, passed to the command as `token`."""
    return click.option(
        "--token",
        envvar="HUSHPOLL_TOKEN",
        help="Analyst's bearer token. Other users of this machine can read a command line: prefer "
        "the variable.  [env: HUSHPOLL_TOKEN]",
    )(command)


def analyst_command(command: Callable[..., None]) -> Callable[..., None]:
    """Add ``--url``, ``--token`` and ``--json``, and open the client of an analyst.

    The command gets `client`, an `AnalystClient`, and `as_json`; its errors end it with one line.
    """

    @url_option
    @token_option
    @json_option
    @reports_errors
    @functools.wraps(command)
    def opened(*, url: str, token: str | None, **arguments: Any) -> None:
        with analyst(url, authorized(token)) as client:
            command(client=client, **arguments)

    return opened


def version_option(command: _Command) -> _Command:
    """Add ``--version``, passed to the command as `version`."""
    return click.option(
        "--version",
        type=click.IntRange(min=1),
        help="Version of the survey; by default the newest that is open.",
    )(command)


def version_of(client: AnalystClient, name: str, version: int | None) -> int:
    """Return the version that ``--version`` names, or the newest one of the survey."""
    return client.show(name).version if version is None else version


def timeout_option(help_text: str) -> Callable[[_Command], _Command]:
    """Return what adds ``--timeout`` in seconds, for a job of the server."""
    return click.option(
        "--timeout",
        type=click.FloatRange(min=0),
        default=TIMEOUT_SECONDS,
        show_default=True,
        help=help_text,
    )


def out_option(help_text: str, *, required: bool = False) -> Callable[[_Command], _Command]:
    """Return what adds ``--out``, a file in a folder that exists; see :func:`replacing`."""
    return click.option(
        "--out",
        required=required,
        type=click.Path(dir_okay=False, path_type=Path),
        callback=_in_a_folder,
        help=help_text,
    )


@contextmanager
def replacing(out: Path) -> Iterator[BinaryIO]:
    """Open a new file that takes the place of `out` at the end, unless there is an error."""
    with NamedTemporaryFile(dir=out.parent, prefix=out.name, delete=False) as file:
        try:
            yield cast("BinaryIO", file)
            file.flush()
            Path(file.name).replace(out)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def needed(url: str | None) -> str:
    """Return `url`, or end the command as wrong usage, saying what would do without."""
    if url is None:
        raise click.UsageError("Missing option '--url'; or give --dry-run to send nothing.")
    return url


def authorized(token: str | None) -> str:
    """Return `token`, or end the command as wrong usage, saying where it comes from."""
    if not token:
        raise click.UsageError(
            "Missing option '--token'; or set HUSHPOLL_TOKEN. `hushpoll serve` prints an admin "
            "token at its first start."
        )
    return token


def analyst(url: str, token: str | None) -> AnalystClient:
    """Return a client that gives up soon."""
    return AnalystClient(url, token, config=INTERACTIVE)


def _url(*, required: bool) -> Callable[[_Command], _Command]:
    return click.option(
        "--url",
        envvar="HUSHPOLL_URL",
        required=required,
        help="Address of the server, such as https://polls.example.org.  [env: HUSHPOLL_URL]",
    )


def _in_a_folder(_ctx: click.Context, _option: click.Parameter, out: Path | None) -> Path | None:
    if out is not None and not out.parent.is_dir():
        raise InvalidParameter(
            f"--out is {str(out)!r}, and {str(out.parent)!r} is no directory; make it first",
            field="out",
        )
    return out
