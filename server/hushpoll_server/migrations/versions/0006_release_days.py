"""The totals of released reports by day."""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "release_days",
        sa.Column("version_id", sa.Integer, sa.ForeignKey("survey_versions.id"), primary_key=True),
        sa.Column("day", sa.String(10), primary_key=True),
        sa.Column("reports", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    # What was released before is noted on the day of the last release.
    bind = op.get_bind()
    for version_id, at, reports in bind.execute(
        sa.text("SELECT version_id, released_at, reports FROM releases WHERE reports > 0")
    ).all():
        day = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")
        bind.execute(
            sa.text("INSERT INTO release_days (version_id, day, reports) VALUES (:v, :d, :r)"),
            {"v": version_id, "d": day, "r": reports},
        )


def downgrade() -> None:
    op.drop_table("release_days")
