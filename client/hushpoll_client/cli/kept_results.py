"""Commands for results that a server keeps until they are deleted: models, audits, regressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.analyst.jobs import how_far
from hushpoll_client.cli.options import analyst_command, version_of, version_option
from hushpoll_shared.cli.terminal import agreed, emit, emit_answer
from hushpoll_shared.wire.documents import JobDocument


def list_command(
    noun: str,
    entries: str,
    listed: Callable[[AnalystClient, str, int], Sequence[Mapping[str, Any]]],
    line: Callable[[Any], str],
    about: str,
) -> click.Command:
    """Return the command that lists the results of a kind.

    Parameters
    ----------
    noun, entries : str
        What one is called, and the member of the answer that has all.
    listed : callable
        Asks for those of a survey's version.
    line : callable
        Returns an entry in words.
    about : str
        The command's help.
    """

    def command(client: AnalystClient, name: str, version: int | None, as_json: bool) -> None:
        document = {entries: listed(client, name, version_of(client, name, version))}
        emit_answer(
            document,
            lambda answer: "\n".join(map(line, answer[entries])) or f"{name} has no {noun}.",
            as_json=as_json,
        )

    command.__doc__ = about
    return click.command("list")(click.argument("name")(version_option(analyst_command(command))))


def delete_command(noun: str, delete: Callable[[AnalystClient, str], None]) -> click.Command:
    """Return the command that deletes one result of a kind; `noun` it is called."""

    def command(client: AnalystClient, result_id: str, yes: bool, as_json: bool) -> None:
        if not yes:
            agreed(f"Delete the {noun} {result_id}? This cannot be undone.")
        delete(client, result_id)
        emit({"deleted": result_id}, f"{noun} {result_id} is deleted", as_json=as_json)

    command.__doc__ = f"""Delete the {noun} ID and its job for good.

    The token must be the one that asked for it, or have the scope admin.
    """
    asks = click.option("--yes", is_flag=True, help="Do not ask.")(analyst_command(command))
    return click.command("delete")(click.argument("result_id", metavar="ID")(asks))


def job_line(job: JobDocument) -> str:
    """Return the line of an entry's job."""
    return f"{job['id']}  {job['created_at']}  {how_far(job)}"
