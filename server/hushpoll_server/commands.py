"""``hushpoll serve``."""

from __future__ import annotations

import os
from pathlib import Path

import click

from hushpoll_protocols.errors import MissingExtra
from hushpoll_shared.terminal import reports_errors

try:
    from hushpoll_server import logs, serving
    from hushpoll_server.settings import Settings
except ModuleNotFoundError as error:
    if error.name is None or error.name.startswith("hushpoll"):
        raise
    raise MissingExtra("server", "hushpoll serve") from error


@click.command()
@click.option(
    "--database-url",
    envvar="HUSHPOLL_DATABASE_URL",
    default="sqlite:///hushpoll.sqlite",
    show_default=True,
    help="Database to keep everything in.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="Port to listen on; 0 takes a free one.",
)
@click.option(
    "--admin-token-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the first start's admin token into this file, readable by its owner only.",
)
@click.option(
    "--close-grace",
    type=click.IntRange(0, 31_536_000),
    default=86_400,
    show_default=True,
    help="Seconds after closing during which reports of offline devices are still taken.",
)
@click.option(
    "--threads",
    type=click.IntRange(1, 500),
    default=32,
    show_default=True,
    help="Requests worked on at a time.",
)
@click.option(
    "--log-level",
    type=click.Choice(logs.LEVELS),
    default="info",
    show_default=True,
    help="What to log to standard error; never an address or a payload.",
)
@reports_errors
def serve(
    database_url: str,
    host: str,
    port: int,
    admin_token_file: Path | None,
    close_grace: int,
    threads: int,
    log_level: str,
) -> None:
    """Serve surveys over HTTP.

    Prints "listening on URL" once it listens, and at the first start, on standard error, an admin
    token that is never shown again. Put a proxy that speaks TLS in front of it. SIGTERM ends it
    within 15 seconds with everything acknowledged on disk.
    """
    logs.to_stderr(log_level)
    settings = Settings(
        database_url=database_url, close_grace_seconds=close_grace, pool_size=threads + 4
    )
    token = serving.prepare(settings)
    if token is not None:
        click.echo(f"admin token: {token}", err=True)
        if admin_token_file is not None:
            _write_private(admin_token_file, token + "\n")
    serving.Server(
        settings,
        host=host,
        port=port,
        threads=threads,
        ready=lambda url: click.echo(f"listening on {url}"),
    ).run()


def _write_private(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as stream:
        os.fchmod(stream.fileno(), 0o600)
        stream.write(text)
