"""The tables of the first release.

A new database is created from the tables of ``store.schema``, so this migration does nothing: it
names the schema version from which the migrations after it begin.
"""

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Do nothing; see ``store.migrate``."""


def downgrade() -> None:
    """Do nothing; see ``store.migrate``."""
