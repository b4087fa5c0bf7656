"""The command ``hushpoll migrate``, which changes the database's schema version."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import click

from hushpoll_protocols.errors import InvalidParameter, MissingExtra
from hushpoll_shared.cli.terminal import FAILED, reports_errors

try:
    from hushpoll_server.config.configuration import Configuration, configured
    from hushpoll_server.store import migrate as schema
    from hushpoll_server.store.database import Database, parse_url
    from hushpoll_server.store.lock import acquire
    from hushpoll_server.store.sqlite.session import path_of
except ModuleNotFoundError as error:
    if error.name is None or error.name.startswith("hushpoll"):
        raise
    raise MissingExtra("server", "hushpoll migrate") from error

NONE = "none"


@click.command()
@click.option("--check", is_flag=True, help="Change nothing; end with 1 if there is work to do.")
@click.option(
    "--to",
    "wanted",
    metavar="VERSION",
    help='Older schema version to go back to ("base" removes every table). '
    "[default: this program's]",
)
@reports_errors
@partial(configured, used=("database_url",))
def migrate(configuration: Configuration, check: bool, wanted: str | None) -> None:
    """Bring the database to this program's schema version.

    The server does this by itself when it starts; do it beforehand where several servers start at
    once. End all servers of the database first, and make a backup. The database's settings are
    read as "hushpoll serve" reads them.
    """
    url = configuration.settings.database_url
    target = _target(wanted)
    if check:
        version = _version_of(url)
        click.echo(f"schema version {version}, wanted {target}")
        sys.exit(0 if version == target else FAILED)
    with acquire(url):
        database = Database(url, pool_size=1)
        try:
            before = schema.current(database) or NONE
            if target != NONE:
                schema.upgrade(database)
            if target != schema.head():
                schema.downgrade(database, schema.BASE if target == NONE else target)
        finally:
            database.close()
    done = f"{before} -> {target}" if before != target else f"{target}, nothing to do"
    click.echo(f"schema version {done}")


def _target(wanted: str | None) -> str:
    if wanted is None:
        return schema.head()
    if wanted == schema.BASE:
        return NONE
    if wanted not in schema.known():
        raise InvalidParameter(
            f"--to is {wanted!r}; give one of {schema.BASE}, {', '.join(schema.known())}",
            field="to",
        )
    return wanted


def _version_of(url: str) -> str:
    parsed = parse_url(url)
    if parsed.get_backend_name() == "sqlite" and not Path(path_of(parsed)).exists():
        return NONE  # opening it would make it
    database = Database(url, pool_size=1)
    try:
        return schema.current(database) or NONE
    finally:
        database.close()
