"""The tables. Alembic's migrations create them; a test holds the two to each other.

Tables that hold one row per report or token are keyed by a random value and, on SQLite, have no
row id: the file then keeps them in the order of their random keys, not in that of their arrival.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    false,
    true,
)


class Bytes(LargeBinary):
    """Binary values handed to the driver as they are.

    The base class wraps each in the driver's ``Binary``, which sqlite3 and psycopg 3 do not need
    and which a batch pays for three times a report.
    """

    def bind_processor(self, _dialect: Dialect) -> None:
        """Return no conversion."""


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
    Column("canonical", Bytes, nullable=False),
    Column("record_size", Integer, nullable=False),
    Column("minimum_batch", Integer, nullable=False),
    Column("opens", BigInteger),
    Column("closes", BigInteger),
    Column("closed_at", BigInteger),
    Column("accepts_until", BigInteger),
    # See ``closing``.
    Column("ended", Boolean(create_constraint=False), nullable=False, server_default=false()),
    # When analysts are given reports: a term of the manifest, and the present period's end.
    Column("release", String(16), nullable=False, server_default="daily"),
    Column("next_release", BigInteger),
    UniqueConstraint("survey_id", "version"),
)

# Without a foreign key, which both databases look up for every row; versions are never deleted. And
# where a table has one, SQLite deletes its rows one by one.
inbox = Table(
    "inbox",
    metadata,
    Column("version_id", Integer, primary_key=True, autoincrement=False),
    Column("report_id", Bytes(16), primary_key=True),
    Column("record", Bytes, nullable=False),
    sqlite_with_rowid=False,
)

# Of sealed reports, in chunks; those that wait have theirs in the inbox. See ``sealed_ids``. With
# row ids, which say what the order of the ids says: without them SQLite would look through whole
# rows on its way to one, and those that are longer than a quarter of a page it would copy.
sealed_ids = Table(
    "sealed_ids",
    metadata,
    Column("version_id", Integer, primary_key=True, autoincrement=False),
    Column("age", Integer, primary_key=True, autoincrement=False),
    Column("first", Bytes(16), primary_key=True),
    Column("tags", Bytes, nullable=False),
    Column("ids", Bytes, nullable=False),
)

segments = Table(
    "segments",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("version_id", ForeignKey("survey_versions.id"), nullable=False, index=True),
    Column("reports", Integer, nullable=False),
    Column("data", Bytes, nullable=False),
    # Whether it is in the last release. Of a version that releases immediately nobody asks.
    Column("released", Boolean(create_constraint=False), nullable=False, server_default=true()),
)

# What estimates need of every sealed report, whether its segment is still there or not.
aggregates = Table(
    "folded_counts",
    metadata,
    Column("version_id", ForeignKey("survey_versions.id"), primary_key=True),
    Column("reports", BigInteger, nullable=False),
    Column("support", Bytes, nullable=False),
    Column("joint", Bytes, nullable=False),
    Column("mixed", Boolean(create_constraint=False), nullable=False),
    Column("records_deleted_at", BigInteger),
)

# The counts of the last release, and the duplicates and refusals until then, as JSON.
releases = Table(
    "releases",
    metadata,
    Column("version_id", ForeignKey("survey_versions.id"), primary_key=True),
    Column("released_at", BigInteger, nullable=False),
    Column("reports", BigInteger, nullable=False),
    Column("support", Bytes, nullable=False),
    Column("joint", Bytes, nullable=False),
    Column("refused", String, nullable=False),
)

# A spent one is deleted.
respondent_tokens = Table(
    "respondent_tokens",
    metadata,
    Column("hash", Bytes(32), primary_key=True),
    Column("survey_id", ForeignKey("surveys.id"), nullable=False),
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
    Column("hash", Bytes(32), nullable=False),
    Column("label", String(200), nullable=False),
    Column("scopes", String(200), nullable=False),
    Column("expires_at", BigInteger),
    Column("revoked", Boolean(create_constraint=False), nullable=False),
    Column("issued_at", BigInteger),
    Column("replaced_by", String(16)),
)

# Counts by day and outcome, written outside the uploads' transactions.
counters = Table(
    "tallies",
    metadata,
    Column("version_id", ForeignKey("survey_versions.id"), primary_key=True),
    Column("day", String(10), primary_key=True),
    Column("outcome", String(64), primary_key=True),
    Column("count", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# Holds nothing: it is written to see whether writing works.
write_probe = Table(
    "write_probe",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("data", Bytes, nullable=False),
)

# Acts of an analyst, so their times are kept to the second.
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
)

job_results = Table(
    "job_results",
    metadata,
    Column("job_id", ForeignKey("jobs.id"), primary_key=True),
    Column("part", Integer, primary_key=True),
    Column("data", Bytes, nullable=False),
)
