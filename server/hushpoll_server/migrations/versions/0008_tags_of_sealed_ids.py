"""Larger chunks of sealed ids, each with the tags of its ids."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

ID_SIZE = 16
TAG_SIZE = 2
CHUNK_IDS = {"sqlite": 220, "postgresql": 96}
CHUNK_IDS_BEFORE = 16
ROWS = 1_000


def upgrade() -> None:
    _rewrite(
        CHUNK_IDS[op.get_bind().dialect.name],
        sa.Column("tags", sa.LargeBinary, nullable=False),
        sa.Column("ids", sa.LargeBinary, nullable=False),
    )


def downgrade() -> None:
    _rewrite(CHUNK_IDS_BEFORE, sa.Column("ids", sa.LargeBinary, nullable=False), rowid=False)


def _rewrite(chunk_ids: int, *columns: sa.Column[Any], rowid: bool = True) -> None:
    op.rename_table("sealed_ids", "sealed_ids_before")
    if op.get_bind().dialect.name == "postgresql":  # where no two tables may share such a name
        op.execute("ALTER INDEX pk_sealed_ids RENAME TO pk_sealed_ids_before")
    op.create_table(
        "sealed_ids",
        sa.Column("version_id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("age", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("first", sa.LargeBinary(16), nullable=False),
        *columns,
        sa.PrimaryKeyConstraint("version_id", "age", "first", name="pk_sealed_ids"),
        sqlite_with_rowid=rowid,
    )
    names = ["version_id", "age", "first", *(column.name for column in columns)]
    target = sa.table("sealed_ids", *(sa.column(name) for name in names))
    before = sa.table(
        "sealed_ids_before",
        *(sa.column(name) for name in ("version_id", "age", "first", "ids")),
    )
    connection = op.get_bind()
    lists = sa.select(before.c.version_id, before.c.age).distinct()
    for version_id, age in connection.execute(lists).all():
        of_it = (before.c.version_id == version_id, before.c.age == age)
        statement = sa.select(before.c.ids).where(*of_it).order_by(before.c.first)
        found = connection.execute(statement, execution_options={"yield_per": ROWS}).scalars()
        chunks = _chunks(_ids(map(bytes, found)), chunk_ids)
        rows = ({"version_id": version_id, "age": age, **chunk} for chunk in chunks)
        while some := list(islice(rows, ROWS)):
            connection.execute(
                target.insert(), [{name: row[name] for name in names} for row in some]
            )
    op.drop_table("sealed_ids_before")


def _ids(chunks: Iterator[bytes]) -> Iterator[bytes]:
    for ids in chunks:
        for start in range(0, len(ids), ID_SIZE):
            yield ids[start : start + ID_SIZE]


def _chunks(ids: Iterator[bytes], most: int) -> Iterator[dict[str, Any]]:
    first = b""  # of the first chunk; every id is above it
    while some := list(islice(ids, most)):
        tags = b"".join(one[-TAG_SIZE:] for one in some)
        yield {"first": first and some[0], "tags": tags, "ids": b"".join(some)}
        first = some[0]
