"""What commands that ask a server share: its address, the analyst's token."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.analyst.jobs import TIMEOUT_SECONDS, OnLook, how_far, show_hint
from hushpoll_client.config import ClientConfig
from hushpoll_protocols.errors import HushpollError, MissingExtra, TransportError
from hushpoll_shared.cli.terminal import (
    emit,
    emit_answer,
    json_option,
    reports_errors,
    waiting,
    with_options,
)
from hushpoll_shared.survey.option_texts import question_texts
from hushpoll_shared.tables.table_files import guarantee
from hushpoll_shared.wire.documents.jobs import JobDocument

if TYPE_CHECKING:
    from hushpoll_shared.cli.statistic_commands import Statistic

_UNAUTHORIZED = 401
_Command = TypeVar("_Command", bound=Callable[..., object])

# A person waits at the terminal: one more attempt, then the message.
INTERACTIVE = ClientConfig(
    attempts=2,
    connect_timeout=3.0,
    read_timeout=120.0,
    exchange_timeout=600.0,
    max_response_bytes=2**28,
)


def job_watch(say: Callable[[str], None]) -> OnLook:
    """Return what shows how far a job is at each look, and tells once why nothing takes it."""
    told = set()

    def look(job: JobDocument) -> None:
        try:
            say(how_far(job))
        except (TypeError, ValueError):  # an answer of another form
            say("")
        if (hint := show_hint(job)) and hint not in told:
            told.add(hint)
            click.echo(f"Job {job.get('id')} waits: {hint}.", err=True)

    return look


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


def client_command(command: Callable[..., None]) -> Callable[..., None]:
    """Add ``--url``, ``--token`` and ``--json``, and open the client of an analyst.

    The command gets `client`, an `AnalystClient`, and `as_json`; its errors end it with one line.
    """

    @url_option
    @token_option
    @json_option
    @reports_errors
    @functools.wraps(command)
    def opened(*, url: str, token: str | None, **arguments: Any) -> None:
        with analyst(url, required_token(token)) as client:
            command(client=client, **arguments)

    return opened


Text = str | Callable[[Any], str]
Output = tuple[object, Text] | tuple[object, Text, Exception | None]
"""What a command prints: a document, and its text, or what makes that of a server's answer; and
what is raised then, if anything."""


def analyst_command(command: Callable[..., Output]) -> Callable[..., None]:
    """Make a command of a function that gets a `client` and returns what is printed."""

    @client_command
    @functools.wraps(command)
    def printed(*, as_json: bool, **arguments: Any) -> None:
        document, text, *failures = command(**arguments)
        if isinstance(text, str):
            emit(document, text, as_json=as_json)
        else:
            emit_answer(document, text, as_json=as_json)
        for failure in filter(None, failures):
            raise failure

    return printed


def survey_command(*options: Callable[..., Any]) -> Callable[..., Callable[..., None]]:
    """Return what makes a command as `analyst_command`, of a survey's NAME and ``--version``.

    The function gets `name` and the `version` that is meant, and what `options` add.
    """

    def decorate(command: Callable[..., Output]) -> Callable[..., None]:
        @analyst_command
        @functools.wraps(command)
        def of_version(*, client: Any, name: str, version: int | None, **arguments: Any) -> Output:
            number = version_of(client, name, version)
            return command(client=client, name=name, version=number, **arguments)

        added: Callable[..., None]
        added = with_options(click.argument("name"), version_option, *options)(of_version)
        return added

    return decorate


yes_option: Final = click.option("--yes", is_flag=True, help="Do not ask.")


@dataclass(frozen=True)
class InTwoParts:
    """An answer that is shown before its second part is there, which takes longer."""

    answer: Mapping[str, object]
    add: Callable[[], None]
    """Waits for the second part, and puts it into the answer; may raise a `HushpollError`."""

    text: Callable[[Mapping[str, Any]], str]
    """From the whole answer to lines about the second part."""


def statistic_command(
    statistic: Statistic, *, waits: bool = False
) -> Callable[[Callable[..., Mapping[str, object] | InTwoParts]], Callable[..., None]]:
    """Return what makes a command of a function that asks a server for a statistic.

    The function gets `client`, the survey's `name`, its `version` and the statistic's options, and
    returns the server's answer, whole or `InTwoParts`. A terminal shows that it works; with `waits`
    the function itself says so.
    """

    def decorate(ask: Callable[..., Mapping[str, object] | InTwoParts]) -> Callable[..., None]:
        @click.argument("name")
        @version_option
        @statistic.options
        @client_command
        @functools.wraps(ask)
        def command(
            client: AnalystClient,
            name: str,
            version: int | None,
            out: Path | None,
            as_json: bool,
            **asked: Any,
        ) -> None:
            published = functools.cache(lambda: client.show(name, version))
            number = published().version if version is None else version
            with nullcontext() if waits else waiting(f"{statistic.table} of {name}"):
                answer = ask(client=client, name=name, version=number, **asked)
            show = partial(
                statistic.show,
                out=out,
                as_json=as_json,
                guarantee=lambda: guarantee(published()),
                questions=lambda: question_texts(published()),
            )
            if isinstance(answer, InTwoParts):
                _show_both(answer, show, as_json=as_json)
            else:
                show(answer)

        return command

    return decorate


def _show_both(parts: InTwoParts, show: Callable[..., None], *, as_json: bool) -> None:
    """Show the first part at once, then the second; as JSON, both in one document at the end."""
    if not as_json:
        show(parts.answer, out=None)
    failed: HushpollError | None = None
    try:
        parts.add()
    except HushpollError as error:
        failed = error
    if as_json:
        show(parts.answer)
    else:
        show(parts.answer, text=(lambda _: "") if failed else parts.text)
    if failed is not None:
        raise failed


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


def server_module(module: str, feature: str) -> Any:
    """Return a module of the other distribution, which this one does not import by itself."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtra("server", feature) from error


def published_lines(answer: dict[str, Any], *more: str) -> list[str]:
    """Return what is said of a survey that is now published, with `more` before the warnings."""
    return [
        f"{answer.get('survey')} version {answer.get('version')} is published",
        f"digest: {answer.get('digest')}",
        *more,
        *(f"warning: {warning.get('message')}" for warning in answer.get("warnings", [])),
    ]


def required_url(url: str | None) -> str:
    """Return `url`, or end the command as wrong usage, saying what would do without."""
    if url is None:
        raise click.UsageError("Missing option '--url'; or give --dry-run to send nothing.")
    return url


def required_token(token: str | None) -> str:
    """Return `token`, or end the command as wrong usage, saying where it comes from."""
    if not token:
        raise click.UsageError(
            "Missing option '--token'; or set HUSHPOLL_TOKEN. `hushpoll serve` prints an admin "
            "token at its first start."
        )
    return token


@contextmanager
def analyst(url: str, token: str | None) -> Iterator[AnalystClient]:
    """Open a client that gives up soon, and whose refusals speak of the command line's options."""
    with AnalystClient(url, token, config=INTERACTIVE) as client:
        try:
            yield client
        except TransportError as error:
            words = _of_the_command_line(error)
            if words is None:
                raise
            raise TransportError(
                words, retryable=error.retryable, status=error.status, problem=error.problem
            ) from error


def _of_the_command_line(error: TransportError) -> str | None:
    """Return an error with the option or the variable that would mend it; None if there is none."""
    if error.status == _UNAUTHORIZED and error.problem is not None:
        return (
            f"the server does not take this token (HTTP {error.status}): it does not know it, or "
            "the token has expired or was revoked; give another one with --token, or as "
            "HUSHPOLL_TOKEN. An administrator sees with hushpoll token list which are valid"
        )
    if error.status is None and error.retryable:
        return f"{error}. Check the address (--url or HUSHPOLL_URL), and that the server runs"
    return None


def _url(*, required: bool) -> Callable[[_Command], _Command]:
    return click.option(
        "--url",
        envvar="HUSHPOLL_URL",
        required=required,
        help="Address of the server, such as https://polls.example.org.  [env: HUSHPOLL_URL]",
    )
