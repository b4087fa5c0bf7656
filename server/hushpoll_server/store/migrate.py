"""Bringing the database to this program's schema version, and refusing to go further."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect

from hushpoll_server.errors import SchemaRefused
from hushpoll_server.store.database import Database

VERSION_TABLE = "alembic_version"
MIGRATIONS = Path(__file__).parent.parent / "migrations"


def upgrade(database: Database, revision: str = "head") -> None:
    """Apply the migrations that are missing, in one transaction.

    Raises
    ------
    SchemaRefused
        The database has a schema version that this program does not know: a newer program has
        used it, or it is not hushpoll's.
    """
    _run(database, "upgrade", revision)


def downgrade(database: Database, revision: str) -> None:
    """Take migrations back, down to and without those after ``revision`` (``"base"``: all)."""
    _run(database, "downgrade", revision)


def current(database: Database) -> str | None:
    """Return the database's schema version; None for an empty database."""
    with database.reading() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def known() -> list[str]:
    """Return every schema version that this program knows, the oldest first."""
    scripts = ScriptDirectory.from_config(_config()).walk_revisions()
    return [script.revision for script in scripts][::-1]


def head() -> str:
    """Return the schema version of this program."""
    revision = ScriptDirectory.from_config(_config()).get_current_head()
    if revision is None:
        raise SchemaRefused(f"no migrations in {MIGRATIONS}; the installation is incomplete")
    return revision


def _run(database: Database, direction: str, revision: str) -> None:
    config = _config()
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    with database.writing(catalogue=True) as connection:
        found = MigrationContext.configure(connection).get_current_heads()
        unknown = sorted(set(found) - known)
        if unknown:
            raise SchemaRefused(
                f"the database has schema version {unknown[0]!r}; this program knows "
                f"{', '.join(sorted(known))}; start the newer release that wrote it, "
                "or restore a backup"
            )
        if not found:
            _check_empty(connection)
        config.attributes["connection"] = connection
        getattr(command, direction)(config, revision)


def _check_empty(connection: Connection) -> None:
    foreign = sorted(set(inspect(connection).get_table_names()) - {VERSION_TABLE})
    if foreign:
        raise SchemaRefused(
            f"the database has no schema version but tables ({', '.join(foreign[:3])}), so it "
            "belongs to another program; name a new file"
        )


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config
