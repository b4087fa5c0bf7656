"""The cards of models that jobs have trained."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "models",
        sa.Column("job_id", sa.String(32), sa.ForeignKey("jobs.id"), primary_key=True),
        sa.Column("card", sa.String, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("models")
