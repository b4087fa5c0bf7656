"""When a bearer token was issued, and which one took its place."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("api_tokens", sa.Column("issued_at", sa.BigInteger))
    op.add_column("api_tokens", sa.Column("replaced_by", sa.String(16)))


def downgrade() -> None:
    op.drop_column("api_tokens", "replaced_by")
    op.drop_column("api_tokens", "issued_at")
