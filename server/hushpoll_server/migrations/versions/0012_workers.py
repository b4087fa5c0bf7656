"""Which workers are alive."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "workers",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("of_server", sa.Boolean, nullable=False),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("alive_until", sa.BigInteger, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("workers")
