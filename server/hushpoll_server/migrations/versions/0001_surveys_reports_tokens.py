"""Surveys, reports and tokens."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "surveys",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_surveys"),
        sa.UniqueConstraint("name", name="uq_surveys_name"),
    )
    op.create_table(
        "survey_versions",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("survey_id", sa.Integer, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("title", sa.String, nullable=False),
        sa.Column("canonical", sa.LargeBinary, nullable=False),
        sa.Column("record_size", sa.Integer, nullable=False),
        sa.Column("minimum_batch", sa.Integer, nullable=False),
        sa.Column("opens", sa.BigInteger),
        sa.Column("closes", sa.BigInteger),
        sa.Column("closed_at", sa.BigInteger),
        sa.Column("accepts_until", sa.BigInteger),
        sa.PrimaryKeyConstraint("id", name="pk_survey_versions"),
        sa.UniqueConstraint("digest", name="uq_survey_versions_digest"),
        sa.UniqueConstraint("survey_id", "version", name="uq_survey_versions_survey_id_version"),
        sa.ForeignKeyConstraint(
            ["survey_id"], ["surveys.id"], name="fk_survey_versions_survey_id_surveys"
        ),
    )
    op.create_table(
        "inbox",
        sa.Column("version_id", sa.Integer, nullable=False),
        sa.Column("report_id", sa.LargeBinary(16), nullable=False),
        sa.Column("record", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("version_id", "report_id", name="pk_inbox"),
        sa.ForeignKeyConstraint(
            ["version_id"], ["survey_versions.id"], name="fk_inbox_version_id_survey_versions"
        ),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "seen_ids",
        sa.Column("version_id", sa.Integer, nullable=False),
        sa.Column("report_id", sa.LargeBinary(16), nullable=False),
        sa.PrimaryKeyConstraint("version_id", "report_id", name="pk_seen_ids"),
        sa.ForeignKeyConstraint(
            ["version_id"], ["survey_versions.id"], name="fk_seen_ids_version_id_survey_versions"
        ),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "segments",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("version_id", sa.Integer, nullable=False),
        sa.Column("reports", sa.Integer, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_segments"),
        sa.ForeignKeyConstraint(
            ["version_id"], ["survey_versions.id"], name="fk_segments_version_id_survey_versions"
        ),
    )
    op.create_index("ix_segments_version_id", "segments", ["version_id"])
    op.create_table(
        "respondent_tokens",
        sa.Column("hash", sa.LargeBinary(32), nullable=False),
        sa.Column("survey_id", sa.Integer, nullable=False),
        sa.Column("spent", sa.Boolean(create_constraint=False), nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_respondent_tokens"),
        sa.ForeignKeyConstraint(
            ["survey_id"], ["surveys.id"], name="fk_respondent_tokens_survey_id_surveys"
        ),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "api_tokens",
        sa.Column("id", sa.String(16), nullable=False),
        sa.Column("hash", sa.LargeBinary(32), nullable=False),
        sa.Column("label", sa.String(200), nullable=False),
        sa.Column("scopes", sa.String(200), nullable=False),
        sa.Column("expires_at", sa.BigInteger),
        sa.Column("revoked", sa.Boolean(create_constraint=False), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_api_tokens"),
    )
    op.create_table(
        "tallies",
        sa.Column("version_id", sa.Integer, nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("outcome", sa.String(64), nullable=False),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("version_id", "day", "outcome", name="pk_tallies"),
        sa.ForeignKeyConstraint(
            ["version_id"], ["survey_versions.id"], name="fk_tallies_version_id_survey_versions"
        ),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    op.drop_table("tallies")
    op.drop_table("api_tokens")
    op.drop_table("respondent_tokens")
    op.drop_index("ix_segments_version_id", "segments")
    op.drop_table("segments")
    op.drop_table("seen_ids")
    op.drop_table("inbox")
    op.drop_table("survey_versions")
    op.drop_table("surveys")
