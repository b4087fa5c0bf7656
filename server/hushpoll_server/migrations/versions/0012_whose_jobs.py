"""Which token asked for a job, and when a worker began with it: so that tokens take turns."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("token_id", sa.String(16)))
    op.add_column("jobs", sa.Column("started_at", sa.BigInteger))


def downgrade() -> None:
    op.drop_column("jobs", "started_at")
    op.drop_column("jobs", "token_id")
