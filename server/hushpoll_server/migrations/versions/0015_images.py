"""Images that surveys show."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.create_table(
        "images",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("media_type", sa.String(32), nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("added_at", sa.BigInteger, nullable=False),
        sa.Column("added_by", sa.String(80), nullable=False),
    )
    if op.get_context().dialect.name == "postgresql":
        # As store.schema does for a new database: no copy of a value in the statistics.
        op.execute("ALTER TABLE images ALTER COLUMN body SET STATISTICS 0")


def downgrade() -> None:
    op.drop_table("images")
