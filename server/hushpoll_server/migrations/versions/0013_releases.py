"""When reports are released, and what has been released of each version.

What is sealed already counts as released: analysts may have been given it. A version whose manifest
does not name the term releases daily from now on.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

DAY_SECONDS = 86_400
FIRST_MONDAY = 4 * DAY_SECONDS


def upgrade() -> None:
    op.add_column(
        "survey_versions",
        sa.Column("release", sa.String(16), nullable=False, server_default="daily"),
    )
    op.add_column("survey_versions", sa.Column("next_release", sa.BigInteger))
    # A default of the column, so that no segment is written anew.
    op.add_column(
        "segments",
        sa.Column(
            "released",
            sa.Boolean(create_constraint=False),
            nullable=False,
            server_default=sa.true(),
        ),
    )
    op.create_table(
        "releases",
        sa.Column("version_id", sa.Integer, nullable=False),
        sa.Column("released_at", sa.BigInteger, nullable=False),
        sa.Column("reports", sa.BigInteger, nullable=False),
        sa.Column("support", sa.LargeBinary, nullable=False),
        sa.Column("joint", sa.LargeBinary, nullable=False),
        sa.Column("refused", sa.String, nullable=False),
        sa.PrimaryKeyConstraint("version_id", name="pk_releases"),
        sa.ForeignKeyConstraint(
            ["version_id"], ["survey_versions.id"], name="fk_releases_version_id_survey_versions"
        ),
    )
    if op.get_bind().dialect.name == "postgresql":  # as those of folded_counts; see 0009
        op.execute(
            "ALTER TABLE releases ALTER COLUMN support SET STATISTICS 0, "
            "ALTER COLUMN joint SET STATISTICS 0, ALTER COLUMN joint SET STORAGE EXTERNAL"
        )
    _release(int(time.time()))


def downgrade() -> None:
    op.drop_table("releases")
    op.drop_column("segments", "released")
    op.drop_column("survey_versions", "next_release")
    op.drop_column("survey_versions", "release")


def _release(now: int) -> None:
    """Release what is sealed, and have the next release at the present period's end."""
    columns = ("released_at", "reports", "support", "joint", "refused")
    releases = sa.table("releases", *map(sa.column, ("version_id", *columns)))
    versions = sa.table(
        "survey_versions", *map(sa.column, ("id", "canonical", "release", "next_release", "ended"))
    )
    held = sa.table("folded_counts", *map(sa.column, ("version_id", *columns[1:4])))
    segments = sa.table("segments", sa.column("version_id"), sa.column("reports"))
    tallies = sa.table("tallies", *map(sa.column, ("version_id", "outcome", "count")))
    connection = op.get_bind()
    for row in connection.execute(sa.select(versions)).all():
        release = _term(bytes(row.canonical))
        following = None if row.ended else _period_end(release, now)
        statement = versions.update().where(versions.c.id == row.id)
        connection.execute(statement.values(release=release, next_release=following))
    refused: dict[int, dict[str, int]] = defaultdict(dict)
    sums = sa.select(tallies.c.version_id, tallies.c.outcome, sa.func.sum(tallies.c.count))
    grouped = sums.group_by(tallies.c.version_id, tallies.c.outcome)
    for version_id, outcome, number in connection.execute(grouped):
        refused[version_id][outcome] = int(number)
    found = {row.version_id: row for row in connection.execute(sa.select(held))}
    # Segments older than counts are read until a fold counts them.
    sizes = sa.select(segments.c.version_id, sa.func.sum(segments.c.reports))
    for version_id, reports in connection.execute(sizes.group_by(segments.c.version_id)).all():
        if version_id not in found:
            connection.execute(
                releases.insert().values(
                    version_id=version_id,
                    released_at=now,
                    reports=int(reports),
                    support=b"",
                    joint=b"",
                    refused=json.dumps(refused[version_id]),
                )
            )
    for version_id, row in found.items():
        connection.execute(
            releases.insert().values(
                version_id=version_id,
                released_at=now,
                reports=row.reports,
                support=bytes(row.support),
                joint=bytes(row.joint),
                refused=json.dumps(refused[version_id]),
            )
        )


def _term(canonical: bytes) -> str:
    try:
        term: str = json.loads(canonical).get("release", "daily")
    except ValueError:  # what no release of hushpoll has published
        return "daily"
    return term


def _period_end(release: str, now: int) -> int | None:
    length = {"daily": DAY_SECONDS, "weekly": 7 * DAY_SECONDS}.get(release)
    if length is None:
        return None
    first = FIRST_MONDAY if release == "weekly" else 0
    return ((now - first) // length + 1) * length + first
