"""Ids of sealed reports in chunks, and no foreign key that is looked up for every report."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

OLD = 1
CHUNK_IDS = 16
ID_SIZE = 16
ROWS = 5_000
FOREIGN_KEY = "fk_inbox_version_id_survey_versions"

seen_ids = sa.table(
    "seen_ids", sa.column("version_id", sa.Integer), sa.column("report_id", sa.LargeBinary)
)
sealed_ids = sa.table(
    "sealed_ids",
    sa.column("version_id", sa.Integer),
    sa.column("age", sa.Integer),
    sa.column("first", sa.LargeBinary),
    sa.column("ids", sa.LargeBinary),
)


def upgrade() -> None:
    op.create_table(
        "sealed_ids",
        sa.Column("version_id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("age", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("first", sa.LargeBinary(16), nullable=False),
        sa.Column("ids", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("version_id", "age", "first", name="pk_sealed_ids"),
        sqlite_with_rowid=False,
    )
    _move(seen_ids, sealed_ids, _chunks)
    op.drop_table("seen_ids")
    if op.get_bind().dialect.name == "sqlite":
        _rebuild_inbox()
    else:
        op.drop_constraint(FOREIGN_KEY, "inbox", type_="foreignkey")
        _store("EXTERNAL")


def downgrade() -> None:
    op.create_table(
        "seen_ids",
        sa.Column("version_id", sa.Integer, nullable=False),
        sa.Column("report_id", sa.LargeBinary(16), nullable=False),
        sa.PrimaryKeyConstraint("version_id", "report_id", name="pk_seen_ids"),
        sa.ForeignKeyConstraint(
            ["version_id"], ["survey_versions.id"], name="fk_seen_ids_version_id_survey_versions"
        ),
        sqlite_with_rowid=False,
    )
    _move(sealed_ids, seen_ids, _single)
    op.drop_table("sealed_ids")
    if op.get_bind().dialect.name == "sqlite":
        _rebuild_inbox(
            sa.ForeignKeyConstraint(["version_id"], ["survey_versions.id"], name=FOREIGN_KEY)
        )
    else:
        op.create_foreign_key(FOREIGN_KEY, "inbox", "survey_versions", ["version_id"], ["id"])
        _store("EXTENDED")


def _move(source: Any, target: Any, converted: Any) -> None:
    connection = op.get_bind()
    versions = connection.execute(sa.select(source.c.version_id).distinct()).scalars().all()
    *keys, value = list(source.c)
    for version_id in versions:
        statement = sa.select(value).where(source.c.version_id == version_id).order_by(*keys, value)
        found = connection.execute(statement, execution_options={"yield_per": ROWS}).scalars()
        rows = ({"version_id": version_id, **row} for row in converted(map(bytes, found)))
        while some := list(islice(rows, ROWS)):
            connection.execute(target.insert(), some)


def _chunks(ids: Iterator[bytes]) -> Iterator[dict[str, Any]]:
    first = b""  # of the first chunk; every id is above it
    while some := list(islice(ids, CHUNK_IDS)):
        yield {"age": OLD, "first": first and some[0], "ids": b"".join(some)}
        first = some[0]


def _single(chunks: Iterator[bytes]) -> Iterator[dict[str, Any]]:
    for ids in chunks:
        for start in range(0, len(ids), ID_SIZE):
            yield {"report_id": ids[start : start + ID_SIZE]}


def _store(storage: str) -> None:
    # Trying to compress them takes ten times as long as writing them, and gains little or nothing.
    for table, column in (("segments", "data"), ("folded_counts", "joint")):
        op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE {storage}")


def _rebuild_inbox(*constraints: sa.ForeignKeyConstraint) -> None:
    # SQLite cannot take a constraint from a table, or give it one.
    op.rename_table("inbox", "inbox_before")
    op.create_table(
        "inbox",
        sa.Column("version_id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("report_id", sa.LargeBinary(16), nullable=False),
        sa.Column("record", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("version_id", "report_id", name="pk_inbox"),
        *constraints,
        sqlite_with_rowid=False,
    )
    op.execute("INSERT INTO inbox SELECT version_id, report_id, record FROM inbox_before")
    op.drop_table("inbox_before")
