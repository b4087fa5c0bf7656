"""A spent respondent's token is deleted instead of marked."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    tokens = sa.table("respondent_tokens", sa.column("spent", sa.Boolean))
    op.execute(tokens.delete().where(tokens.c.spent.is_(sa.true())))
    op.drop_column("respondent_tokens", "spent")


def downgrade() -> None:
    # The tokens spent since are refused as unknown, as they were as spent.
    op.add_column(
        "respondent_tokens",
        sa.Column(
            "spent",
            sa.Boolean(create_constraint=False),
            nullable=False,
            server_default=sa.false(),
        ),
    )
