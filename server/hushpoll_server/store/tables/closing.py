"""Until when reports of a version are taken, as the transaction that takes them sees it.

Taking reports shares a version's lock. Closing a version, shortening its grace period and sealing
its last reports hold that lock alone. So no process stores a report after one of these has
committed, however old its own copy of the version's row is.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, not_, or_, select, update

from hushpoll_server.store.schema import versions


class Cutoff(NamedTuple):
    """The moments that divide versions into those that take reports and those that take none.

    Attributes
    ----------
    accepts_until : int
        A version whose ``accepts_until`` is at or before this second takes no report: now.
    closes : int
        Nor does one whose ``closes`` is at or before this second: now less the grace period.
    """

    accepts_until: int
    closes: int


TAKES_REPORTS: Final = """
NOT ended AND (accepts_until IS NULL OR accepts_until > {accepts_until})
AND (closes IS NULL OR closes > {closes})
"""
"""The same as `taking`, of one row of ``survey_versions``, for statements in a database's own SQL.
"""


def taking(connection: Connection, version_ids: Collection[int], cutoff: Cutoff) -> set[int]:
    """Return those of the versions that take reports; their locks are held."""
    statement = select(versions.c.id).where(
        versions.c.id.in_(version_ids), ~versions.c.ended, _before(cutoff)
    )
    return set(connection.execute(statement).scalars())


def over(connection: Connection, cutoff: Cutoff) -> set[int]:
    """Return the versions that take no report any more, of which `end` has not been told."""
    statement = select(versions.c.id).where(~versions.c.ended, not_(_before(cutoff)))
    return set(connection.execute(statement).scalars())


def _before(cutoff: Cutoff) -> ColumnElement[bool]:
    """Return whether a version's last second is still to come."""
    return and_(
        or_(
            versions.c.accepts_until.is_(None),
            versions.c.accepts_until > cutoff.accepts_until,
        ),
        or_(versions.c.closes.is_(None), versions.c.closes > cutoff.closes),
    )


def end(connection: Connection, version_id: int) -> None:
    """Say that no report of the version is taken any more, whatever a process's clock says.

    The version's lock is held alone.
    """
    connection.execute(
        update(versions)
        .where(versions.c.id == version_id)
        .values(ended=True, next_release=None)  # the last seal releases the rest
    )
