"""``hushpoll job``: what the server's workers do in the background."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import click

from hushpoll_client.analyst import AnalystClient
from hushpoll_client.jobs import wait_for
from hushpoll_client.options import (
    analyst,
    authorized,
    timeout_option,
    token_option,
    url_option,
    version_option,
)
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.terminal import emit, json_option, reports_errors, waiting

_KINDS = ("fold", "export", "train", "fairness", "shape")

_out_option = click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File for what the job made; replaced only once all has arrived.",
)


@click.group()
def job() -> None:
    """Let the server's workers fold, export, train or audit; fetch what they made, or cancel."""


@job.command()
@click.argument("kind", type=click.Choice(_KINDS))
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

    It takes a running hushpoll worker. Folding needs the scope publish, exporting and shape read,
    training and fairness train; looking at a job needs read. What hushpoll fairness NAME and
    hushpoll estimate --check-shape show are the jobs fairness and shape.
    """
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
                _save(client, found, out)
    emit(found, _words(found, out), as_json=as_json)


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
    emit(found, _words(found, None), as_json=as_json)


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
    emit(found, _words(found, None), as_json=as_json)


@job.command()
@click.argument("job_id", metavar="ID")
@_out_option
@url_option
@token_option
@json_option
@reports_errors
def result(job_id: str, out: Path | None, url: str, token: str | None, as_json: bool) -> None:
    """Fetch what the job ID made, into --out or a file of the name that the server gives."""
    with analyst(url, authorized(token)) as client:
        found = client.job(job_id)
        made = found.get("result") or {}
        # A server does not choose where on this machine a file goes.
        target = out or Path(Path(str(made.get("name"))).name or "result")
        _save(client, found, target)
    emit({**found, "file": str(target)}, _words(found, target), as_json=as_json)


def _parameter(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise InvalidParameter(f"--set is {text!r}; give NAME=VALUE, such as seed=3", field="set")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def _save(client: AnalystClient, found: dict[str, Any], out: Path) -> None:
    if not out.parent.is_dir():
        raise InvalidParameter(
            f"--out is {str(out)!r}, and {str(out.parent)!r} is no directory; make it first",
            field="out",
        )
    with NamedTemporaryFile(dir=out.parent, prefix=out.name, delete=False) as target:
        try:
            client.job_result(str(found.get("id")), target.write)
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
