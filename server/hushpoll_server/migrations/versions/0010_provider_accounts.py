"""Accounts at an OpenID Connect provider, by which users without a password sign in."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("users", sa.Column("issuer", sa.String(255)))
    op.add_column("users", sa.Column("subject", sa.String(255)))
    op.create_index("users_identity", "users", ["issuer", "subject"], unique=True)


def downgrade() -> None:
    op.drop_index("users_identity", "users")
    with op.batch_alter_table("users") as batch:
        batch.drop_column("subject")
        batch.drop_column("issuer")
