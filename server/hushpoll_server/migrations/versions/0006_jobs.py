"""Background jobs and their results."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("version_id", sa.Integer, nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("parameters", sa.String, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("owner", sa.String(32)),
        sa.Column("lease_until", sa.BigInteger),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("finished_at", sa.BigInteger),
        sa.Column("error_code", sa.String(64)),
        sa.Column("error_detail", sa.String),
        sa.Column("media_type", sa.String(128)),
        sa.Column("file_name", sa.String(255)),
        sa.Column("size", sa.BigInteger),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
        sa.ForeignKeyConstraint(
            ["version_id"], ["survey_versions.id"], name="fk_jobs_version_id_survey_versions"
        ),
    )
    op.create_index("ix_jobs_state", "jobs", ["state"])
    op.create_table(
        "job_results",
        sa.Column("job_id", sa.String(32), nullable=False),
        sa.Column("part", sa.Integer, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("job_id", "part", name="pk_job_results"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_job_results_job_id_jobs"),
    )


def downgrade() -> None:
    op.drop_table("job_results")
    op.drop_index("ix_jobs_state", "jobs")
    op.drop_table("jobs")
