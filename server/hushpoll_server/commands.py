"""``hushpoll serve``."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import click

from hushpoll_protocols.errors import MissingExtra
from hushpoll_shared.terminal import reports_errors

try:
    from hushpoll_server import logs, serving
    from hushpoll_server.listening import listen
    from hushpoll_server.settings import Settings
    from hushpoll_server.store.lock import only_server
    from hushpoll_server.token_file import private_file
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
    within 15 seconds with everything acknowledged on disk. One database takes one server at a time.
    """
    logs.to_stderr(log_level)
    settings = Settings(
        database_url=database_url, close_grace_seconds=close_grace, pool_size=threads + 4
    )
    # The first start happens once, so what can be refused is refused before its token is made.
    with only_server(database_url), listen(host, port) as listener:
        with private_file(admin_token_file) if admin_token_file else nullcontext() as write:
            token = serving.prepare(settings)
            if token is not None:
                click.echo(f"admin token: {token}", err=True)
                if write is not None:
                    write(token + "\n")
        serving.Server(
            settings,
            listener=listener,
            threads=threads,
            ready=lambda url: click.echo(f"listening on {url}"),
        ).run()
