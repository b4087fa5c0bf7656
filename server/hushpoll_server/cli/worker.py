"""The command ``hushpoll worker``, which runs jobs, or checks the counts."""

from __future__ import annotations

from functools import partial
from typing import Final

import click

from hushpoll_protocols.errors import MissingExtra
from hushpoll_shared.cli.terminal import reports_errors

try:
    from hushpoll_server import logs
    from hushpoll_server.config.configuration import Configuration, configured
    from hushpoll_server.config.settings import SETTINGS
    from hushpoll_server.jobs import memory
    from hushpoll_server.jobs.check import check_counts
    from hushpoll_server.jobs.runner import WorkerProcess
except ModuleNotFoundError as error:
    if error.name is None or error.name.startswith("hushpoll"):
        raise
    raise MissingExtra("server", "hushpoll worker") from error


_USED: Final = (
    "database_url",
    "pool_size",
    "log_level",
    "sealing",
    "seal_at",
    "seal_idle_seconds",
    "close_grace_seconds",
    "max_bulk_reports",
    *(name for name in SETTINGS if name.startswith("job")),
)


@click.command()
@click.option(
    "--check-counts",
    "check",
    is_flag=True,
    help="Count all segments again, compare with the counts that are kept, and end.",
)
@click.option("--repair", is_flag=True, help="With --check-counts: replace counts that differ.")
@reports_errors
@partial(configured, used=_USED)
def worker(configuration: Configuration, check: bool, repair: bool) -> None:
    """Run background jobs, and with --sealing worker also seal.

    Takes the settings of the server whose database it shares, also those that only the server uses
    (hushpoll serve --help lists all); any number may run at once. Prints "taking jobs" once it
    does. SIGTERM ends it within 15 seconds: a job that is not finished by
    then is left to another worker.
    """
    settings = configuration.settings
    logs.to_stderr(settings.log_level)
    if repair and not check:
        raise click.UsageError("--repair needs --check-counts")
    if check:
        differing = 0
        for line, same in check_counts(settings, repair=repair):
            click.echo(line)
            differing += not same
        if differing and not repair:
            raise click.ClickException(f"{differing} versions differ; --repair counts them again")
        return
    if settings.job_memory is not None:
        memory.bound(settings.job_memory)
    WorkerProcess(settings, ready=lambda: click.echo("taking jobs")).run()
