"""``hushpoll job``: what the server's workers do in the background."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import click

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.analyst.jobs import wait_for
from hushpoll_client.cli.options import (
    analyst,
    authorized,
    timeout_option,
    token_option,
    url_option,
    version_option,
)
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.cli.terminal import emit_answer, json_option, reports_errors, waiting
from hushpoll_shared.wire.job_kinds import SCOPE_OF_KIND

_ENDINGS = (".records", ".parquet", ".csv", ".json", ".zip")
"""Kinds of file that jobs make; all that a server's name for one is used for."""

_out_option = click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File for what the job made; replaced only once all has arrived.",
)


@click.group()
def job() -> None:
    """Let the server's workers seal, export, train or audit; fetch what they made, or cancel."""


@job.command()
@click.argument("kind", type=click.Choice(list(SCOPE_OF_KIND)))
@click.argument("name")
@version_option
@click.option(
    "--set",
    "given",
    multiple=True,
    metavar="NAME=VALUE",
    help="Parameter of the job, such as seed=3 or folds=5; a value is JSON, or text.",
)
@timeout_option("Seconds to wait for it; 0 does not wait.")
@_out_option
@url_option
@token_option
@json_option
@reports_errors
def start(
    kind: str,
    name: str,
    version: int | None,
    given: tuple[str, ...],
    timeout: float,
    out: Path | None,
    url: str,
    token: str | None,
    as_json: bool,
) -> None:
    """Start a job for the survey NAME and wait for it.

    It takes a running hushpoll worker. The token needs the scope publish for seal, read for export
    and shape, train for train and fairness; looking at a job needs read. What hushpoll fairness
    survey and hushpoll estimate --check-shape show are the jobs fairness and shape.
    """
    if out is not None and not timeout:
        raise InvalidParameter(
            f"--out is {out}, and --timeout is 0, so that nothing waits for the result; leave one "
            "of the two out, or fetch the result later with hushpoll job result",
            field="out",
        )
    parameters = dict(map(_parameter, given))
    with analyst(url, authorized(token)) as client:
        number = client.show(name).version if version is None else version
        found = client.start_job(kind, name, number, parameters)
        if timeout:
            with waiting(f"{kind} of {name}") as say:
                found = wait_for(
                    client.job, found, timeout=timeout, on_look=lambda one: say(str(one["state"]))
                )
            if out is not None:
                _save(client, str(found.get("id")), out)
    emit_answer(found, lambda answer: _words(answer, out), as_json=as_json)


@job.command()
@click.argument("job_id", metavar="ID")
@url_option
@token_option
@json_option
@reports_errors
def show(job_id: str, url: str, token: str | None, as_json: bool) -> None:
    """Look at the job ID."""
    with analyst(url, authorized(token)) as client:
        found = client.job(job_id)
    emit_answer(found, lambda answer: _words(answer, None), as_json=as_json)


@job.command()
@click.argument("job_id", metavar="ID")
@url_option
@token_option
@json_option
@reports_errors
def cancel(job_id: str, url: str, token: str | None, as_json: bool) -> None:
    """End the job ID, whether it waits or runs.

    It takes the token that started the job, or one of the scope admin. A job that has ended stays
    as it is.
    """
    with analyst(url, authorized(token)) as client:
        found = client.cancel_job(job_id)
    emit_answer(found, lambda answer: _words(answer, None), as_json=as_json)


@job.command()
@click.argument("job_id", metavar="ID")
@_out_option
@url_option
@token_option
@json_option
@reports_errors
def result(job_id: str, out: Path | None, url: str, token: str | None, as_json: bool) -> None:
    """Fetch what the job ID made, into --out or a new file job-ID in this folder.

    Without --out no file is overwritten.
    """
    with analyst(url, authorized(token)) as client:
        found = client.job(job_id)
        target = out if out is not None else _reserved(job_id, found)
        try:
            _save(client, job_id, target)
        except BaseException:
            if out is None:
                target.unlink(missing_ok=True)
            raise
    document = {**found, "file": str(target)}
    emit_answer(document, lambda answer: _words(answer, target), as_json=as_json)


def _reserved(job_id: str, found: dict[str, Any]) -> Path:
    """Make an empty file, of a name that is ours: a server does not choose where a file goes."""
    made = found.get("result")
    named = str(made.get("name")) if isinstance(made, dict) else ""
    ending = next((one for one in _ENDINGS if named.endswith(one)), "")
    target = Path(f"job-{job_id}{ending}")
    try:
        target.touch(exist_ok=False)
    except FileExistsError:
        raise InvalidParameter(
            f"{str(target)!r} exists already, and is not overwritten; give --out", field="out"
        ) from None
    return target


def _parameter(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise InvalidParameter(f"--set is {text!r}; give NAME=VALUE, such as seed=3", field="set")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def _save(client: AnalystClient, job_id: str, out: Path) -> None:
    if not out.parent.is_dir():
        raise InvalidParameter(
            f"--out is {str(out)!r}, and {str(out.parent)!r} is no directory; make it first",
            field="out",
        )
    with NamedTemporaryFile(dir=out.parent, prefix=out.name, delete=False) as target:
        try:
            client.job_result(job_id, target.write)
            target.flush()
            Path(target.name).replace(out)
        except BaseException:
            Path(target.name).unlink(missing_ok=True)
            raise


def _words(found: dict[str, Any], out: Path | None) -> str:
    line = (
        f"job {found.get('id')}: {found.get('kind')} of {found.get('survey')} version "
        f"{found.get('version')} is {found.get('state')}"
    )
    error = found.get("error")
    if error:
        line += f": {error.get('detail')} ({error.get('code')})"
    return line if out is None else f"{line}; its result is in {out}"
