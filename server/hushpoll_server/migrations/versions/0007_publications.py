"""Results that were published to everybody."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "publications",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column(
            "version_id",
            sa.Integer,
            sa.ForeignKey("survey_versions.id"),
            nullable=False,
            index=True,
        ),
        sa.Column("choices", sa.String, nullable=False),
        sa.Column("published_at", sa.BigInteger, nullable=False),
        sa.Column("published_by", sa.String(80), nullable=False),
        sa.Column("taken_back_at", sa.BigInteger),
        sa.Column("page", sa.LargeBinary),
        sa.Column("bundle", sa.LargeBinary),
    )
    if op.get_context().dialect.name == "postgresql":
        # As store.schema does for a new database: no copy of a value in the statistics.
        for column in ("page", "bundle"):
            op.execute(f"ALTER TABLE publications ALTER COLUMN {column} SET STATISTICS 0")


def downgrade() -> None:
    op.drop_table("publications")
