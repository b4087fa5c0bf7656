"""Public results in more than one language."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.create_table(
        "publication_translations",
        sa.Column(
            "publication_id", sa.String(32), sa.ForeignKey("publications.id"), primary_key=True
        ),
        sa.Column("language", sa.String(8), primary_key=True),
        sa.Column("page", sa.LargeBinary, nullable=False),
        sa.Column("bundle", sa.LargeBinary, nullable=False),
    )
    if op.get_context().dialect.name == "postgresql":
        # As store.schema does for a new database: no copy of a value in the statistics.
        for column in ("page", "bundle"):
            op.execute(
                f"ALTER TABLE publication_translations ALTER COLUMN {column} SET STATISTICS 0"
            )


def downgrade() -> None:
    op.drop_table("publication_translations")
