"""Drafts of surveys."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "drafts",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("survey", sa.String(64), nullable=False),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("manifest", sa.String, nullable=False),
        sa.Column("owner", sa.String(80), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("changed_at", sa.BigInteger, nullable=False),
        sa.Column("changed_by", sa.String(80), nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("drafts")
