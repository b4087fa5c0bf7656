"""A small durable write, which shows whether the database can store anything at all."""

from __future__ import annotations

from sqlalchemy import delete, insert

from hushpoll_server.store.database import Database
from hushpoll_server.store.schema import write_probe

ROW = 1


def write(database: Database) -> None:
    """Write a row anew, in a transaction of its own.

    On SQLite it is larger than what the commit of one report writes. A smaller one would still find
    room in the log that such a commit, which failed, has left on a full disk.

    Raises
    ------
    Refused
        ``unavailable``: the database is away, full or read-only.
    """
    data = bytes(database.backend.PROBE_BYTES)
    with database.writing() as connection:
        connection.execute(delete(write_probe))
        connection.execute(insert(write_probe).values(id=ROW, data=data))
