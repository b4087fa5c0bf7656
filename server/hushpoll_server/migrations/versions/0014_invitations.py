"""Invitations, and the tokens that reports of invited surveys have spent."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.create_table(
        "invitations",
        sa.Column("hash", sa.LargeBinary(32), primary_key=True),
        sa.Column("version_id", sa.Integer, nullable=False),
        sa.Column("blinded", sa.LargeBinary(32)),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "spent_tokens",
        sa.Column("version_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("token", sa.LargeBinary(32), primary_key=True),
        sqlite_with_rowid=False,
    )
    if op.get_bind().dialect.name == "postgresql":
        # Statistics would keep up to 200 values; see `store.schema`.
        for table, column in (
            ("invitations", "hash"),
            ("invitations", "blinded"),
            ("spent_tokens", "token"),
        ):
            op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET STATISTICS 0")


def downgrade() -> None:
    op.drop_table("spent_tokens")
    op.drop_table("invitations")
