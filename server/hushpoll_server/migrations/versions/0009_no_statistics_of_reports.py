"""PostgreSQL's planner keeps no statistics of what respondents sent, or of its order."""

from __future__ import annotations

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

# ANALYZE, which autovacuum runs by itself, copies up to 200 values of each column (of those below a
# kilobyte) into pg_statistic. There they outlive the fold, the spent token and the deletion of the
# records, and whoever compares them with what was sealed since knows what came last. Numbers of
# versions, ages, parts and reports are still noted: they belong to no report, and the planner
# chooses by them.
COLUMNS = {
    "inbox": ("report_id", "record"),
    "sealed_ids": ("first", "tags", "ids"),  # which chunks there were at an earlier time
    "segments": ("data",),
    "folded_counts": ("support", "joint"),  # earlier ones differ by the reports folded since
    "respondent_tokens": ("hash",),
    "job_results": ("data",),
}
# Which a new type takes back to its own way of storing.
EXTERNAL = (("segments", "data"), ("folded_counts", "joint"))


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        return  # which notes such things when it is told to, and nobody tells it
    for table, columns in COLUMNS.items():
        # A column that is given a type, even its own, loses its statistics; no row is rewritten.
        types = [f"ALTER COLUMN {column} TYPE bytea" for column in columns]
        targets = [f"ALTER COLUMN {column} SET STATISTICS 0" for column in columns]
        op.execute(f"ALTER TABLE {table} {', '.join([*types, *targets])}")
    for table, column in EXTERNAL:
        op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE EXTERNAL")


def downgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        return
    for table, columns in COLUMNS.items():
        targets = [f"ALTER COLUMN {column} SET STATISTICS -1" for column in columns]
        op.execute(f"ALTER TABLE {table} {', '.join(targets)}")
