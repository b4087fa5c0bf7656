"""Bringing the database to this program's schema version, or refusing it.

A new database is created from the tables of ``schema`` and marked with the newest schema version.
A database that exists goes through the migrations that it lacks.
"""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect

from hushpoll_server.errors import SchemaRefused
from hushpoll_server.store.database import Database
from hushpoll_server.store.schema import metadata

BASE = "base"
VERSION_TABLE = "alembic_version"
MIGRATIONS = Path(__file__).parent.parent / "migrations"
# Only development versions before the first release had this table. Their schema versions were 0001
# to 0013, and today's 0001 is another one.
DEVELOPMENT_TABLE = "tallies"


def upgrade(database: Database) -> None:
    """Create the tables of a new database, or apply the missing migrations, in one transaction.

    Raises
    ------
    SchemaRefused
        The database has a schema version that this program does not know, because a newer release
        or a development version has used it; or it belongs to another program.
    """
    with database.writing(catalogue=True) as connection:
        version = _known_version(connection)
        if version is None:
            _create(connection)
        elif version != head():
            command.upgrade(_config(connection), "head")


def downgrade(database: Database, version: str) -> None:
    """Undo the migrations after a schema version; ``"base"`` removes every table.

    Raises
    ------
    SchemaRefused
        As ``upgrade``.
    """
    with database.writing(catalogue=True) as connection:
        current = _known_version(connection)
        if version != BASE:
            command.downgrade(_config(connection), version)
        elif current is not None:
            metadata.drop_all(connection)
            MigrationContext.configure(connection).stamp(_scripts(), BASE)


def current(database: Database) -> str | None:
    """Return the database's schema version, known or not; None for an empty database.

    Raises
    ------
    SchemaRefused
        A development version has made the database.
    """
    with database.reading() as connection:
        return _version(connection)


def recorded(database: Database) -> str | None:
    """Return the schema version of a database that was not refused before; one question less."""
    with database.reading() as connection:
        return _recorded(connection)


def known() -> list[str]:
    """Return every schema version that this program knows, the oldest first."""
    return [script.revision for script in _scripts().walk_revisions()][::-1]


def head() -> str:
    """Return the schema version of this program."""
    version = _scripts().get_current_head()
    if version is None:
        raise SchemaRefused(f"no migrations in {MIGRATIONS}; the installation is incomplete")
    return version


def _recorded(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _version(connection: Connection) -> str | None:
    version = _recorded(connection)
    if version is not None and inspect(connection).has_table(DEVELOPMENT_TABLE):
        raise SchemaRefused(
            f"the database has schema version {version!r} of a development version of hushpoll, "
            "which this release cannot read; export its records with the version that made it, or "
            "name a new database"
        )
    return version


def _known_version(connection: Connection) -> str | None:
    version = _version(connection)
    if version is not None and version not in known():
        raise SchemaRefused(
            f"the database has schema version {version!r}; this program knows "
            f"{', '.join(known())}; start the newer release that wrote it, or restore a backup"
        )
    return version


def _create(connection: Connection) -> None:
    foreign = sorted(set(inspect(connection).get_table_names()) - {VERSION_TABLE})
    if foreign:
        raise SchemaRefused(
            f"the database has no schema version but tables ({', '.join(foreign[:3])}), so it "
            "belongs to another program; name a new file"
        )
    metadata.create_all(connection)
    MigrationContext.configure(connection).stamp(_scripts(), "head")


def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config())


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
