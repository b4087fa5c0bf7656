"""The tables of the database.

Tables that hold one row per report or token are keyed by a random value and, on SQLite, have no
row id: the file keeps their rows in the order of these random keys, not in the order of insertion.

A new database is created from these tables. A database that exists is changed by a migration; see
``migrate``.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    event,
    false,
    true,
)

ID_SIZE: Final = 16
"""Bytes of a report's id."""

TAG_SIZE: Final = 2
"""Bytes of an id's tag: its last ones. See ``sealing``."""

YOUNG, OLD = 0, 1
"""The two lists of a version's sealed ids. See ``sealing``."""

# Trying to compress such a column takes PostgreSQL ten times as long as writing it, and gains
# little or nothing.
UNCOMPRESSED: Final = {"storage": "EXTERNAL"}

# On PostgreSQL such a statement does nothing; on SQLite it fails.
APPEND_ONLY: Final = {
    "sqlite": [
        f"CREATE TRIGGER actions_no_{act.lower()} BEFORE {act} ON actions "
        "BEGIN SELECT RAISE(ABORT, 'the action log is append-only'); END"
        for act in ("UPDATE", "DELETE")
    ],
    "postgresql": [
        f"CREATE RULE actions_no_{act.lower()} AS ON {act} TO actions DO INSTEAD NOTHING"
        for act in ("UPDATE", "DELETE")
    ],
}

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

surveys = Table(
    "surveys",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(255), nullable=False, unique=True),
)

# Times are whole seconds since 1970, UTC: acts of the analyst, never of a respondent.
versions = Table(
    "survey_versions",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("survey_id", ForeignKey("surveys.id"), nullable=False),
    Column("version", Integer, nullable=False),
    Column("digest", String(64), nullable=False, unique=True),
    Column("title", String, nullable=False),
    Column("canonical", LargeBinary, nullable=False),
    Column("record_size", Integer, nullable=False),
    Column("minimum_batch", Integer, nullable=False),
    Column("opens", BigInteger),
    Column("closes", BigInteger),
    Column("closed_at", BigInteger),
    Column("accepts_until", BigInteger),
    # No report is taken any more, whatever the clock of a process says.
    Column("ended", Boolean(create_constraint=False), nullable=False, server_default=false()),
    # When analysts are given reports: a term of the manifest, and the end of the present period.
    Column("release", String(16), nullable=False, server_default="daily"),
    Column("next_release", BigInteger),
    UniqueConstraint("survey_id", "version"),
)

# This table has no foreign key: both databases would look it up for every row, and SQLite would
# delete the rows one by one. Versions are never deleted.
inbox = Table(
    "inbox",
    metadata,
    Column("version_id", Integer, primary_key=True, autoincrement=False),
    Column("report_id", LargeBinary(16), primary_key=True),
    Column("record", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

# The ids of sealed reports, in chunks (see ``sealing``); the ids of waiting reports are in the
# inbox. The table has row ids, which tell no more than the order of the ids does. Without them
# SQLite would read whole rows on its way to one row, and copy those longer than a quarter of a
# page.
sealed_ids = Table(
    "sealed_ids",
    metadata,
    Column("version_id", Integer, primary_key=True, autoincrement=False),
    Column("age", Integer, primary_key=True, autoincrement=False),
    Column("first", LargeBinary(16), primary_key=True),
    Column("tags", LargeBinary, nullable=False),
    Column("ids", LargeBinary, nullable=False),
)

segments = Table(
    "segments",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("version_id", ForeignKey("survey_versions.id"), nullable=False, index=True),
    Column("reports", Integer, nullable=False),
    Column("data", LargeBinary, nullable=False, info=UNCOMPRESSED),
    # Whether it is in the last release; without meaning for a version that releases immediately.
    Column("released", Boolean(create_constraint=False), nullable=False, server_default=true()),
)

# What estimates need of every sealed report, whether its segment still exists or not.
aggregates = Table(
    "aggregates",
    metadata,
    Column("version_id", ForeignKey("survey_versions.id"), primary_key=True),
    Column("reports", BigInteger, nullable=False),
    Column("support", LargeBinary, nullable=False),
    Column("joint", LargeBinary, nullable=False, info=UNCOMPRESSED),
    # Whether the version is over and all its segments were shuffled together.
    Column("shuffled", Boolean(create_constraint=False), nullable=False),
    Column("records_deleted_at", BigInteger),
)

# The counts of the last release; ``refused`` is JSON: duplicates and refusals until then.
releases = Table(
    "releases",
    metadata,
    Column("version_id", ForeignKey("survey_versions.id"), primary_key=True),
    Column("released_at", BigInteger, nullable=False),
    Column("reports", BigInteger, nullable=False),
    Column("support", LargeBinary, nullable=False),
    Column("joint", LargeBinary, nullable=False, info=UNCOMPRESSED),
    Column("refused", String, nullable=False),
)

# How many reports were released by the end of a day (YYYY-MM-DD, UTC).
release_days = Table(
    "release_days",
    metadata,
    Column("version_id", ForeignKey("survey_versions.id"), primary_key=True),
    Column("day", String(10), primary_key=True),
    Column("reports", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# A token that is spent is deleted.
respondent_tokens = Table(
    "respondent_tokens",
    metadata,
    Column("hash", LargeBinary(32), primary_key=True),
    Column("survey_id", ForeignKey("surveys.id"), nullable=False),
    sqlite_with_rowid=False,
)

# Invitations to a version. ``blinded`` is the element with which one was redeemed.
invitations = Table(
    "invitations",
    metadata,
    Column("hash", LargeBinary(32), primary_key=True),
    Column("version_id", Integer, nullable=False),
    Column("blinded", LargeBinary(32)),
    sqlite_with_rowid=False,
)

# People who are invited by mail, until their version is closed. ``address`` is a keyed hash, by
# which a second invitation is found; ``sealed`` is encrypted: the address, the name, the language
# and the invitation. The key of both is outside the database. ``mail``: of the last mail, which is
# the invitation or, if ``reminders`` is not 0, a reminder. The job of its ``batch`` sends it.
addressees = Table(
    "addressees",
    metadata,
    Column("invitation", LargeBinary(32), primary_key=True),
    Column("version_id", Integer, nullable=False),
    Column("address", LargeBinary(32), nullable=False),
    Column("key_id", String(16), nullable=False),
    Column("sealed", LargeBinary, nullable=False),
    Column("batch", String(32), nullable=False, index=True),
    Column("mail", String(16), nullable=False),
    Column("reminders", Integer, nullable=False),
    UniqueConstraint("version_id", "address"),
    sqlite_with_rowid=False,
)

# SHA-256 of the inputs of tokens that reports of invited surveys have spent.
spent_tokens = Table(
    "spent_tokens",
    metadata,
    Column("version_id", Integer, primary_key=True, autoincrement=False),
    Column("token", LargeBinary(32), primary_key=True),
    sqlite_with_rowid=False,
)

# Web origins whose pages may answer a survey.
survey_origins = Table(
    "survey_origins",
    metadata,
    Column("survey_id", ForeignKey("surveys.id"), primary_key=True),
    Column("origin", String(255), primary_key=True),
)

api_tokens = Table(
    "api_tokens",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("hash", LargeBinary(32), nullable=False),
    Column("label", String(200), nullable=False),
    Column("scopes", String(200), nullable=False),
    Column("expires_at", BigInteger),
    Column("revoked", Boolean(create_constraint=False), nullable=False),
    Column("issued_at", BigInteger),
    Column("replaced_by", String(16)),
    # Names of the surveys that it is for, separated by spaces; null: of every survey.
    Column("surveys", String),
    # Day of its last use (YYYY-MM-DD, UTC).
    Column("last_used", String(10)),
)

# People who sign in to the dashboard. ``password`` is argon2's own text, salt and costs included,
# or a mark that no password fits: then they sign in at an OpenID Connect provider. ``issuer`` and
# ``subject`` are its names of itself and of the account, known after the first sign-in there.
users = Table(
    "users",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("name", String(64), nullable=False, unique=True),
    Column("password", String(255), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("issuer", String(255)),
    Column("subject", String(255)),
    Index("users_identity", "issuer", "subject", unique=True),
)

# By name: a role may be given before its survey is published. ``*`` is every survey.
user_roles = Table(
    "user_roles",
    metadata,
    Column("user_id", ForeignKey("users.id"), primary_key=True),
    Column("survey", String(255), primary_key=True),
    Column("role", String(16), nullable=False),
)

# The cookie's secret is stored as its SHA-256. No address and no browser's name is kept.
user_sessions = Table(
    "user_sessions",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("hash", LargeBinary(32), nullable=False, unique=True),
    Column("user_id", ForeignKey("users.id"), nullable=False, index=True),
    Column("created_at", BigInteger, nullable=False),
    Column("used_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
)

# Who of the analysts and administrators did what. The database refuses to change its rows.
actions = Table(
    "actions",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("actor", String(80), nullable=False),
    Column("act", String(32), nullable=False),
    Column("survey", String(255)),
    Column("version", Integer),
    Column("subject", String(255)),
)

# Manifests that are not published yet, as JSON. ``survey`` is the name in it, by which roles apply.
drafts = Table(
    "drafts",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("survey", String(64), nullable=False),
    Column("title", String(200), nullable=False),
    Column("manifest", String, nullable=False),
    Column("owner", String(80), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("changed_at", BigInteger, nullable=False),
    Column("changed_by", String(80), nullable=False),
    Column("revision", Integer, nullable=False),
)

# Pictures that pages of surveys show, which everybody may load.
images = Table(
    "images",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("media_type", String(32), nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("added_at", BigInteger, nullable=False),
    Column("added_by", String(80), nullable=False),
)

# Results that everybody may read; one that was taken back has neither page nor bundle any more.
publications = Table(
    "publications",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("version_id", ForeignKey("survey_versions.id"), nullable=False, index=True),
    Column("choices", String, nullable=False),
    Column("published_at", BigInteger, nullable=False),
    Column("published_by", String(80), nullable=False),
    Column("taken_back_at", BigInteger),
    Column("page", LargeBinary),
    Column("bundle", LargeBinary),
)

# A publication in other languages than its own, which has its files in `publications`.
publication_translations = Table(
    "publication_translations",
    metadata,
    Column("publication_id", ForeignKey("publications.id"), primary_key=True),
    Column("language", String(8), primary_key=True),
    Column("page", LargeBinary, nullable=False),
    Column("bundle", LargeBinary, nullable=False),
)

# Reports by day and outcome, written outside the uploads' transactions.
counters = Table(
    "counters",
    metadata,
    Column("version_id", ForeignKey("survey_versions.id"), primary_key=True),
    Column("day", String(10), primary_key=True),
    Column("outcome", String(64), primary_key=True),
    Column("count", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# Holds zeros; it is written to find out whether the database stores anything.
write_probe = Table(
    "write_probe",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("data", LargeBinary, nullable=False),
)

# Jobs are acts of an analyst, so their times are kept to the second.
jobs = Table(
    "jobs",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("version_id", ForeignKey("survey_versions.id"), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("parameters", String, nullable=False),
    Column("state", String(16), nullable=False, index=True),
    Column("attempt", Integer, nullable=False),
    Column("owner", String(32)),
    Column("lease_until", BigInteger),
    Column("created_at", BigInteger, nullable=False),
    Column("finished_at", BigInteger),
    Column("error_code", String(64)),
    Column("error_detail", String),
    Column("media_type", String(128)),
    Column("file_name", String(255)),
    Column("size", BigInteger),
    Column("token_id", String(16)),
    Column("started_at", BigInteger),
    # How far it is: JSON of numbers and of the program's own words.
    Column("progress", String),
)

# A row is about a job whose result is kept until it is deleted: a model, an audit or a regression.
# Its card is JSON: what its readers may know of the model, or what was found.
models = Table(
    "models",
    metadata,
    Column("job_id", ForeignKey("jobs.id"), primary_key=True),
    Column("card", String, nullable=False),
)

# A worker that is alive renews its row. `of_server`: `hushpoll serve` started it.
workers = Table(
    "workers",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("of_server", Boolean, nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Column("alive_until", BigInteger, nullable=False),
)

job_results = Table(
    "job_results",
    metadata,
    Column("job_id", ForeignKey("jobs.id"), primary_key=True),
    Column("part", Integer, primary_key=True),
    Column("data", LargeBinary, nullable=False),
)


@event.listens_for(metadata, "after_create")
def _set_storage(_metadata: MetaData, connection: Connection, **_options: Any) -> None:
    """Keep values of binary columns out of PostgreSQL's statistics, and set how they are stored.

    ANALYZE, which autovacuum runs by itself, copies up to 200 values of each column into
    ``pg_statistic``. There they would outlive sealing, the spent token and the deletion of the
    records. SQLite keeps no statistics unless it is told to.
    """
    if connection.dialect.name != "postgresql":
        return
    for table in metadata.sorted_tables:
        for column in table.columns:
            if isinstance(column.type, LargeBinary):
                alter = f"ALTER TABLE {table.name} ALTER COLUMN {column.name}"
                connection.exec_driver_sql(f"{alter} SET STATISTICS 0")
                if storage := column.info.get("storage"):
                    connection.exec_driver_sql(f"{alter} SET STORAGE {storage}")


@event.listens_for(metadata, "after_create")
def _keep_actions(_metadata: MetaData, connection: Connection, **_options: Any) -> None:
    """Let the database refuse to change or delete a row of the action log."""
    for statement in APPEND_ONLY[connection.dialect.name]:
        connection.exec_driver_sql(statement)
