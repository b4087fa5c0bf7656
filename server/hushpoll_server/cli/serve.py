"""The command ``hushpoll serve``, which starts the server."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import click

from hushpoll_protocols.errors import MissingExtra
from hushpoll_shared.cli.terminal import reports_errors

try:
    from hushpoll_server import logs
    from hushpoll_server.config.configuration import Configuration, configured
    from hushpoll_server.ingest.rates import check_url
    from hushpoll_server.processes import serving
    from hushpoll_server.processes.children import raise_descriptor_limit
    from hushpoll_server.processes.files import metrics_folder, private_file
    from hushpoll_server.services.people.provider import require_oidc
    from hushpoll_server.store.lock import acquire
except ModuleNotFoundError as error:
    if error.name is None or error.name.startswith("hushpoll"):
        raise
    raise MissingExtra("server", "hushpoll serve") from error


@click.command()
@reports_errors
@configured
def serve(configuration: Configuration) -> None:
    """Serve surveys over HTTP.

    Every setting is a flag, a variable HUSHPOLL_<NAME> and a key of the configuration file; a flag
    goes before a variable, a variable before the file.

    Prints "listening on URL" once it listens, and at the first start, on standard error, an admin
    token that is never shown again. Put a proxy that speaks TLS in front of it. SIGTERM ends it
    within 15 seconds with everything acknowledged on disk. An SQLite file takes one server at a
    time.
    """
    settings = configuration.settings
    logs.to_stderr(settings.log_level)
    serving.check_workers(settings)
    if settings.rate_limit_url is not None:
        check_url(settings.rate_limit_url)
    require_oidc(settings)
    raise_descriptor_limit()
    token_file = settings.admin_token_file
    # The first start happens once, so all refusals come before its token is made.
    with (
        metrics_folder() if settings.metrics_token else nullcontext(),
        acquire(settings.database_url) as lock,
        serving.listen(settings.host, settings.port) as listener,
    ):
        with private_file(Path(token_file)) if token_file else nullcontext() as write:
            token = serving.prepare(settings)
            if token is not None and write is not None:
                write(token + "\n")
                click.echo(f"admin token written to {token_file}", err=True)
            elif token is not None:
                click.echo(f"admin token: {token}", err=True)
        serving.serve(
            settings,
            listener=listener,
            lock=lock.fileno(),
            ready=lambda url: click.echo(f"listening on {url}"),
        )
