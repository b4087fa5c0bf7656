"""People who are invited by mail; spent tokens of versions that take no report any more go."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.create_table(
        "addressees",
        sa.Column("invitation", sa.LargeBinary(32), primary_key=True),
        sa.Column("version_id", sa.Integer, nullable=False),
        sa.Column("address", sa.LargeBinary(32), nullable=False),
        sa.Column("key_id", sa.String(16), nullable=False),
        sa.Column("sealed", sa.LargeBinary, nullable=False),
        sa.Column("batch", sa.String(32), nullable=False),
        sa.Column("mail", sa.String(16), nullable=False),
        sa.Column("reminders", sa.Integer, nullable=False),
        sa.UniqueConstraint("version_id", "address", name="uq_addressees_version_id_address"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_addressees_batch", "addressees", ["batch"])
    if op.get_bind().dialect.name == "postgresql":
        # Statistics would keep up to 200 values; see `store.schema`.
        for column in ("invitation", "address", "sealed"):
            op.execute(f"ALTER TABLE addressees ALTER COLUMN {column} SET STATISTICS 0")
    op.execute(
        "DELETE FROM spent_tokens WHERE version_id IN (SELECT id FROM survey_versions WHERE ended)"
    )


def downgrade() -> None:
    op.drop_table("addressees")
