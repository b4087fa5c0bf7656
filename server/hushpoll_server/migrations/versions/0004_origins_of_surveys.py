"""Web origins whose pages may answer a survey."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "survey_origins",
        sa.Column("survey_id", sa.Integer, nullable=False),
        sa.Column("origin", sa.String(255), nullable=False),
        sa.PrimaryKeyConstraint("survey_id", "origin", name="pk_survey_origins"),
        sa.ForeignKeyConstraint(
            ["survey_id"], ["surveys.id"], name="fk_survey_origins_survey_id_surveys"
        ),
    )


def downgrade() -> None:
    op.drop_table("survey_origins")
