"""Counts of sealed reports, kept beside the segments."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Segments of before are counted at the first fold of their version.
    op.create_table(
        "folded_counts",
        sa.Column("version_id", sa.Integer, nullable=False),
        sa.Column("reports", sa.BigInteger, nullable=False),
        sa.Column("support", sa.LargeBinary, nullable=False),
        sa.Column("joint", sa.LargeBinary, nullable=False),
        sa.Column("mixed", sa.Boolean(create_constraint=False), nullable=False),
        sa.Column("records_deleted_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("version_id", name="pk_folded_counts"),
        sa.ForeignKeyConstraint(
            ["version_id"],
            ["survey_versions.id"],
            name="fk_folded_counts_version_id_survey_versions",
        ),
    )


def downgrade() -> None:
    op.drop_table("folded_counts")
