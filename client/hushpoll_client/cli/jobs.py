"""``hushpoll job``: starts work in the background of a server, shows it, and fetches results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NotRequired, cast

import click

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.analyst.jobs import how_far, wait_for
from hushpoll_client.cli.options import (
    Output,
    analyst_command,
    job_watch,
    timeout_option,
    version_of,
    version_option,
)
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.cli.out_file import out_option, replacing
from hushpoll_shared.cli.terminal import CommandGroup, usable, waiting
from hushpoll_shared.jobs.registry import all_jobs
from hushpoll_shared.spelling.text import show as show_text
from hushpoll_shared.tables.table_files import TABLE_FORMATS
from hushpoll_shared.wire.documents.jobs import JOB_STATES, JobDocument

_ENDINGS = (".records", ".parquet", ".csv", ".sav", ".dta", ".json", ".zip")
"""Kinds of file that jobs make; nothing else is taken from a server's name for a file."""

_out_option = out_option("File for the job's result; replaced only once all has arrived.")


class _ShownJob(JobDocument):
    """A job as the commands print it."""

    sealing: NotRequired[Any]
    file: NotRequired[str]


def _scopes() -> str:
    """Return which scope each kind of job needs, in words."""
    kinds: dict[str, list[str]] = {}
    for name, kind in all_jobs().items():
        kinds.setdefault(kind.scope, []).append(name)
    return "; ".join(f"{scope} for {', '.join(names)}" for scope, names in kinds.items())


@click.group(cls=CommandGroup)
def job() -> None:
    """Let the server's workers seal, export, train, audit or test reports; fetch the results."""


_START = f"""Start a job of KIND for the survey NAME and wait for it.

KIND is {", ".join(all_jobs())}. A worker of the server does it. The token needs the scope
{_scopes()}; looking at a job needs read. What
hushpoll fairness survey and hushpoll estimate --check-shape show are the jobs fairness and shape.
The mails of invite and remind are easier asked for by hushpoll survey
invite --from and hushpoll survey remind, which read a table of people.
"""


@job.command(help=_START)
@click.argument("kind", metavar="KIND", type=click.Choice(list(all_jobs())))
@click.argument("name")
@version_option
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Parameter of the job, such as seed=3 or folds=5; a value is JSON, or text.",
)
@timeout_option("Seconds to wait for it; 0 does not wait.")
@_out_option
@analyst_command
def start(
    client: AnalystClient,
    kind: str,
    name: str,
    version: int | None,
    settings: tuple[str, ...],
    timeout: float,
    out: Path | None,
) -> Output:
    """Start a job."""
    if out is not None and not timeout:
        raise InvalidParameter(
            f"--out is {out}, and --timeout is 0, so that nothing waits for the result; leave one "
            "of the two out, or fetch the result later with hushpoll job result",
            field="out",
        )
    parameters = dict(map(_parameter, settings))
    document = client.start_job(kind, name, version_of(client, name, version), parameters)
    if timeout:
        document = _ended(client, f"{kind} of {name}", document, timeout, out)
    shown = cast("_ShownJob", dict(document))
    if timeout and kind == "seal":
        shown["sealing"] = _sealing(client, document)
    return shown, lambda answer: _words(answer, out)


@job.command("list")
@click.option("--survey", help="Only jobs of the survey of this name.")
@click.option("--kind", type=click.Choice(list(all_jobs())), help="Only jobs of this kind.")
@click.option("--state", type=click.Choice(JOB_STATES), help="Only jobs in this state.")
@analyst_command
def list_jobs(
    client: AnalystClient, survey: str | None, kind: str | None, state: str | None
) -> Output:
    """List the newest 200 jobs of the surveys that the token is for, and how far they are.

    If no survey has the name that --survey gives, the command ends with 1.
    """
    if survey is not None:
        # of a name that no survey has, a server lists no jobs and no error
        client.show(survey)
    return {"jobs": client.jobs(survey=survey, kind=kind, state=state)}, _lines


@job.command()
@click.argument("job_id", metavar="ID")
@timeout_option("Seconds to wait for it.")
@_out_option
@analyst_command
def wait(client: AnalystClient, job_id: str, timeout: float, out: Path | None) -> Output:
    """Wait until the job ID is done, and show how far it is.

    A job that fails, is cancelled or is not done in time ends the command with 1; one that is not
    done in time goes on.
    """
    document = _ended(client, f"job {job_id}", client.job(job_id), timeout, out)
    return document, lambda answer: _words(answer, out)


@job.command()
@click.argument("job_id", metavar="ID")
@analyst_command
def show(client: AnalystClient, job_id: str) -> Output:
    """Look at the job ID."""
    return client.job(job_id), _words


@job.command()
@click.argument("job_id", metavar="ID")
@analyst_command
def cancel(client: AnalystClient, job_id: str) -> Output:
    """End the job ID, whether it waits or runs.

    The token must be the one that started the job, or have the scope admin. A job that has ended
    stays as it is.
    """
    return client.cancel_job(job_id), _words


@job.command()
@click.argument("job_id", metavar="ID")
@_out_option
@analyst_command
def result(client: AnalystClient, job_id: str, out: Path | None) -> Output:
    """Fetch the result of the job ID into --out, or into a new file job-ID in this folder.

    Without --out no file is overwritten.
    """
    document = client.job(job_id)
    target = out if out is not None else _reserved(job_id, document)
    try:
        _save(client, job_id, document, target)
    except BaseException:
        if out is None:
            target.unlink(missing_ok=True)
        raise
    shown = cast("_ShownJob", {**document, "file": str(target)})
    return shown, lambda answer: _words(answer, target)


def _ended(
    client: AnalystClient, what: str, document: JobDocument, timeout: float, out: Path | None
) -> JobDocument:
    """Wait until a job is done, and save its result where `out` names a file."""
    with waiting(what) as say:
        document = wait_for(client.job, document, timeout=timeout, on_look=job_watch(say))
    if out is not None:
        _save(client, str(document.get("id")), document, out)
    return document


def _ending(document: JobDocument) -> str:
    about = document.get("result")
    name = str(about.get("name")) if isinstance(about, dict) else ""
    return next((ending for ending in _ENDINGS if name.endswith(ending)), "")


def _reserved(job_id: str, document: JobDocument) -> Path:
    """Make an empty file, of a name that is ours: a server does not choose where a file goes."""
    target = Path(f"job-{job_id}{_ending(document)}")
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


def _save(client: AnalystClient, job_id: str, job: JobDocument, out: Path) -> None:
    form = _format_of(job, out)
    with replacing(out) as file:
        client.job_result(job_id, file.write, format=form)


def _sealing(client: AnalystClient, job: JobDocument) -> Any:
    """Return what a job has sealed, as its small result says."""
    content = bytearray()
    client.job_result(str(job.get("id")), content.extend)
    return usable(lambda: json.loads(content))


def _sealed(sealing: Any) -> str:
    """Return in words what was sealed; the server gives no number that is not released."""
    if not isinstance(sealing, dict):
        return ""
    moved, waiting = sealing.get("moved"), sealing.get("inbox")
    if moved is None:
        return "; how many reports it has sealed is not told before they are released"
    if moved:
        return f"; {moved:,} reports were sealed"
    if waiting:
        return (
            f"; no report was sealed: {waiting:,} wait, which are fewer than the minimum batch. "
            "They are sealed when there are enough, or when the survey is over"
        )
    return "; no report was sealed, because none waits"


def _format_of(job: JobDocument, out: Path) -> str | None:
    """Return the table that a file's ending asks for; None for the file as the job made it."""
    own, ending = _ending(job), out.suffix.lower()
    if not (own and ending) or ending == own:
        return None
    form, kind = ending.removeprefix("."), all_jobs().get(job.get("kind", ""))
    tables = kind is not None and kind.table is not None
    if tables and form in TABLE_FORMATS:
        return form
    others = "".join(f" or .{name}" for name in TABLE_FORMATS) if tables else ""
    raise InvalidParameter(
        f"--out is {show_text(str(out))}, and the job's result is no {ending} file; give a file "
        f"that ends in {own}{others}, and fetch it with hushpoll job result",
        field="out",
    )


def _lines(answer: Mapping[str, list[_ShownJob]]) -> str:
    lines = [f"{job['created_at']}  {_words(job)}" for job in answer["jobs"]]
    return "\n".join(lines) or "No such job is kept."


def _words(job: _ShownJob, out: Path | None = None) -> str:
    line = (
        f"job {job.get('id')}: {job.get('kind')} of {job.get('survey')} version "
        f"{job.get('version')} is {how_far(job)}"
    )
    error = job.get("error")
    if error:
        line += f": {error.get('detail')} ({error.get('code')})"
    line += _sealed(job.get("sealing"))
    return line if out is None else f"{line}; its result is in {out}"
