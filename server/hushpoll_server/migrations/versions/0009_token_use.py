"""The day on which an analyst's token was last used."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("api_tokens", sa.Column("last_used", sa.String(10)))


def downgrade() -> None:
    with op.batch_alter_table("api_tokens") as table:
        table.drop_column("last_used")
