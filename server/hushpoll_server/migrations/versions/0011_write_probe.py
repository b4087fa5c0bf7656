"""A row that is written anew to find out whether the database takes writes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "write_probe",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_write_probe"),
    )


def downgrade() -> None:
    op.drop_table("write_probe")
