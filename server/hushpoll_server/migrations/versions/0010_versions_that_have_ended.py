"""Versions of which no report is taken any more, whatever a process's clock says."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "survey_versions",
        sa.Column(
            "ended", sa.Boolean(create_constraint=False), nullable=False, server_default=sa.false()
        ),
    )
    versions = sa.table("survey_versions", sa.column("id"), sa.column("ended", sa.Boolean))
    counts = sa.table("folded_counts", sa.column("version_id"), sa.column("mixed", sa.Boolean))
    over = sa.select(counts.c.version_id).where(counts.c.mixed)
    op.execute(versions.update().where(versions.c.id.in_(over)).values(ended=True))


def downgrade() -> None:
    op.drop_column("survey_versions", "ended")
