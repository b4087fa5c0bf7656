"""Bringing the database to this program's schema version, or refusing it.

A new database is created from the tables of ``schema`` and marked with the newest schema version.
A database that exists goes through the migrations that it lacks.

Alembic is loaded where there is a migration to run. A process that only reads which version a
database has, as each of a server does, is spared 10 MB and a fifth of its start.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import (
    Column,
    Connection,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    delete,
    insert,
    inspect,
    select,
)

from hushpoll_server.errors import SchemaRefused
from hushpoll_server.store.database import Database
from hushpoll_server.store.schema import metadata

if TYPE_CHECKING:
    from alembic.config import Config

BASE = "base"
VERSION_TABLE = "alembic_version"
MIGRATIONS = Path(__file__).parent.parent / "migrations"
# Only development versions before the first release had this table. Their schema versions were 0001
# to 0013, and today's 0001 is another one.
DEVELOPMENT_TABLE = "tallies"

# As Alembic makes it.
_VERSIONS = Table(
    VERSION_TABLE,
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name=f"{VERSION_TABLE}_pkc"),
)


def upgrade(database: Database) -> None:
    """Create the tables of a new database, or apply the missing migrations, in one transaction.

    Refused is a schema version that this program does not know, as of a newer release, and the
    database of another program.
    """
    with database.writing(catalogue=True) as connection:
        version = _known_version(connection)
        if version is None:
            _create(connection)
        elif version != head():
            from alembic import command

            command.upgrade(_config(connection), "head")


def downgrade(database: Database, version: str) -> None:
    """Undo the migrations after a schema version; ``"base"`` removes every table."""
    with database.writing(catalogue=True) as connection:
        current = _known_version(connection)
        if version != BASE:
            from alembic import command

            command.downgrade(_config(connection), version)
        elif current is not None:
            metadata.drop_all(connection)
            connection.execute(delete(_VERSIONS))


def current(database: Database) -> str | None:
    """Return the database's schema version, known or not; None for an empty database."""
    with database.reading() as connection:
        return _version(connection)


def recorded(database: Database) -> str | None:
    """Return the schema version of a database that was not refused before; one question less."""
    with database.reading() as connection:
        return _recorded(connection)


def known() -> list[str]:
    """Return every schema version that this program knows, the oldest first."""
    return sorted(path.name[:4] for path in (MIGRATIONS / "versions").glob("[0-9]*.py"))


def head() -> str:
    """Return the schema version of this program."""
    versions = known()
    if not versions:
        raise SchemaRefused(f"no migrations in {MIGRATIONS}; the installation is incomplete")
    return versions[-1]


def _recorded(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    version: str | None = connection.execute(select(_VERSIONS.c.version_num)).scalar_one_or_none()
    return version


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
    _VERSIONS.create(connection, checkfirst=True)
    connection.execute(insert(_VERSIONS), {"version_num": head()})


def _config(connection: Connection) -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
