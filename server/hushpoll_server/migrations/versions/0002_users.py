"""Users of the dashboard, their roles and sessions, the action log, and tokens bound to surveys."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

APPEND_ONLY = {
    "sqlite": [
        f"CREATE TRIGGER actions_no_{act.lower()} BEFORE {act} ON actions "
        "BEGIN SELECT RAISE(ABORT, 'the action log is append-only'); END"
        for act in ("UPDATE", "DELETE")
    ],
    "postgresql": [
        f"CREATE RULE actions_no_{act.lower()} AS ON {act} TO actions DO INSTEAD NOTHING"
        for act in ("UPDATE", "DELETE")
    ],
}


def upgrade() -> None:
    op.add_column("api_tokens", sa.Column("surveys", sa.String))
    op.create_table(
        "users",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("name", sa.String(64), nullable=False, unique=True),
        sa.Column("password", sa.String(255), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "user_roles",
        sa.Column("user_id", sa.String(16), sa.ForeignKey("users.id"), primary_key=True),
        sa.Column("survey", sa.String(255), primary_key=True),
        sa.Column("role", sa.String(16), nullable=False),
    )
    op.create_table(
        "user_sessions",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("hash", sa.LargeBinary(32), nullable=False, unique=True),
        sa.Column("user_id", sa.String(16), sa.ForeignKey("users.id"), nullable=False, index=True),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("used_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "actions",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("actor", sa.String(80), nullable=False),
        sa.Column("act", sa.String(32), nullable=False),
        sa.Column("survey", sa.String(255)),
        sa.Column("version", sa.Integer),
        sa.Column("subject", sa.String(255)),
    )
    dialect = op.get_context().dialect.name
    for statement in APPEND_ONLY[dialect]:
        op.execute(statement)
    if dialect == "postgresql":
        # As store.schema does for a new database: no copy of a value in the statistics.
        op.execute("ALTER TABLE user_sessions ALTER COLUMN hash SET STATISTICS 0")


def downgrade() -> None:
    for table in ("actions", "user_sessions", "user_roles", "users"):
        op.drop_table(table)
    with op.batch_alter_table("api_tokens") as batch:
        batch.drop_column("surveys")
